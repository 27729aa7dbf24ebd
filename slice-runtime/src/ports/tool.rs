//! What the runtime wants from a tool, without the tool's types.

use translator::trace::Trace;

use super::app_image::{AppImage, Happened};

/// A tool in a taken-over process: its options and its local state for this slice.
///
/// The local state lies at [`bubble::map::LOCAL`]'s start in every process, so that translated code, which all
/// slices share, may hold its address.
pub trait RunningTool {
    /// Inserts analysis calls into a trace that is about to be translated.
    ///
    /// The translation is used by other slices too: what is inserted may depend on the trace and on the tool's
    /// options and on nothing else.
    fn instrument(&self, trace: &mut Trace);

    /// Whether analysis routines are told of the app's flags.
    fn reads_flags(&self) -> bool;

    /// Whether analysis routines are told of each repetition of a string instruction.
    fn wants_each_repetition(&self) -> bool;

    /// Whether the tool wants to be told of images.
    fn wants_images(&self) -> bool;

    /// What became of an image. Words that were written before were taken.
    fn image(&self, image: AppImage, what: Happened);

    /// Takes the next words that translated code wrote into the buffer.
    fn drain(&self, words: &[u64]);

    /// A tool is checked, and a slice could end here, before the app's instruction at `pc`, which starts a block. These images are there.
    fn cut(&self, pc: u64, images: &[AppImage]) {
        let _ = (pc, images);
    }

    /// Encodes the slice's result into `out` and returns how many bytes it took.
    ///
    /// May be asked more than once: a serial run asks before each exec, which may fail. The last answer counts.
    ///
    /// # Errors
    /// If the result doesn't fit; the text says so.
    fn finish(&self, out: &mut [u8]) -> Result<usize, String>;
}
