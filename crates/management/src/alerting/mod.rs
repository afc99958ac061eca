//! Alerts at work: looks at the broker once an interval, and tells webhooks. What is an alert, and what is to be told when, is decided by the
//! crate `alerts`; here are the broker's numbers, the clock, the sockets.
//!
//! ```text
//!  rulebook ─ rules and webhooks: of the configuration, and of global parameters
//!     │
//!     ▼                                             ┌─► log, events, history
//!  look ─ once an interval ─► alerts::Engine ─ tell ┴─► receiver, one a webhook ─► deliver, a task each ─► HTTP
//!     └── ages ─ of messages that lie in segments, read meanwhile
//! ```
//!
//! A thread of its own does all of this, so that neither requests of the API nor messages wait for a look. A receiver that hangs holds up
//! its own task and nothing else; how much waits for it is bounded.

mod ages;
mod clock;
mod deliver;
mod look;
mod receiver;
mod rulebook;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use alerts::{Engine, History, Notice, Outbox, Sender, Severity, Standing, Status, Webhook};
use broker::{Broker, Event};
use model::config::AlertOptions;
use parking_lot::Mutex;
use telemetry::{Counter, Gauge};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, MissedTickBehavior};

use ages::Ages;
use clock::Clock;
pub(crate) use deliver::{Tried, try_once};
pub(crate) use receiver::Receiver;
pub use rulebook::SetupError;
pub(crate) use rulebook::{Entry, Family, RULES, Rulebook, Source, WEBHOOKS, check_parameter, is_parameter};

/// Rules, what they have come to, and who is told.
pub struct Alerting {
    broker: Arc<Broker>,
    node: String,
    interval: Duration,
    /// How many connections there is room for, if there is a limit.
    connection_max: Option<u64>,
    clock: Clock,
    rulebook: Rulebook,
    state: Mutex<State>,
    ages: Arc<Ages>,
    counters: AlertCounters,
    /// Rules or webhooks may have changed.
    changed: Notify,
}

struct State {
    engine: Engine,
    history: History,
    receivers: BTreeMap<Box<str>, Arc<Receiver>>,
    /// What rules and webhooks were made of, to see when they change.
    parameters: Option<Vec<model::parameter::GlobalParameter>>,
    /// Receivers that have no task yet.
    unattended: Vec<Arc<Receiver>>,
}

/// What alerts count, for whoever shows it.
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
    #[must_use]
    pub fn firing(&self, severity: Severity) -> u64 {
        self.firing[severity as usize].get().cast_unsigned()
    }
}

impl fmt::Debug for Alerting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alerting").field("interval", &self.interval).finish_non_exhaustive()
    }
}

/// The thread that looks and tells.
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
    ) -> Result<Arc<Self>, SetupError> {
        let node = broker.options().node.clone();
        let state = State {
            engine: Engine::new(&node),
            history: History::default(),
            receivers: BTreeMap::new(),
            parameters: None,
            unattended: Vec::new(),
        };
        Ok(Arc::new(Self {
            rulebook: Rulebook::new(options)?,
            node,
            interval: options.interval,
            connection_max,
            clock: Clock::start(),
            state: Mutex::new(state),
            ages: Arc::default(),
            counters: AlertCounters::default(),
            changed: Notify::new(),
            broker,
        }))
    }

    /// What alerts count.
    #[must_use]
    pub fn counters(&self) -> &AlertCounters {
        &self.counters
    }

    /// Starts the thread.
    pub fn start(self: &Arc<Self>) -> io::Result<AlertThread> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopping) = watch::channel(false);
        let own = self.clone();
        let thread = std::thread::Builder::new().name("alerts".to_owned()).spawn(move || {
            runtime.block_on(own.run(stopping));
            // What is on its way to a receiver is dropped, and so are its sockets.
            runtime.shutdown_background();
        })?;
        Ok(AlertThread { stop, thread })
    }

    async fn run(self: Arc<Self>, mut stopping: watch::Receiver<bool>) {
        self.reload(self.clock.now_ms());
        // Not at once: those who were there before a restart have to have come back.
        let mut looks = tokio::time::interval_at(Instant::now() + self.interval, self.interval);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let unattended = std::mem::take(&mut self.state.lock().unattended);
            for receiver in unattended {
                tokio::spawn(deliver::attend(self.clone(), receiver));
            }
            tokio::select! {
                _ = looks.tick() => {
                    // What is wrong with one look may not be with the next one; without any there would be no alerts.
                    if catch_unwind(AssertUnwindSafe(|| self.look(self.clock.now_ms()))).is_err() {
                        tracing::error!("a look for alerts panicked");
                    }
                    self.ages.clone().read_missing(&self.broker);
                }
                () = self.changed.notified() => self.reload(self.clock.now_ms()),
                // An error means that whoever may stop it is gone.
                _ = stopping.changed() => return,
            }
        }
    }

    /// Who tells.
    pub(crate) fn with_sender<T>(&self, act: impl FnOnce(Sender<'_>) -> T) -> T {
        act(Sender { node: &self.node, cluster: &self.broker.cluster_name() })
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub(crate) fn rulebook(&self) -> &Rulebook {
        &self.rulebook
    }

    /// Rules or webhooks have been changed by somebody who does not want to wait for the next look.
    pub(crate) fn note_change(&self) {
        self.changed.notify_one();
    }

    /// What is made of all that is pending or firing.
    pub(crate) fn standing<T>(&self, make: impl Fn(Standing<'_>) -> T) -> Vec<T> {
        self.state.lock().engine.standing().map(make).collect()
    }

    /// The last changes, the latest first.
    pub(crate) fn history(&self) -> Vec<Notice> {
        self.state.lock().history.latest().cloned().collect()
    }

    /// How many objects of a rule are counted only.
    pub(crate) fn untracked_count(&self, rule: &str) -> u64 {
        self.state.lock().engine.untracked_count(rule)
    }

    /// Whoever tells a webhook.
    pub(crate) fn receiver(&self, name: &str) -> Option<Arc<Receiver>> {
        self.state.lock().receivers.get(name).cloned()
    }

    /// Rules and webhooks are as they are from now on, if they were not so before.
    fn reload(&self, now_ms: u64) {
        let parameters = self.broker.global_parameters_below(rulebook::PREFIX);
        let mut state = self.state.lock();
        if state.parameters.as_ref() == Some(&parameters) {
            return;
        }
        let book = self.rulebook.read(&parameters);
        state.parameters = Some(parameters);
        self.set_webhooks(&mut state, book.webhooks);
        let notices = state.engine.set_rules(book.rules, now_ms);
        self.count_firing(&state);
        self.tell(state, notices, now_ms);
    }

    fn set_webhooks(&self, state: &mut State, webhooks: Vec<Webhook>) {
        let mut before = std::mem::take(&mut state.receivers);
        for webhook in webhooks {
            let receiver = match before.remove(&webhook.name) {
                Some(receiver) => {
                    receiver.change(webhook);
                    receiver
                }
                None => {
                    let receiver = Arc::new(Receiver::new(webhook));
                    state.unattended.push(receiver.clone());
                    receiver
                }
            };
            state.receivers.insert(receiver.name().into(), receiver);
        }
        for receiver in before.values() {
            let waiting_count = receiver.close();
            self.counters.dropped.add(waiting_count);
            if waiting_count > 0 {
                tracing::warn!(
                    webhook = receiver.name(),
                    waiting_count,
                    "a webhook was removed while alerts waited for it"
                );
            }
        }
    }

    fn count_firing(&self, state: &State) {
        for severity in Severity::ALL {
            self.counters.firing[severity as usize].set(state.engine.firing_count(severity).cast_signed());
        }
    }

    /// Tells everybody whom it concerns. The state's lock ends here, for an event takes the locks of its queues.
    fn tell(&self, mut state: parking_lot::MutexGuard<'_, State>, notices: Vec<Notice>, now_ms: u64) {
        for notice in &notices {
            state.history.add(notice);
            let told = |name: &str| notice.webhooks.is_empty() || notice.webhooks.iter().any(|told| **told == *name);
            for (_, receiver) in state.receivers.iter().filter(|(name, _)| told(name)) {
                let dropped = receiver.push(notice.clone(), now_ms);
                self.note_dropped(receiver.name(), dropped);
            }
        }
        drop(state);
        for notice in notices.iter().filter(|notice| !notice.is_reminder) {
            log(notice);
            self.broker.emit(event(notice));
        }
    }

    fn note_dropped(&self, webhook: &str, count: u64) {
        if count > 0 {
            self.counters.dropped.add(count);
            tracing::error!(webhook, count, "alerts for a webhook were given up");
        }
    }
}

impl AlertThread {
    /// Ends it. What webhooks have not been told yet is not told any more: the alert is made again, if it still is one, by the next start.
    pub fn stop(self) {
        // An error means that it has ended.
        let _ = self.stop.send(true);
        if self.thread.join().is_err() {
            tracing::error!("the thread of alerts ended early");
        }
    }
}

fn log(notice: &Notice) {
    let alert = &notice.alert;
    let (rule, severity, value) = (&*alert.rule, alert.severity.name(), alert.value);
    let (vhost, queue) = (alert.vhost.as_deref(), alert.queue.as_deref());
    match notice.status {
        Status::Firing => tracing::warn!(rule, severity, vhost, queue, value, "an alert fires"),
        Status::Resolved => tracing::info!(rule, severity, vhost, queue, value, "an alert was resolved"),
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

/// An outbox with as much room as there is for one webhook.
fn outbox() -> Outbox {
    Outbox::default()
}
