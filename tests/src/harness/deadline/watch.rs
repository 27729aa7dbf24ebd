//! A deadline for system calls that only the end of the process they are about can end.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::guard::Guarded;
use super::limit::Wait;
use super::processes::{describe, family, kill};

/// A child that is killed if this lives longer than the test may: for waits that nothing else can end.
pub struct Watch {
    done: Option<mpsc::Sender<()>>,
    watcher: Option<JoinHandle<Option<String>>>,
    _guarded: Guarded,
}

impl Watch {
    /// Begins to watch over a process that is this thread's to kill.
    pub fn over(pid: u32) -> Self {
        let (done, is_done) = mpsc::channel::<()>();
        let mut wait = Wait::begin();
        let watcher = thread::spawn(move || {
            loop {
                match is_done.recv_timeout(wait.step().max(Duration::from_millis(1))) {
                    Err(RecvTimeoutError::Timeout) if wait.is_over() => break,
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return None,
                }
            }
            let processes = family(pid);
            let told = wait.told(&format!("the end of\n{}", describe(&processes)));
            kill(&processes);
            Some(told)
        });
        Self { done: Some(done), watcher: Some(watcher), _guarded: Guarded::new(pid) }
    }

    /// Ends the watch. What has happened if the process was killed.
    pub fn end(mut self) -> Option<String> {
        self.stop()
    }

    fn stop(&mut self) -> Option<String> {
        drop(self.done.take());
        self.watcher.take()?.join().ok()?
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deadline::limit::be_late;
    use std::process::Command;

    #[test]
    fn a_watch_ends_what_it_watches() {
        be_late();
        let mut child = Command::new("/bin/sleep").arg("1000").spawn().unwrap();
        let watch = Watch::over(child.id());
        assert!(!child.wait().unwrap().success());
        assert!(watch.end().unwrap().contains("/bin/sleep 1000"));
    }

    #[test]
    fn a_watch_leaves_alone_what_ends_in_time() {
        let mut child = Command::new("/bin/true").spawn().unwrap();
        let watch = Watch::over(child.id());
        assert!(child.wait().unwrap().success());
        assert_eq!(watch.end(), None);
    }
}
