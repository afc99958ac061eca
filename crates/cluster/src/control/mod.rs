//! What operators ask of a node that may be one of several: how its cluster stands, and what is to become of it.
//!
//! The driver implements [`Control`]; the HTTP API, metrics and commands are over it. Where no cluster is possible there is no `Control`,
//! and all of these answer as a node alone does.

mod error;
mod figures;
mod metrics;
mod trouble;
mod view;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use error::{ControlError, ErrorKind};
pub use figures::{Context, NodeFigures};
pub use metrics::{ClusterMetrics, LaneBytes, MemberMetrics};
pub use trouble::{Trouble, TroubleKind};
pub use view::{ClusterView, LinkView, LogView, MemberView, Role};

/// The outcome of an order, soon, or an error with the reason. Dropping it does not take the order back.
pub type Outcome<T> = Pin<Box<dyn Future<Output = Result<T, ControlError>> + Send>>;

/// A node of a cluster, or one that may join one.
///
/// Each node passes orders on to the leader, which passes them to the node that they name; where none is named, it is the one that is
/// asked. Those that were given twice do no harm.
pub trait Control: Send + Sync + fmt::Debug {
    /// How things stand, as this node knows it. Asks no other node, and takes no time: it is asked for each row of a list.
    fn view(&self) -> Arc<ClusterView>;

    /// What is measured here. Asks no other node, and takes no time.
    fn metrics(&self) -> ClusterMetrics;

    /// This node joins the cluster of that one: the name of a node, or where it is. `force`: what it has is lost.
    fn join(&self, seed: &str, force: bool) -> Outcome<()>;

    /// A node that does not run leaves the cluster for ever.
    fn forget(&self, name: &str) -> Outcome<()>;

    /// That node leaves its cluster, and all that it has is lost. `force`: also where the others cannot be reached.
    fn reset(&self, node: Option<&str>, force: bool) -> Outcome<()>;

    /// That node hands over what it leads, and no longer takes clients.
    fn drain(&self, node: Option<&str>) -> Outcome<()>;

    /// That node takes clients again.
    fn revive(&self, node: Option<&str>) -> Outcome<()>;

    /// That node no longer serves clients and leads nothing, while its process and its socket go on, also through a reset and into
    /// another cluster; or does again. A process begins with serving.
    fn run_app(&self, node: Option<&str>, runs: bool) -> Outcome<()>;

    /// Hands leadership to that node, or to the one that is best for it; returns which node leads.
    fn transfer(&self, to: Option<&str>) -> Outcome<String>;
}
