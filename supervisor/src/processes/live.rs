//! The line that tells a person at a terminal how the run gets on.

use std::time::Duration;

use super::member::Member;
use crate::base::status_line;
use crate::command::Settings;
use crate::events::{Alarm, Purpose};

/// A run that is over by then has none.
const FIRST: Duration = Duration::from_secs(1);
/// How often it is renewed.
const EACH: Duration = Duration::from_millis(500);

/// When it is to be renewed, if it is wanted.
pub struct Live(Option<Alarm>);

impl Live {
    /// It is wanted of a run in slices, on a terminal that can have it. If the kernel has no timers left there is none.
    pub fn new(settings: &Settings) -> Self {
        let has_cursor = std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb");
        let is_wanted = settings.sliced && !settings.quiet && settings.attach.is_none();
        if !is_wanted || !has_cursor || !status_line::may_be_shown() {
            return Self(None);
        }
        let alarm = Alarm::new(libc::CLOCK_MONOTONIC, Purpose::Show, std::process::id() as i32).ok();
        alarm.iter().for_each(|alarm| alarm.set(FIRST));
        Self(alarm)
    }

    /// Renews it, if there is something to be told of the app, and nothing that it would be in the way of.
    pub fn show(&self, app: Option<&mut Member<'_>>) {
        let Some(alarm) = &self.0 else { return };
        alarm.set(EACH);
        match app.and_then(Member::live_status).filter(|_| status_line::may_be_shown()) {
            Some(status) => status_line::show(&status.line()),
            None => status_line::erase(),
        }
    }
}
