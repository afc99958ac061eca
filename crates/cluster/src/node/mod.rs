//! A node that may be one of several: from a directory and keys to a cluster, and what it does there.
//!
//! ```text
//!  links ─► CallRouter ─┬─► member's Driver ─► Host::serve, stop
//!                       └─► Inbox ─► NodeTask, one thread ─┬─► its parts: what is to be done?
//!  operators ─► ClusterNode (Control) ─► Inbox             ├─► Host::set_situation: where clients go
//!                                                          ├─► links: calls to peers, whose answers come back as events
//!                                                          └─► NodeView: what operators see
//! ```
//!
//! The task is the only one that changes what the node is ([`phase`]): forming, alone, a member. What takes time is done elsewhere and
//! comes back as an event: calls to peers, looking names up; only the broker's start and stop are waited for.
//!
//! The task is a thin shell. Its parts own the state, do no I/O but that of files, take the time as an argument, and return what is to be
//! done: `formation`: until there is a cluster; `membership`: which nodes belong to it, with `plans` to change that and `loss` to find a
//! member that lost what it promised; `exchange`: reports of peers, with their `alarms`; `vitals`: how peers are; `leadership`: which node
//! leads; `pending_orders`: those of operators that wait, with `operator_join`; `clients` and `situation`: where clients go.
//!
//! Other files: `handle`: [`ClusterNode`]; `inbox`: events, and `sources`: where they come from; `io`: what the task reaches others
//! through; `own`: who this node is; `report`: the payloads of calls; `view`: what operators see; `time`: what time it is; `durable`: what
//! is kept, in `files`; `starts`: which directory and which start of it this is, `seal`: by what else a copy is found; `memory`: what
//! others promised; `offline`: for a node that does not run; `discovery`: looking names up.

mod alarms;
mod clients;
mod discovery;
mod durable;
mod exchange;
mod files;
mod formation;
mod handle;
mod inbox;
mod io;
mod leadership;
mod loss;
mod membership;
mod memory;
mod offline;
mod operator_join;
mod own;
mod pending_orders;
mod phase;
mod plans;
mod report;
mod seal;
mod situation;
mod sources;
mod starts;
mod task;
mod time;
mod view;
mod vitals;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use store::file::Disk;
use store::member::MemberError;
use store::{RecoveredStore, Store};

use crate::address::Address;
use crate::control::NodeFigures;
use crate::driver::{DriverError, TICK};
use crate::formation::Settings;
use crate::peers::{ForwardedClient, LinkTls, StartError};
use crate::wire::{NodeName, Secret};

pub use discovery::{Discovery, FindAddress, Names};
pub use files::FileError;
pub use handle::ClusterNode;
pub use offline::{OfflineError, accept_copy, force_boot};
pub use situation::Situation;

/// Up to which level this program knows formats of journals, files and frames between nodes.
pub const LEVEL: u32 = 1;

/// What a node of a cluster runs on: its process, with listeners and, at times, a broker.
///
/// `serve`, `pause` and `stop` are called by one thread at a time, and may take their time. The others return at once.
pub trait Host: Send + Sync + 'static {
    /// Clients are to be served on this store; returns when they are. `ahead_ms`: how far the time is ahead of the system's clock by which
    /// everything goes that waits in the store; None: as the store says.
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

/// What a node is short of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeAlarms {
    /// Memory.
    pub is_memory_low: bool,
    /// Disk.
    pub is_disk_low: bool,
}

/// How a node begins.
pub struct NodeSetup {
    /// Its name.
    pub name: NodeName,
    /// Where its links listen. With port 0 the system chooses.
    pub listen: SocketAddr,
    /// Where its peers reach it; None: the host of its name, and the port it listens on.
    pub advertise: Option<Address>,
    /// What all nodes know; None: certificates decide which nodes may connect.
    pub secret: Option<Secret>,
    /// Mutual TLS, if wanted.
    pub tls: Option<Arc<LinkTls>>,
    /// Which Warren it is.
    pub version: String,
    /// Up to which level it knows formats: [`LEVEL`].
    pub level: u32,
    /// How it finds its peers.
    pub formation: Settings,
    /// Where their names are.
    pub names: Names,
    /// About its directory and its journal.
    pub store: store::Options,
    /// What holds it.
    pub disk: Arc<dyn Disk>,
    /// Between a leader's heartbeats.
    pub heartbeat: Duration,
    /// Without a leader until an election, at least; at most twice as long.
    pub election_timeout: Duration,
}

impl NodeSetup {
    fn timing(&self) -> consensus::Timing {
        let ticks = |time: Duration| (time.as_millis() / TICK.as_millis()).max(1) as u32;
        consensus::Timing { heartbeat_ticks: ticks(self.heartbeat), election_ticks: ticks(self.election_timeout) }
    }
}

/// Why a node does not run.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// Its links cannot be.
    #[error(transparent)]
    Links(#[from] StartError),
    /// Its directory cannot be used.
    #[error(transparent)]
    Store(#[from] store::OpenError),
    /// Its directory cannot be a member's.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// Nor this.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A file of its cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The disk said no.
    #[error("the data directory cannot be used: {0}")]
    Io(#[from] std::io::Error),
    /// It was given another name.
    #[error(
        "the data directory is {was}'s, and this node is called {is}: a member of a cluster keeps its name (warren.node_name)"
    )]
    Renamed {
        /// The directory's.
        was: String,
        /// The node's.
        is: NodeName,
    },
    /// Its peers have found it to have lost what it promised.
    #[error("{0}")]
    Lost(String),
    /// Its directory was copied.
    #[error(
        "{} is a copy of {name}'s directory: of what it has promised to the others to have, it may lack what came after. Empty the \
         directory, and it joins anew; or, if the directory was moved here and nothing has run on the original since, say \
         `warren ctl --data-dir {} accept_copy`",
        .dir.display(), .dir.display()
    )]
    Copy {
        /// Whose.
        name: NodeName,
        /// The directory.
        dir: PathBuf,
    },
    /// Peers could not find it.
    #[error("it is not known where peers reach {0}: its name has no host, so set warren.cluster.advertise")]
    NoAddress(NodeName),
    /// The broker on it cannot run.
    #[error("{0}")]
    Host(String),
}
