//! A tool that doesn't return.
//!
//! In a serial run a signal is delivered where the app's code goes on. While a routine of the tool runs that is never, so one that loops could be
//! ended by nothing. Who asks for an end twice means it, once it is clear that the signal doesn't arrive.

use std::time::Duration;

use crate::base::Moment;

/// A signal that hasn't been delivered for so long waits for the tool.
const PATIENCE: Duration = Duration::from_secs(2);

/// Somebody has asked for the end of a serial run.
struct Asked {
    /// First at that time.
    since: Moment,
    /// So often since then.
    times: u32,
    /// Signals that had been delivered then.
    delivered: u32,
    is_told: bool,
}

/// What is to be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Nothing.
    GoOn,
    /// To look again after that time.
    LookAgain(Duration),
    /// To tell that the tool doesn't return.
    Tell,
    /// To end the app.
    End,
}

/// Whether anybody has asked for an end that doesn't come.
#[derive(Default)]
pub struct Patience(Option<Asked>);

impl Patience {
    /// Somebody asks for the end. `delivered`: signals that have reached the app's code so far.
    pub fn asked(&mut self, delivered: u32) {
        match &mut self.0 {
            Some(asked) if asked.delivered == delivered => asked.times += 1,
            _ => self.0 = Some(Asked { since: Moment::now(), times: 1, delivered, is_told: false }),
        }
    }

    /// What to do now. `arrived` and `delivered`: signals, so far.
    pub fn advice(&mut self, [arrived, delivered]: [u32; 2]) -> Advice {
        let Some(asked) = self.0.as_mut().filter(|asked| asked.delivered == delivered) else {
            self.0 = None;
            return Advice::GoOn;
        };
        let left = PATIENCE.saturating_sub(asked.since.elapsed());
        match () {
            () if !left.is_zero() => Advice::LookAgain(left),
            // The app blocks it.
            () if arrived == delivered => Advice::GoOn,
            () if asked.times > 1 => Advice::End,
            () if asked.is_told => Advice::GoOn,
            () => {
                asked.is_told = true;
                Advice::Tell
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_delivered_in_time_is_no_matter() {
        let mut patience = Patience::default();
        assert_eq!(patience.advice([1, 0]), Advice::GoOn);
        patience.asked(0);
        patience.asked(0);
        assert!(matches!(patience.advice([1, 0]), Advice::LookAgain(_)));
        assert_eq!(patience.advice([1, 1]), Advice::GoOn);
        assert_eq!(patience.advice([2, 1]), Advice::GoOn);
    }
}
