//! What generates the load, as a run sees it: threads of this process, or agents on other machines.
//!
//! What their tasks have to say comes as [`Reports`]; what they measure is collected.

use tokio::sync::mpsc;

use super::incident::Incident;
use super::recorder::CollectedInterval;
use super::run_error::RunError;
use crate::results::Usage;

/// What tasks report, wherever they run.
pub(crate) type Reports = mpsc::UnboundedReceiver<Incident>;

/// Threads or agents that generate the load. When dropped before the run is over, they end by themselves.
pub(crate) trait Workers {
    /// Puts consumers to work. Returns how many tasks are to say [`Incident::Ready`].
    async fn start_consumers(&mut self) -> Result<usize, RunError>;
    /// Puts all others to work, in the same way.
    async fn start_others(&mut self) -> Result<usize, RunError>;
    /// How many threads they are together.
    fn thread_count(&self) -> usize;
    /// Lets all begin at the same time. Returns it; it may be still to come.
    fn start(&mut self) -> u64;
    /// Takes what each thread has measured; `None` for one that has ended. Always as many as there are threads.
    async fn collect(&mut self) -> Vec<Option<CollectedInterval>>;
    /// What the generator has used of its machines between the last two collections.
    fn usage(&mut self) -> Usage;
    /// Publishers are to stop.
    fn drain(&mut self);
    /// All are to close their connections.
    fn end(&mut self);
    /// Waits until they have ended.
    async fn join(self) -> Result<(), RunError>;
}
