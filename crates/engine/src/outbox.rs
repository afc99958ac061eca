//! What other tasks have for a connection: deliveries from queues, and news.
//!
//! A queue that hands out a message puts it here under its own lock, so that deliveries keep the queue's order; the
//! connection's task takes all there is in one go. The outbox is bounded by its window: a queue may put a delivery only
//! after it acquired the bytes (see [`crate::gate`]), and the connection gives them back when they are on their way.
//! At most one wake-up is pending.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::task::{Wake, Waker};

use model::ids::{QueueId, QueueSeq};
use parking_lot::Mutex;
use queue::{ConsumerId, Counts, DrainedCredit};
use store::{Content, DurableWaiter};

use crate::lane::LaneNumber;
use crate::position::Positions;
use crate::probe::{DeliveryProbe, push_bounded};

pub use crate::limits::{OUTBOX_OVERDRAFT_LEN, OUTBOX_WINDOW_LEN};

/// A message on its way to a consumer.
#[derive(Debug)]
pub struct Outgoing {
    /// The consumer, as the connection numbers them.
    pub consumer: u32,
    /// Whether it may have been handed out before.
    pub is_redelivered: bool,
    /// Its position in its queue.
    pub seq: QueueSeq,
    /// What it consists of.
    pub content: Content,
    /// How often it has come back, where that is counted.
    pub counts: Counts,
}

/// As [`Outgoing::counts`] has it of a dead letter that has not been stored in its queue. No queue counts as far.
pub const HANDED_OUT_AT_ONCE: u32 = u32::MAX;

impl Outgoing {
    /// Whether it is a dead letter that a consumer was waiting for. As in RabbitMQ it is new to a classic queue then, whatever it has been
    /// through before.
    #[must_use]
    pub fn is_at_once(&self) -> bool {
        self.counts.acquired_count == HANDED_OUT_AT_ONCE
    }
}

/// Something that a connection has to handle. Each is rare.
#[derive(Debug)]
pub enum ConnectionEvent {
    /// The consumer's queue is deleted: the server cancels (RabbitMQ's `consumer_cancel_notify`).
    ConsumerCancelled {
        /// The consumer, as the connection numbers them.
        consumer: u32,
        /// The queue.
        queue: QueueId,
    },
    /// The consumer held a message for too long: the queue has taken all back.
    ConsumerTimedOut {
        /// The consumer, as the connection numbers them.
        consumer: u32,
        /// The queue.
        queue: QueueId,
    },
    /// A drain of the consumer's credit has ended, later than in its own grant.
    CreditDrained {
        /// The consumer, as the connection numbers them.
        consumer: u32,
        /// The queue.
        queue: QueueId,
        /// How much is given back.
        count: u32,
        /// The delivery count after it, in which that is counted. The deliveries before it may come after this news.
        delivery_count: u32,
    },
    /// A reply for a direct reply-to consumer, which has no queue.
    Reply {
        /// The consumer's lane.
        lane: LaneNumber,
        /// The address that was replied to.
        address: Arc<str>,
        /// The reply.
        content: Content,
    },
    /// A memory or disk alarm began, changed or ended; the connection reads the alarms' state itself.
    AlarmsChanged,
    /// What the connection's user may do may have changed.
    AccessChanged,
    /// The server ends the connection.
    Close {
        /// The reason that the client gets.
        reason: String,
    },
    /// The broker is about to stop: nothing more is received, whatever the client sends. What has been received is done.
    Pause {
        /// Dropped when that is done.
        unheard: Arc<()>,
    },
    /// The socket is closed at once, whatever it has not taken.
    Cut,
}

#[derive(Debug, Default)]
struct Waiting {
    deliveries: VecDeque<Outgoing>,
    events: Vec<ConnectionEvent>,
    /// Deliveries may leave only when the journals are durable up to here.
    hold_until: Positions,
    /// Those of the deliveries that are timed.
    timed: Vec<DeliveryProbe>,
    /// Set by [`Outbox::wake_up`]: look again, though nothing was put in.
    is_woken: bool,
    waker: Option<Waker>,
}

/// A connection's outbox.
#[derive(Debug)]
pub struct Outbox {
    waiting: Mutex<Waiting>,
    window_len: AtomicI64,
    /// Set by gates that refused: some consumer of this connection is parked.
    pub has_parked: AtomicBool,
}

/// What [`Outbox::take`] found.
#[derive(Debug, Default)]
pub struct Taken {
    /// What the connection has to handle.
    pub events: Vec<ConnectionEvent>,
    /// Those of the deliveries that are timed.
    pub timed: Vec<DeliveryProbe>,
    /// Something that the connection waits for may have come: look again.
    pub is_woken: bool,
    /// Deliveries may leave only when the journals are durable up to here.
    pub hold_until: Positions,
}

impl Outbox {
    /// An empty one, with its whole window.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            waiting: Mutex::default(),
            window_len: AtomicI64::new(OUTBOX_WINDOW_LEN),
            has_parked: AtomicBool::new(false),
        })
    }

    /// Takes `len` bytes of the window, if there is any left; it may be overdrawn by one message.
    #[inline]
    pub(crate) fn try_acquire(&self, len: i64) -> bool {
        if self.window_len.load(Ordering::SeqCst) <= 0 {
            return false;
        }
        self.window_len.fetch_sub(len, Ordering::SeqCst);
        true
    }

    /// Takes `len` bytes even of a window that is used up, as far as [`OUTBOX_OVERDRAFT_LEN`] permits.
    pub fn try_acquire_overdrawn(&self, len: i64) -> bool {
        if self.window_len.load(Ordering::SeqCst) <= -OUTBOX_OVERDRAFT_LEN {
            return false;
        }
        self.window_len.fetch_sub(len, Ordering::SeqCst);
        true
    }

    /// Gives `len` bytes back.
    #[inline]
    pub fn release(&self, len: i64) {
        self.window_len.fetch_add(len, Ordering::SeqCst);
    }

    /// The connection ends: nothing more is put in, whatever is given back.
    pub fn close(&self) {
        self.window_len.store(i64::MIN / 2, Ordering::SeqCst);
    }

    /// Puts deliveries in. Called under the queue's lock; the waker it returns is woken after the lock is released.
    pub fn deliver(&self, deliveries: impl Iterator<Item = Outgoing>, hold_until: Positions) -> Option<Waker> {
        let mut waiting = self.waiting.lock();
        waiting.deliveries.extend(deliveries);
        waiting.hold_until.add(hold_until);
        waiting.waker.take()
    }

    /// A delivery is timed that is put in next. Called under the queue's lock.
    pub(crate) fn time(&self, probe: DeliveryProbe) {
        let mut waiting = self.waiting.lock();
        let dice = probe.seq.0;
        push_bounded(&mut waiting.timed, probe, |probe| &mut probe.weight, dice);
    }

    /// Notifies the connection of something and wakes it.
    pub fn notify(&self, event: ConnectionEvent) {
        let waker = {
            let mut waiting = self.waiting.lock();
            waiting.events.push(event);
            waiting.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Wakes the connection to look again at what it waits for.
    pub fn wake_up(&self) {
        let waker = {
            let mut waiting = self.waiting.lock();
            waiting.is_woken = true;
            waiting.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes all there is: deliveries into `pending`, the rest into `taken`. Both are empty, and the room that they have is used for what
    /// comes next. False when there was nothing; then `waker` is woken once there is.
    pub fn take(&self, taken: &mut Taken, pending: &mut VecDeque<Outgoing>, waker: &Waker) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.deliveries.is_empty() && waiting.events.is_empty() && !waiting.is_woken {
            match &mut waiting.waker {
                Some(current) => current.clone_from(waker),
                slot => *slot = Some(waker.clone()),
            }
            return false;
        }
        std::mem::swap(&mut waiting.deliveries, pending);
        std::mem::swap(&mut waiting.events, &mut taken.events);
        taken.hold_until = waiting.hold_until;
        if !waiting.timed.is_empty() {
            taken.timed = std::mem::take(&mut waiting.timed);
        }
        taken.is_woken = std::mem::take(&mut waiting.is_woken);
        true
    }

    /// Takes the news alone and leaves a waker: for a connection that still has deliveries to send. False when there was none.
    pub fn take_events_only(&self, taken: &mut Taken, waker: &Waker) -> bool {
        let mut waiting = self.waiting.lock();
        std::mem::swap(&mut waiting.events, &mut taken.events);
        taken.is_woken = std::mem::take(&mut waiting.is_woken);
        waiting.waker = Some(waker.clone());
        taken.is_woken || !taken.events.is_empty()
    }

    /// Takes all deliveries there are, without leaving a waker: for cancelling and closing. Says until when they must wait.
    pub fn take_deliveries(&self, deliveries: &mut VecDeque<Outgoing>) -> Positions {
        let mut waiting = self.waiting.lock();
        deliveries.append(&mut waiting.deliveries);
        waiting.hold_until
    }
}

impl DurableWaiter for Outbox {
    fn wake(&self) {
        self.wake_up();
    }
}

/// What makes room again wakes a connection through this.
impl Wake for Outbox {
    fn wake(self: Arc<Self>) {
        self.wake_up();
    }
}

/// Drains that have ended in a section.
#[derive(Debug, Default)]
pub(crate) struct EndedDrains(Vec<EndedDrain>);

/// One of them, and the consumer that it concerns.
#[derive(Debug)]
pub(crate) struct EndedDrain {
    pub(crate) queue: QueueId,
    pub(crate) outbox: Arc<Outbox>,
    /// The consumer, as its connection numbers them.
    pub(crate) number: u32,
    pub(crate) credit: DrainedCredit,
}

impl EndedDrains {
    pub(crate) fn push(&mut self, ended: EndedDrain) {
        self.0.push(ended);
    }

    /// Notifies the connections.
    #[cold]
    pub(crate) fn report(self) {
        for EndedDrain { queue, outbox, number, credit } in self.0 {
            let DrainedCredit { count, delivery_count, .. } = credit;
            outbox.notify(ConnectionEvent::CreditDrained { consumer: number, queue, count, delivery_count });
        }
    }

    /// How much a consumer has got back, of which there is no event then.
    pub(crate) fn take(&mut self, queue: QueueId, consumer: ConsumerId) -> Option<u32> {
        let at = self.0.iter().position(|ended| ended.queue == queue && ended.credit.consumer == consumer)?;
        Some(self.0.remove(at).credit.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count(std::sync::atomic::AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn one_wake_up_is_pending_at_most() {
        let outbox = Outbox::new();
        let count = Arc::new(Count(0.into()));
        let waker = Waker::from(count.clone());
        let (mut taken, mut pending) = (Taken::default(), VecDeque::new());
        assert!(!outbox.take(&mut taken, &mut pending, &waker));
        outbox.notify(ConnectionEvent::AlarmsChanged);
        outbox.wake_up();
        outbox.notify(ConnectionEvent::AlarmsChanged);
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert!(outbox.take(&mut taken, &mut pending, &waker));
        assert_eq!(taken.events.len(), 2);
    }

    #[test]
    fn window_is_overdrawn_by_one_message_at_most() {
        let outbox = Outbox::new();
        assert!(outbox.try_acquire(OUTBOX_WINDOW_LEN - 1));
        assert!(outbox.try_acquire(1 << 20));
        assert!(!outbox.try_acquire(1));
        outbox.release(1 << 20);
        assert!(outbox.try_acquire(1));
    }
}
