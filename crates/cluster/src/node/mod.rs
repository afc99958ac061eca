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
//! Other files: `handle`: [`ClusterNode`], which `setup` begins over a `host`; `inbox`: events, and `sources`: where they come from; `io`:
//! what the task reaches others through; `own`: this node's identity; `report`: the payloads of calls; `view`: what operators see; `time`:
//! what time it is; `durable`: what is kept, in `files`; `starts`: which directory and which start of it this is, `seal`: by what else a
//! copy is found; `memory`: what others promised; `offline`: for a node that does not run; `discovery`: looking names up.

mod alarms;
mod clients;
mod discovery;
mod durable;
mod error;
mod exchange;
mod files;
mod formation;
mod handle;
mod host;
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
mod setup;
mod situation;
mod sources;
mod starts;
mod task;
mod time;
mod view;
mod vitals;

pub use alarms::NodeAlarms;
pub use discovery::{Discovery, FindAddress, Names};
pub use error::NodeError;
pub use files::FileError;
pub use handle::ClusterNode;
pub use host::{Contents, Host};
pub use offline::{OfflineError, accept_copy, force_boot};
pub use setup::{LEVEL, NodeSetup};
pub use situation::Situation;
