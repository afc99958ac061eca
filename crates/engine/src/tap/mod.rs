//! What happens to messages, reported to those that watch: the firehose, traces and spans. See docs/dev/message-traces.md.
//!
//! ```text
//!  session, under no lock ──────────► Taps::report ─► sinks      one relaxed load a batch or a read where none watches
//!  section, under its locks ─► Note ─► when they are free ─┘
//! ```
//!
//! A sink is called by the thread that the thing happened on, and holds it up no longer than it takes to copy what it wants into a
//! bounded place of its own. Under the locks of a section things are only noted.

mod kinds;
mod note;

pub use kinds::{Kind, Kinds};
pub use note::What as NoteOf;
pub(crate) use note::{Note, Place};

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use model::ids::QueueSeq;
use parking_lot::RwLock;
use queue::DropReason;

use crate::lane::LaneNumber;
use crate::queue_handle::QueueHandle;
use crate::targets::Targets;
use message::Parts;

/// The client that caused something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The connection's name.
    pub connection: Box<str>,
    /// The user.
    pub user: Box<str>,
    /// The client that the connection's client, a proxy, says it does this for.
    pub on_behalf_of: Option<Arc<str>>,
}

/// Where something happens: what is asked once for many messages whether a sink wants to hear of them.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// What happens.
    pub kind: Kind,
    /// The vhost.
    pub vhost: &'a str,
    /// The exchange that they were published to, where that is known of all of them.
    pub exchange: Option<&'a [u8]>,
    /// The queue that it happens in.
    pub queue: Option<&'a QueueHandle>,
    /// The client that causes it.
    pub client: Option<&'a Client>,
}

/// What has happened to a message.
#[derive(Debug, Clone, Copy)]
pub enum What<'a> {
    /// It came, and these are its queues.
    Published(&'a Targets),
    /// No queue wanted it, and its publisher has it back.
    Returned,
    /// Its queues have it, or one has refused it.
    Stored {
        /// One has.
        is_refused: bool,
    },
    /// Its publisher has got the confirm.
    Confirmed,
    /// A consumer was sent it.
    Delivered {
        /// Not for the first time.
        is_redelivered: bool,
        /// The consumer's tag.
        consumer_tag: &'a [u8],
        /// Nothing is waited for: it is settled.
        no_ack: bool,
    },
    /// It was sent as the answer to `basic.get`.
    Got {
        /// Not for the first time.
        is_redelivered: bool,
        /// Nothing is waited for: it is settled.
        no_ack: bool,
    },
    /// Its consumer has acknowledged it.
    Acked,
    /// Its consumer does not want it, and no other is to get it.
    Rejected,
    /// Its consumer gave it back.
    Requeued,
    /// Its time was over.
    Expired,
    /// Its queue gave it up.
    Dropped(DropReason),
    /// It was brought to the dead-letter exchange of its queue.
    DeadLettered {
        /// Why its queue gave it up.
        reason: DropReason,
        /// Where it went; None: no queue wanted it there.
        targets: Option<&'a Targets>,
    },
    /// It waits at an exchange.
    SetAside {
        /// Which.
        exchange: &'a [u8],
        /// Until then, in milliseconds since 1970.
        due_ms: u64,
    },
    /// It has waited at an exchange for long enough.
    Released {
        /// Which.
        exchange: &'a [u8],
        /// Where it went; None: no queue wanted it.
        targets: Option<&'a Targets>,
    },
    /// So many messages were purged from a queue, with no event of each.
    Purged(u64),
    /// An operator brought it to other queues.
    Moved(&'a Targets),
    /// An operator deleted it.
    Deleted,
}

/// Something that happened to a message.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// What.
    pub what: What<'a>,
    /// The vhost.
    pub vhost: &'a str,
    /// The queue that it happened in.
    pub queue: Option<&'a QueueHandle>,
    /// The message's place there.
    pub seq: Option<QueueSeq>,
    /// The client that caused it.
    pub client: Option<&'a Client>,
    /// On which lane.
    pub lane: LaneNumber,
    /// A number that this publish has alone, where it is one or follows from one; else 0.
    pub publish: u64,
    /// The message. None where a segment alone has it.
    pub message: Option<Parts<'a>>,
}

impl<'a> Event<'a> {
    /// What it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.what {
            What::Published(_) => Kind::Published,
            What::Returned => Kind::Returned,
            What::Stored { .. } => Kind::Stored,
            What::Confirmed => Kind::Confirmed,
            What::Delivered { .. } => Kind::Delivered,
            What::Got { .. } => Kind::Got,
            What::Acked => Kind::Acked,
            What::Rejected => Kind::Rejected,
            What::Requeued => Kind::Requeued,
            What::Expired => Kind::Expired,
            What::Dropped(_) => Kind::Dropped,
            What::DeadLettered { .. } => Kind::DeadLettered,
            What::SetAside { .. } => Kind::SetAside,
            What::Released { .. } => Kind::Released,
            What::Purged(_) => Kind::Purged,
            What::Moved(_) => Kind::Moved,
            What::Deleted => Kind::Deleted,
        }
    }

    /// Where it happened.
    #[must_use]
    pub fn scope(&self) -> Scope<'a> {
        let exchange = self.message.as_ref().map(|message| message.exchange);
        Scope { kind: self.kind(), vhost: self.vhost, exchange, queue: self.queue, client: self.client }
    }

    /// Why a queue gave it up, by the word that dead letters have for it.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        match self.what {
            What::Dropped(reason) | What::DeadLettered { reason, .. } => Some(crate::dead_letters::name_of(reason)),
            _ => None,
        }
    }

    /// The queues that it was routed to, where that is part of what happened.
    #[must_use]
    pub fn targets(&self) -> Option<&'a Targets> {
        match self.what {
            What::Published(targets) | What::Moved(targets) => Some(targets),
            What::DeadLettered { targets, .. } | What::Released { targets, .. } => targets,
            _ => None,
        }
    }
}

/// All keys that a message was published with: its own, those that its headers name, and those that its publisher hid.
#[must_use]
pub fn routing_keys<'a>(message: &Parts<'a>, headers: Option<amqp::table::Table<'a>>) -> Vec<&'a [u8]> {
    let mut keys = vec![message.routing_key];
    if !message.history.has_lost_copies {
        keys.extend(crate::dead_letters::copied_keys(headers));
        let history = message.history;
        keys.extend(history.hidden_keys());
    }
    keys
}

/// A watcher. Called by threads that serve clients, under no lock: it must not wait for anything.
pub trait Sink: Send + Sync {
    /// What it wants to hear of.
    fn kinds(&self) -> Kinds;

    /// Whether it may want to hear of what happens there: asked once for many messages, and under locks.
    fn wants(&self, _scope: &Scope<'_>) -> bool {
        true
    }

    /// Something has happened that it wants to hear of.
    fn take(&self, event: &Event<'_>);
}

/// All that watch.
#[derive(Default)]
pub struct Taps {
    /// What any of them wants to hear of.
    wanted: AtomicU32,
    sinks: RwLock<Arc<[Arc<dyn Sink>]>>,
    /// Changes whenever a sink is added or removed, or wants something else: until then what a sink has said of a place holds, as long as
    /// the topology is the same.
    generation: std::sync::atomic::AtomicU64,
    /// The number of the last publish that was reported.
    publishes: std::sync::atomic::AtomicU64,
    /// Things that were not reported, because one section did too many.
    pub missed: telemetry::Counter,
    /// Spans that a server has taken.
    pub spans_sent: telemetry::Counter,
    /// Spans that were lost: too many waited, or the server refused them.
    pub spans_dropped: telemetry::Counter,
}

impl fmt::Debug for Taps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taps").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

impl Taps {
    /// What anyone wants to hear of.
    #[inline(always)]
    pub fn wanted(&self) -> Kinds {
        if cfg!(without_trace_points) { Kinds(0) } else { Kinds(self.wanted.load(Ordering::Relaxed)) }
    }

    /// Whether anyone wants to hear of any of these.
    #[inline(always)]
    pub fn want(&self, kinds: Kinds) -> bool {
        self.wanted_among(kinds) != 0
    }

    /// Which of these anyone wants to hear of, as bits.
    #[inline(always)]
    pub fn wanted_among(&self, kinds: Kinds) -> u32 {
        self.wanted().0 & kinds.0
    }

    /// Adds a sink, which gets reports from now on.
    pub fn add(&self, sink: Arc<dyn Sink>) {
        let mut sinks = self.sinks.write();
        let all: Vec<_> = sinks.iter().cloned().chain([sink]).collect();
        self.set(&mut sinks, all);
    }

    /// Removes a sink. It gets no more reports, but for those that threads make now.
    pub fn remove(&self, sink: &Arc<dyn Sink>) {
        let mut sinks = self.sinks.write();
        let rest: Vec<_> = sinks.iter().filter(|other| !is_same(other, sink)).cloned().collect();
        self.set(&mut sinks, rest);
    }

    fn set(&self, sinks: &mut Arc<[Arc<dyn Sink>]>, all: Vec<Arc<dyn Sink>>) {
        let wanted = all.iter().fold(0, |wanted, sink| wanted | sink.kinds().0);
        *sinks = all.into();
        self.wanted.store(wanted, Ordering::Relaxed);
        self.note_change();
    }

    /// A sink wants something else from now on.
    pub fn note_change(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// See the field.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The sinks that may want to hear of what happens there.
    #[cold]
    pub fn listeners(&self, scope: &Scope<'_>) -> Vec<Arc<dyn Sink>> {
        let sinks = self.sinks.read().clone();
        sinks.iter().filter(|sink| sink.kinds().has(scope.kind) && sink.wants(scope)).cloned().collect()
    }

    /// Whether there are any.
    #[cold]
    pub fn has_listeners(&self, scope: &Scope<'_>) -> bool {
        let sinks = self.sinks.read();
        sinks.iter().any(|sink| sink.kinds().has(scope.kind) && sink.wants(scope))
    }

    /// Reports an event to all sinks that want it.
    #[cold]
    pub fn report(&self, event: &Event<'_>) {
        self.listeners(&event.scope()).iter().for_each(|sink| sink.take(event));
    }

    /// A number for a publish.
    pub fn number_publish(&self) -> u64 {
        self.publishes.fetch_add(1, Ordering::Relaxed) + 1
    }
}

fn is_same(a: &Arc<dyn Sink>, b: &Arc<dyn Sink>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    struct Counting(Kinds, AtomicUsize);

    impl Sink for Counting {
        fn kinds(&self) -> Kinds {
            self.0
        }

        fn take(&self, _event: &Event<'_>) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_no_sink_wants_is_not_wanted() {
        let taps = Taps::default();
        let acks: Arc<dyn Sink> = Arc::new(Counting(Kinds::of(&[Kind::Acked]), AtomicUsize::new(0)));
        let purges = Arc::new(Counting(Kinds::of(&[Kind::Purged]), AtomicUsize::new(0)));
        assert!(!taps.want(Kinds::ALL));
        taps.add(acks.clone());
        taps.add(purges.clone());
        assert!(taps.want(Kinds::of(&[Kind::Purged])) && !taps.want(Kinds::of(&[Kind::Delivered])));
        let purged = Event {
            what: What::Purged(3),
            vhost: "/",
            queue: None,
            seq: None,
            client: None,
            lane: LaneNumber::NONE,
            publish: 0,
            message: None,
        };
        taps.report(&purged);
        assert_eq!(purges.1.load(Ordering::Relaxed), 1);
        taps.remove(&acks);
        assert!(taps.want(Kinds::of(&[Kind::Purged])) && !taps.want(Kinds::of(&[Kind::Acked])));
    }
}
