//! The observer of the broker: an administrator, with one of a few places, and an endless answer.
//!
//! ```text
//!  what is observed ─► a task ─► one piece ─► the answer's body, as far as the socket takes it
//!                        ▲
//!                        └─ four times a second: an alarm, a right that is revoked, a broker that stops
//! ```
//!
//! The task holds what is observed, not the body: a reader that does not read does not keep it when an alarm ends it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use broker::view::Alarms;
use broker::{Actor, Broker};
use bytes::Bytes;
use http_server::Source;
use observe::prometheus::WithoutBroker;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{Interval, MissedTickBehavior};

use crate::answer::Answer;
use crate::limits::OBSERVER_COUNT_MAX;
use crate::problem::Problem;
use crate::stage::Stage;
use crate::tags::is_administrator;

/// Lines of JSON, one for each event.
pub(crate) const JSON_LINES: &str = "application/x-ndjson";

/// Why there is no session, as the description of the API has it.
pub(crate) const OBSERVERS_REFUSAL: &str =
    "Eight traces and profiles are running, which is the maximum, or an alarm is in effect.";

/// How often it is looked whether all is as it was.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// The longest name of a session.
const NAME_LEN_MAX: usize = 64;

/// Sessions with places of their own have no fewer than there are observers.
const _: () = assert!(telemetry::trace::SESSION_COUNT_MAX >= OBSERVER_COUNT_MAX);

/// What an observer gets.
pub(crate) trait Observed: Send + 'static {
    /// What there is to report, as soon as there is something. None: that was all. Dropped before it is ready, it has lost nothing.
    fn next(&mut self) -> impl Future<Output = Option<Vec<u8>>> + Send;

    /// Ends early, for a reason. Returns what is still to be sent.
    fn end(self, reason: &str) -> impl Future<Output = Vec<u8>> + Send;
}

/// The places of all observers of a broker, whatever they watch.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    free: Arc<Semaphore>,
    /// Sessions whose viewers gave them a name, by which they can be ended.
    named: Arc<Mutex<HashMap<String, Arc<Notify>>>>,
}

impl Places {
    pub(crate) fn new() -> Places {
        Places { free: Arc::new(Semaphore::new(OBSERVER_COUNT_MAX)), named: Arc::default() }
    }

    /// How many are taken.
    pub(crate) fn taken_count(&self) -> usize {
        OBSERVER_COUNT_MAX - self.free.available_permits()
    }

    /// Ends a session: its answer says how it ended. False: there is none of that name.
    pub(crate) fn end(&self, name: &str) -> bool {
        let named = self.named.lock();
        let end = named.get(name);
        end.inspect(|end| end.notify_one()).is_some()
    }

    /// Whether there is a session of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.named.lock().contains_key(name)
    }

    fn name(&self, name: &str) -> Result<SessionName, Problem> {
        if name.is_empty() || name.len() > NAME_LEN_MAX {
            return Err(Problem::bad_request(format!("'session' must have 1 to {NAME_LEN_MAX} characters")));
        }
        match self.named.lock().entry(name.to_owned()) {
            Entry::Occupied(_) => Err(Problem::bad_request(format!("the session '{name}' already exists"))),
            Entry::Vacant(vacant) => {
                let end = vacant.insert(Arc::default()).clone();
                Ok(SessionName { name: name.to_owned(), end, named: self.named.clone() })
            }
        }
    }
}

/// The name of a session, for as long as it lasts.
struct SessionName {
    name: String,
    end: Arc<Notify>,
    named: Arc<Mutex<HashMap<String, Arc<Notify>>>>,
}

impl Drop for SessionName {
    fn drop(&mut self) {
        self.named.lock().remove(&self.name);
    }
}

/// What a session looks into, and its user.
#[derive(Clone)]
pub(crate) enum Watched {
    /// A process with a broker, which knows the user.
    Broker(Arc<Broker>, Actor),
    /// One without: that the user may was known before.
    Process(Arc<WithoutBroker>),
}

impl Watched {
    fn alarms(&self) -> Alarms {
        match self {
            Watched::Broker(broker, _) => broker.alarms(),
            Watched::Process(node) => node.alarms(),
        }
    }

    /// Asks for alarms later, without keeping a broker; none: it has stopped.
    pub(super) fn later_alarms(&self) -> impl Fn() -> Option<Alarms> + Send + use<> {
        let (broker, node) = match self {
            Watched::Broker(broker, _) => (Some(Arc::downgrade(broker)), None),
            Watched::Process(node) => (None, Some(node.clone())),
        };
        move || match (&broker, &node) {
            (Some(broker), _) => broker.upgrade().map(|broker| broker.alarms()),
            (None, node) => node.as_ref().map(|node| node.alarms()),
        }
    }

    /// The user, for the log.
    pub(crate) fn user(&self) -> &str {
        match self {
            Watched::Broker(_, actor) => actor.identity.name(),
            Watched::Process(_) => "an administrator",
        }
    }
}

/// The user of a session, and what may end it.
pub(crate) struct Observer {
    watched: Watched,
    looks: Interval,
    stage: Option<watch::Receiver<Stage>>,
    name: Option<SessionName>,
    _place: OwnedSemaphorePermit,
}

/// The answer where no place is free.
pub(crate) fn no_place() -> Problem {
    Problem::unavailable(format!(
        "{OBSERVER_COUNT_MAX} traces and profiles are running, which is the maximum: end one of them first"
    ))
}

fn alarm(alarms: Alarms) -> Option<&'static str> {
    match (alarms.is_memory_low, alarms.is_disk_low) {
        (true, _) => Some("the memory alarm is in effect"),
        (_, true) => Some("the disk alarm is in effect"),
        _ => None,
    }
}

impl Observer {
    /// Takes a place. There is none while an alarm is on: then the broker has other things to do. The session ends when the server does,
    /// which `stage` reports; or when it is ended by its `name`.
    pub(crate) fn new(
        watched: Watched,
        places: &Places,
        stage: Option<watch::Receiver<Stage>>,
        name: Option<&str>,
    ) -> Result<Observer, Problem> {
        if let Some(reason) = alarm(watched.alarms()) {
            return Err(Problem::unavailable(format!("{reason}: no session can start during an alarm")));
        }
        let place = places.free.clone().try_acquire_owned().map_err(|_| no_place())?;
        let name = name.map(|name| places.name(name)).transpose()?;
        let mut looks = tokio::time::interval(LOOK_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Observer { watched, looks, stage, name, _place: place })
    }

    /// Answers with what is observed, as lines of JSON, until it has ended or there is a reason to end it. To be called within a runtime.
    pub(crate) fn answer(self, observed: impl Observed) -> Answer {
        // One piece: what is not taken is not made.
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(self.send(observed, sender));
        Answer::of_source(JSON_LINES, Box::new(SessionBody(receiver)))
    }

    async fn send(mut self, mut observed: impl Observed, pieces: mpsc::Sender<Bytes>) {
        let mut is_silent = false;
        loop {
            let news = async {
                let room = pieces.reserve().await.ok()?;
                Some((room, observed.next().await?))
            };
            tokio::select! {
                biased;
                () = pieces.closed() => return,
                reason = self.look() => {
                    if let Some(reason) = reason {
                        let last = observed.end(reason).await;
                        drop(self);
                        // An error means that the reader has disconnected.
                        drop(pieces.send(last.into()).await);
                        return;
                    }
                    if is_silent {
                        // An empty line shows whether the reader is there. One for which there is no room is not needed for that.
                        drop(pieces.try_send(Bytes::from_static(b"\n")));
                    }
                    is_silent = true;
                }
                news = news => {
                    let Some((room, piece)) = news else { return };
                    room.send(piece.into());
                    is_silent = false;
                }
            }
        }
    }

    /// Waits for the next look at what may end the session. Gives the reason, if there is one.
    async fn look(&mut self) -> Option<&'static str> {
        tokio::select! {
            biased;
            () = stopping(self.stage.as_mut()) => Some("the broker is stopping"),
            () = ended(self.name.as_ref()) => Some("the client ended it"),
            _ = self.looks.tick() => self.reason_to_end(),
        }
    }

    fn reason_to_end(&self) -> Option<&'static str> {
        if let Some(reason) = alarm(self.watched.alarms()) {
            return Some(reason);
        }
        let Watched::Broker(broker, actor) = &self.watched else { return None };
        match broker.renewed(&actor.identity) {
            None => Some("the user was deleted, or its login has expired"),
            Some(identity) if !is_administrator(&identity) => Some("the user is no longer an administrator"),
            Some(_) => None,
        }
    }
}

/// Ready when the server stops; never where there is none.
async fn stopping(stage: Option<&mut watch::Receiver<Stage>>) {
    match stage {
        // An error means that the server has stopped.
        Some(stage) => drop(stage.wait_for(|stage| *stage >= Stage::Stopping).await),
        None => std::future::pending().await,
    }
}

/// Ready when the session is ended by its name; never where it has none.
async fn ended(name: Option<&SessionName>) {
    match name {
        Some(name) => name.end.notified().await,
        None => std::future::pending().await,
    }
}

/// The body of an answer. When it is dropped, the session ends.
struct SessionBody(mpsc::Receiver<Bytes>);

impl Source for SessionBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.0.poll_recv(cx)
    }
}
