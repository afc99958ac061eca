//! The broker as a whole: what all connections share, how it starts and how it stops.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use amqp::table::TableBuf;
use engine::Positions;
use model::definition::Definition;
use parking_lot::{Mutex, RwLock};
use routing::HashSeed;
use store::{RecordBatch, RecoveredStore, Store};
use telemetry::Counter;
use tokio::sync::watch;

use crate::alarms::{ActiveAlarms, Alarms, PeerAlarms};
use crate::auth_attempts::AuthAttempts;
use crate::connections::{ConnectionHandle, Connections};
use crate::events::Event;
use crate::firehose::FirehoseSwitch;
use crate::limits::{ALARM_INTERVAL, HISTORY_INTERVAL, WATERMARK_INTERVAL};
use crate::lockout::Lockout;
use crate::login_sessions::LoginSessions;
use crate::options::Options;
use crate::queue_consumers::QueueConsumers;
use crate::random::RandomError;
use crate::recent_events::RecentEvents;
use crate::recovery;
use crate::reply_to::Replies;
use crate::server_properties::server_properties;
use crate::statistics::Statistics;
use crate::subscriptions::Subscribers;
use crate::usage::Usages;
use crate::users::Users;
use crate::vhosts::Vhosts;
use crate::watched::Watched;
use engine::Engine;
use engine::clock::{self, Clock, wall_ms};
use engine::outbox::ConnectionEvent;
use engine::residents::QueueOwnerOfEngine;
use engine::tap::Taps;
use engine::timers::Timers;

/// A broker.
pub struct Broker {
    pub(crate) options: Options,
    pub(crate) engine: Arc<Engine>,
    pub(crate) vhosts: Arc<Vhosts>,
    pub(crate) users: Users,
    pub(crate) usages: Usages,
    pub(crate) replies: Replies,
    pub(crate) connections: Connections,
    pub(crate) queue_consumers: QueueConsumers,
    pub(crate) counters: NodeCounters,
    pub(crate) statistics: Statistics,
    pub(crate) watched: Watched,
    pub(crate) subscribers: Subscribers,
    pub(crate) recent_events: RecentEvents,
    pub(crate) firehose: FirehoseSwitch,
    pub(crate) alarms: Alarms,
    pub(crate) server_properties: RwLock<TableBuf>,
    pub(crate) global_parameters: Mutex<BTreeMap<Box<str>, serde_json::Value>>,
    /// Counts changes of parameters of vhosts.
    pub(crate) vhost_parameter_changes: watch::Sender<u64>,
    /// Counts changes of what policies have fed by other brokers.
    pub(crate) federated_changes: watch::Sender<u64>,
    /// Held while connections open, so that a deletion or change of what they need finds them or is found.
    pub(crate) opening: Mutex<()>,
    pub(crate) lockout: Lockout,
    pub(crate) login_sessions: LoginSessions,
    pub(crate) auth_attempts: AuthAttempts,
    /// When the process began, in milliseconds since 1970.
    pub(crate) started_at_ms: u64,
    pub(crate) hash_seed: HashSeed,
    /// Connections that pause for consumers.
    pub(crate) pausing: AtomicU32,
    /// Connections that are served, including those that are no longer in any listing.
    pub(crate) served_count: AtomicUsize,
    timers_thread: Mutex<Option<JoinHandle<()>>>,
}

/// What has happened on this node, as far as no queue and no connection counts it.
#[derive(Debug, Default)]
pub(crate) struct NodeCounters {
    /// How often a connection had to wait for the store (`flow`).
    pub(crate) flow_entered: Counter,
    /// Connections accepted.
    pub(crate) connections_opened: Counter,
    /// Connections turned away because files had run out.
    pub(crate) connections_refused: Counter,
    /// Connections that have ended.
    pub(crate) connections_closed: Counter,
    /// Connections that were closed for an error of their client.
    pub(crate) connections_failed: Counter,
    /// Channels that were closed for an error of their client.
    pub(crate) channels_failed: Counter,
    /// Channels opened.
    pub(crate) channels_opened: Counter,
    /// Channels closed.
    pub(crate) channels_closed: Counter,
    /// Declarations of queues, of those that were there, too.
    pub(crate) queues_declared: Counter,
    /// Queues made.
    pub(crate) queues_created: Counter,
    /// Queues deleted.
    pub(crate) queues_deleted: Counter,
}

/// Why a broker cannot start on what its store holds.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A definition cannot be read: another version wrote it, or it is damaged in a way that checksums do not show.
    #[error("cannot read the definition {key} in the data directory: {reason}")]
    Definition {
        /// The definition's key, as text where it is.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There can be no thread more.
    #[error("cannot start the thread of timers: {0}")]
    Thread(std::io::Error),
    /// The system has no random numbers.
    #[error(transparent)]
    Random(#[from] RandomError),
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broker").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Broker {
    /// A broker over an opened store, with what was recovered from it. The store's threads run from here on.
    pub fn start(options: Options, store: Arc<Store>, recovered: RecoveredStore) -> Result<Arc<Self>, StartError> {
        let broker = Self::assemble(options, store, recovered)?;
        broker.engine.store.start(Arc::new(broker.residents()));
        let (timers, clock, weak) =
            (broker.engine.timers.clone(), broker.engine.clock.clone(), Arc::downgrade(&broker));
        let thread = std::thread::Builder::new().name("warren-timers".to_owned());
        let thread = thread.spawn(move || run_timers(&timers, &clock, &weak)).map_err(StartError::Thread)?;
        *broker.timers_thread.lock() = Some(thread);
        Ok(broker)
    }

    /// A broker whose store does nothing unasked.
    pub(crate) fn assemble(
        options: Options,
        store: Arc<Store>,
        mut recovered: RecoveredStore,
    ) -> Result<Arc<Self>, StartError> {
        let mut seed = [0; 8];
        (options.fill_random)(&mut seed)?;
        let clock = Clock::start(recovered.definitions.remove(clock::KEY).as_deref());
        let vhosts: Arc<Vhosts> = Arc::default();
        let of_engine =
            engine::Options { consumer_timeout: options.consumer_timeout, statistics: options.statistics.clone() };
        let broker = Arc::new(Self {
            server_properties: RwLock::new(server_properties(&options, &options.cluster_name)),
            global_parameters: Mutex::default(),
            vhost_parameter_changes: watch::Sender::default(),
            federated_changes: watch::Sender::default(),
            opening: Mutex::default(),
            lockout: Lockout::new(options.lockout),
            login_sessions: LoginSessions::default(),
            auth_attempts: AuthAttempts::default(),
            started_at_ms: wall_ms().saturating_sub(options.process_started_at.elapsed().as_millis() as u64),
            statistics: Statistics::new(&options.statistics),
            watched: Watched::default(),
            alarms: Alarms::new(&options),
            options,
            engine: Arc::new(Engine::new(of_engine, store, clock, vhosts.clone())),
            vhosts,
            users: Users::default(),
            usages: Usages::default(),
            replies: Replies::default(),
            connections: Connections::default(),
            queue_consumers: QueueConsumers::default(),
            counters: NodeCounters::default(),
            subscribers: Subscribers::default(),
            recent_events: RecentEvents::default(),
            firehose: FirehoseSwitch::default(),
            hash_seed: HashSeed::new(u64::from_ne_bytes(seed)),
            pausing: AtomicU32::new(0),
            served_count: AtomicUsize::new(0),
            timers_thread: Mutex::default(),
        });
        recovery::restore(&broker, recovered)?;
        // What their queues have was there before, too.
        for vhost in broker.vhosts.all() {
            broker.engine.statistics.vhosts.note(&vhost.counters);
        }
        broker.engine.statistics.begin(broker.engine.clock.now_ms());
        Ok(broker)
    }

    /// What the store asks about queues. What waits for clients that do not read keeps memory, too.
    pub(crate) fn residents(self: &Arc<Self>) -> QueueOwnerOfEngine {
        let broker = Arc::downgrade(self);
        let unload = move || {
            if let Some(broker) = broker.upgrade() {
                broker.connections.wake_all();
            }
        };
        QueueOwnerOfEngine::new(&self.engine, unload)
    }

    /// How many connections are served, including those that are no longer in any listing.
    pub(crate) fn served_count(&self) -> usize {
        self.served_count.load(Ordering::Acquire)
    }

    /// Ends the thread of timers, and waits for that.
    pub(crate) fn stop_timers(&self) {
        self.engine.timers.stop();
        let thread = self.timers_thread.lock().take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of timers panicked");
        }
    }

    /// A connection has ended.
    pub(crate) fn forget_connection(&self, connection: &ConnectionHandle) {
        self.connections.remove(connection.id);
        connection.end_history();
    }

    /// Counts a connection that could not be accepted.
    pub fn count_refused_connection(&self) {
        self.counters.connections_refused.add(1);
    }

    /// Looks after alarms, the clock, watermarks and histories, for ever.
    pub async fn run_maintenance(self: Arc<Self>, data_dir: std::path::PathBuf) {
        let mut alarms = tokio::time::interval(ALARM_INTERVAL);
        let mut watermarks = tokio::time::interval(WATERMARK_INTERVAL);
        let mut histories = tokio::time::interval(HISTORY_INTERVAL);
        let mut statistics = tokio::time::interval(self.engine.statistics.options.interval);
        let has_rates = self.has_rates();
        loop {
            tokio::select! {
                _ = alarms.tick() => {
                    self.watch_resources(&data_dir);
                    self.engine.watch_clock();
                }
                _ = watermarks.tick() => {
                    self.engine.close_watermarks(false);
                    self.engine.store.trim_memory();
                    self.engine.store.trim_disk();
                }
                _ = histories.tick() => {
                    self.record_histories();
                    self.sweep_ended_login_sessions();
                }
                _ = statistics.tick(), if has_rates => self.tick(&data_dir, self.engine.clock.now_ms()),
            }
        }
    }

    /// Waits until the journal has failed for good, which may be for ever. Nothing is confirmed from then on: the owner has to end the
    /// process and to start again.
    pub async fn failed(&self) -> store::journal::Failed {
        self.engine.failed().await
    }

    /// How many connections are open.
    pub fn connection_count(&self) -> usize {
        self.connections.count()
    }

    /// Sixteen random bytes. When the system gives none, the caller gets an error: no salt, name or token is made of less.
    pub(crate) fn random(&self) -> Result<[u8; 16], RandomError> {
        let mut bytes = [0; 16];
        (self.options.fill_random)(&mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn put_definition(&self, definition: &Definition) -> Positions {
        self.engine.put(&definition.key(), &definition.encode()).into()
    }

    /// The sinks that watch what happens to messages.
    pub fn taps(&self) -> &Taps {
        &self.engine.taps
    }

    /// Where all that has been changed so far will be durable. A request that finds its change already made waits for it, since the request
    /// that made it may wait still.
    pub fn journal_end(&self) -> Positions {
        self.engine.journal_end()
    }

    /// Changes whenever definitions may have: this start, where the journal ends, and how often routes have changed.
    #[must_use]
    pub fn definitions_version(&self) -> [u64; 3] {
        let changes = self.vhosts.all().iter().map(|vhost| vhost.epoch().0).fold(0, u64::wrapping_add);
        [self.started_at_ms, self.engine.journal_end().journal_len(), changes]
    }

    /// Waits until the journals are durable up to `positions`, or never will be; says whether they are.
    pub async fn until_durable(&self, positions: Positions) -> bool {
        self.engine.until_durable(positions).await
    }

    /// Writes down what exchanges have kept since the last time.
    pub(crate) fn record_histories(&self) {
        for history in self.vhosts.all().iter().flat_map(|vhost| vhost.histories()) {
            history.record(|changes| {
                let mut records = RecordBatch::new();
                for (key, value) in changes {
                    match value {
                        Some(value) => records.put(&key, &value),
                        None => records.delete(&key),
                    }
                }
                self.engine.append(&mut records);
            });
        }
    }

    /// From now on these are the alarms of other nodes of the cluster: publishers wait for them as for this node's own.
    pub fn set_peer_alarms(&self, peers: Vec<PeerAlarms>) {
        let _looking = self.alarms.begin_look();
        let Some(before) = self.alarms.set_peers(peers) else { return };
        self.connections.notify_all(|| ConnectionEvent::AlarmsChanged);
        let now = self.alarms.peers();
        let of = |peers: &[PeerAlarms], node: &str| {
            peers.iter().find(|peer| peer.node == node).map_or_else(ActiveAlarms::default, |peer| peer.alarms)
        };
        let nodes: BTreeSet<_> = before.iter().chain(&now).map(|peer| peer.node.clone()).collect();
        for node in nodes {
            tracing::warn!(node, alarms = ?of(&now, &node), "another node's alarms changed");
            self.emit_alarms(&node, of(&before, &node), of(&now, &node));
        }
    }

    fn emit_alarms(&self, node: &str, before: ActiveAlarms, now: ActiveAlarms) {
        for (source, before, now) in
            [("memory", before.is_memory_low, now.is_memory_low), ("disk", before.is_disk_low, now.is_disk_low)]
        {
            if before != now {
                self.emit(Event::alarm(now, source, node));
            }
        }
    }

    /// Looks at memory and disk, and notifies all connections when an alarm has begun or ended.
    pub(crate) fn watch_resources(&self, data_dir: &std::path::Path) {
        let _looking = self.alarms.begin_look();
        let before = self.alarms();
        if !self.alarms.look(&self.options, data_dir, self.engine.store.is_disk_full()) {
            return;
        }
        self.connections.notify_all(|| ConnectionEvent::AlarmsChanged);
        self.emit_alarms(&self.options.node, before, self.alarms());
    }
}

/// Looks after queues until the timers are stopped: on a thread of its own, which nothing else makes late.
fn run_timers(timers: &Timers, clock: &Clock, broker: &Weak<Broker>) {
    sampler::does(sampler::Work::Timers);
    while timers.wait(|| clock.now_ms()) {
        let Some(broker) = broker.upgrade() else { return };
        broker.run_due_timers();
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.engine.timers.stop();
    }
}

/// The counts of a queue, for tests and listings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueCounts {
    /// Messages that wait.
    pub ready: u64,
    /// Messages handed out and not settled.
    pub unacked: u64,
}

impl Broker {
    /// The counts of a queue, if it is there.
    pub fn queue_counts(&self, vhost: &str, queue: &str) -> Option<QueueCounts> {
        let handle = self.vhosts.get(vhost)?.queue(queue.as_bytes())?;
        let counts = |entry: &mut engine::shard::QueueEntry, _: &mut engine::work::Work<'_>| QueueCounts {
            ready: entry.queue.ready_count(),
            unacked: entry.queue.unacked_count(),
        };
        self.engine.with_queue(&handle, counts).map(|(counts, _)| counts)
    }
}
