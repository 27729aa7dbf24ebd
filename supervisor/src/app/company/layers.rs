//! Copies of one object of shared memory that slices share: made once, and then only of what has changed.
//!
//! The object is cut into chunks. The first layer is a file with all of them; each later one has those that were different at a later
//! boundary, at the same offsets, and holes elsewhere. A layer is written before any slice maps it, and never after. What a slice sees
//! of the object is put together from the newest copy of each chunk. Chunks are compared, not watched: whoever wrote, and in whatever
//! way, is found. Comparing takes a fraction of the time of copying, which has to get new pages. Only where it is known which pages were stored to, nothing else is looked at.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::FromRawFd;
use std::ptr::NonNull;
use std::rc::Rc;

use machine::PAGE;

use super::holes::{is_zero, write};

/// Bytes of a chunk. As many as are looked at together where somebody else may have written (`sigmatch`'s windows).
const CHUNK: u64 = 64 << 10;
/// Pieces of a mapping that are mapped by themselves. Many are mapped in one go, each in a tenth of the time that copying a chunk takes. So only one for so many chunks,
const CHUNKS_A_PIECE: usize = 3;
/// and no more than this, about twice: they are mappings, which each fork of the slice has to copy.
const MOST_PIECES: usize = 400;

/// Copies by object, as all those have them who have the objects in common.
pub type LayersOfObjects = Rc<RefCell<BTreeMap<String, Layers>>>;

/// Numbers of the chunks of a range of the object.
pub fn chunks(range: Range<u64>) -> Range<u64> {
    range.start / CHUNK..range.end.div_ceil(CHUNK)
}

fn most_pieces(chunks: usize) -> usize {
    MOST_PIECES.min(chunks / CHUNKS_A_PIECE)
}

/// The copies of an object.
#[derive(Default)]
pub struct Layers {
    /// The first layer, if there is any, and how long all are.
    first: Option<Rc<Layer>>,
    size: u64,
    /// Where the newest copy of a chunk is. All others are zeroes, and holes in each layer.
    newest: BTreeMap<u64, Rc<Layer>>,
    /// Chunks in all layers.
    stored: usize,
    /// Bytes that were looked at since that was asked for.
    looked_at: u64,
    buffer: Vec<u8>,
}

impl Layers {
    /// Copies what has changed in `range`. `written`: chunks in which there can be something else than zeroes. `read` fills a buffer from an offset's range.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn update(
        &mut self,
        range: Range<u64>,
        written: Vec<u64>,
        mut read: impl FnMut(Range<u64>, &mut [u8]),
    ) -> io::Result<()> {
        let within = chunks(range.clone());
        let mut numbers: Vec<u64> = self.newest.range(within).map(|(number, _)| *number).chain(written).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let most_pieces = most_pieces(numbers.len());
        let begins_anew = self.is_better_anew(&range, most_pieces);
        if begins_anew || !self.add_layer(None, most_pieces, &range, &numbers, None, &mut read)? {
            let first = self.begin_anew(range.end)?;
            self.add_layer(Some(first), usize::MAX, &range, &numbers, None, &mut read)?;
        }
        Ok(())
    }

    /// The same where no other pages were stored to since the range was copied the last time: nothing else is looked at. False: it is better to begin anew.
    ///
    /// # Errors
    /// As above.
    pub fn update_pages(
        &mut self,
        range: &Range<u64>,
        pages: &BTreeSet<u64>,
        mut read: impl FnMut(Range<u64>, &mut [u8]),
    ) -> io::Result<bool> {
        let mut numbers: Vec<u64> = pages.iter().map(|page| page * PAGE / CHUNK).collect();
        numbers.dedup();
        let most_pieces = most_pieces(self.newest.range(chunks(range.clone())).count());
        Ok(!self.is_better_anew(range, most_pieces)
            && self.add_layer(None, most_pieces, range, &numbers, Some(pages), &mut read)?)
    }

    fn is_better_anew(&self, range: &Range<u64>, most_pieces: usize) -> bool {
        let copied_twice = self.stored > 2 * self.newest.len();
        range.end > self.size || copied_twice || self.of_others(range.clone()).len() > most_pieces
    }

    /// Returns the first layer, to be written.
    fn begin_anew(&mut self, size: u64) -> io::Result<Rc<Layer>> {
        let first = Rc::new(Layer::new(size)?);
        let (buffer, looked_at) = (std::mem::take(&mut self.buffer), self.looked_at);
        *self = Self { first: Some(Rc::clone(&first)), size, looked_at, buffer, ..Self::default() };
        Ok(first)
    }

    /// Bytes of the object that were looked at since the last time.
    pub fn take_looked_at(&mut self) -> u64 {
        std::mem::take(&mut self.looked_at)
    }

    /// Copies those of the chunks that have changed, to `layer` or to one of their own. False: they are in more than `most_pieces`, so that
    /// it would be better to begin anew. `pages`: those that may have changed, if others can't.
    fn add_layer(
        &mut self,
        mut layer: Option<Rc<Layer>>,
        most_pieces: usize,
        range: &Range<u64>,
        numbers: &[u64],
        pages: Option<&BTreeSet<u64>>,
        read: &mut impl FnMut(Range<u64>, &mut [u8]),
    ) -> io::Result<bool> {
        let (mut pieces, mut previous) = (0, None);
        let mut now = std::mem::take(&mut self.buffer);
        for &number in numbers {
            let place = (number * CHUNK).max(range.start)..((number + 1) * CHUNK).min(range.end);
            let len = (place.end - place.start) as usize;
            now.resize(len, 0);
            match pages {
                None => {
                    read(place.clone(), &mut now);
                    self.looked_at += len as u64;
                }
                Some(pages) => {
                    match self.newest.get(&number) {
                        Some(layer) => now.copy_from_slice(layer.shown(place.start, len)),
                        None => now.fill(0),
                    }
                    for page in pages.range(place.start / PAGE..place.end / PAGE) {
                        let (from, at) = (page * PAGE, (page * PAGE - place.start) as usize);
                        read(from..from + PAGE, &mut now[at..at + PAGE as usize]);
                        self.looked_at += PAGE;
                    }
                }
            }
            let is_known = match self.newest.get(&number) {
                Some(layer) => layer.shown(place.start, len) == now,
                None => is_zero(&now),
            };
            if is_known {
                continue;
            }
            pieces += usize::from(previous != number.checked_sub(1));
            previous = Some(number);
            if pieces > most_pieces {
                return Ok(false);
            }
            let layer = match &layer {
                Some(layer) => layer,
                None => layer.insert(Rc::new(Layer::new(self.size)?)),
            };
            write(&layer.file, &now, place.start)?;
            self.newest.insert(number, Rc::clone(layer));
            self.stored += 1;
        }
        self.buffer = now;
        Ok(true)
    }

    /// Layers, and which ranges of the object they show, to be mapped in this order, one over the other.
    pub fn pieces(&self, range: Range<u64>) -> Vec<(Rc<Layer>, Vec<Range<u64>>)> {
        let whole = self.first.iter().map(|file| (Rc::clone(file), Vec::from([range.clone()])));
        let mut by_file: Vec<(Rc<Layer>, Vec<Range<u64>>)> = whole.collect();
        for (file, piece) in self.of_others(range) {
            match by_file.iter_mut().find(|(known, _)| Rc::ptr_eq(known, &file)) {
                Some((_, pieces)) => pieces.push(piece),
                None => by_file.push((file, Vec::from([piece]))),
            }
        }
        by_file
    }

    /// The pieces of later layers.
    fn of_others(&self, range: Range<u64>) -> Vec<(Rc<Layer>, Range<u64>)> {
        let mut found: Vec<(Rc<Layer>, Range<u64>)> = Vec::new();
        for (number, file) in self.newest.range(chunks(range.clone())) {
            if self.first.as_ref().is_some_and(|first| Rc::ptr_eq(first, file)) {
                continue;
            }
            let place = (number * CHUNK).max(range.start)..((number + 1) * CHUNK).min(range.end);
            match found.last_mut() {
                Some((last, piece)) if Rc::ptr_eq(last, file) && piece.end == place.start => piece.end = place.end,
                _ => found.push((Rc::clone(file), place)),
            }
        }
        found
    }
}

/// A file of copies, which this process has mapped as well.
pub struct Layer {
    /// The file.
    pub file: File,
    mapped: NonNull<u8>,
    size: usize,
}

impl Layer {
    fn new(size: u64) -> io::Result<Self> {
        // SAFETY: the name is a literal; the kernel keeps nothing of it.
        let fd = unsafe { libc::memfd_create(c"".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor, which nobody else owns.
        let file = unsafe { File::from_raw_fd(fd) };
        file.set_len(size)?;
        let size = size as usize;
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let mapped = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ, libc::MAP_SHARED, fd, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { file, mapped: NonNull::new(mapped.cast()).expect("mmap gives no null"), size })
    }

    /// What is copied from `offset` on.
    fn shown(&self, offset: u64, len: usize) -> &[u8] {
        assert!(offset as usize + len <= self.size, "a layer is as long as the object");
        // SAFETY: the mapping is that long, and its file is written only before it is shown.
        unsafe { std::slice::from_raw_parts(self.mapped.as_ptr().add(offset as usize), len) }
    }
}

impl Drop for Layer {
    fn drop(&mut self) {
        // SAFETY: nothing of it is borrowed any more.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 300 * CHUNK as usize;

    /// The object as a slice sees it that has mapped the pieces.
    fn shown(pieces: &[(Rc<Layer>, Vec<Range<u64>>)], range: Range<u64>) -> Vec<u8> {
        let mut seen = vec![0xaa; (range.end - range.start) as usize];
        for (layer, pieces) in pieces {
            for piece in pieces {
                let place = (piece.start - range.start) as usize..(piece.end - range.start) as usize;
                seen[place.clone()].copy_from_slice(layer.shown(piece.start, place.len()));
            }
        }
        seen
    }

    fn update(layers: &mut Layers, object: &[u8], range: Range<u64>) -> usize {
        let written = chunks(range.clone()).collect();
        let fill = |place: Range<u64>, buf: &mut [u8]| {
            buf.copy_from_slice(&object[place.start as usize..place.end as usize]);
        };
        // What an earlier slice has mapped stays as it is.
        let earlier = layers.pieces(0..layers.size);
        let before = shown(&earlier, 0..layers.size);
        layers.update(range.clone(), written, fill).unwrap();
        assert!(shown(&earlier, 0..before.len() as u64) == before);
        let now = shown(&layers.pieces(range.clone()), range.clone());
        assert!(now == object[range.start as usize..range.end as usize]);
        layers.stored
    }

    #[test]
    fn only_what_has_changed_is_copied() {
        let (mut layers, mut object) = (Layers::default(), vec![0; SIZE]);
        let all = 0..SIZE as u64;
        assert_eq!(update(&mut layers, &object, all.clone()), 0);
        object[..100 * CHUNK as usize].fill(1);
        assert_eq!(update(&mut layers, &object, all.clone()), 100);
        assert_eq!(update(&mut layers, &object, all.clone()), 100);
        // In two chunks, one of them with zeroes again; and in one where nothing was.
        object[5 * CHUNK as usize] = 2;
        object[6 * CHUNK as usize..7 * CHUNK as usize].fill(0);
        *object.last_mut().unwrap() = 3;
        assert_eq!(update(&mut layers, &object, all.clone()), 103);
        assert_eq!(layers.pieces(all.clone()).len(), 3);
        assert_eq!(layers.of_others(all).len(), 4);
    }

    #[test]
    fn layers_do_not_grow_without_end() {
        let (mut layers, mut object) = (Layers::default(), vec![1; SIZE]);
        for round in 0..10 {
            object[CHUNK as usize..].fill(round);
            assert!(update(&mut layers, &object, 0..SIZE as u64) <= 3 * 300);
        }
        // Each second chunk: too many pieces.
        for chunk in object.chunks_mut(2 * CHUNK as usize) {
            chunk[7] = 100;
        }
        update(&mut layers, &object, 0..SIZE as u64);
        assert!(layers.of_others(0..SIZE as u64).len() <= most_pieces(SIZE / CHUNK as usize));
    }

    #[test]
    fn other_parts_of_the_object_may_be_mapped() {
        let (mut layers, mut object) = (Layers::default(), vec![1; SIZE]);
        update(&mut layers, &object, PAGE..CHUNK * 3 + PAGE);
        object[2 * PAGE as usize] = 5;
        update(&mut layers, &object, 2 * PAGE..CHUNK * 2);
        update(&mut layers, &object, 0..CHUNK * 9 + PAGE);
        object[8 * CHUNK as usize] = 6;
        update(&mut layers, &object, 0..CHUNK * 9 + PAGE);
        update(&mut layers, &object, 0..CHUNK);
    }

    #[test]
    fn nothing_but_pages_that_were_stored_to_is_looked_at() {
        let (mut layers, mut object) = (Layers::default(), vec![1; SIZE]);
        let all = 0..SIZE as u64;
        let pages = |pages: &[u64]| pages.iter().copied().collect::<BTreeSet<u64>>();
        let update_pages = |layers: &mut Layers, object: &[u8], stored: &BTreeSet<u64>| {
            layers.take_looked_at();
            let read = |place: Range<u64>, buf: &mut [u8]| {
                buf.copy_from_slice(&object[place.start as usize..place.end as usize]);
            };
            let is_up_to_date = layers.update_pages(&all, stored, read).unwrap();
            (is_up_to_date, layers.take_looked_at())
        };
        assert_eq!(update_pages(&mut layers, &object, &pages(&[])), (false, 0), "there is none yet");
        update(&mut layers, &object, all.clone());
        assert_eq!(layers.take_looked_at(), SIZE as u64);
        for page in [3, 4, 40, 4000] {
            object[page * PAGE as usize + 7] = 9;
        }
        let stored = pages(&[3, 4, 40, 41, 4000]);
        assert_eq!(update_pages(&mut layers, &object, &stored), (true, 5 * PAGE));
        assert!(shown(&layers.pieces(all.clone()), all.clone()) == object);
        assert_eq!(layers.stored, 303);
        // Too many pieces: all that is known is still right, and the rest is for a comparison.
        let each_second = (0..SIZE / CHUNK as usize).step_by(2).map(|chunk| chunk as u64 * CHUNK / PAGE);
        each_second.clone().for_each(|page| object[(page * PAGE) as usize] = 77);
        assert!(!update_pages(&mut layers, &object, &each_second.collect()).0);
        update(&mut layers, &object, all.clone());
    }
}
