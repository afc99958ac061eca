//! What a process gives its links.

use model::definition::{Binding, BindingChange};
use model::name::VhostName;
use tokio::sync::{mpsc, watch};

use crate::status::LinkStatus;

/// What links are given by the process that they run in, beside what [`bridge`] asks for.
pub trait Host: bridge::Host {
    /// The bindings of an exchange now, and from now on. `None`: there is no such exchange.
    fn follow_bindings(&self, vhost: &VhostName, exchange: &str) -> Option<FollowedBindings>;

    /// Whether a queue could do with messages of others: it is empty, and a consumer of its own broker waits. `None`: there is no such
    /// queue.
    fn follow_need(&self, vhost: &VhostName, queue: &str) -> Option<watch::Receiver<bool>>;

    /// A link's state has changed.
    fn state_changed(&self, status: &LinkStatus);

    /// A link is no more.
    fn removed(&self, status: &LinkStatus);
}

/// Bindings from an exchange.
#[derive(Debug)]
pub struct FollowedBindings {
    /// Those that there are.
    pub now: Vec<Binding>,
    /// What changes afterwards, in order. It ends with the exchange, or when too much waits.
    pub changes: mpsc::Receiver<BindingChange>,
}
