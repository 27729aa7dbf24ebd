//! What becomes of an image.

use super::image::Image;

/// What [`crate::Tool::ON_IMAGE`] is told.
#[derive(Clone, Copy, Debug)]
pub enum ImageEvent<'a> {
    /// It was there when the slice began: the program and its interpreter, and whatever was loaded before. In a serial run that is when a program begins.
    Present(Image<'a>),
    /// It was loaded: the call of the app's that has mapped its code (`mmap`) is over, and none of that was executed yet. The loader may still have to map its data.
    Loaded(Image<'a>),
    /// It was unloaded: none of its code is mapped any more.
    Unloaded(Image<'a>),
}

impl<'a> ImageEvent<'a> {
    /// Of which image.
    pub fn image(&self) -> Image<'a> {
        match *self {
            Self::Present(image) | Self::Loaded(image) | Self::Unloaded(image) => image,
        }
    }
}
