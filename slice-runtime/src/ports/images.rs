//! The app's images: what is mapped in this process, by name. What is in a file the collector finds out ([`bubble::app_images`]).
//!
//! An image is *there* as long as code of it is mapped. That follows from the mappings alone, so an image comes and goes at the same calls of the app's in all kinds of run.
//! (Whether all of an image is mapped doesn't: where addresses are offsets in the file, the loader's first call maps everything, and corrects it later.)

use std::time::Duration;

use bubble::app_images::{AppImages, Place, module};
use bubble::code_files::FileRegion;
use bubble::map::{APP_IMAGES, MODULES};
use bubble::modules::Modules;
use engine::{Control, Flow};
use machine::{PAGE, mapping, proc};

use super::app_image::{AppImage, Happened};
use super::slot::futex_within;
use super::tool::{Asked, RunningTool};

/// How often who waits for the collector looks whether it is still there.
const LOOK: Duration = Duration::from_millis(200);

fn table() -> &'static AppImages {
    // SAFETY: a taken-over process has CONTROL mapped, of which this is a part, for as long as it lives.
    unsafe { AppImages::at(APP_IMAGES.start as *const u8) }
}

fn modules() -> &'static Modules {
    // SAFETY: as above.
    unsafe { Modules::at(MODULES.start as *const u8) }
}

/// Which image a mapping of code is of. Waits until the collector has read the file, if nobody has asked for it before.
pub fn image_at(region: &FileRegion) -> Option<AppImage> {
    let place = table().find(region)?;
    table().want_names();
    let module = modules().get(module_of(place)?.checked_sub(module::FIRST)?)?;
    let bias = modules().bias(module, region)?;
    Some(AppImage { region: *region, place, module, bias })
}

fn module_of(place: &Place) -> Option<u32> {
    if table().ask(place) {
        futex_within(table().bell(), libc::FUTEX_WAKE, i32::MAX as u32, None);
    }
    loop {
        match place.module() {
            module::UNKNOWN if table().is_closed() => return None,
            module::UNKNOWN => futex_within(place.module_word(), libc::FUTEX_WAIT, module::UNKNOWN, Some(LOOK)),
            found => return Some(found),
        }
    }
}

/// The app, in a serial run, has mapped a file: takes that down if it is code. `result`: where.
pub fn note_code(args: [u64; 6], result: u64) {
    let [_, len, protection, flags, descriptor, offset] = args;
    let is_private = flags as i32 & (libc::MAP_ANONYMOUS | libc::MAP_TYPE) == libc::MAP_PRIVATE;
    if protection as i32 & libc::PROT_EXEC == 0 || !is_private {
        return;
    }
    let descriptor = descriptor as i32;
    let Some((inode, has_name)) = inode_of(descriptor) else { return };
    let path = proc::read_link(format!("self/fd/{descriptor}")).unwrap_or_default();
    let end = result + len.next_multiple_of(PAGE);
    let region = FileRegion { start: result, end, offset, device: 0, inode };
    let pid = std::process::id() as i32;
    // SAFETY: in a serial run only the app's process adds any, one thread at a time.
    let number = unsafe { table().add(region, &path, [pid, descriptor], false) };
    if let Some(place) = number.and_then(|number| table().places().get(number))
        && (table().names_wanted() || !has_name)
    {
        // The file is read while it is certainly there: later it may be gone.
        module_of(place);
    }
}

/// The inode of an open file, and whether it has a name.
fn inode_of(descriptor: i32) -> Option<(u64, bool)> {
    let mut told = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: there is room for the answer.
    let result = unsafe { libc::fstat(descriptor, told.as_mut_ptr()) };
    // SAFETY: the kernel has filled it in.
    let told = (result == 0).then(|| unsafe { told.assume_init() })?;
    Some((told.st_ino, told.st_nlink > 0))
}

/// The images that are there, for a tool that wants to be told of them.
#[derive(Default)]
pub struct Images {
    is_on: bool,
    present: Vec<AppImage>,
}

impl Images {
    /// Tells a tool of those that are there as a slice begins, whose first state comes from a call that has mapped `mapped`. `tell_call`: tells it of that call,
    /// between what was there before and what has come with it.
    pub fn begin(&mut self, mapped: [u64; 2], tool: &dyn RunningTool, tell_call: impl FnOnce()) {
        self.is_on = tool.wants_images();
        if !self.is_on {
            return tell_call();
        }
        self.present = all();
        let is_new = |image: &AppImage| lies_in(image, mapped[0], mapped[1]);
        self.present.iter().filter(|image| !is_new(image)).for_each(|image| tool.image(*image, Happened::Present));
        tell_call();
        self.present.iter().filter(|image| is_new(image)).for_each(|image| tool.image(*image, Happened::Loaded));
    }

    /// Those that are there, if the tool wants to be told of them.
    pub fn present(&self) -> &[AppImage] {
        &self.present
    }

    /// The tool was asked what it wants from here on. One that begins to look is told of the images that are there.
    pub fn asked(&mut self, asked: Asked, control: &mut dyn Control, tool: &dyn RunningTool) -> Flow {
        if asked != Asked::Nearer {
            self.begin([0; 2], tool, || {});
        }
        control.renew(asked == Asked::Begins);
        Flow::Continue
    }

    /// The app has made a call. Tells the tool what came of it. `tell_call`: tells it of the call itself, between what it has unmapped and what it has mapped: that
    /// order is also kept where a slice ends at the call.
    pub fn called(&mut self, number: u64, args: [u64; 6], tool: &dyn RunningTool, tell_call: impl FnOnce()) {
        if !(self.is_on && may_change(number, args)) {
            return tell_call();
        }
        let now = all();
        self.gone(|image| !now.contains(image), tool);
        tell_call();
        let new: Vec<_> = now.into_iter().filter(|image| !self.present.contains(image)).collect();
        for image in new {
            self.present.push(image);
            tool.image(image, Happened::Loaded);
        }
    }

    /// The slice ends with this call of the app's, whose effects are the next slice's first state. What it unmaps is told here, where it is known what was there.
    pub fn ends_with(&mut self, number: u64, args: [u64; 6], tool: &dyn RunningTool) {
        let [start, len, _, flags, ..] = args;
        let unmaps = match number as i64 {
            libc::SYS_munmap | libc::SYS_mremap => true,
            libc::SYS_mmap => flags as i32 & libc::MAP_FIXED != 0,
            _ => false,
        };
        if self.is_on && unmaps && start.is_multiple_of(PAGE) && len > 0 {
            self.gone(|image| lies_in(image, start, start.saturating_add(len).next_multiple_of(PAGE)), tool);
        }
    }

    fn gone(&mut self, is_gone: impl Fn(&AppImage) -> bool, tool: &dyn RunningTool) {
        let (gone, left) = std::mem::take(&mut self.present).into_iter().partition(is_gone);
        self.present = left;
        Vec::into_iter(gone).for_each(|image| tool.image(image, Happened::Unloaded));
    }
}

/// Whether a call may load or unload an image.
fn may_change(number: u64, [_, _, _, flags, ..]: [u64; 6]) -> bool {
    match number as i64 {
        libc::SYS_munmap | libc::SYS_mremap => true,
        libc::SYS_mmap => flags as i32 & libc::MAP_ANONYMOUS == 0 || flags as i32 & libc::MAP_FIXED != 0,
        _ => false,
    }
}

/// Those that are there, by address.
fn all() -> Vec<AppImage> {
    let mappings = mapping::all("thread-self").unwrap_or_default();
    let mut images = Vec::<AppImage>::new();
    for map in mappings.iter().filter(|map| map.execute && map.inode != 0 && !map.shared) {
        let &mapping::Mapping { start, end, offset, inode, .. } = map;
        let image = image_at(&FileRegion { start, end, offset, device: 0, inode });
        images.extend(image.filter(|image| !images.contains(image)));
    }
    images
}

/// Whether a call that has mapped or unmapped this range has made all of its code come or go.
fn lies_in(image: &AppImage, start: u64, end: u64) -> bool {
    start <= image.region.start && image.region.end <= end
}
