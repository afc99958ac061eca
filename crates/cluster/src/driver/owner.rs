//! What a node does as its member leads or does not.

use std::sync::Arc;

use store::{RecoveredStore, Store};

use crate::wire::NodeName;

/// What a node does as its member leads or does not. Called by one thread, and may take its time.
pub trait NodeOwner: Send + Sync + 'static {
    /// This node leads: it is to serve clients on this store, and returns when it does.
    ///
    /// # Errors
    ///
    /// It cannot. The node gives up.
    fn serve(&self, store: Arc<Store>, recovered: RecoveredStore) -> Result<(), String>;

    /// This node is about to hand over: it stops receiving, and returns when all that it has received is durable, or cannot
    /// become so in time. Then it is stopped.
    fn pause(&self);

    /// This node no longer leads: it stops serving, and returns when nothing of the store is in use.
    fn stop(&self);

    /// Another node leads, or none is known to.
    fn leader_changed(&self, leader: Option<NodeName>);

    /// The node cannot go on as a member; the reason. It has to end, or to join anew.
    fn failed(&self, reason: &str);
}
