//! What a node of a cluster runs on.

use std::sync::Arc;

use store::{RecoveredStore, Store};

use super::alarms::NodeAlarms;
use super::situation::Situation;
use crate::control::NodeFigures;
use crate::peers::ForwardedClient;
use crate::wire::NodeName;

/// What a node of a cluster runs on: its process, with listeners and, at times, a broker.
///
/// `serve`, `pause` and `stop` are called by one thread at a time, and may take their time. The others return at once.
pub trait Host: Send + Sync + 'static {
    /// Clients are to be served on this store; returns when they are. `ahead_ms`: how far the time by which waiting messages in the store
    /// fall due is ahead of the system's clock; None: as the store says.
    ///
    /// # Errors
    ///
    /// They cannot be.
    fn serve(&self, store: Arc<Store>, recovered: RecoveredStore, ahead_ms: Option<i64>) -> Result<(), String>;

    /// Stops receiving from clients; returns when all that was received is durable, or cannot become so soon. What comes next
    /// is `stop`.
    fn pause(&self);

    /// Stops serving clients, which get the reason; returns when the store is no longer in use.
    fn stop(&self, reason: &str);

    /// What becomes of clients while they are not served here.
    fn set_situation(&self, situation: Situation);

    /// This node's own listeners take no clients, for this reason; those that other nodes pass on are served.
    fn refuse_own(&self, reason: Option<&str>);

    /// Connections of clients that are served now are closed, with this reason.
    fn close_clients(&self, reason: &str);

    /// A peer has passed a client on.
    fn forwarded(&self, client: ForwardedClient);

    /// What would be lost with the store that is served; None: nothing that was not there at its first start.
    fn contents(&self) -> Option<Contents>;

    /// What this node is short of. Asked twice a second.
    fn alarms(&self) -> NodeAlarms;

    /// What other nodes are short of: those that this node serves wait with publishing. Given again at each start of serving.
    fn peer_alarms(&self, alarms: &[(NodeName, NodeAlarms)]);

    /// What time it is for what waits in the store that is served, in milliseconds since 1970; None: none is. Asked once a second.
    fn broker_ms(&self) -> Option<u64>;

    /// What its process and its machine are at. Asked once a second by each peer.
    fn figures(&self) -> NodeFigures;

    /// The node cannot go on: its process has to end, with this sentence.
    fn failed(&self, reason: &str);
}

/// What a store has that its first start has not put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    /// Queues.
    pub queues: u64,
    /// Messages in them.
    pub messages: u64,
}
