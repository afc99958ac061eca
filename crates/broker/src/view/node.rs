//! The node as a whole.

use std::path::Path;

use crate::alarms::{ActiveAlarms, PeerAlarms};
use crate::broker::Broker;
use crate::identity::Interface;
use crate::machine::{free_len, resident_len};

/// The node.
#[derive(Debug, Clone)]
pub struct NodeView {
    /// Resident memory, in bytes.
    pub memory_used_len: u64,
    /// Where the memory alarm begins, in bytes.
    pub memory_limit_len: u64,
    /// Free disk, in bytes.
    pub disk_free_len: u64,
    /// Where the disk alarm begins, in bytes.
    pub disk_free_limit_len: u64,
    /// Alarms that are on.
    pub alarms: ActiveAlarms,
    /// Whether messages were lost to damaged files, and no operator has taken note.
    pub has_data_loss: bool,
    /// Open connections.
    pub connection_count: usize,
    /// When the node's process began, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// How long that has been running, in milliseconds.
    pub uptime_ms: u64,
    /// What was opened and closed since the broker's start.
    pub churn: Churn,
}

/// What was opened and closed since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Churn {
    /// Connections accepted.
    pub connections_opened: u64,
    /// Connections that have ended.
    pub connections_closed: u64,
    /// Channels opened.
    pub channels_opened: u64,
    /// Channels closed.
    pub channels_closed: u64,
    /// Declarations of queues, of those that were there, too.
    pub queues_declared: u64,
    /// Queues made.
    pub queues_created: u64,
    /// Queues deleted.
    pub queues_deleted: u64,
}

/// How many there are of everything on the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Open connections.
    pub connections: u64,
    /// Open channels.
    pub channels: u64,
    /// Exchanges.
    pub exchanges: u64,
    /// Queues.
    pub queues: u64,
    /// Consumers.
    pub consumers: u64,
}

/// How often clients tried to log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthAttemptsView {
    /// Successfully.
    pub succeeded: u64,
    /// In vain.
    pub failed: u64,
}

impl Broker {
    /// The node, with what is free in its data directory.
    #[must_use]
    pub fn node_view(&self, data_dir: &Path) -> NodeView {
        NodeView {
            memory_used_len: resident_len().unwrap_or(0),
            memory_limit_len: self.alarms.memory_limit_len(),
            disk_free_len: free_len(data_dir).unwrap_or(0),
            disk_free_limit_len: self.alarms.disk_free_limit_len(),
            alarms: self.alarms(),
            has_data_loss: self.has_data_loss(),
            connection_count: self.connections.count(),
            started_at_ms: self.started_at_ms,
            uptime_ms: self.options.process_started_at.elapsed().as_millis() as u64,
            churn: self.churn(),
        }
    }

    /// What was opened and closed since the start.
    #[must_use]
    pub fn churn(&self) -> Churn {
        let counters = &self.counters;
        Churn {
            connections_opened: counters.connections_opened.get(),
            connections_closed: counters.connections_closed.get(),
            channels_opened: counters.channels_opened.get(),
            channels_closed: counters.channels_closed.get(),
            queues_declared: counters.queues_declared.get(),
            queues_created: counters.queues_created.get(),
            queues_deleted: counters.queues_deleted.get(),
        }
    }

    /// Alarms that are on.
    #[must_use]
    pub fn alarms(&self) -> ActiveAlarms {
        self.alarms.view()
    }

    /// Alarms of other nodes of the cluster.
    #[must_use]
    pub fn peer_alarms(&self) -> Vec<PeerAlarms> {
        self.alarms.peers()
    }

    /// How many there are of everything in the vhosts that `is_shown` says. Costs nothing by the number of queues.
    #[must_use]
    pub fn totals(&self, is_shown: impl Fn(&str) -> bool) -> Totals {
        let mut totals = Totals::default();
        for vhost in self.vhosts.all().iter().filter(|vhost| is_shown(vhost.name().as_str())) {
            totals.exchanges += vhost.exchange_count() as u64;
            totals.queues += vhost.queue_count() as u64;
            // What threads count each for itself may be less than nothing for an instant.
            totals.consumers += vhost.counters.messages().consumer_count.cast_signed().max(0).cast_unsigned();
        }
        for connection in self.connections.all() {
            let Some(opened) = connection.opened.get() else { continue };
            if is_shown(opened.vhost.as_str()) {
                totals.connections += 1;
                totals.channels += connection.channels.lock().len() as u64;
            }
        }
        totals
    }

    /// How often clients tried to log in this way since the start, or since the last reset.
    #[must_use]
    pub fn auth_attempts(&self, interface: Interface) -> AuthAttemptsView {
        let outcomes = self.auth_attempts.of(interface);
        AuthAttemptsView { succeeded: outcomes.succeeded.get(), failed: outcomes.failed.get() }
    }

    /// Counts attempts to log in from zero again.
    pub fn reset_auth_attempts(&self) {
        self.auth_attempts.reset();
    }

    /// How often a user or an address has been locked out for its failures since the start.
    #[must_use]
    pub fn lockout_count(&self) -> u64 {
        self.lockout.begun.get()
    }

    /// What the broker was started with.
    #[must_use]
    pub fn options(&self) -> &crate::Options {
        &self.options
    }
}
