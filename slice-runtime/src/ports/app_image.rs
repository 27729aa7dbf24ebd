//! An image of the app's.

use bubble::app_images::Place;
use bubble::code_files::FileRegion;
use bubble::modules::Module;

/// An image at its place.
#[derive(Clone, Copy)]
pub struct AppImage {
    /// The mapping of its code.
    pub region: FileRegion,
    /// What was taken down of that.
    pub place: &'static Place,
    /// What is in its file.
    pub module: &'static Module,
    /// What is to be added to addresses in the file.
    pub bias: u64,
}

impl PartialEq for AppImage {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.module, other.module) && self.bias == other.bias
    }
}

/// What became of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// It is there as the slice begins.
    Present,
    /// It was loaded.
    Loaded,
    /// It was unloaded.
    Unloaded,
}
