//! How long slices are to be, where the user doesn't say: as short as costs no more than a few hundredths.
//!
//! ```text
//!   app       ───────┬───────┬───╴ ends
//!   slices           └═══════┐   ╎
//!                            └═══╪═══╡   the last one: what a person waits for behind the app's end
//!            │└ what comes with each slice: a fork, copied pages, its start, translation
//! ```
//! Short slices end soon behind the app, and fill many processors; what comes with each is paid more often. So a slice is made so long that it takes a quarter of a second itself, or, if what comes with
//! each is dear, so long that this is a fiftieth of it.

use std::time::Duration;

use crate::report::Costs;

/// So many slices tell what they cost.
const ENOUGH: u32 = 3;
/// As long as nothing is known.
pub const FIRST: Duration = Duration::from_millis(100);
/// A slice of the app takes so long itself, unless that is dear.
const OWN: Duration = Duration::from_millis(250);
/// How much larger a slice is than what comes with it.
const SHARE: u32 = 50;
/// No shorter, and no longer.
const BOUNDS: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(1000)];

/// CPU time of the app in the next slice, by what slices have cost. `copied`: what the app has spent on copying pages for each.
pub fn fitting(costs: &Costs, copied: Duration) -> Duration {
    if costs.finished < ENOUGH || costs.app.is_zero() {
        return FIRST;
    }
    let slower = (costs.own.as_secs_f64() / costs.app.as_secs_f64()).max(1.0);
    let with_each = costs.held + copied + costs.fixed;
    let own = OWN.max(with_each * SHARE);
    own.div_f64(slower).clamp(BOUNDS[0], BOUNDS[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Ten slices of 100 ms each.
    fn costs(own: u32, fixed: u32) -> Costs {
        Costs { finished: 10, app: 1000 * MS, own: 10 * own * MS, fixed: fixed * MS, held: MS }
    }

    #[test]
    fn slow_tools_have_short_slices() {
        assert_eq!(fitting(&Costs::default(), MS), FIRST);
        assert_eq!(fitting(&costs(125, 1), MS), 200 * MS);
        assert_eq!(fitting(&costs(500, 1), MS), 50 * MS);
        assert_eq!(fitting(&costs(50_000, 1), MS), BOUNDS[0]);
    }

    #[test]
    fn what_comes_with_each_is_a_small_share() {
        assert_eq!(fitting(&costs(125, 8), MS), 400 * MS);
        assert_eq!(fitting(&costs(125, 8), 6 * MS), 600 * MS);
        assert_eq!(fitting(&costs(125, 800), MS), BOUNDS[1]);
    }
}
