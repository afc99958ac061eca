//! What follows a run in progress, and may end it.

use tokio::sync::watch;

use crate::dashboard::Overall;
use crate::results::{Broker, Counts, Sample};

/// A receiver of a run's progress: the terminal, files, metrics. All is called from one task.
pub(crate) trait Observer {
    /// The broker is there; this is what it says of itself.
    fn connected(&mut self, broker: &Broker);
    /// All tasks are ready: it begins.
    fn started(&mut self);
    /// An interval has passed. `total` counts since the start, `overall` has the latencies since the warm-up.
    fn sample(&mut self, sample: &Sample, total: &Counts, overall: Overall);
    /// Something went wrong that does not end the run.
    fn warn(&mut self, warning: &str);
}

/// Ends a run early, from outside: Ctrl-C.
pub(crate) type Interrupt = watch::Receiver<bool>;
