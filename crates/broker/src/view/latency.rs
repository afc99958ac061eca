//! Where messages lose time, and what the kernel knows of the way to clients.

use std::time::Instant;

use engine::statistics::{StageCounts, StagesView};
use net::TcpInfo;

use super::{ConnectionView, QueueView};
use crate::broker::Broker;

/// A connection, and what the kernel knows of its way.
#[derive(Debug, Clone)]
pub struct SlowConnection {
    /// The connection.
    pub connection: ConnectionView,
    /// What the kernel knows.
    pub tcp: TcpInfo,
}

impl Broker {
    /// How long messages of the node were in each stage.
    #[must_use]
    pub fn stages(&self) -> StagesView {
        self.engine.statistics.stages.look(Instant::now())
    }

    /// The same since the start.
    #[must_use]
    pub fn stage_counts(&self) -> StageCounts {
        self.engine.statistics.stages.counts()
    }

    /// How long messages of a vhost were in each stage; none if there is no such vhost.
    #[must_use]
    pub fn stages_of_vhost(&self, vhost: &str) -> Option<StagesView> {
        Some(self.vhosts.get(vhost)?.counters.stages().look(Instant::now()))
    }

    /// The same since the start.
    #[must_use]
    pub fn stage_counts_of_vhost(&self, vhost: &str) -> Option<StageCounts> {
        Some(self.vhosts.get(vhost)?.counters.stages().counts())
    }

    /// The queues that are watched, by vhost and name.
    #[must_use]
    pub fn watched_queues(&self) -> Vec<QueueView> {
        self.watched.all(&self.vhosts).into_iter().map(|handle| QueueView { handle }).collect()
    }

    /// The connections with the longest round trips, at most so many, the longest first. Asks the kernel about each connection.
    #[must_use]
    pub fn slowest_connections(&self, count_max: usize) -> Vec<SlowConnection> {
        let known = |connection: ConnectionView| {
            let tcp = connection.tcp_info()?;
            connection.opened()?;
            Some(SlowConnection { connection, tcp })
        };
        let mut slow: Vec<_> = self.connection_views().into_iter().filter_map(known).collect();
        slow.sort_by_key(|slow| std::cmp::Reverse(slow.tcp.round_trip));
        slow.truncate(count_max);
        slow
    }
}

impl QueueView {
    /// How long messages of the queue were in each stage, if it is watched.
    #[must_use]
    pub fn stages(&self) -> Option<StagesView> {
        let watched = self.handle.watched.read().clone()?;
        Some(watched.look(Instant::now()))
    }

    /// The same since it is watched.
    #[must_use]
    pub fn stage_counts(&self) -> Option<StageCounts> {
        Some(self.handle.watched.read().as_ref()?.counts())
    }
}

impl ConnectionView {
    /// What the kernel knows of the way to the client; `None` of what is no TCP connection, where the kernel does not say, and of a
    /// connection that is at work all the time.
    #[must_use]
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        self.handle.socket_probe.get()?.tcp_info()
    }
}
