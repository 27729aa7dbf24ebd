//! How long slices are to be, and when the app is to wait for them, where the user doesn't say: the last one is to end soon behind the app, and that is to cost no more than a few hundredths.
//!
//! ```text
//!   app       ───────┬───────┬───╴ ends
//!   slices           └═══════┐   ╎
//!                            └═══╪═══╡   the last one: what a person waits for behind the app's end
//!            │└ what comes with each slice: a fork, copied pages, its start, translation
//! ```
//! When the app will end nobody knows, though what it reads may tell ([`super::input`]). So at each time the slices that run and the one that is recorded are to be short work. That one, and each of the others on the average half of it, is
//! left when the app ends; processors share it.
//!
//! Short slices end soon behind the app, and fill many processors; what comes with each is paid more often. So a slice is made so long that it takes a fraction of a second itself (less in a young run,
//! which may be a short one), or, if what comes with each is dear, so long that this is a fiftieth of it.
//!
//! Where the end seems near, slices become shorter towards it, also where that is dear: each takes half of what is left of the app. They are few, and that is seen to, since the end may not come.
//!
//! Where slices are slower than the app, they pile up. More of them than there are processors get nothing done the sooner, and all are left when the app ends: it waits before.

use std::time::Duration;

use crate::report::Costs;

/// As long as nothing is known.
pub const FIRST: Duration = Duration::from_millis(50);
/// A slice of the app takes so long itself, unless that is dear.
const OWN: Duration = Duration::from_millis(200);
/// And as much in a young run.
const OWN_OF_YOUNG: Duration = Duration::from_millis(50);
/// In between it is such a part of the app's time up to now: so much longer a short run takes.
const PART: u32 = 20;
/// How much larger a slice is than what comes with it.
const SHARE: u32 = 50;
/// How much larger the run was until then than a slice, however dear that is.
const OF_RUN: u32 = 4;
/// And how much larger the run is than what comes with those that are shorter because its end seems near.
const SHORTENED: u32 = 50;
/// No shorter, and no longer.
const BOUNDS: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(1000)];
/// For so long the processors may have work with slices, before the app waits with another.
const BACKLOG: Duration = Duration::from_millis(100);

/// CPU time of the app in the next slice, by what slices have cost. `copied`: what the app has spent on copying pages for each.
pub fn fitting(costs: &Costs, copied: Duration) -> Duration {
    if costs.finished == 0 || costs.app.is_zero() {
        return FIRST;
    }
    let own = (costs.up_to_now / PART).clamp(OWN_OF_YOUNG, OWN).max(with_each(costs, copied) * SHARE);
    // What comes with a young run's slices is translation for the most part, which is over soon, as the run may be.
    let longest = (costs.up_to_now / OF_RUN).clamp(FIRST, BOUNDS[1]);
    own.div_f64(slower(costs)).clamp(BOUNDS[0], longest)
}

/// The same right before the app's end, were that known, where it matters to nobody what comes with the last slices.
pub fn shortest(costs: &Costs) -> Duration {
    OWN_OF_YOUNG.div_f64(slower(costs)).max(BOUNDS[0])
}

/// The same if the app is likely to run for so much longer.
pub fn towards_end(fitting: Duration, shortest: Duration, left: Duration) -> Duration {
    fitting.min((left / 2).max(shortest))
}

/// Whether another slice may be that short after so many: what comes with all of these is to be a small part of the run.
pub fn may_shorten(costs: &Costs, copied: Duration, shortened: u32) -> bool {
    let run = costs.up_to_now.mul_f64(1.0 + slower(costs));
    with_each(costs, copied) * (shortened + 1) <= run / SHORTENED
}

/// By how much slices are slower than the app.
fn slower(costs: &Costs) -> f64 {
    if costs.app.is_zero() { 1.0 } else { (costs.own.as_secs_f64() / costs.app.as_secs_f64()).max(1.0) }
}

fn with_each(costs: &Costs, copied: Duration) -> Duration {
    costs.held + copied + costs.fixed
}

/// Whether the app is to wait before another slice, of which `running` run on so many processors: each of these has one, and all have work for a while.
/// As long as nothing is known, the former is enough.
pub fn is_enough(costs: &Costs, running: usize, processors: usize) -> bool {
    let mean = costs.own.checked_div(costs.among).unwrap_or(Duration::MAX);
    running >= processors && mean.saturating_mul(running as u32) >= BACKLOG * processors as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Eight slices of 100 ms each, of a run that has gone on for long.
    fn costs(own: u32, fixed: u32) -> Costs {
        let up_to_now = Duration::from_secs(100);
        Costs { finished: 90, among: 8, app: 800 * MS, own: 8 * own * MS, fixed: fixed * MS, held: MS, up_to_now }
    }

    #[test]
    fn slow_tools_have_short_slices() {
        assert_eq!(fitting(&Costs::default(), MS), FIRST);
        assert_eq!(fitting(&costs(80, 1), MS), 200 * MS, "they aren't slower than the app");
        assert_eq!(fitting(&costs(125, 1), MS), 160 * MS);
        assert_eq!(fitting(&costs(2000, 1), MS), 10 * MS);
        assert_eq!(fitting(&costs(50_000, 1), MS), BOUNDS[0]);
    }

    #[test]
    fn what_comes_with_each_is_a_small_share() {
        assert_eq!(fitting(&costs(125, 8), MS), 400 * MS);
        assert_eq!(fitting(&costs(125, 8), 6 * MS), 600 * MS);
        assert_eq!(fitting(&costs(125, 800), MS), BOUNDS[1]);
    }

    #[test]
    fn a_young_run_has_shorter_ones() {
        let after = |up_to_now| fitting(&Costs { held: Duration::ZERO, up_to_now, ..costs(100, 1) }, Duration::ZERO);
        assert_eq!([100, 1000, 2000, 3000, 9000].map(|time| after(time * MS)), [50, 50, 100, 150, 200].map(|t| t * MS));
    }

    #[test]
    fn a_young_runs_slices_are_no_large_part_of_it() {
        let after = |up_to_now: u32| fitting(&Costs { up_to_now: up_to_now * MS, ..costs(100, 30) }, MS);
        assert_eq!([50, 150, 400, 2000, 8000].map(after), [50, 50, 100, 500, 1000].map(|time| time * MS));
    }

    #[test]
    fn dear_slices_become_shorter_towards_the_end() {
        let dear = costs(125, 20);
        let (long, short) = (fitting(&dear, MS), shortest(&dear));
        assert_eq!((long, short), (880 * MS, 40 * MS));
        let lengths = [5000, 1000, 500, 200, 0].map(|left| towards_end(long, short, left * MS));
        assert_eq!(lengths, [880, 500, 250, 100, 40].map(|time| time * MS));
        let cheap = fitting(&costs(125, 1), MS);
        assert_eq!([5000, 200].map(|left| towards_end(cheap, short, left * MS)), [cheap, 100 * MS]);
        // 225 s of CPU time, a fiftieth of which are two hundred times 22 ms.
        assert!(may_shorten(&dear, MS, 203) && !may_shorten(&dear, MS, 204));
        assert!(!may_shorten(&Costs { up_to_now: 400 * MS, ..dear }, MS, 0));
    }

    #[test]
    fn the_app_waits_where_all_processors_have_work() {
        assert!(!is_enough(&costs(150, 1), 1, 2), "one of them has none");
        assert!(is_enough(&costs(150, 1), 2, 2));
        assert!(is_enough(&Costs::default(), 2, 2), "nothing is known");
        // Short ones may wait for processors, so that none stands still while the app is at a boundary.
        assert!(!is_enough(&costs(25, 1), 7, 2) && is_enough(&costs(25, 1), 8, 2));
    }
}
