//! Alerts at work: looks at the broker once an interval, and notifies webhooks. The crate `alerts` decides what is an alert, and what is to
//! be sent when; here are the broker's numbers, the clock, the sockets.
//!
//! ```text
//!  rule_set ─ rules and webhooks: of the configuration, and of global parameters
//!     │
//!     ▼                                             ┌─► log, events, history
//!  look ─ once an interval ─► alerts::Engine ─ tell ┴─► receiver, one a webhook ─► deliver, a task each ─► HTTP
//!     └── ages ─ of messages that lie in segments, read meanwhile
//! ```
//!
//! A thread of its own does all of this, so that neither requests of the API nor messages wait for a look: what the API shows is put where
//! it finds it after each look. A receiver that hangs holds up its own task and nothing else; how much waits for it is bounded.

mod ages;
mod clock;
mod deliver;
mod look;
mod receiver;
mod rule_set;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use alerts::{AlertState, Engine, History, Notice, Sender, Severity, Status};
use broker::{Broker, Event};
use cluster::control::Control;
use model::config::AlertOptions;
use parking_lot::Mutex;
use telemetry::{Counter, Gauge};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, MissedTickBehavior};

use crate::SetupError;
use ages::Ages;
use clock::Clock;
pub use deliver::{DeliveryAttempt, try_once};
pub use receiver::{Receiver, ReceiverState};
pub use rule_set::{
    Family, RULES, RuleSet, RuleSetEntry, Source, WEBHOOKS, WebhookTarget, check_parameter, is_parameter,
};

/// Rules, what they have come to, and the webhooks.
pub struct Alerting {
    broker: Arc<Broker>,
    node: String,
    interval: Duration,
    /// How many connections there is room for, if there is a limit.
    connection_max: Option<u64>,
    /// None where there can be no cluster.
    cluster: Option<Arc<dyn Control>>,
    clock: Clock,
    rule_set: RuleSet,
    /// Locked for a whole look: only the thread of alerts uses it.
    work: Mutex<LookState>,
    snapshot: Mutex<Arc<AlertSnapshot>>,
    history: Mutex<History>,
    receivers: Mutex<Receivers>,
    ages: Arc<Ages>,
    counters: AlertCounters,
    /// Rules or webhooks may have changed.
    changed: Notify,
}

/// What looks need.
struct LookState {
    engine: Engine,
    /// What rules and webhooks were made of, to see when they change.
    parameters: Option<Vec<model::parameter::GlobalParameter>>,
}

/// How things stood after the last look.
#[derive(Debug, Default)]
pub struct AlertSnapshot {
    /// What is pending or firing.
    pub alert_states: Vec<AlertState>,
    /// How many objects are counted only, by rule; of rules that have any.
    untracked: BTreeMap<Box<str>, u64>,
}

impl AlertSnapshot {
    /// How many objects of a rule are counted only.
    pub fn untracked_count(&self, rule: &str) -> u64 {
        self.untracked.get(rule).copied().unwrap_or(0)
    }
}

#[derive(Default)]
struct Receivers {
    by_name: BTreeMap<Box<str>, Arc<Receiver>>,
    /// Those that have no task yet.
    without_task: Vec<Arc<Receiver>>,
}

/// What alerts count.
#[derive(Debug, Default)]
pub struct AlertCounters {
    firing: [Gauge; Severity::ALL.len()],
    /// Notices that webhooks have taken.
    pub delivered: Counter,
    /// Attempts that failed.
    pub failed: Counter,
    /// Notices that were given up.
    pub dropped: Counter,
}

impl AlertCounters {
    /// How many alerts of a severity fire now.
    pub fn firing(&self, severity: Severity) -> u64 {
        self.firing[severity as usize].get().cast_unsigned()
    }
}

impl fmt::Debug for Alerting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alerting").field("interval", &self.interval).finish_non_exhaustive()
    }
}

/// The thread that looks and notifies.
#[derive(Debug)]
pub struct AlertThread {
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl Alerting {
    /// With the rules and webhooks of the configuration; those of global parameters come with the first look.
    pub fn new(
        broker: Arc<Broker>,
        options: &AlertOptions,
        connection_max: Option<u64>,
        cluster: Option<Arc<dyn Control>>,
    ) -> Result<Arc<Self>, SetupError> {
        let node = broker.options().node.clone();
        let work = LookState { engine: Engine::new(&node), parameters: None };
        Ok(Arc::new(Self {
            rule_set: RuleSet::new(options)?,
            node,
            interval: options.interval,
            connection_max,
            cluster,
            clock: Clock::start(),
            work: Mutex::new(work),
            snapshot: Mutex::default(),
            history: Mutex::default(),
            receivers: Mutex::default(),
            ages: Arc::default(),
            counters: AlertCounters::default(),
            changed: Notify::new(),
            broker,
        }))
    }

    /// What alerts count.
    pub fn counters(&self) -> &AlertCounters {
        &self.counters
    }

    /// Starts the thread.
    pub fn start(self: &Arc<Self>) -> io::Result<AlertThread> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopping) = watch::channel(false);
        let own = self.clone();
        let thread = std::thread::Builder::new().name("alerts".to_owned()).spawn(move || {
            sampler::does(sampler::Work::Observing);
            runtime.block_on(own.run(stopping));
            // What is on its way to a receiver is dropped, and so are its sockets.
            runtime.shutdown_background();
        })?;
        Ok(AlertThread { stop, thread })
    }

    async fn run(self: Arc<Self>, mut stopping: watch::Receiver<bool>) {
        self.reload(self.clock.now_ms());
        // Not at once: clients that were there before a restart have to have come back.
        let mut looks = tokio::time::interval_at(Instant::now() + self.interval, self.interval);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let without_task = std::mem::take(&mut self.receivers.lock().without_task);
            for receiver in without_task {
                tokio::spawn(deliver::deliver_notices(self.clone(), receiver));
            }
            tokio::select! {
                _ = looks.tick() => {
                    // What is wrong with one look may not be with the next one; without any there would be no alerts.
                    if catch_unwind(AssertUnwindSafe(|| self.look(self.clock.now_ms()))).is_err() {
                        tracing::error!("evaluation of alert rules panicked");
                    }
                    self.ages.clone().read_missing(&self.broker);
                }
                () = self.changed.notified() => self.reload(self.clock.now_ms()),
                // An error means that the handle was dropped.
                _ = stopping.changed() => return,
            }
        }
    }

    /// The sender of notices.
    pub fn with_sender<T>(&self, act: impl FnOnce(Sender<'_>) -> T) -> T {
        act(Sender { node: &self.node, cluster: &self.broker.cluster_name() })
    }

    /// The time that alerts carry, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// What the rules and webhooks are.
    pub fn rule_set(&self) -> &RuleSet {
        &self.rule_set
    }

    /// Has rules and webhooks read again now: a caller has changed them.
    pub fn note_change(&self) {
        self.changed.notify_one();
    }

    /// How things stood after the last look.
    pub fn snapshot(&self) -> Arc<AlertSnapshot> {
        self.snapshot.lock().clone()
    }

    /// The last changes, the latest first.
    pub fn history(&self) -> Vec<Notice> {
        self.history.lock().latest().cloned().collect()
    }

    /// The receiver of a webhook.
    pub fn receiver(&self, name: &str) -> Option<Arc<Receiver>> {
        self.receivers.lock().by_name.get(name).cloned()
    }

    /// Rules and webhooks are as they are from now on, if they were not so before.
    fn reload(&self, now_ms: u64) {
        let parameters = self.broker.global_parameters_below(rule_set::PREFIX);
        let notices = {
            let mut work = self.work.lock();
            if work.parameters.as_ref() == Some(&parameters) {
                return;
            }
            let book = self.rule_set.read(&parameters);
            work.parameters = Some(parameters);
            let names: Vec<Box<str>> = book.webhooks.iter().map(|target| target.webhook.name.clone()).collect();
            self.set_webhooks(book.webhooks);
            let notices = work.engine.set_rules(book.rules, &names, now_ms);
            self.show(&work.engine);
            notices
        };
        self.tell(&notices, now_ms);
    }

    fn set_webhooks(&self, targets: Vec<WebhookTarget>) {
        let mut receivers = self.receivers.lock();
        let mut before = std::mem::take(&mut receivers.by_name);
        for target in targets {
            let receiver = match before.remove(&target.webhook.name) {
                Some(receiver) => {
                    receiver.change(target);
                    receiver
                }
                None => {
                    let receiver = Arc::new(Receiver::new(target));
                    receivers.without_task.push(receiver.clone());
                    receiver
                }
            };
            receivers.by_name.insert(receiver.name().into(), receiver);
        }
        drop(receivers);
        for receiver in before.values() {
            let waiting_count = receiver.close();
            self.counters.dropped.add(waiting_count);
            if waiting_count > 0 {
                tracing::warn!(
                    webhook = receiver.name(),
                    waiting_count,
                    "webhook removed while notifications waited for it"
                );
            }
        }
    }

    /// Shows how things stand.
    fn show(&self, engine: &Engine) {
        for severity in Severity::ALL {
            self.counters.firing[severity as usize].set(engine.firing_count(severity).cast_signed());
        }
        let untracked = engine.untracked_counts().map(|(rule, count)| (rule.into(), count)).collect();
        let snapshot = Arc::new(AlertSnapshot { alert_states: engine.alert_states().collect(), untracked });
        let before = std::mem::replace(&mut *self.snapshot.lock(), snapshot);
        // Not under the lock: it may be large.
        drop(before);
    }

    /// Keeps a look under way for as long as what this returns is kept.
    #[cfg(feature = "testing")]
    pub fn hold_look(&self) -> impl Drop {
        self.work.lock()
    }

    /// Notifies the webhooks concerned. Without a lock, for an event takes the locks of its queues.
    fn tell(&self, notices: &[Notice], now_ms: u64) {
        if notices.is_empty() {
            return;
        }
        notices.iter().for_each(|notice| self.history.lock().add(notice));
        let receivers: Vec<Arc<Receiver>> = self.receivers.lock().by_name.values().cloned().collect();
        for receiver in receivers {
            let own = notices.iter().filter(|notice| notice.notifies(receiver.name()));
            let dropped = own.map(|notice| receiver.push(notice.clone(), now_ms)).sum();
            self.note_dropped(receiver.name(), dropped);
        }
        for notice in notices.iter().filter(|notice| notice.is_change()) {
            log(notice);
            self.broker.emit(event(notice));
        }
    }

    fn note_dropped(&self, webhook: &str, count: u64) {
        if count > 0 {
            self.counters.dropped.add(count);
            tracing::error!(webhook, count, "notifications of a webhook dropped");
        }
    }
}

impl AlertThread {
    /// Ends it. Notices that webhooks have not had yet are not sent: the alert is made again, if it still is one, by the next start.
    pub fn stop(self) {
        // An error means that it has ended.
        let _ = self.stop.send(true);
        if self.thread.join().is_err() {
            tracing::error!("alerts thread ended unexpectedly");
        }
    }
}

fn log(notice: &Notice) {
    let alert = &notice.alert;
    let (rule, severity, value) = (&*alert.rule, alert.severity.name(), alert.value);
    let (vhost, queue) = (alert.vhost.as_deref(), alert.queue.as_deref());
    match notice.status {
        Status::Firing => tracing::warn!(rule, severity, vhost, queue, value, "alert fired"),
        Status::Resolved => tracing::info!(rule, severity, vhost, queue, value, "alert resolved"),
    }
}

fn event(notice: &Notice) -> Event {
    let alert = &notice.alert;
    let name = match notice.status {
        Status::Firing => "alert.firing",
        Status::Resolved => "alert.resolved",
    };
    let event = Event::new(name)
        .with_text("id", &alert.id)
        .with_text("rule", &alert.rule)
        .with_text("kind", alert.kind.name())
        .with_text("severity", alert.severity.name())
        .with_text("value", &alert.value.to_string())
        .with_text("threshold", &alert.threshold.to_string())
        .with_number("since", alert.since_ms.cast_signed());
    let event = match (&alert.vhost, &alert.queue) {
        (Some(vhost), Some(queue)) => event.with_text("vhost", vhost).with_text("queue", queue),
        _ => event,
    };
    match notice.reason {
        Some(reason) => event.with_text("reason", reason.name()),
        None => event,
    }
}
