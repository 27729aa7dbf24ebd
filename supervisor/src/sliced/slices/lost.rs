//! A slice whose process has ended before its result was complete.

use std::collections::BTreeMap;

use bubble::region::pass;
use bubble::shared::state;
use tracee::ExitStatus;

use crate::base::Failure;
use crate::run_memory::ClaimedSlot;
use crate::sliced::log;

/// How often a slice is begun again before the run fails.
const MAX_ATTEMPTS: u32 = 2;

/// The slice is tried again if that is possible.
///
/// # Errors
/// If it isn't.
pub fn begin_again(
    slice: u64,
    slot: &ClaimedSlot,
    lost: &mut BTreeMap<u64, String>,
    from: u32,
    exit: ExitStatus,
) -> Result<(), Failure> {
    let report = why(slot, exit);
    log::is_lost(slice, &report);
    let first = lost.entry(slice).or_insert_with(|| report.clone());
    // The second pass is none.
    let most = MAX_ATTEMPTS + u32::from(matches!(slot.pass(), pass::LOOKS | pass::WATCHES));
    if slot.checkpoint().is_some() && slot.attempts() < most && slot.may_be_tried_again() {
        slot.begin_again(from);
        return Ok(());
    }
    let report = match slot.attempts() + 1 {
        1 => report,
        tried if *first == report => format!("{report} (it was tried {tried} times)"),
        tried => format!("{report} (it was tried {tried} times; the first time: {first})"),
    };
    Err(Failure::Slice { slice, report })
}

/// Why a slice has not finished.
pub fn why(slot: &ClaimedSlot, exit: ExitStatus) -> String {
    match (slot.state(), exit) {
        (state::FAILED, _) => slot.report(),
        (state::BOOTING, ExitStatus::Code(code)) => match slot.steps.failed(code) {
            Some(step) => format!("it could not be taken over: it failed to {step}"),
            None => format!("it ended with {code} while it was being taken over"),
        },
        (_, exit) => format!("its process ended by itself ({exit}) before its result was complete"),
    }
}
