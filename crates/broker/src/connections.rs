//! The connections that are open now: to be reached, and to be listed.
//!
//! A connection's task writes down how things stand at the end of each of its turns; a listing reads that and asks
//! no task anything.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use amqp::table::TableBuf;
use engine::statistics::Observed;
use engine::statistics::numbers::CONNECTION_COUNT;
use model::name::VhostName;
use net::{TcpInfo, TlsInfo};
use parking_lot::Mutex;
use queue::ConsumerId;
use store::DurableWaiter;
use telemetry::{Counter, Gauge, LocalCounter};

use crate::identity::Identity;
use crate::statistics::{ChannelCounters, ConsumerCounters};
use engine::effort::Effort;
use engine::outbox::{ConnectionEvent, Outbox};
use engine::queue_handle::{ConnectionId, QueueHandle};

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    next_id: AtomicU64,
    open: Mutex<OpenConnections>,
    /// Reads and writes of connections that have left `by_id`. Added to with these locked: a connection is always there or here.
    received_count: Counter,
    sent_count: Counter,
}

#[derive(Debug, Default)]
struct OpenConnections {
    by_id: HashMap<ConnectionId, Arc<ConnectionHandle>>,
    /// Those that are no longer in any listing: all has been said, and the client has not closed its socket.
    parting: HashMap<ConnectionId, Arc<ConnectionHandle>>,
    /// The notice that new connections get at once.
    end_notice: Option<EndNotice>,
}

/// The notice that all connections get when the broker is about to stop, including later ones.
#[derive(Debug, Clone)]
pub(crate) enum EndNotice {
    /// See [`ConnectionEvent::Pause`].
    Pause(Arc<()>),
    /// See [`ConnectionEvent::Close`].
    Close(Arc<str>),
    /// See [`ConnectionEvent::Cut`].
    Cut,
}

impl EndNotice {
    fn event(&self) -> ConnectionEvent {
        match self {
            EndNotice::Pause(unheard) => ConnectionEvent::Pause { unheard: unheard.clone() },
            EndNotice::Close(reason) => ConnectionEvent::Close { reason: reason.to_string() },
            EndNotice::Cut => ConnectionEvent::Cut,
        }
    }
}

/// What a connection takes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionMemory {
    /// What it has received and not understood.
    pub readers_len: u64,
    /// What is to be sent.
    pub writers_len: u64,
    /// Its channels and consumers.
    pub channels_len: u64,
    /// All else.
    pub other_len: u64,
}

impl ConnectionMemory {
    /// All of it.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.readers_len + self.writers_len + self.channels_len + self.other_len
    }

    /// Whether it takes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds another's.
    pub(crate) fn add(&mut self, other: &Self) {
        self.readers_len += other.readers_len;
        self.writers_len += other.writers_len;
        self.channels_len += other.channels_len;
        self.other_len += other.other_len;
    }
}

/// What has a connection's socket.
pub(crate) trait SocketProbe: std::fmt::Debug + Send + Sync {
    /// What the kernel knows of the way to the client.
    fn tcp_info(&self) -> Option<TcpInfo>;

    /// What the connection takes.
    fn memory(&self) -> Option<ConnectionMemory>;
}

/// What everybody may know of a connection, and how to reach it.
#[derive(Debug)]
pub(crate) struct ConnectionHandle {
    pub(crate) id: ConnectionId,
    pub(crate) outbox: Arc<Outbox>,
    /// What waits for the journal on its behalf.
    pub(crate) durable_waiter: OnceLock<Arc<dyn DurableWaiter>>,
    /// What has its socket.
    pub(crate) socket_probe: OnceLock<Arc<dyn SocketProbe>>,
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    /// What TLS agreed on, and whose certificate the client showed.
    pub(crate) tls: Option<Box<TlsInfo>>,
    pub(crate) connected_at_ms: u64,
    /// Set when the connection is open.
    pub(crate) opened: OnceLock<Opened>,
    state: AtomicU8,
    /// When it last had to wait, in milliseconds since 1970: RabbitMQ shows `flow` for a second after that.
    pub(crate) flow_at_ms: AtomicU64,
    pub(crate) traffic: Traffic,
    /// What it has taken of the processors' time, while that was counted.
    pub(crate) effort: Effort,
    pub(crate) observed: Observed<CONNECTION_COUNT>,
    pub(crate) channels: Mutex<BTreeMap<u16, Arc<ChannelHandle>>>,
    /// By the connection's own number of the consumer.
    pub(crate) consumers: Mutex<BTreeMap<u32, Arc<ConsumerHandle>>>,
}

/// What is known of a connection once it is open.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) identity: Arc<Identity>,
    pub(crate) vhost: VhostName,
    pub(crate) mechanism: Box<str>,
    pub(crate) client_properties: TableBuf,
    pub(crate) channel_max: u16,
    pub(crate) frame_max: u32,
    pub(crate) heartbeat_s: u16,
}

/// How far a connection has come, by RabbitMQ's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum ConnectionState {
    /// No user has logged in.
    #[default]
    Starting = 0,
    /// A user has, and what both sides can do is being agreed.
    Tuning = 1,
    /// A vhost is to be named.
    Opening = 2,
    /// It is open.
    Running = 3,
    /// It had to wait for the broker within the last second.
    Flow = 4,
    /// An alarm is on; it would be stopped if it published.
    Blocking = 5,
    /// It published, and is stopped.
    Blocked = 6,
    /// It is being closed.
    Closing = 7,
}

impl Opened {
    /// Bytes that it takes beside itself.
    pub(crate) fn memory_len(&self) -> usize {
        self.client_properties.as_table().as_bytes().len() + self.mechanism.len() + size_of::<Identity>()
    }
}

impl ConnectionState {
    const ALL: [ConnectionState; 8] = [
        ConnectionState::Starting,
        ConnectionState::Tuning,
        ConnectionState::Opening,
        ConnectionState::Running,
        ConnectionState::Flow,
        ConnectionState::Blocking,
        ConnectionState::Blocked,
        ConnectionState::Closing,
    ];

    /// RabbitMQ's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ConnectionState::Starting => "starting",
            ConnectionState::Tuning => "tuning",
            ConnectionState::Opening => "opening",
            ConnectionState::Running => "running",
            ConnectionState::Flow => "flow",
            ConnectionState::Blocking => "blocking",
            ConnectionState::Blocked => "blocked",
            ConnectionState::Closing => "closing",
        }
    }
}

/// Bytes and reads and writes of a socket, counted by its connection's task.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) received_len: LocalCounter,
    pub(crate) received_count: LocalCounter,
    pub(crate) sent_len: LocalCounter,
    pub(crate) sent_count: LocalCounter,
}

impl Traffic {
    #[inline]
    pub(crate) fn received(&self, len: usize) {
        self.received_len.add(len as u64);
        self.received_count.add(1);
    }

    #[inline]
    pub(crate) fn sent(&self, len: usize) {
        self.sent_len.add(len as u64);
        self.sent_count.add(1);
    }
}

/// How things stand on a channel.
#[derive(Debug)]
pub(crate) struct ChannelHandle {
    pub(crate) number: u16,
    pub(crate) unacked_count: Gauge,
    pub(crate) unconfirmed_count: Gauge,
    pub(crate) uncommitted_count: Gauge,
    pub(crate) uncommitted_ack_count: Gauge,
    pub(crate) consumer_count: Gauge,
    pub(crate) prefetch_count: Gauge,
    pub(crate) global_prefetch_count: Gauge,
    pub(crate) is_confirming: AtomicBool,
    pub(crate) is_transactional: AtomicBool,
    pub(crate) counters: ChannelCounters,
}

/// A consumer as it was asked for.
#[derive(Debug)]
pub(crate) struct ConsumerHandle {
    pub(crate) tag: Box<[u8]>,
    pub(crate) channel: u16,
    pub(crate) queue: Arc<QueueHandle>,
    /// As its queue knows it.
    pub(crate) id: ConsumerId,
    pub(crate) no_ack: bool,
    pub(crate) is_exclusive: bool,
    pub(crate) prefetch: u16,
    pub(crate) arguments: TableBuf,
    pub(crate) counters: Arc<ConsumerCounters>,
}

impl ChannelHandle {
    pub(crate) fn new(number: u16) -> Arc<Self> {
        Arc::new(Self {
            number,
            unacked_count: Gauge::new(),
            unconfirmed_count: Gauge::new(),
            uncommitted_count: Gauge::new(),
            uncommitted_ack_count: Gauge::new(),
            consumer_count: Gauge::new(),
            prefetch_count: Gauge::new(),
            global_prefetch_count: Gauge::new(),
            is_confirming: AtomicBool::new(false),
            is_transactional: AtomicBool::new(false),
            counters: ChannelCounters::default(),
        })
    }
}

impl ConnectionHandle {
    /// The waiter that is notified when the journal is durable further on.
    pub(crate) fn as_durable_waiter(&self) -> Arc<dyn DurableWaiter> {
        match self.durable_waiter.get() {
            Some(waiter) => waiter.clone(),
            None => self.outbox.clone(),
        }
    }

    pub(crate) fn new(
        id: ConnectionId,
        peer: SocketAddr,
        local: SocketAddr,
        tls: Option<TlsInfo>,
        connected_at_ms: u64,
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            outbox: Outbox::new(),
            durable_waiter: OnceLock::new(),
            socket_probe: OnceLock::new(),
            peer: canonical(peer),
            local: canonical(local),
            tls: tls.map(Box::new),
            connected_at_ms,
            opened: OnceLock::new(),
            state: AtomicU8::new(ConnectionState::Starting as u8),
            flow_at_ms: AtomicU64::new(0),
            traffic: Traffic::default(),
            effort: Effort::default(),
            observed: Observed::default(),
            channels: Mutex::default(),
            consumers: Mutex::default(),
        })
    }

    /// RabbitMQ's name of a connection. Over a Unix-domain socket clients have no ports: there its number takes the port's place,
    /// so that no two connections have one name.
    pub(crate) fn name(&self) -> String {
        match (self.peer.port(), self.peer.ip()) {
            (0, IpAddr::V4(host)) => format!("{host}:{} -> {}", self.id.0, self.local),
            (0, IpAddr::V6(host)) => format!("[{host}]:{} -> {}", self.id.0, self.local),
            _ => format!("{} -> {}", self.peer, self.local),
        }
    }

    pub(crate) fn state(&self) -> ConnectionState {
        let state = self.state.load(Ordering::Relaxed);
        ConnectionState::ALL.into_iter().find(|known| *known as u8 == state).unwrap_or_default()
    }

    pub(crate) fn set_state(&self, state: ConnectionState) {
        self.state.store(state as u8, Ordering::Relaxed);
    }

    /// Whether the connection is open as this user.
    pub(crate) fn is_of(&self, user: &str) -> bool {
        self.opened.get().is_some_and(|opened| opened.identity.name() == user)
    }
}

/// An address of IPv4 that came in over a socket of both kinds is one of IPv4, as RabbitMQ shows it.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

impl Connections {
    pub(crate) fn next_id(&self) -> ConnectionId {
        ConnectionId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Adds a connection. Returns the event that it has to handle before it is read from.
    pub(crate) fn add(&self, connection: Arc<ConnectionHandle>) -> Option<ConnectionEvent> {
        let mut open = self.open.lock();
        open.by_id.insert(connection.id, connection);
        open.end_notice.as_ref().map(EndNotice::event)
    }

    /// Takes a connection out of listings. It may still have a while to go.
    pub(crate) fn remove(&self, id: ConnectionId) {
        let open = &mut *self.open.lock();
        if let Some(connection) = open.by_id.remove(&id) {
            self.received_count.add(connection.traffic.received_count.get());
            self.sent_count.add(connection.traffic.sent_count.get());
            open.parting.insert(id, connection);
        }
        if open.by_id.is_empty() {
            open.by_id.shrink_to_fit();
        }
    }

    /// A connection that was removed has ended.
    pub(crate) fn forget(&self, id: ConnectionId) {
        let parting = &mut self.open.lock().parting;
        parting.remove(&id);
        if parting.is_empty() {
            parting.shrink_to_fit();
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.open.lock().by_id.len()
    }

    /// Reads from clients' sockets that brought something, and writes to them, so far.
    pub(crate) fn traffic_count(&self) -> (u64, u64) {
        let open = self.open.lock();
        let closed = (self.received_count.get(), self.sent_count.get());
        open.by_id.values().fold(closed, |(received, sent), connection| {
            let Traffic { received_count, sent_count, .. } = &connection.traffic;
            (received + received_count.get(), sent + sent_count.get())
        })
    }

    pub(crate) fn get(&self, id: ConnectionId) -> Option<Arc<ConnectionHandle>> {
        self.open.lock().by_id.get(&id).cloned()
    }

    /// All of them, in the order in which they came.
    pub(crate) fn all(&self) -> Vec<Arc<ConnectionHandle>> {
        let mut all: Vec<_> = self.open.lock().by_id.values().cloned().collect();
        all.sort_unstable_by_key(|connection| connection.id);
        all
    }

    /// Notifies every connection, and from now on each new one.
    pub(crate) fn announce_end(&self, notice: &EndNotice) {
        let notified: Vec<_> = {
            let mut open = self.open.lock();
            open.end_notice = Some(notice.clone());
            open.by_id.values().chain(open.parting.values()).cloned().collect()
        };
        notified.iter().for_each(|connection| connection.outbox.notify(notice.event()));
    }

    /// Notifies every connection.
    pub(crate) fn notify_all(&self, event: impl Fn() -> ConnectionEvent) {
        self.notify(|_| true, event);
    }

    /// Notifies the connections for which `is_meant` returns true.
    pub(crate) fn notify(&self, is_meant: impl Fn(&ConnectionHandle) -> bool, event: impl Fn() -> ConnectionEvent) {
        let meant = self.all().into_iter().filter(|connection| is_meant(connection));
        meant.for_each(|connection| connection.outbox.notify(event()));
    }

    /// Lets every connection look again at what it waits for and what waits for it.
    pub(crate) fn wake_all(&self) {
        self.all().into_iter().for_each(|connection| connection.outbox.wake_up());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(id: u64, peer: &str) -> String {
        let [peer, local] = [peer, "127.0.0.1:0"].map(|address| address.parse().unwrap());
        ConnectionHandle::new(ConnectionId(id), peer, local, None, 0).name()
    }

    #[test]
    fn a_connection_without_a_port_is_named_by_its_number() {
        assert_eq!(name(7, "192.0.2.1:50000"), "192.0.2.1:50000 -> 127.0.0.1:0");
        assert_eq!(name(7, "127.0.0.1:0"), "127.0.0.1:7 -> 127.0.0.1:0");
        assert_eq!(name(70_000, "127.0.0.1:0"), "127.0.0.1:70000 -> 127.0.0.1:0");
        assert_eq!(name(8, "[::1]:0"), "[::1]:8 -> 127.0.0.1:0");
    }

    #[test]
    fn an_address_of_ipv4_is_shown_as_one_whatever_the_socket() {
        assert_eq!(name(9, "[::ffff:192.0.2.1]:50000"), "192.0.2.1:50000 -> 127.0.0.1:0");
    }
}
