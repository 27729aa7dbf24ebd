//! By which signal a process is stopped, and whether that is another stop than the last one.
//!
//! A process that is continued may stop again before anybody has looked. So each stop has a number.

/// A stop of a process by a stopping signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobStop {
    /// The signal.
    pub signal: i32,
    number: u64,
}

/// What has been reported of a process's stops.
#[derive(Debug, Default)]
pub struct JobStops {
    now: Option<JobStop>,
    number: u64,
    /// The thread that has told of the last one.
    teller: i32,
}

impl JobStops {
    /// There was a report on a thread, which is stopped by this signal, if it is.
    pub fn reported(&mut self, tid: i32, stopped_by: Option<i32>) {
        // Each thread tells of each stop once.
        let is_another = self.now.is_none() || self.teller == tid;
        self.now = stopped_by.map(|signal| {
            if is_another {
                self.number += 1;
                self.teller = tid;
            }
            JobStop { signal, number: self.number }
        });
    }

    /// The stop that the process is in, if it is in one.
    pub fn now(&self) -> Option<JobStop> {
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_are_told_apart() {
        let mut stops = JobStops::default();
        stops.reported(1, Some(libc::SIGSTOP));
        let first = stops.now().unwrap();
        stops.reported(1, None);
        assert_eq!(stops.now(), None);
        stops.reported(1, Some(libc::SIGSTOP));
        let second = stops.now().unwrap();
        assert_ne!(first, second);
        // A process that isn't traced doesn't report that it goes on.
        stops.reported(1, Some(libc::SIGSTOP));
        assert_ne!(stops.now().unwrap(), second);
    }

    #[test]
    fn threads_tell_of_the_same_stop() {
        let mut stops = JobStops::default();
        stops.reported(1, Some(libc::SIGTSTP));
        let first = stops.now();
        stops.reported(2, Some(libc::SIGTSTP));
        assert_eq!(stops.now(), first);
    }
}
