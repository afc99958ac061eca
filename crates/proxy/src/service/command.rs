//! The commands to the proxy's threads, and their answers.

use tokio::sync::oneshot;

use crate::switchboard::{Options, Refusal, Report};

#[derive(Debug)]
pub(crate) enum Command {
    /// Accept no more clients.
    StopListening,
    /// Close all clients.
    CloseClients(Refusal),
    /// Close upstream connections on which nothing is under way.
    CloseUpstreamConnections,
    /// Use these options from now on.
    Configure(Box<Options>),
    /// Say how it is.
    Report(oneshot::Sender<Report>),
    /// End, whatever is under way.
    Stop,
}
