//! What keeps the broker busy: the busiest queues, connections, channels, vhosts or users between two looks.
//!
//! Both looks are of one caller, and nothing is remembered when that has left. A look takes a few numbers of each object that it is about;
//! how long an object was at work is counted only between the looks (see [`engine::effort`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::effort::Viewer;
use engine::queue_handle::{ConnectionId, QueueHandle};
use model::ids::QueueId;

use crate::broker::Broker;
use crate::connections::ConnectionHandle;
use crate::machine;
use crate::statistics::Observable;
use crate::statistics::numbers::{CHANNEL, QUEUE, VHOST};

/// Which objects are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopOf {
    /// Queues.
    Queues,
    /// Connections.
    Connections,
    /// Channels.
    Channels,
    /// Vhosts.
    Vhosts,
    /// Users, by their connections.
    Users,
}

impl TopOf {
    /// All of them.
    pub const ALL: [TopOf; 5] = [TopOf::Queues, TopOf::Connections, TopOf::Channels, TopOf::Vhosts, TopOf::Users];

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TopOf::Queues => "queues",
            TopOf::Connections => "connections",
            TopOf::Channels => "channels",
            TopOf::Vhosts => "vhosts",
            TopOf::Users => "users",
        }
    }
}

/// By what they are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopBy {
    /// Time at work.
    Cpu,
    /// Messages that came in or were handed out.
    Messages,
    /// Bytes: of bodies that came into a queue, or of what a connection received and sent.
    Bytes,
    /// Time for which it had to wait.
    Waiting,
    /// Memory now.
    Memory,
}

impl TopBy {
    /// All of them.
    pub const ALL: [TopBy; 5] = [TopBy::Cpu, TopBy::Messages, TopBy::Bytes, TopBy::Waiting, TopBy::Memory];

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TopBy::Cpu => "cpu",
            TopBy::Messages => "messages",
            TopBy::Bytes => "bytes",
            TopBy::Waiting => "waiting",
            TopBy::Memory => "memory",
        }
    }
}

/// What is compared, and how many are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopRequest {
    /// Which objects.
    pub of: TopOf,
    /// By what.
    pub by: TopBy,
    /// The least first.
    pub is_reversed: bool,
    /// So many.
    pub count: usize,
    /// Only those with this in their names.
    pub filter: Option<String>,
    /// Only those of this vhost.
    pub vhost: Option<String>,
    /// Only those of this user.
    pub user: Option<String>,
    /// Only channels of this connection.
    pub connection: Option<String>,
}

/// What an object has done so far.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    messages: u64,
    bytes: u64,
    busy_ns: u64,
    waiting_ns: u64,
}

impl Done {
    fn add(&mut self, other: Done) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.busy_ns += other.busy_ns;
        self.waiting_ns += other.waiting_ns;
    }

    /// A connection works for its channels by how many messages each has: what of it was for one with so many.
    fn share_of(self, messages: u64) -> Done {
        let whole = u128::from(self.messages.max(1));
        let share =
            |of_whole: u64| u64::try_from(u128::from(of_whole) * u128::from(messages) / whole).unwrap_or(u64::MAX);
        Done { messages, bytes: share(self.bytes), busy_ns: share(self.busy_ns), waiting_ns: share(self.waiting_ns) }
    }

    fn since(self, before: Done) -> Done {
        Done {
            messages: self.messages.saturating_sub(before.messages),
            bytes: self.bytes.saturating_sub(before.bytes),
            busy_ns: self.busy_ns.saturating_sub(before.busy_ns),
            waiting_ns: self.waiting_ns.saturating_sub(before.waiting_ns),
        }
    }
}

/// What distinguishes one object from the others of its kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key {
    Queue(QueueId),
    Connection(ConnectionId),
    Channel(ConnectionId, u16),
    Named(Arc<str>),
}

/// An object that is compared.
#[derive(Debug, Clone)]
enum Object {
    Queue(Arc<QueueHandle>),
    Connection(Arc<ConnectionHandle>),
    Channel(Arc<ConnectionHandle>, u16),
    /// A vhost or a user.
    Named(Arc<str>),
}

/// The first look.
#[derive(Debug)]
pub struct TopBegin {
    request: TopRequest,
    at: Instant,
    processor_s: f64,
    before: HashMap<Key, Done>,
    _viewer: Viewer,
}

/// An object between two looks.
#[derive(Debug, Clone, PartialEq)]
pub struct TopRow {
    /// Its name.
    pub name: String,
    /// Its vhost, if it is in one.
    pub vhost: Option<String>,
    /// Its user, if it has one.
    pub user: Option<String>,
    /// The connection of a channel.
    pub connection: Option<String>,
    /// What identifies a queue or a connection in [`Broker::top_process`].
    pub pid: Option<String>,
    /// Messages that came in or were handed out, a second.
    pub messages_per_s: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Of one processor, in percent.
    pub cpu_percent: f64,
    /// Of the time between the looks, in percent.
    pub waiting_percent: f64,
    /// Bytes that it takes, where that is known.
    pub memory_len: Option<u64>,
    /// Messages in it: of a queue those that are ready or unacked, of a channel those that are unacked.
    pub message_count: Option<u64>,
    /// How long it was at work since that is counted, in microseconds.
    pub busy_us: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct TopTable {
    /// Between the looks.
    pub span: Duration,
    /// The busiest, in order.
    pub rows: Vec<TopRow>,
    /// How many were compared.
    pub compared_count: usize,
    /// What the whole process took of processors, in percent of one; None where the system does not say.
    pub process_cpu_percent: Option<f64>,
}

impl TopRequest {
    fn wants_vhost(&self, vhost: &str) -> bool {
        self.vhost.as_deref().is_none_or(|wanted| wanted == vhost)
    }

    fn wants_name(&self, name: &str) -> bool {
        self.filter.as_deref().is_none_or(|part| name.contains(part))
    }

    fn wants_connection(&self, connection: &ConnectionHandle) -> bool {
        let Some(opened) = connection.opened.get() else { return false };
        self.wants_vhost(opened.vhost.as_str())
            && self.user.as_deref().is_none_or(|user| user == opened.identity.name())
            && self.connection.as_deref().is_none_or(|name| name == connection.name())
    }
}

impl TopBegin {
    /// The second look: what has happened since the first.
    #[must_use]
    pub fn end(self, broker: &Broker) -> TopTable {
        let TopBegin { request, at, processor_s, before, _viewer } = self;
        let span = at.elapsed();
        let span_s = span.as_secs_f64().max(1e-6);
        let since = |key: &Key, done: Done| done.since(before.get(key).copied().unwrap_or_default());
        let mut now = broker.look_at(&request);
        let mut connections = HashMap::new();
        if request.of == TopOf::Channels {
            // They are there for their channels' sake.
            let taken = now.extract_if(|key, _| matches!(key, Key::Connection(_)));
            connections = taken.map(|(key, (_, done))| (key.clone(), since(&key, done))).collect();
        }
        let compared_count = now.len();
        let mut changed: Vec<_> = now
            .into_iter()
            .map(|(key, (object, done))| {
                let mut since = since(&key, done);
                if let Key::Channel(id, _) = key
                    && let Some(connection) = connections.get(&Key::Connection(id))
                {
                    since = connection.share_of(since.messages);
                }
                let of_memory = (request.by == TopBy::Memory).then(|| broker.memory_of(&object)).flatten();
                let rank = match request.by {
                    TopBy::Cpu => since.busy_ns,
                    TopBy::Messages => since.messages,
                    TopBy::Bytes => since.bytes,
                    TopBy::Waiting => since.waiting_ns,
                    TopBy::Memory => of_memory.unwrap_or(0),
                };
                (rank, since.messages, key, object, since, done)
            })
            .collect();
        changed.sort_unstable_by(|a, b| {
            let by_rank = (b.0, b.1).cmp(&(a.0, a.1));
            (if request.is_reversed { by_rank.reverse() } else { by_rank }).then_with(|| a.2.cmp(&b.2))
        });
        changed.truncate(request.count);
        let rows = changed.into_iter().map(|(.., object, since, done)| broker.row_of(&object, since, done, span_s));
        let taken_s = machine::processor_seconds().map(|now_s| (now_s - processor_s).max(0.0));
        TopTable {
            span,
            rows: rows.collect(),
            compared_count,
            process_cpu_percent: taken_s.map(|taken_s| taken_s / span_s * 100.0),
        }
    }
}

/// Messages that came in or were handed out, by the names of an object's numbers.
fn messages_among<const N: usize>(names: &[&str; N], numbers: &[u64; N]) -> u64 {
    let counted = ["publish", "get", "get_no_ack", "deliver", "deliver_no_ack"];
    names.iter().zip(numbers).filter(|(name, _)| counted.contains(name)).map(|(_, number)| number).sum()
}

fn done_by(connection: &ConnectionHandle) -> Done {
    let (busy_ns, waiting_ns) = connection.effort.nanos();
    let messages =
        connection.channels.lock().values().map(|channel| messages_among(&CHANNEL, &channel.numbers())).sum();
    let bytes = connection.traffic.received_len.get() + connection.traffic.sent_len.get();
    Done { messages, bytes, busy_ns, waiting_ns }
}

impl Broker {
    /// The first look; the second one is [`TopBegin::end`], when some time has passed.
    #[must_use]
    pub fn begin_top(&self, request: TopRequest) -> TopBegin {
        let viewer = Viewer::new();
        let before = self.look_at(&request).into_iter().map(|(key, (_, done))| (key, done)).collect();
        let processor_s = machine::processor_seconds().unwrap_or(0.0);
        TopBegin { request, at: Instant::now(), processor_s, before, _viewer: viewer }
    }

    /// What all objects that are compared have done so far.
    fn look_at(&self, request: &TopRequest) -> HashMap<Key, (Object, Done)> {
        let connections =
            || self.connections.all().into_iter().filter(|connection| request.wants_connection(connection));
        match request.of {
            TopOf::Queues => self.look_at_queues(request),
            TopOf::Connections => {
                let wanted = connections().filter(|connection| request.wants_name(&connection.name()));
                wanted
                    .map(|connection| {
                        let done = done_by(&connection);
                        (Key::Connection(connection.id), (Object::Connection(connection), done))
                    })
                    .collect()
            }
            TopOf::Channels => connections().flat_map(|connection| look_at_channels(&connection, request)).collect(),
            TopOf::Users => {
                let by_user = connections().filter_map(|connection| {
                    let user: Arc<str> = connection.opened.get()?.identity.name().into();
                    request.wants_name(&user).then(|| (user, done_by(&connection)))
                });
                sum(by_user)
            }
            TopOf::Vhosts => {
                let wanted = self.vhosts.all().into_iter().filter(|vhost| {
                    request.wants_vhost(vhost.name().as_str()) && request.wants_name(vhost.name().as_str())
                });
                let mut all: HashMap<_, _> = wanted
                    .map(|vhost| {
                        let numbers = vhost.counters.numbers();
                        let bytes = vhost.counters.messages();
                        let done = Done {
                            messages: messages_among(&VHOST, &numbers),
                            bytes: bytes.received_len + bytes.sent_len,
                            ..Done::default()
                        };
                        let name: Arc<str> = vhost.name().as_str().into();
                        (Key::Named(name.clone()), (Object::Named(name), done))
                    })
                    .collect();
                for connection in connections() {
                    let Some(opened) = connection.opened.get() else { continue };
                    if let Some((_, done)) = all.get_mut(&Key::Named(opened.vhost.as_str().into())) {
                        let (busy_ns, waiting_ns) = connection.effort.nanos();
                        done.add(Done { busy_ns, waiting_ns, ..Done::default() });
                    }
                }
                all
            }
        }
    }

    fn look_at_queues(&self, request: &TopRequest) -> HashMap<Key, (Object, Done)> {
        let names = self.vhost_names();
        let wanted = names.iter().map(|name| name.as_str()).filter(|vhost| request.wants_vhost(vhost));
        let look = |view: super::QueueView| {
            let queue = view.handle;
            if !request.wants_name(queue.name()) {
                return None;
            }
            let (busy_ns, waiting_ns) = queue.effort.nanos();
            let messages = messages_among(&QUEUE, &queue.numbers());
            let done = Done { messages, bytes: queue.counters.sizes().sum, busy_ns, waiting_ns };
            Some((Key::Queue(queue.id()), (Object::Queue(queue), done)))
        };
        self.walk_queues(wanted).filter_map(look).collect()
    }

    fn memory_of(&self, object: &Object) -> Option<u64> {
        match object {
            Object::Queue(queue) => Some(self.memory_len_of(&super::QueueView { handle: queue.clone() })),
            Object::Connection(connection) => connection.socket_probe.get()?.memory().map(|memory| memory.len()),
            Object::Channel(..) | Object::Named(_) => None,
        }
    }

    fn row_of(&self, object: &Object, since: Done, done: Done, span_s: f64) -> TopRow {
        let percent = |ns: u64| ns as f64 / 1e7 / span_s;
        let mut row = TopRow {
            name: String::new(),
            vhost: None,
            user: None,
            connection: None,
            pid: None,
            messages_per_s: since.messages as f64 / span_s,
            bytes_per_s: since.bytes as f64 / span_s,
            cpu_percent: percent(since.busy_ns),
            waiting_percent: percent(since.waiting_ns),
            memory_len: self.memory_of(object),
            message_count: None,
            busy_us: done.busy_ns / 1000,
        };
        let of_connection = |connection: &ConnectionHandle, row: &mut TopRow| {
            if let Some(opened) = connection.opened.get() {
                row.vhost = Some(opened.vhost.as_str().to_owned());
                row.user = Some(opened.identity.name().to_owned());
            }
        };
        match object {
            Object::Queue(queue) => {
                row.name = queue.name().to_owned();
                row.vhost = Some(queue.definition.vhost.as_str().to_owned());
                row.pid = Some(format!("<queue.{}>", queue.id().0));
                row.message_count = Some(queue.counts().iter().sum());
            }
            Object::Connection(connection) => {
                row.name = connection.name();
                row.pid = Some(format!("<connection.{}>", connection.id.0));
                of_connection(connection, &mut row);
            }
            Object::Channel(connection, number) => {
                row.name = format!("{} ({number})", connection.name());
                row.connection = Some(connection.name());
                let channel = connection.channels.lock().get(number).cloned();
                row.message_count = channel.map(|channel| channel.unacked_count.get().cast_unsigned());
                of_connection(connection, &mut row);
            }
            Object::Named(name) => row.name = name.to_string(),
        }
        row
    }

    /// The queue or connection with this `pid`, as of now: what it has done since it is counted.
    #[must_use]
    pub fn top_process(&self, pid: &str) -> Option<TopRow> {
        let (kind, number) = pid.strip_prefix('<')?.strip_suffix('>')?.split_once('.')?;
        let number: u64 = number.parse().ok()?;
        let object = match kind {
            "connection" => Object::Connection(self.connections.get(ConnectionId(number))?),
            "queue" => {
                let id = QueueId(number);
                let shard = engine::shard_of(id);
                let handle = self.engine.shards.with(shard, |shard| shard.by_id(id).map(|entry| entry.handle.clone()));
                Object::Queue(handle?)
            }
            _ => return None,
        };
        let busy_ns = match &object {
            Object::Queue(queue) => queue.effort.nanos().0,
            Object::Connection(connection) => connection.effort.nanos().0,
            Object::Channel(..) | Object::Named(_) => 0,
        };
        Some(self.row_of(&object, Done::default(), Done { busy_ns, ..Done::default() }, 1.0))
    }
}

/// The channels of a connection, and itself: what it has done is theirs.
fn look_at_channels(connection: &Arc<ConnectionHandle>, request: &TopRequest) -> Vec<(Key, (Object, Done))> {
    let channels: Vec<_> = connection.channels.lock().values().cloned().collect();
    let name = connection.name();
    let wanted = channels.into_iter().filter(|channel| request.wants_name(&format!("{name} ({})", channel.number)));
    let look = |channel: Arc<crate::connections::ChannelHandle>| {
        let done = Done { messages: messages_among(&CHANNEL, &channel.numbers()), ..Done::default() };
        (Key::Channel(connection.id, channel.number), (Object::Channel(connection.clone(), channel.number), done))
    };
    let own = (Key::Connection(connection.id), (Object::Connection(connection.clone()), done_by(connection)));
    wanted.map(look).chain([own]).collect()
}

/// By name, all of one name together.
fn sum(all: impl Iterator<Item = (Arc<str>, Done)>) -> HashMap<Key, (Object, Done)> {
    let mut sums: HashMap<Key, (Object, Done)> = HashMap::new();
    for (name, done) in all {
        sums.entry(Key::Named(name.clone())).or_insert_with(|| (Object::Named(name), Done::default())).1.add(done);
    }
    sums
}
