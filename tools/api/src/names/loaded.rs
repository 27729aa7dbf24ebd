//! Names of addresses while the app runs.

use machine::AppPc;

use super::event::ImageEvent;
use super::image::Image;
use super::routine::Routine;

/// The images that are there, for a tool that names addresses while the app runs: a part of [`crate::Tool::Local`] that [`crate::Tool::ON_IMAGE`] keeps up to date.
///
/// ```no_run
/// # use superpin_tool::{AppPc, ImageEvent, LoadedImages};
/// struct Local {
///     images: LoadedImages,
/// }
///
/// // What `ON_IMAGE` names.
/// fn on_image(local: &mut Local, event: ImageEvent<'static>) {
///     local.images.note(event);
/// }
///
/// // An analysis routine, or `drain`.
/// fn called_from(local: &mut Local, address: u64) {
///     let caller = local.images.routine_at(AppPc(address)).map(|routine| routine.name());
/// }
/// ```
///
/// Words in the buffer are drained before an image comes or goes, so an address in it is named by the image that was there. The answer is the same serially and in slices. It isn't part of what
/// a slice hands in: each is told anew which images are there. When the run is over there is [`crate::Out::images`], with lines, for which tools needn't do anything.
#[derive(Clone, Debug, Default)]
pub struct LoadedImages {
    images: Vec<Image<'static>>,
}

impl LoadedImages {
    /// None yet.
    pub const fn new() -> Self {
        Self { images: Vec::new() }
    }

    /// One has come or gone.
    pub fn note(&mut self, event: ImageEvent<'static>) {
        match event {
            ImageEvent::Present(image) | ImageEvent::Loaded(image) => self.images.push(image),
            ImageEvent::Unloaded(image) => self.images.retain(|there| *there != image),
        }
    }

    /// Those that are there.
    pub fn all(&self) -> &[Image<'static>] {
        &self.images
    }

    /// The image that has this address, code or data.
    pub fn at(&self, address: AppPc) -> Option<Image<'static>> {
        self.images.iter().rev().find(|image| image.range().contains(&address.0)).copied()
    }

    /// The routine to which the code at this address belongs: some ten nanoseconds for each image.
    pub fn routine_at(&self, address: AppPc) -> Option<Routine<'static>> {
        self.at(address)?.routine_at(address)
    }
}
