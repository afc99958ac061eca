//! Connections and channels as they are listed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use amqp::table::Table;
use net::TlsInfo;

use crate::broker::Broker;
use crate::connections::{ChannelHandle, ConnectionHandle, ConnectionState};
use crate::statistics::Observable;
use engine::queue_handle::ConnectionId;

/// How long RabbitMQ shows a connection in flow after it had to wait.
const FLOW_SHOWN_MS: u64 = 1000;

/// A connection.
#[derive(Debug, Clone)]
pub struct ConnectionView {
    pub(super) handle: Arc<ConnectionHandle>,
    /// How far it has come.
    pub state: ConnectionState,
}

/// What is known of a connection that is open.
#[derive(Debug, Clone, Copy)]
pub struct OpenedView<'a> {
    /// The user.
    pub user: &'a str,
    /// The vhost.
    pub vhost: &'a str,
    /// The SASL mechanism by which it logged in.
    pub mechanism: &'a str,
    /// What the client says about itself.
    pub client_properties: Table<'a>,
    /// Most channels; 0 for no limit.
    pub channel_max: u16,
    /// Longest frame, in bytes.
    pub frame_max: u32,
    /// Heartbeat interval, in seconds; 0 for none.
    pub heartbeat_s: u16,
}

impl ConnectionView {
    /// Its number on this node, which no other connection gets.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.handle.id.0
    }

    /// RabbitMQ's name of it.
    #[must_use]
    pub fn name(&self) -> String {
        self.handle.name()
    }

    /// The client's address.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.handle.peer
    }

    /// The address that it connected to.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.handle.local
    }

    /// When it came, in milliseconds since 1970.
    #[must_use]
    pub fn connected_at_ms(&self) -> u64 {
        self.handle.connected_at_ms
    }

    /// Open channels.
    #[must_use]
    pub fn channel_count(&self) -> usize {
        self.handle.channels.lock().len()
    }

    /// Bytes received and sent.
    #[must_use]
    pub fn traffic_len(&self) -> (u64, u64) {
        (self.handle.traffic.received_len.get(), self.handle.traffic.sent_len.get())
    }

    /// Reads and writes of its socket.
    #[must_use]
    pub fn traffic_count(&self) -> (u64, u64) {
        (self.handle.traffic.received_count.get(), self.handle.traffic.sent_count.get())
    }

    /// What TLS agreed on, and whose certificate the client showed.
    #[must_use]
    pub fn tls(&self) -> Option<&TlsInfo> {
        self.handle.tls.as_deref()
    }

    /// What is known since it is open.
    #[must_use]
    pub fn opened(&self) -> Option<OpenedView<'_>> {
        let opened = self.handle.opened.get()?;
        Some(OpenedView {
            user: opened.identity.name(),
            vhost: opened.vhost.as_str(),
            mechanism: &opened.mechanism,
            client_properties: opened.client_properties.as_table(),
            channel_max: opened.channel_max,
            frame_max: opened.frame_max,
            heartbeat_s: opened.heartbeat_s,
        })
    }
}

/// A channel.
#[derive(Debug, Clone)]
pub struct ChannelView {
    /// Its connection.
    pub connection: ConnectionView,
    pub(super) handle: Arc<ChannelHandle>,
    /// Its number on it.
    pub number: u16,
    /// Messages handed out and not settled.
    pub unacked_count: u64,
    /// Publishes that have not been confirmed.
    pub unconfirmed_count: u64,
    /// Publishes of an open transaction.
    pub uncommitted_count: u64,
    /// Settlements of an open transaction.
    pub uncommitted_ack_count: u64,
    /// Its consumers.
    pub consumer_count: u64,
    /// The limit for consumers that come; 0 for none.
    pub prefetch_count: u64,
    /// The limit for the whole channel; 0 for none.
    pub global_prefetch_count: u64,
    /// Whether publishes are confirmed.
    pub is_confirming: bool,
    /// Whether it is transactional.
    pub is_transactional: bool,
}

impl ChannelView {
    fn of(connection: &ConnectionView, channel: &Arc<ChannelHandle>) -> Self {
        let count = |gauge: &telemetry::Gauge| gauge.get().cast_unsigned();
        ChannelView {
            connection: connection.clone(),
            handle: channel.clone(),
            number: channel.number,
            unacked_count: count(&channel.unacked_count),
            unconfirmed_count: count(&channel.unconfirmed_count),
            uncommitted_count: count(&channel.uncommitted_count),
            uncommitted_ack_count: count(&channel.uncommitted_ack_count),
            consumer_count: count(&channel.consumer_count),
            prefetch_count: count(&channel.prefetch_count),
            global_prefetch_count: count(&channel.global_prefetch_count),
            is_confirming: channel.is_confirming.load(Ordering::Relaxed),
            is_transactional: channel.is_transactional.load(Ordering::Relaxed),
        }
    }

    /// Since when nothing has happened on its connection, and so on it, in milliseconds since 1970; None if something has lately.
    #[must_use]
    pub fn idle_since_ms(&self) -> Option<u64> {
        let connection = &self.connection.handle;
        connection.observed.rests_since_ms(&connection.numbers(), connection.connected_at_ms)
    }

    /// RabbitMQ's name of it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} ({})", self.connection.name(), self.number)
    }
}

impl Broker {
    fn view_of(&self, handle: Arc<ConnectionHandle>, now_ms: u64) -> ConnectionView {
        let has_waited = now_ms < handle.flow_at_ms.load(Ordering::Relaxed) + FLOW_SHOWN_MS;
        let state = match handle.state() {
            ConnectionState::Running if self.alarms.is_on() => ConnectionState::Blocking,
            ConnectionState::Running if has_waited => ConnectionState::Flow,
            state => state,
        };
        ConnectionView { handle, state }
    }

    /// All connections, in the order in which they came.
    #[must_use]
    pub fn connection_views(&self) -> Vec<ConnectionView> {
        let now_ms = self.engine.clock.now_ms();
        self.connections.all().into_iter().map(|handle| self.view_of(handle, now_ms)).collect()
    }

    pub(super) fn connection_view_of(&self, id: ConnectionId) -> Option<ConnectionView> {
        Some(self.view_of(self.connections.get(id)?, self.engine.clock.now_ms()))
    }

    /// The connection of this number.
    #[must_use]
    pub fn connection_view_by_id(&self, id: u64) -> Option<ConnectionView> {
        self.connection_view_of(ConnectionId(id))
    }

    /// The connection of this name.
    #[must_use]
    pub fn connection_view(&self, name: &str) -> Option<ConnectionView> {
        self.connection_views().into_iter().find(|connection| connection.name() == name)
    }

    /// All channels, by connection and number.
    #[must_use]
    pub fn channel_views(&self) -> Vec<ChannelView> {
        self.connection_views().iter().flat_map(|connection| self.channels_of(connection)).collect()
    }

    /// The channels of a connection, by number.
    #[must_use]
    pub fn channels_of(&self, connection: &ConnectionView) -> Vec<ChannelView> {
        let channels: Vec<_> = connection.handle.channels.lock().values().cloned().collect();
        channels.iter().map(|channel| ChannelView::of(connection, channel)).collect()
    }
}
