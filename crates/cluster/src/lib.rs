//! What makes nodes a cluster: the links between them, what drives a node's member of the group, how nodes come to be one, who they are,
//! and what operators ask of them.
//!
//! ```text
//!  engine, store ─► Links::send ─► queue of a peer and lane ─┐ wakes            ┌─► LinkHandler::message ─► engine, store
//!                                                            ▼                  │
//!                                              thread "cluster": a connection a peer and lane, each way
//! ```
//!
//! - [`link`]: what travels on a link, without I/O: the handshake, the frames of each lane, what is refused and in which words.
//! - `links`: the sockets. [`Links`] is what sends, [`LinkHandler`] what is told; [`Setup`] is what they begin with.
//! - [`formation`]: which cluster a node joins, and who forms one; `roster`: names, ids and addresses; `plan`: single changes of
//!   members on the way to what is wanted. All without I/O.
//! - [`control`]: what operators see and order, as a trait.
//! - `driver`: the member that [`Driver`] runs: its clock, its messages over links, its files; when the node's [`NodeOwner`] serves.
//! - `node`: [`ClusterNode`], which brings all of these together: what a node is, over a [`Host`] that serves clients.
//! - `switchboard`: what comes by links goes to the node or to its member.
//!
//! Knows no broker. Whether a silent peer still lives is the engine's matter.

mod address;
pub mod control;
mod driver;
pub mod formation;
pub mod link;
mod links;
mod node;
mod plan;
mod roster;
mod switchboard;

pub use address::{ADDRESS_LEN_MAX, Address};
pub use driver::{Driver, DriverError, DriverSetup, NodeOwner, TICK};
pub use links::{
    CallAnswer, CallError, Fetch, FetchError, FileAbandoned, FileAnswer, ForwardError, ForwardedClient, LaneStatistics,
    LinkHandler, LinkTls, LinkTlsOptions, Links, NoName, NotSent, PeerAddress, PeerEvent, PeerStatistics, PendingCall,
    RoundTrips, Setup, StartError,
};
pub use node::{
    ClusterNode, Contents, Discovery, FileError, FindAddress, Host, LEVEL, Names, NodeAlarms, NodeError, NodeSetup,
    OfflineError, Standing as ClientStanding, accept_copy, force_boot,
};
pub use plan::{Action, Aim, CAUGHT_UP_ENTRIES, Facts, MembershipPlan, PlanRefusal, PlanWaits};
pub use roster::{Heard, NODES_MAX, Node, Roster, Stranger};
pub use switchboard::{NodeCalls, Switchboard};
