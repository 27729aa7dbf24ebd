//! Where the slices of a run stand, for a person who waits for them.

use super::slices::Slices;
use crate::base::Moment;
use crate::follow::Resources;
use crate::report::LiveStatus;

/// Of a run with these slices and what it works with.
pub fn live_status(slices: &Slices, resources: &Resources<'_>) -> LiveStatus {
    let (begun, waiting, since, limit) = slices.counts();
    let now = Moment::now();
    let (app, ended) = resources.statistics.app_has_run(now);
    LiveStatus {
        app,
        ended,
        begun,
        running: since.map(|since| now.since(since)).collect(),
        waiting,
        merged: resources.collector.merged(),
        limit,
        takes: resources.statistics.mean_run(),
    }
}
