//! What is done of what routines ask for ([`super::requests`]).

use engine::Control;

use super::images::Images;
use super::slot::{OwnSlot, header};
use super::tool::RunningTool;
use super::{requests, stream};

/// What comes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// The app goes on.
    GoesOn,
    /// It goes on, and has no calls any more.
    LooksNoMore,
    /// It is to end.
    Ends,
}

/// What was asked for is done, between two instructions. In a serial run the app ends then if it is to, or goes on without calls. `tell_threads`: tells the tool which thread goes on.
pub fn grant(
    slot: OwnSlot,
    tool: &dyn RunningTool,
    images: &mut Images,
    control: &mut dyn Control,
    tell_threads: impl FnOnce(),
) -> Granted {
    let is_last = match requests::hand_in(tool) {
        Ok(None) => return Granted::GoesOn,
        Ok(Some(is_last)) => is_last,
        Err(why) => slot.fail(&why),
    };
    if is_last {
        stream::close();
    }
    // Also behind the last: calls may still be made, to a state in which they find what they expect.
    tool.begin_anew();
    tell_threads();
    images.begin([0; 2], tool, || {});
    // SAFETY: this is a taken-over process.
    let header = unsafe { header() };
    if is_last && header.sliced == 0 {
        if header.ends_app != 0 {
            return Granted::Ends;
        }
        // Translations that are kept for other runs have calls in them.
        if header.keeps_code == 0 {
            requests::make_quiet();
            control.renew(false);
            return Granted::LooksNoMore;
        }
    }
    Granted::GoesOn
}
