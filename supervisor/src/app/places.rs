//! Where the app has code of files mapped: taken down for tools, which want names ([`bubble::app_images`]). Costs a few calls for each such mapping.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use bubble::code_files::FileRegion;
use bubble::map::BUBBLE;
use machine::{PAGE, mapping};

use crate::run_memory::OpenFiles;

/// All that a process has mapped when it, or its next program, begins.
pub fn note_all(pid: i32, files: &OpenFiles) {
    let mappings = mapping::all(pid).unwrap_or_default();
    let is_code = |map: &&mapping::Mapping| map.execute && map.inode != 0 && !map.shared && !BUBBLE.contains(map.start);
    let program = fs::metadata(format!("/proc/{pid}/exe")).map_or(0, |metadata| metadata.ino());
    let region_of = |map: &mapping::Mapping| {
        let &mapping::Mapping { start, end, offset, inode, .. } = map;
        FileRegion { start, end, offset, device: 0, inode }
    };
    let main = mappings.iter().filter(is_code).find(|map| map.inode == program);
    let main = main.map(|map| (region_of(map), Path::new(&map.name)));
    files.app_images().begins_program(main.as_ref().map(|(region, path)| (region, *path)));
    for map in mappings.iter().filter(is_code) {
        let (region, inode) = (region_of(map), map.inode);
        // SAFETY: the process stands still, and nobody else adds any for it.
        unsafe { files.app_images().add(region, Path::new(&map.name), [0, -1], inode == program) };
    }
}

/// The app has mapped code of a file, which is open here as well. `held`: the descriptor by which it is kept. Whether that was new.
pub fn note(file: &File, [_, len, _, _, _, offset]: [u64; 6], start: u64, held: i32, files: &OpenFiles) -> bool {
    let Ok(metadata) = file.metadata() else { return false };
    let path = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
    let end = start + len.next_multiple_of(PAGE);
    let region = FileRegion { start, end, offset, device: 0, inode: metadata.ino() };
    let holder = [std::process::id() as i32, held];
    let images = files.app_images();
    let places = images.places().len();
    // SAFETY: the app, a process that is followed in slices, stands still, and nobody else adds any for it.
    let number = unsafe { images.add(region, &path, holder, false) };
    if let Some(place) = number.and_then(|number| images.places().get(number))
        && images.names_wanted()
        && images.ask(place)
    {
        // The collector may read it before a slice needs it. It waits by a futex for that.
        // SAFETY: the word lives as long as the table. Not FUTEX_PRIVATE: the other side is another process.
        unsafe { libc::syscall(libc::SYS_futex, images.bell().as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }
    number.is_some_and(|number| number >= places)
}

/// Whether a call with these arguments maps code of a file. Of what is shared, slices have copies, which are of no file.
pub fn maps_code(args: &[u64; 6]) -> bool {
    args[2] as i32 & libc::PROT_EXEC != 0
        && args[3] as i32 & (libc::MAP_ANONYMOUS | libc::MAP_TYPE) == libc::MAP_PRIVATE
}
