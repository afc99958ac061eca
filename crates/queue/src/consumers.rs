//! Whose turn it is.
//!
//! Consumers that can take a message wait in a ring, one ring a priority, the highest priority first. The front of the
//! first ring that has anyone gets the next message and goes to the back of its ring. A consumer that has used up its
//! prefetch, or whose gate refused, leaves its ring until a settlement or [`resume`](Consumers::resume) brings it back, so
//! that those who cannot take anything cost nothing.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::num::NonZeroU32;

use crate::limits::{BRISKNESS_COUNT, BRISKNESS_SHARE};

/// What lies between the queue and its consumer: the connection's output buffer, the channel's global prefetch.
pub trait Gate {
    /// Takes room for one delivery of `len` body bytes. A consumer whose gate refuses gets nothing more until
    /// [`Queue::resume`](crate::Queue::resume).
    fn try_acquire(&self, len: u32) -> bool;
}

/// A consumer as it was asked for. What else the broker wants to know of it (tag, channel, arguments) is in the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer<G> {
    /// The way to it.
    pub gate: G,
    /// Its messages are settled by being handed out.
    pub no_ack: bool,
    /// It wants to be the queue's only consumer.
    pub exclusive: bool,
    /// `x-priority`: higher ones get all until they are full.
    pub priority: i32,
    /// How many messages it may hold unacked; 0 is no limit. Of no account with `no_ack`.
    pub prefetch: u16,
    /// How long it may hold a message, in milliseconds, if that is not the queue's rule. Of account only where there is such a rule.
    pub timeout_ms: Option<u64>,
}

/// A consumer of one queue. Never given out again by that queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsumerId {
    index: u32,
    number: NonZeroU32,
}

/// Why a queue refuses a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsumeError {
    /// It has an exclusive consumer, or the new one wants to be exclusive and is not the first, or only one is to be active: 403.
    InExclusiveUse,
}

/// A consumer and what it holds.
#[derive(Debug)]
pub struct ConsumerView<'a, G> {
    /// Its id.
    pub id: ConsumerId,
    /// As it was asked for.
    pub consumer: &'a Consumer<G>,
    /// Messages that it holds unacked.
    pub unacked_count: u32,
    /// Whether it may get messages at all: false while another is the single active one.
    pub is_active: bool,
}

#[derive(Debug)]
pub(crate) struct Consumers<G> {
    seats: Vec<Option<Seat<G>>>,
    free: Vec<u32>,
    /// By descending priority; none without a consumer.
    rings: Vec<Ring>,
    /// No ring before this one has anyone waiting.
    first_ring: usize,
    count: u32,
    /// Those of them that take nothing now: they hold all they may, or another is the single active one.
    idle_count: u32,
    briskness: Briskness,
    exclusive: Option<ConsumerId>,
    /// Only one at a time gets messages.
    is_single: bool,
    /// It gives way to one of a higher priority, when what it holds has been settled.
    gives_way: bool,
    /// That one.
    active: Option<ConsumerId>,
    /// It is about to give way.
    is_leaving: bool,
}

#[derive(Debug)]
struct Seat<G> {
    id: ConsumerId,
    consumer: Consumer<G>,
    unacked_count: u32,
    activity: Activity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    InRing,
    OutOfCredit,
    GateClosed,
    /// Another is the single active one.
    Waiting,
}

/// Whether consumers settle anything like as many messages as are published.
#[derive(Debug, Default)]
struct Briskness {
    published: u32,
    settled: u32,
    is_brisk: bool,
}

impl Briskness {
    #[inline]
    fn published(&mut self) {
        self.published += 1;
        if self.published == BRISKNESS_COUNT {
            self.is_brisk = self.settled >= BRISKNESS_COUNT / BRISKNESS_SHARE;
            (self.published, self.settled) = (0, 0);
        }
    }
}

#[derive(Debug)]
struct Ring {
    priority: i32,
    consumer_count: u32,
    /// Indices of seats, next turn first.
    turns: VecDeque<u32>,
}

/// The consumer that gets the next message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) id: ConsumerId,
    pub(crate) no_ack: bool,
    pub(crate) timeout_ms: Option<u64>,
}

impl<G> Seat<G> {
    fn has_credit(&self) -> bool {
        self.consumer.no_ack || self.consumer.prefetch == 0 || self.unacked_count < u32::from(self.consumer.prefetch)
    }
}

impl<G: Gate> Consumers<G> {
    pub(crate) fn new(is_single: bool, gives_way: bool) -> Self {
        Consumers {
            seats: Vec::new(),
            free: Vec::new(),
            rings: Vec::new(),
            first_ring: 0,
            count: 0,
            idle_count: 0,
            briskness: Briskness::default(),
            exclusive: None,
            is_single,
            gives_way,
            active: None,
            is_leaving: false,
        }
    }

    /// Whether `consumer` may join.
    pub(crate) fn check(&self, consumer: &Consumer<G>) -> Result<(), ConsumeError> {
        let is_taken = self.exclusive.is_some() || (consumer.exclusive && (self.count > 0 || self.is_single));
        if is_taken { Err(ConsumeError::InExclusiveUse) } else { Ok(()) }
    }

    pub(crate) fn add(&mut self, number: NonZeroU32, consumer: Consumer<G>) -> ConsumerId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.seats.push(None);
            u32::try_from(self.seats.len() - 1).expect("fewer than 2^32 consumers fit in memory")
        });
        let id = ConsumerId { index, number };
        if consumer.exclusive {
            self.exclusive = Some(id);
        }
        let ring = self.ring_of(consumer.priority);
        self.rings[ring].consumer_count += 1;
        self.seats[index as usize] = Some(Seat { id, consumer, unacked_count: 0, activity: Activity::Waiting });
        self.count += 1;
        if !self.is_single {
            self.enter_ring(id);
        } else {
            self.idle_count += 1;
            self.choose_active();
            self.give_way_to(id);
        }
        id
    }

    /// If the newcomer is of a higher priority than the active one, that gets nothing more.
    fn give_way_to(&mut self, newcomer: ConsumerId) {
        let priority_of = |id| self.seat(id).map(|seat| seat.consumer.priority);
        let Some(active) = self.active.filter(|active| priority_of(newcomer) > priority_of(*active)) else { return };
        if !self.gives_way {
            return;
        }
        self.is_leaving = true;
        let Some(seat) = self.seat_mut(active) else { return };
        let (priority, before) = (seat.consumer.priority, std::mem::replace(&mut seat.activity, Activity::Waiting));
        self.idle_count += u32::from(!matches!(before, Activity::OutOfCredit | Activity::Waiting));
        let ring = self.ring_of(priority);
        self.rings[ring].turns.retain(|&index| index != active.index);
        self.leave_if_done();
    }

    /// The active one that was to give way does so, if it holds nothing any more.
    fn leave_if_done(&mut self) {
        let holds_some = |id| self.seat(id).is_some_and(|seat| seat.unacked_count > 0);
        if self.is_leaving && !self.active.is_some_and(holds_some) {
            self.is_leaving = false;
            self.active = None;
            self.choose_active();
        }
    }

    /// If there is to be one active consumer and there is none: who is next.
    fn choose_active(&mut self) {
        if !self.is_single || self.active.is_some() {
            return;
        }
        let next = self.seats.iter().flatten().min_by_key(|seat| (Reverse(seat.consumer.priority), seat.id.number));
        if let Some(id) = next.map(|seat| seat.id) {
            self.active = Some(id);
            self.idle_count -= 1;
            self.enter_ring(id);
        }
    }

    pub(crate) fn remove(&mut self, id: ConsumerId) -> Option<Consumer<G>> {
        self.seat(id)?;
        let seat = self.seats[id.index as usize].take()?;
        let at = self.ring_of(seat.consumer.priority);
        let ring = &mut self.rings[at];
        match seat.activity {
            Activity::InRing => ring.turns.retain(|&index| index != id.index),
            Activity::OutOfCredit | Activity::Waiting => self.idle_count -= 1,
            Activity::GateClosed => {}
        }
        ring.consumer_count -= 1;
        if ring.consumer_count == 0 {
            self.rings.remove(at);
            self.first_ring = 0;
        }
        if self.exclusive == Some(id) {
            self.exclusive = None;
        }
        self.free.push(id.index);
        self.count -= 1;
        if self.active == Some(id) {
            (self.active, self.is_leaving) = (None, false);
            self.choose_active();
        }
        Some(seat.consumer)
    }

    /// The next consumer that has credit and whose gate opens for `len` bytes. It has then been counted as served.
    #[inline(always)]
    pub(crate) fn take_turn(&mut self, len: u32) -> Option<Turn> {
        while let Some(ring) = self.rings.get_mut(self.first_ring) {
            while let Some(&index) = ring.turns.front() {
                let seat = self.seats[index as usize].as_mut().expect("a ring holds present consumers");
                if !seat.consumer.gate.try_acquire(len) {
                    seat.activity = Activity::GateClosed;
                    ring.turns.pop_front();
                    continue;
                }
                let no_ack = seat.consumer.no_ack;
                seat.unacked_count += u32::from(!no_ack);
                if !seat.has_credit() {
                    seat.activity = Activity::OutOfCredit;
                    self.idle_count += 1;
                    ring.turns.pop_front();
                } else if ring.turns.len() > 1 {
                    ring.turns.rotate_left(1);
                }
                return Some(Turn { id: seat.id, no_ack, timeout_ms: seat.consumer.timeout_ms });
            }
            self.first_ring += 1;
        }
        None
    }

    /// Gives this consumer the turn, if it has credit and its gate opens for `len` bytes. It has then been counted as served, and is
    /// the last of its ring.
    pub(crate) fn take_turn_of(&mut self, id: ConsumerId, len: u32) -> Option<Turn> {
        let seat = self.seat(id).filter(|seat| seat.activity == Activity::InRing)?;
        let ring = self.ring_of(seat.consumer.priority);
        let turns = &mut self.rings[ring].turns;
        turns.remove(turns.iter().position(|index| *index == id.index)?);
        let seat = self.seat_mut(id)?;
        if !seat.consumer.gate.try_acquire(len) {
            seat.activity = Activity::GateClosed;
            return None;
        }
        let (no_ack, timeout_ms) = (seat.consumer.no_ack, seat.consumer.timeout_ms);
        seat.unacked_count += u32::from(!no_ack);
        if seat.has_credit() {
            self.rings[ring].turns.push_back(id.index);
        } else {
            seat.activity = Activity::OutOfCredit;
            self.idle_count += 1;
        }
        Some(Turn { id, no_ack, timeout_ms })
    }

    /// Whether anyone waits for a message, as far as is known without asking the gates.
    pub(crate) fn is_waiting(&self) -> bool {
        self.rings.iter().skip(self.first_ring).any(|ring| !ring.turns.is_empty())
    }

    /// Whether anyone would take messages if they came to him fast enough: somebody has credit, or those who have none get it back
    /// so fast that it is the broker who is late.
    pub(crate) fn is_hungry(&self) -> bool {
        self.count > self.idle_count || self.briskness.is_brisk
    }

    /// A message was published to the queue.
    #[inline]
    pub(crate) fn published(&mut self) {
        self.briskness.published();
    }

    /// A message that `id` held was settled or requeued.
    pub(crate) fn give_credit(&mut self, id: ConsumerId) {
        self.briskness.settled = self.briskness.settled.saturating_add(1);
        let Some(seat) = self.seat_mut(id) else { return };
        seat.unacked_count = seat.unacked_count.checked_sub(1).expect("only what it holds comes back from a consumer");
        if seat.activity == Activity::OutOfCredit && seat.has_credit() {
            self.idle_count -= 1;
            self.enter_ring(id);
        }
        if self.is_leaving {
            self.leave_if_done();
        }
    }

    /// The gate of `id` may open again.
    pub(crate) fn resume(&mut self, id: ConsumerId) {
        let Some(seat) = self.seat_mut(id) else { return };
        if seat.activity == Activity::GateClosed {
            self.enter_ring(id);
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The single active consumer, where there is to be one.
    pub(crate) fn active(&self) -> Option<ConsumerId> {
        self.active
    }

    pub(crate) fn exclusive(&self) -> Option<ConsumerId> {
        self.exclusive
    }

    pub(crate) fn get(&self, id: ConsumerId) -> Option<ConsumerView<'_, G>> {
        self.seat(id).map(|seat| self.view(seat))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = ConsumerView<'_, G>> {
        self.seats.iter().flatten().map(|seat| self.view(seat))
    }

    fn enter_ring(&mut self, id: ConsumerId) {
        let Some(seat) = self.seat_mut(id) else { return };
        seat.activity = Activity::InRing;
        let priority = seat.consumer.priority;
        let ring = self.ring_of(priority);
        self.rings[ring].turns.push_back(id.index);
        self.first_ring = self.first_ring.min(ring);
    }

    fn view<'a>(&self, seat: &'a Seat<G>) -> ConsumerView<'a, G> {
        let is_active = !self.is_single || self.active == Some(seat.id);
        ConsumerView { id: seat.id, consumer: &seat.consumer, unacked_count: seat.unacked_count, is_active }
    }

    /// The ring of a priority, made if there is none.
    fn ring_of(&mut self, priority: i32) -> usize {
        match self.rings.binary_search_by(|ring| priority.cmp(&ring.priority)) {
            Ok(at) => at,
            Err(at) => {
                self.rings.insert(at, Ring { priority, consumer_count: 0, turns: VecDeque::new() });
                at
            }
        }
    }

    fn seat(&self, id: ConsumerId) -> Option<&Seat<G>> {
        self.seats.get(id.index as usize)?.as_ref().filter(|seat| seat.id == id)
    }

    fn seat_mut(&mut self, id: ConsumerId) -> Option<&mut Seat<G>> {
        self.seats.get_mut(id.index as usize)?.as_mut().filter(|seat| seat.id == id)
    }
}
