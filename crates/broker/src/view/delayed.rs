//! Exchanges at which messages wait.

use model::name::VhostName;

use crate::broker::Broker;

/// What waits at one exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelaysView {
    /// Where it is.
    pub vhost: VhostName,
    /// Its name.
    pub exchange: String,
    /// Messages that wait.
    pub count: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// When the first of them is due, in milliseconds since 1970, or a little earlier if it has to be read from disk.
    pub next_due_ms: Option<u64>,
    /// Messages that have been released since the broker started.
    pub released_count: u64,
}

impl Broker {
    /// What waits at each exchange of a vhost that delays, or at which something waits still, by name; nothing if there is no such
    /// vhost.
    #[must_use]
    pub fn delays_views(&self, vhost: &str) -> Vec<DelaysView> {
        let Some(vhost) = self.vhosts.get(vhost) else { return Vec::new() };
        let view = |set: &std::sync::Arc<engine::delayed::DelaySet>| DelaysView {
            vhost: vhost.name().clone(),
            exchange: set.name().into_owned(),
            count: set.waiting_count(),
            bytes: set.bytes.get().cast_unsigned(),
            next_due_ms: set.next_due_ms().map(|due_ms| self.engine.clock.shown_ms(due_ms)),
            released_count: set.released.get(),
        };
        vhost.delays_in_use().iter().map(view).collect()
    }
}
