//! The topology, as far as the engine asks it: where messages are routed that queues and exchanges send on.

use std::sync::Arc;

use message::{StoredContent, View};
use routing::Epoch;

use crate::statistics::VhostCounters;
use crate::targets::Targets;

/// A message whose queues are asked for.
#[derive(Clone, Copy)]
pub struct Routing<'a> {
    /// The exchange that it comes to.
    pub exchange: &'a [u8],
    /// Its own key, and those in its headers.
    pub routing_keys: &'a [&'a [u8]],
    /// Its properties and headers.
    pub view: &'a View<'a>,
    /// Its content, should it come by an exchange that keeps it.
    pub content: &'a dyn Fn() -> StoredContent,
    /// Whether it waits where it comes to an exchange that delays.
    pub is_delayed: bool,
}

/// The route of a message.
pub struct Routed {
    /// Its queues, and where it waits.
    pub targets: Targets,
    /// Set when exchange and routing key alone led here: until when that holds.
    pub cacheable_at: Option<Epoch>,
}

/// The vhosts. Asked without any lock of the engine.
pub trait Router: Send + Sync {
    /// The vhost of this name, if it is there.
    fn vhost(&self, name: &str) -> Option<Arc<dyn VhostRouter>>;
}

/// The exchanges and bindings of one vhost.
pub trait VhostRouter: Send + Sync {
    /// The route of a dead letter; `None`: its exchange is not there.
    fn route_dead_letter(&self, routing: &Routing<'_>) -> Option<Targets>;

    /// The route of a message that has waited at its exchange; `None`: that is not there.
    fn route_released(&self, routing: &Routing<'_>) -> Option<Routed>;

    /// Changes whenever a route may have.
    fn epoch(&self) -> Epoch;

    /// What is counted for the vhost.
    fn counters(&self) -> &Arc<VhostCounters>;
}
