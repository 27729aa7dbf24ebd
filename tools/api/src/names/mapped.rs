//! The image of a mapping, in the app's process or a slice.

use bubble::code_files::FileRegion;
use bubble::map::MODULES;
use bubble::modules::Modules;
use slice_runtime::AppImage;

use super::image::Image;

/// Which image a mapping of code is of. Only in a taken-over process.
pub fn mapped(file: &FileRegion) -> Option<Image<'static>> {
    slice_runtime::image_at(file).map(|image| of(&image))
}

/// It, as a tool sees it. Only in a taken-over process.
pub fn of(image: &AppImage) -> Image<'static> {
    // SAFETY: a taken-over process has the region mapped for as long as it lives.
    let modules = unsafe { Modules::at(MODULES.start as *const u8) };
    Image::new(modules, image.module, image.place, image.bias)
}
