//! Copies of the master's shared memory for slices: in a fork its mappings are still the master's. So are other mappings of files that the
//! app may write: they show what is written to the file (of a private one, the pages that it hasn't touched).
//!
//! An object with one mapping is lent: slices map privately what was copied for earlier ones, see [`Layers`], so only what has changed since
//! then is copied. Many small ones are copied as one. All mappings of another object are replaced together by mappings of one memfd that only the slice has. If there are several they
//! are shared ones, so that what is written through one is seen through the other; the slice's own forks then share
//! them too, see `slice_runtime::slice::start::aliases`. Done while the master stands still. Files on disk that are mapped for
//! reading only stay: copying large files for each slice would cost more than it is worth.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::rc::Rc;

use bubble::map::RECORDER;
use machine::{Memory, PAGE};
use tracee::{Remote, Stopped, TraceError};

use super::behind_end::{behind_end, map_nothing};
use super::common_memory::CommonMemory;
use super::shared_contents as contents;
use super::shared_contents::read;
use super::whole_objects::{self, Contents};
use crate::app::{Layers, Mapping, MutableFiles, can_change, chunks, mappings, write};
use crate::base::{Doing, Failure};

const CHUNK: usize = 1 << 20;
/// Objects of no more bytes are copied for each slice, if there are more of them: to lend each would cost several calls in the copy.
const SMALL: u64 = 64 << 10;
const MANY: usize = 8;
/// Pages of a mapping that are made writable for a moment (`slice_runtime::slice::replay::views`) stay a part of it, as those that were charged for wouldn't.
const UNCHARGED: i32 = libc::MAP_NORESERVE;

/// What was copied for slices, by object.
#[derive(Default)]
pub struct SharedCopies {
    /// Bytes that were compared with what was copied before.
    compared: u64,
    /// Objects of which the last slice has all, mapped or not.
    whole: BTreeSet<String>,
}

impl SharedCopies {
    /// Gives `copy`, a fork of the stopped `master`, objects of its own in place of those that it shares with the master. `lender`: who has what was copied before, if it can open
    /// this process's files by their names. `opened`: the file behind a mapping, if it is open here.
    ///
    /// # Errors
    /// If the copy was killed or has no memory for them.
    pub fn make_private(
        &mut self,
        master: &Stopped,
        copy: &mut Stopped,
        gadget: u64,
        mutable_files: &MutableFiles,
        lender: Option<&CommonMemory>,
        opened: impl Fn(&Mapping) -> Option<Rc<File>>,
    ) -> Result<(), Failure> {
        let (shared, private): (Vec<_>, Vec<_>) = mappings(copy.pid()).into_iter().partition(|map| map.is_shared);
        let mut objects: BTreeMap<String, Vec<Mapping>> = BTreeMap::new();
        for map in shared {
            objects.entry(map.object.clone()).or_default().push(map);
        }
        objects.retain(|_, maps| can_change(maps) || maps.iter().any(|map| mutable_files.has(map)));
        let private: Vec<Mapping> = private.into_iter().filter(|map| mutable_files.has(map)).collect();
        // Before they are replaced.
        let nothing = objects.values().flatten().chain(&private).map(|map| (behind_end(copy, map), map.protection));
        let nothing: Vec<_> = nothing.filter(|(part, _)| !part.is_empty()).collect();
        let all_layers = lender.map(CommonMemory::layers).unwrap_or_default();
        let mut all_layers = all_layers.borrow_mut();
        all_layers.retain(|object, _| objects.contains_key(object) || lender.is_some_and(|all| all.is_others(object)));
        self.whole.clear();
        let is_small = |maps: &[Mapping]| matches!(maps, [map] if map.is_anonymous && map.len() <= SMALL);
        let (small, objects) = match lender {
            Some(_) if objects.values().filter(|maps| is_small(maps)).count() > MANY => {
                objects.into_iter().partition(|(_, maps)| is_small(maps))
            }
            _ => (BTreeMap::new(), objects),
        };
        if !small.is_empty() {
            let maps: Vec<Mapping> = small.into_values().flatten().collect();
            gather(copy, gadget, &maps)?;
            for map in &maps {
                all_layers.remove(&map.object);
                lender.iter().for_each(|common| common.is_copy_lost(&map.object));
            }
        }
        for (object, maps) in objects {
            match (maps.as_slice(), lender) {
                ([map], Some(common)) => {
                    let layers = all_layers.entry(object).or_default();
                    let lent = lend(layers, common, master, copy, gadget, map, opened(map).as_deref());
                    self.compared += layers.take_looked_at();
                    if !matches!(lent, Ok(true)) {
                        common.is_copy_lost(&map.object);
                    }
                    lent?;
                }
                (maps, _) => {
                    let whole = whole_objects::read(copy, gadget, maps)?;
                    replace(copy, gadget, maps, whole.as_ref(), opened(&maps[0]).as_deref())?;
                    self.whole.extend(whole.map(|_| object));
                }
            }
        }
        for map in private {
            replace(copy, gadget, std::slice::from_ref(&map), None, None)?;
        }
        if !nothing.is_empty() {
            let empty = new_object(copy, gadget)?;
            map_nothing(copy, gadget, empty, &nothing)?;
            Remote::new(copy, gadget)?.expect("close a slice's file", libc::SYS_close, [empty, 0, 0, 0, 0, 0])?;
        }
        Ok(())
    }

    /// Bytes that were compared with what was copied before, to find what has changed.
    pub fn compared(&self) -> u64 {
        self.compared
    }

    /// Another program was loaded: nothing is mapped any more.
    pub fn clear(&mut self) {
        self.whole.clear();
    }

    /// Whether a slice can make a `remap_file_pages` with these arguments again: it has the object, and what the call is to show of it.
    pub fn can_show_again(&self, pid: i32, [start, len, protection, page, ..]: &[u64; 6]) -> bool {
        let end = page.checked_mul(PAGE).and_then(|offset| offset.checked_add(len.checked_next_multiple_of(PAGE)?));
        let is_known = *protection == 0 && end.is_some_and(|end| end <= whole_objects::len());
        is_known
            && !self.whole.is_empty()
            && whole_objects::object_at(pid, *start).is_some_and(|object| self.whole.contains(&object))
    }

    /// The memory around an address that shows nothing but one object, data of which slices have all.
    pub fn shown_whole(&self, pid: i32, address: u64) -> Option<Range<u64>> {
        let all = if self.whole.is_empty() { Vec::new() } else { mappings(pid) };
        let object = all.iter().find(|map| (map.start..map.end).contains(&address)).map(|map| map.object.clone())?;
        let is_data = |map: &Mapping| map.is_shared && map.object == object && map.protection & libc::PROT_EXEC == 0;
        if !self.whole.contains(&object) {
            return None;
        }
        let mut runs = all.into_iter().filter(is_data).map(|map| map.start..map.end).collect::<Vec<_>>();
        runs.dedup_by(|next, run| {
            let goes_on = run.end == next.start;
            run.end = if goes_on { next.end } else { run.end };
            goes_on
        });
        runs.into_iter().find(|run| run.contains(&address))
    }
}

/// Maps in the copy what the master's mapping holds, from layers that are brought up to date. False: there are no layers.
fn lend(
    layers: &mut Layers,
    common: &CommonMemory,
    master: &Stopped,
    copy: &mut Stopped,
    gadget: u64,
    map: &Mapping,
    opened: Option<&File>,
) -> Result<bool, Failure> {
    let to_offset = map.offset.wrapping_sub(map.start);
    let read_page = |place: Range<u64>, buf: &mut [u8]| read(master, map, place.start.wrapping_sub(to_offset), buf);
    let range = map.offset..map.offset + map.len();
    let is_known = match common.lacking(map) {
        Some(pages) => layers.update_pages(&range, &pages, read_page),
        None => Ok(false),
    };
    let updated = match is_known {
        Ok(true) => Ok(()),
        _ => compare(layers, master, copy, gadget, map, opened)?,
    };
    if updated.is_err() {
        // A file of that length can't be mapped here, or there is no memory for it, as the copy will say then.
        *layers = Layers::default();
        replace(copy, gadget, std::slice::from_ref(map), None, opened)?;
        return Ok(false);
    }
    common.is_read();
    layers.pieces(map.offset..map.offset + map.len()).into_iter().try_for_each(|(layer, pieces)| {
        let fd = open_ours(copy, gadget, &layer.file)?;
        let flags = (libc::MAP_PRIVATE | UNCHARGED | libc::MAP_FIXED) as u64;
        let mut remote = Remote::new(copy, gadget)?;
        let calls = pieces.into_iter().map(|piece| {
            let (at, len) = (piece.start.wrapping_sub(to_offset), piece.end - piece.start);
            [at, len, map.protection as u64, flags, fd, piece.start]
        });
        map_all(&mut remote, calls)?;
        remote.expect("close a slice's file", libc::SYS_close, [fd, 0, 0, 0, 0, 0])?;
        Ok::<(), Failure>(())
    })?;
    Ok(true)
}

/// Brings layers up to date by a comparison of all that may have been written.
fn compare(
    layers: &mut Layers,
    master: &Stopped,
    copy: &mut Stopped,
    gadget: u64,
    map: &Mapping,
    opened: Option<&File>,
) -> Result<std::io::Result<()>, Failure> {
    let parts = contents::written_parts_of(master, copy, gadget, map, opened)?;
    let is_written = |place: &Range<u64>| {
        let at = parts.partition_point(|part| part.end <= place.start);
        parts.get(at).is_some_and(|part| part.start < place.end)
    };
    let to_offset = map.offset.wrapping_sub(map.start);
    let range = map.offset..map.offset + map.len();
    let written =
        parts.iter().flat_map(|part| chunks(part.start.wrapping_add(to_offset)..part.end.wrapping_add(to_offset)));
    let fill = |place: Range<u64>, buf: &mut [u8]| {
        let at = place.start.wrapping_sub(to_offset);
        if is_written(&(at..at + buf.len() as u64)) { read(master, map, at, buf) } else { buf.fill(0) }
    };
    Ok(layers.update(range, written.collect(), fill))
}

/// Opens a file of this process's in the copy.
fn open_ours(copy: &mut Stopped, gadget: u64, file: &File) -> Result<u64, Failure> {
    let name = format!("/proc/{}/fd/{}\0", std::process::id(), file.as_raw_fd());
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
    with_text(copy, name.as_bytes(), |copy, at| {
        let args = [libc::AT_FDCWD as u64, at, flags, 0, 0, 0];
        Remote::new(copy, gadget)?.expect("open a slice's shared memory", libc::SYS_openat, args)
    })
}

/// Replaces many small objects, which are mapped once, by one.
fn gather(copy: &mut Stopped, gadget: u64, maps: &[Mapping]) -> Result<(), Failure> {
    let (fd, object) = open_new_object(copy, gadget)?;
    object.set_len(maps.iter().map(Mapping::len).sum()).doing("size a slice's memory")?;
    let mut offset = 0;
    let mut calls = Vec::new();
    for map in maps {
        copy_contents(copy, map, &object, offset, None).doing("copy shared memory for a slice")?;
        let flags = (libc::MAP_PRIVATE | UNCHARGED | libc::MAP_FIXED) as u64;
        calls.push([map.start, map.len(), map.protection as u64, flags, fd, offset]);
        offset += map.len();
    }
    let mut remote = Remote::new(copy, gadget)?;
    map_all(&mut remote, calls.into_iter())?;
    remote.expect("close a slice's file", libc::SYS_close, [fd, 0, 0, 0, 0, 0])?;
    Ok(())
}

/// Replaces all mappings of one object by such of a new one.
fn replace(
    copy: &mut Stopped,
    gadget: u64,
    maps: &[Mapping],
    whole: Option<&Contents>,
    opened: Option<&File>,
) -> Result<(), Failure> {
    let (fd, object) = open_new_object(copy, gadget)?;
    let size = maps.iter().map(|map| map.offset + map.len()).max().unwrap_or(0);
    object.set_len(if whole.is_some() { whole_objects::len() } else { size }).doing("size a slice's memory")?;
    for (offset, bytes) in whole.into_iter().flatten() {
        write(&object, bytes, *offset).doing("copy shared memory for a slice")?;
    }
    for map in maps.iter().filter(|_| whole.is_none()) {
        copy_contents(copy, map, &object, map.offset, opened).doing("copy shared memory for a slice")?;
    }
    let kind = if maps.len() == 1 { libc::MAP_PRIVATE | UNCHARGED } else { libc::MAP_SHARED };
    let flags = (kind | libc::MAP_FIXED) as u64;
    let mut remote = Remote::new(copy, gadget)?;
    map_all(&mut remote, maps.iter().map(|map| [map.start, map.len(), map.protection as u64, flags, fd, map.offset]))?;
    remote.expect("close a slice's file", libc::SYS_close, [fd, 0, 0, 0, 0, 0])?;
    Ok(())
}

/// Makes many `mmap` in a copy.
fn map_all(remote: &mut Remote<'_>, all: impl Iterator<Item = [u64; 6]>) -> Result<(), TraceError> {
    const ACTION: &str = "map a slice's own shared memory";
    /// As many by themselves take as long as the others together.
    const FEW: usize = 4;
    let calls: Vec<(i64, [u64; 6])> = all.map(|args| (libc::SYS_mmap, args)).collect();
    if calls.len() > FEW {
        // Where the master has its recorder a copy has nothing.
        return remote.expect_all(ACTION, RECORDER.start..RECORDER.end(), &calls);
    }
    calls.into_iter().try_for_each(|(number, args)| remote.expect(ACTION, number, args).map(drop))
}

/// Opens a new, empty object in the copy.
fn new_object(copy: &mut Stopped, gadget: u64) -> Result<u64, Failure> {
    with_text(copy, b"\0", |copy, at| {
        let args = [at, u64::from(libc::MFD_CLOEXEC), 0, 0, 0, 0];
        Remote::new(copy, gadget)?.expect("make a slice's memory", libc::SYS_memfd_create, args)
    })
}

/// The same, open here as well.
fn open_new_object(copy: &mut Stopped, gadget: u64) -> Result<(u64, File), Failure> {
    let fd = new_object(copy, gadget)?;
    let name = format!("/proc/{}/fd/{fd}", copy.pid());
    Ok((fd, OpenOptions::new().write(true).open(name).doing("open a slice's memory")?))
}

/// Lets a call in the copy read a text: it lies below the red zone meanwhile, where it changes nothing that the app can rely on.
fn with_text<T>(
    copy: &mut Stopped,
    text: &[u8],
    call: impl FnOnce(&mut Stopped, u64) -> Result<T, TraceError>,
) -> Result<T, Failure> {
    const RED_ZONE: u64 = 128;
    let len = text.len().next_multiple_of(8);
    let at = copy.registers()?.app().rsp() - RED_ZONE - len as u64;
    let pid = copy.pid();
    let failed = |source| TraceError::Memory { pid, source };
    let mut before = vec![0; len];
    copy.read(at, &mut before).map_err(failed)?;
    copy.write(at, text).map_err(failed)?;
    let result = call(copy, at);
    copy.write(at, &before).map_err(failed)?;
    Ok(result?)
}

/// Copies what can be read to this offset.
fn copy_contents(
    copy: &Stopped,
    map: &Mapping,
    object: &File,
    offset: u64,
    opened: Option<&File>,
) -> std::io::Result<()> {
    let mut chunk = vec![0; CHUNK.min(map.len() as usize)];
    for part in contents::written_parts(copy.pid(), map, opened) {
        for at in part.clone().step_by(CHUNK) {
            let len = (part.end - at).min(CHUNK as u64) as usize;
            read(copy, map, at, &mut chunk[..len]);
            write(object, &chunk[..len], offset + (at - map.start))?;
        }
    }
    Ok(())
}
