//! What follows a run, to show it, write it or serve it.

use std::time::SystemTime;

use crate::plan::Plan;
use crate::results::{Counts, Run, Sample};

/// An output that follows a run. Calls come from one task, one after the other, and must not take long.
pub(crate) trait RunOutput: Send {
    /// The run begins, at this time; everything is declared.
    fn started(&mut self, _plan: &Plan, _at: SystemTime) {}

    /// An interval has passed. `totals` counts since the start.
    fn sample(&mut self, sample: &Sample, totals: &Counts);

    /// The run is over.
    fn ended(&mut self, _plan: &Plan, _run: &Run) {}

    /// What went wrong since the last call.
    fn take_warning(&mut self) -> Option<String> {
        None
    }
}
