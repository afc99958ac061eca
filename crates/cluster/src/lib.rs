//! What makes nodes a cluster: the links between them, what drives a node's member of the group, how nodes come to be one, their
//! identities, and what operators ask of them.
//!
//! ```text
//!  engine, store ─► Links::send ─► queue of a peer and lane ─┐ wakes            ┌─► LinkHandler::message ─► engine, store
//!                                                            ▼                  │
//!                                              thread "cluster": a connection a peer and lane, each way
//! ```
//!
//! - [`wire`]: what travels on a link, without I/O: the handshake, the frames of each lane, what is refused and in which words.
//! - `peers`: the sockets. [`Links`] sends, [`LinkHandler`] receives; [`Setup`] is what they begin with.
//! - [`formation`]: which cluster a node joins, and which node forms one; `roster`: names, ids and addresses; `plan`: single changes of
//!   members on the way to what is wanted. All without I/O.
//! - [`control`]: what operators see and order, as a trait.
//! - `driver`: the member that [`Driver`] runs: its clock, its messages over links, its files; when the node's [`NodeOwner`] serves.
//! - `node`: [`ClusterNode`], which brings all of these together: what a node is, over a [`Host`] that serves clients.
//! - `call_router`: routes what comes by links to the node or to its member.
//!
//! Knows no broker. Whether a silent peer still lives is the engine's matter.

mod address;
mod call_router;
pub mod control;
mod driver;
pub mod formation;
mod node;
mod peers;
mod plan;
mod roster;
pub mod wire;

pub use consensus::MemberId;
pub use member::TRACE_POINTS;

pub use address::{ADDRESS_LEN_MAX, Address};
pub use call_router::{CallRouter, NodeCalls};
pub use driver::{Driver, DriverError, DriverSetup, NodeOwner, TICK};
pub use node::{
    ClusterNode, Contents, Discovery, FileError, FindAddress, Host, LEVEL, Names, NodeAlarms, NodeError, NodeSetup,
    OfflineError, Situation as ClientSituation, accept_copy, force_boot,
};
pub use peers::{
    CallAnswer, CallError, Fetch, FetchError, FileAbandoned, FileAnswer, ForwardError, ForwardedClient, LaneStatistics,
    LinkHandler, LinkTls, LinkTlsOptions, Links, NameError, PeerAddress, PeerEvent, PeerStatistics, PendingCall,
    RoundTrips, SendError, Setup, StartError,
};
pub use plan::{Action, Aim, CAUGHT_UP_ENTRIES, Facts, MembershipPlan, PlanRefusal, PlanWaits};
pub use roster::{NODES_MAX, Node, Roster, RosterUpdate, Stranger};
