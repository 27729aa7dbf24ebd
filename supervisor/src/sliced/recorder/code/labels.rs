//! Where what is in the recorder's code ([`super::code`]).

unsafe extern "C" {
    static superpin_recorder_start: u8;
    static superpin_recorder_decided: u8;
    static superpin_recorder_knows: u8;
    static superpin_recorder_probes: u8;
    static superpin_recorder_probed: u8;
    static superpin_recorder_calls: u8;
    static superpin_recorder_called: u8;
    static superpin_recorder_leaves: u8;
    static superpin_recorder_left: u8;
    static superpin_recorder_behind: u8;
    static superpin_recorder_done: u8;
    static superpin_recorder_done_stop: u8;
    static superpin_recorder_unreadable: u8;
    static superpin_recorder_bail: u8;
    static superpin_recorder_bail_stop: u8;
    static superpin_recorder_rdtsc: u8;
    static superpin_recorder_rdtscp: u8;
    static superpin_recorder_rdtsc_then: u8;
    static superpin_recorder_rdtscp_then: u8;
    static superpin_recorder_begins_reading: u8;
    static superpin_recorder_reads: u8;
    static superpin_recorder_leaves_reading: u8;
    static superpin_recorder_left_reading: u8;
    static superpin_recorder_reading_stop: u8;
    static superpin_recorder_waits_not: u8;
    static superpin_recorder_waits: u8;
    static superpin_recorder_waiting: u8;
    static superpin_recorder_waited: u8;
    static superpin_recorder_wants: u8;
    static superpin_recorder_turned: u8;
    static superpin_recorder_end: u8;
}

/// The machine code.
pub fn code() -> &'static [u8] {
    let start = &raw const superpin_recorder_start;
    // SAFETY: both symbols are the borders of one piece of read-only data, defined above.
    unsafe { std::slice::from_raw_parts(start, offset(&raw const superpin_recorder_end) as usize) }
}

/// From the code's start to one of its labels.
fn offset(place: *const u8) -> u64 {
    place as u64 - &raw const superpin_recorder_start as u64
}

/// Labels in the code, as offsets from its start.
#[derive(Clone, Copy, Debug)]
pub struct Labels {
    /// The control process's request to stop was looked at: what comes after it makes the call.
    pub decided: u64,
    /// From here on, up to `probes`, it looks at the descriptor that the call is about.
    pub knows: u64,
    /// From here on the app's memory is read, which may not be there, with any values in three of its registers.
    pub probes: u64,
    /// And up to here. The call is still to be made.
    pub probed: u64,
    /// What comes from here on is behind the call again.
    pub behind: u64,
    /// From here on the call is made, perhaps with another timeout.
    pub calls: u64,
    /// Behind the call.
    pub called: u64,
    /// The request was looked at for the last time.
    pub leaves: u64,
    /// Behind the way back to the app.
    pub left: u64,
    /// The way to a stop behind the call.
    pub done: u64,
    /// Behind that stop.
    pub done_stop: u64,
    /// From there to a stop before the call.
    pub unreadable: u64,
    /// From elsewhere.
    pub bail: u64,
    /// Behind that stop.
    pub bail_stop: u64,
    /// Entry for `rdtsc`.
    pub rdtsc: u64,
    /// Entry for `rdtscp`.
    pub rdtscp: u64,
    /// Entry for `rdtsc` where the stub has what follows.
    pub rdtsc_then: u64,
    /// The same for `rdtscp`.
    pub rdtscp_then: u64,
    /// The request to stop was looked at, and what comes next is the record's place.
    pub begins_reading: u64,
    /// It is there. From here on the counter is read, and nothing keeps it from going on.
    pub reads: u64,
    /// The request was looked at for the last time.
    pub leaves_reading: u64,
    /// Behind the way back to the app, and on the way to a stop behind the reading.
    pub left_reading: u64,
    /// Behind that stop.
    pub reading_stop: u64,
    /// From a call that waits to a stop before it.
    pub waits_not: u64,
    /// A call that waits is about to be made.
    pub waits: u64,
    /// The turn is given up.
    pub waiting: u64,
    /// Behind the call.
    pub waited: u64,
    /// With its result in r12 the thread wants the turn.
    pub wants: u64,
    /// Behind the way back to `called`.
    pub turned: u64,
}

impl Labels {
    /// Where they are.
    pub fn get() -> Self {
        Self {
            decided: offset(&raw const superpin_recorder_decided),
            knows: offset(&raw const superpin_recorder_knows),
            probes: offset(&raw const superpin_recorder_probes),
            probed: offset(&raw const superpin_recorder_probed),
            behind: offset(&raw const superpin_recorder_behind),
            calls: offset(&raw const superpin_recorder_calls),
            called: offset(&raw const superpin_recorder_called),
            leaves: offset(&raw const superpin_recorder_leaves),
            left: offset(&raw const superpin_recorder_left),
            done: offset(&raw const superpin_recorder_done),
            done_stop: offset(&raw const superpin_recorder_done_stop),
            unreadable: offset(&raw const superpin_recorder_unreadable),
            bail: offset(&raw const superpin_recorder_bail),
            bail_stop: offset(&raw const superpin_recorder_bail_stop),
            rdtsc: offset(&raw const superpin_recorder_rdtsc),
            rdtscp: offset(&raw const superpin_recorder_rdtscp),
            rdtsc_then: offset(&raw const superpin_recorder_rdtsc_then),
            rdtscp_then: offset(&raw const superpin_recorder_rdtscp_then),
            begins_reading: offset(&raw const superpin_recorder_begins_reading),
            reads: offset(&raw const superpin_recorder_reads),
            leaves_reading: offset(&raw const superpin_recorder_leaves_reading),
            left_reading: offset(&raw const superpin_recorder_left_reading),
            reading_stop: offset(&raw const superpin_recorder_reading_stop),
            waits_not: offset(&raw const superpin_recorder_waits_not),
            waits: offset(&raw const superpin_recorder_waits),
            waiting: offset(&raw const superpin_recorder_waiting),
            waited: offset(&raw const superpin_recorder_waited),
            wants: offset(&raw const superpin_recorder_wants),
            turned: offset(&raw const superpin_recorder_turned),
        }
    }

    /// Where it goes on from the place `at` if it is to stop, and wouldn't come there by itself: it has looked at our request to stop for the last time before
    /// the call, which it may wait in, or before it goes back.
    pub fn turn(&self, at: u64) -> Option<u64> {
        let Self {
            decided, knows, probes, probed, behind, calls, called, leaves, left, done, unreadable, bail, ..
        } = *self;
        let Self { begins_reading, reads, leaves_reading, left_reading, waits_not, waits, waiting, .. } = *self;
        let turns = [
            (probes..probed, unreadable),
            (calls..called, unreadable),
            (decided..calls, bail),
            (knows..probes, bail),
            (probed..behind, bail),
            (leaves..left, done),
            (begins_reading..reads, bail),
            (leaves_reading..left_reading, left_reading),
            (waits..waiting, waits_not),
        ];
        turns.into_iter().find(|(from, _)| from.contains(&at)).map(|(_, to)| to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_to_stop_makes_no_call_first() {
        const SYSCALL: [u8; 2] = [0x0f, 0x05];
        let labels = Labels::get();
        let calls: Vec<usize> =
            code().windows(2).enumerate().filter(|(_, w)| *w == SYSCALL).map(|(at, _)| at).collect();
        let is_for_reading = |at: usize| (labels.reads..labels.leaves_reading).contains(&(at as u64));
        // Whoever waits hasn't the turn, and isn't told to stop.
        let waits = |at: &usize| (labels.waiting..labels.turned).contains(&(*at as u64));
        assert_eq!(calls.iter().filter(|at| waits(at)).count(), 3);
        let calls: Vec<usize> = calls.into_iter().filter(|at| !waits(at)).collect();
        let (own, calls): (Vec<_>, Vec<_>) = calls.into_iter().partition(|at| is_for_reading(*at));
        assert_eq!(own.len(), 1);
        assert!(calls.len() >= 5 && calls.iter().all(|at| labels.turn(*at as u64).is_some()), "{calls:x?}");
        let go_on = [labels.called, labels.behind, labels.done, labels.reads, labels.left_reading];
        assert!(go_on.into_iter().all(|at| labels.turn(at).is_none()));
    }

    #[test]
    fn there_is_room_for_the_code() {
        assert!(code().len() as u64 <= crate::sliced::recorder::code::layout::STUBS_AT, "{:#x}", code().len());
    }
}
