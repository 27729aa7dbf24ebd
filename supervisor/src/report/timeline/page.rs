//! The page: what draws a run, and the run.

use serde::Serialize;

use super::timeline::Timeline;

/// The page without a run and what draws it, which come in the places of these.
const PAGE: &str = include_str!("page.html");
const RUN: &str = "{\"the run\":\"comes here\"}";
const SCRIPT: &str = "\"what draws it\";\n";

/// What the page shows.
#[derive(Serialize)]
pub struct Shown<'a> {
    /// What was run.
    pub command: &'a str,
    /// With which tool.
    pub tool: &'a str,
    /// Slices that may run at a time.
    pub limit: usize,
    /// How long slices are to be, in milliseconds.
    pub length: String,
    /// Processors of the machine.
    pub processors: usize,
    /// What the result is worth.
    pub result: String,
    /// When the app has ended, in microseconds since the run's start.
    pub app: u64,
    /// When the run has ended.
    pub wall: u64,
    /// The rest.
    #[serde(flatten)]
    pub timeline: &'a Timeline,
}

/// The whole page.
pub fn page(shown: &Shown<'_>) -> String {
    let run = serde_json::to_string(shown).expect("names and numbers can be written");
    // What would end the script stands only in texts, and can be written in another way there.
    PAGE.replace(SCRIPT, include_str!("draw.js")).replace(RUN, &run.replace('<', "\\u003c"))
}
