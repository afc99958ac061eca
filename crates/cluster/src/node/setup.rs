//! How a node begins.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use store::file::Disk;

use super::discovery::Names;
use crate::address::Address;
use crate::driver::TICK;
use crate::formation::Settings;
use crate::peers::LinkTls;
use crate::wire::{NodeName, Secret};

/// Up to which level this program knows formats of journals, files and frames between nodes.
pub const LEVEL: u32 = 1;

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
    pub(super) fn timing(&self) -> consensus::Timing {
        let ticks = |time: Duration| (time.as_millis() / TICK.as_millis()).max(1) as u32;
        consensus::Timing { heartbeat_ticks: ticks(self.heartbeat), election_ticks: ticks(self.election_timeout) }
    }
}
