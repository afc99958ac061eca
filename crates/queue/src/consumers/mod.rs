//! Which consumer's turn it is.
//!
//! Consumers that can take a message wait in a ring, one ring a priority, the highest priority first. The front of the first ring that has
//! one gets the next message and moves to the back of its ring. A consumer that has used up its credit, or whose gate refused, leaves its
//! ring until a settlement, a [grant](Consumers::grant) or [`resume`](Consumers::resume) brings it back, so that those that cannot take
//! anything cost nothing. `grants`: credit that is granted, and drained.
//!
//! A queue may have a hundred thousand consumers, each of a priority of its own, and lose them all at once: nothing that happens to one of
//! them looks at the others. So the entries themselves are the links of the rings, a ring has a number that it keeps, and only rings in
//! which a consumer waits are kept in order. The first of these is at hand, and stays the first when it has become empty, until the next
//! message: a consumer that takes one message at a time is in its ring again by then.

mod grants;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

pub use self::grants::DrainedCredit;
use self::grants::Drains;
use crate::credit::Credit;
use crate::limits::{ACK_RATE_COUNT, ACK_RATE_SHARE};

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
    /// How many messages it may be handed, as of now. A window is of no account with `no_ack`.
    pub credit: Credit,
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
    /// As it was asked for, and its credit.
    pub consumer: &'a Consumer<G>,
    /// Messages that it holds unacked.
    pub unacked_count: u32,
    /// Whether it may get messages at all: false while another is the single active one.
    pub is_active: bool,
}

#[derive(Debug)]
pub(crate) struct Consumers<G> {
    entries: Vec<Option<ConsumerEntry<G>>>,
    free: Vec<u32>,
    rings: Vec<Ring>,
    free_rings: Vec<u32>,
    /// The rings that have consumers, except the one with the number 0: most queues have no other.
    by_priority: BTreeMap<i32, u32>,
    /// The ring of the highest priority in which a consumer waits, or [`NONE`]. It may have become empty since.
    first_ring: u32,
    /// The other rings in which a consumer waits, the highest priority first.
    other_rings: BTreeSet<(Reverse<i32>, u32)>,
    count: u32,
    /// Those of them that take nothing now: they have no credit, or another is the single active one.
    idle_count: u32,
    ack_rate: AckRate,
    /// None while there are none.
    drains: Option<Box<Drains>>,
    exclusive: Option<ConsumerId>,
    /// Only one at a time gets messages.
    is_single: bool,
    /// It gives way to one of a higher priority, when what it holds has been settled.
    gives_way: bool,
    /// That one.
    active: Option<ConsumerId>,
    /// It is about to give way.
    is_leaving: bool,
    /// All of them where only one is to be active: the highest priority first, and of each the oldest.
    succession: BTreeSet<(Reverse<i32>, NonZeroU32, u32)>,
    /// How often a entry has been looked at.
    #[cfg(test)]
    looks: std::cell::Cell<u64>,
}

#[derive(Debug)]
struct ConsumerEntry<G> {
    id: ConsumerId,
    consumer: Consumer<G>,
    unacked_count: u32,
    activity: Activity,
    ring: u32,
    /// Its neighbours in its ring, while it is in it.
    previous: u32,
    next: u32,
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
struct AckRate {
    published: u32,
    settled: u32,
    is_high: bool,
}

impl AckRate {
    #[inline]
    fn published(&mut self) {
        self.published += 1;
        if self.published == ACK_RATE_COUNT {
            self.is_high = self.settled >= ACK_RATE_COUNT / ACK_RATE_SHARE;
            (self.published, self.settled) = (0, 0);
        }
    }
}

#[derive(Debug)]
struct Ring {
    priority: i32,
    consumer_count: u32,
    /// The entry whose turn it is, or [`NONE`].
    first: u32,
}

/// No entry, or no ring.
const NONE: u32 = u32::MAX;
const IN_RING: &str = "a ring holds present consumers";

/// The consumer that gets the next message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) id: ConsumerId,
    pub(crate) no_ack: bool,
    pub(crate) timeout_ms: Option<u64>,
}

impl<G> Consumers<G> {
    /// Bytes that it takes, without what gates refer to.
    pub(crate) fn memory_len(&self) -> usize {
        size_of::<Self>()
            + self.entries.capacity() * size_of::<Option<ConsumerEntry<G>>>()
            + self.rings.capacity() * size_of::<Ring>()
    }
}

impl<G: Gate> Consumers<G> {
    pub(crate) fn new(is_single: bool, gives_way: bool) -> Self {
        Consumers {
            entries: Vec::new(),
            free: Vec::new(),
            rings: Vec::new(),
            free_rings: Vec::new(),
            by_priority: BTreeMap::new(),
            first_ring: NONE,
            other_rings: BTreeSet::new(),
            count: 0,
            idle_count: 0,
            ack_rate: AckRate::default(),
            drains: None,
            exclusive: None,
            is_single,
            gives_way,
            active: None,
            is_leaving: false,
            succession: BTreeSet::new(),
            #[cfg(test)]
            looks: std::cell::Cell::new(0),
        }
    }

    /// Whether `consumer` may join.
    pub(crate) fn check(&self, consumer: &Consumer<G>) -> Result<(), ConsumeError> {
        let is_taken = self.exclusive.is_some() || (consumer.exclusive && (self.count > 0 || self.is_single));
        if is_taken { Err(ConsumeError::InExclusiveUse) } else { Ok(()) }
    }

    pub(crate) fn add(&mut self, number: NonZeroU32, mut consumer: Consumer<G>) -> ConsumerId {
        if consumer.no_ack {
            consumer.credit = consumer.credit.without_acks();
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 consumers fit in memory")
        });
        let id = ConsumerId { index, number };
        if consumer.exclusive {
            self.exclusive = Some(id);
        }
        let priority = consumer.priority;
        let ring = self.ring_of(priority);
        self.rings[ring as usize].consumer_count += 1;
        let (previous, next) = (NONE, NONE);
        let entry = ConsumerEntry { id, consumer, unacked_count: 0, activity: Activity::Waiting, ring, previous, next };
        self.entries[index as usize] = Some(entry);
        self.count += 1;
        if !self.is_single {
            self.admit(id);
        } else {
            self.succession.insert((Reverse(priority), number, index));
            self.idle_count += 1;
            self.choose_active();
            self.give_way_to(id);
        }
        id
    }

    /// If the newcomer is of a higher priority than the active one, that gets nothing more.
    fn give_way_to(&mut self, newcomer: ConsumerId) {
        let priority_of = |id| self.entry(id).map(|entry| entry.consumer.priority);
        let Some(active) = self.active.filter(|active| priority_of(newcomer) > priority_of(*active)) else { return };
        if !self.gives_way {
            return;
        }
        self.is_leaving = true;
        let Some(entry) = self.entry_mut(active) else { return };
        let before = std::mem::replace(&mut entry.activity, Activity::Waiting);
        self.idle_count += u32::from(!matches!(before, Activity::OutOfCredit | Activity::Waiting));
        if before == Activity::InRing {
            self.leave_ring(active.index);
        }
        self.end_drain_if(active, |_| true);
        self.leave_if_done();
    }

    /// The active one that was to give way does so, if it no longer holds anything.
    fn leave_if_done(&mut self) {
        let holds_some = |id| self.entry(id).is_some_and(|entry| entry.unacked_count > 0);
        if self.is_leaving && !self.active.is_some_and(holds_some) {
            self.is_leaving = false;
            self.active = None;
            self.choose_active();
        }
    }

    /// If there is to be one active consumer and there is none: chooses the next.
    fn choose_active(&mut self) {
        if !self.is_single || self.active.is_some() {
            return;
        }
        let next = self.succession.first();
        if let Some(id) = next.map(|&(_, number, index)| ConsumerId { index, number }) {
            self.active = Some(id);
            self.idle_count -= 1;
            self.admit(id);
        }
    }

    pub(crate) fn remove(&mut self, id: ConsumerId) -> Option<Consumer<G>> {
        let entry = self.entry(id)?;
        match entry.activity {
            Activity::InRing => self.leave_ring(id.index),
            Activity::OutOfCredit | Activity::Waiting => self.idle_count -= 1,
            Activity::GateClosed => {}
        }
        let entry = self.entries[id.index as usize].take()?;
        self.succession.remove(&(Reverse(entry.consumer.priority), id.number, id.index));
        let ring = &mut self.rings[entry.ring as usize];
        ring.consumer_count -= 1;
        if ring.consumer_count == 0 {
            self.remove_ring(entry.ring);
        }
        if self.exclusive == Some(id) {
            self.exclusive = None;
        }
        self.forget_drain(id);
        self.free.push(id.index);
        self.count -= 1;
        if self.active == Some(id) {
            (self.active, self.is_leaving) = (None, false);
            self.choose_active();
        }
        Some(entry.consumer)
    }

    /// The next consumer that has credit and whose gate opens for `len` bytes. It has then been counted as served.
    #[inline(always)]
    pub(crate) fn take_turn(&mut self, len: u32) -> Option<Turn> {
        while let Some(ring) = self.rings.get_mut(self.first_ring as usize) {
            #[cfg(test)]
            self.looks.set(self.looks.get() + 1);
            let index = ring.first;
            if index == NONE {
                if self.other_rings.is_empty() {
                    return None;
                }
                self.go_to_next_ring();
                continue;
            }
            let entry = self.entries[index as usize].as_mut().expect(IN_RING);
            if !entry.consumer.gate.try_acquire(len) {
                entry.activity = Activity::GateClosed;
                self.leave_ring(index);
                continue;
            }
            let no_ack = entry.consumer.no_ack;
            entry.unacked_count += u32::from(!no_ack);
            let turn = Turn { id: entry.id, no_ack, timeout_ms: entry.consumer.timeout_ms };
            entry.consumer.credit.take();
            if entry.consumer.credit.has_room() {
                ring.first = entry.next;
            } else {
                entry.activity = Activity::OutOfCredit;
                self.idle_count += 1;
                self.leave_ring(index);
            }
            return Some(turn);
        }
        None
    }

    /// Gives this consumer the turn, if it has credit and its gate opens for `len` bytes. It has then been counted as served, and is
    /// the last of its ring.
    pub(crate) fn take_turn_of(&mut self, id: ConsumerId, len: u32) -> Option<Turn> {
        self.entry(id).filter(|entry| entry.activity == Activity::InRing)?;
        self.leave_ring(id.index);
        let entry = self.entry_mut(id)?;
        if !entry.consumer.gate.try_acquire(len) {
            entry.activity = Activity::GateClosed;
            return None;
        }
        let (no_ack, timeout_ms) = (entry.consumer.no_ack, entry.consumer.timeout_ms);
        entry.unacked_count += u32::from(!no_ack);
        entry.consumer.credit.take();
        self.admit(id);
        Some(Turn { id, no_ack, timeout_ms })
    }

    /// Whether a consumer waits for a message, as far as is known without asking the gates.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.other_rings.is_empty() || self.rings.get(self.first_ring as usize).is_some_and(|ring| ring.first != NONE)
    }

    /// Whether a consumer of at least this priority waits for a message, as far as is known without asking the gates.
    pub(crate) fn is_waiting_at(&self, priority_min: i32) -> bool {
        let of_first = self.rings.get(self.first_ring as usize).filter(|ring| ring.first != NONE);
        let first = of_first.map(|ring| ring.priority);
        let highest = first.or_else(|| self.other_rings.first().map(|(Reverse(priority), _)| *priority));
        highest.is_some_and(|priority| priority >= priority_min)
    }

    /// Whether consumers would take messages if they came fast enough: one has credit, or those that have none get it back so fast that
    /// it is the broker that is late.
    pub(crate) fn has_demand(&self) -> bool {
        self.count > self.idle_count || self.ack_rate.is_high
    }

    /// A message was published to the queue.
    #[inline]
    pub(crate) fn published(&mut self) {
        self.ack_rate.published();
    }

    /// A message that `id` held was settled or requeued.
    pub(crate) fn give_credit(&mut self, id: ConsumerId) {
        self.ack_rate.settled = self.ack_rate.settled.saturating_add(1);
        let Some(entry) = self.entry_mut(id) else { return };
        entry.unacked_count =
            entry.unacked_count.checked_sub(1).expect("only what it holds comes back from a consumer");
        if entry.consumer.credit.give_back() && entry.activity == Activity::OutOfCredit {
            self.idle_count -= 1;
            self.enter_ring(id);
        }
        if self.is_leaving {
            self.leave_if_done();
        }
    }

    /// The gate of `id` may open again.
    pub(crate) fn resume(&mut self, id: ConsumerId) {
        let Some(entry) = self.entry_mut(id) else { return };
        if entry.activity == Activity::GateClosed {
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
        self.entry(id).map(|entry| self.view(entry))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = ConsumerView<'_, G>> {
        #[cfg(test)]
        self.looks.set(self.looks.get() + self.entries.len() as u64);
        self.entries.iter().flatten().map(|entry| self.view(entry))
    }

    fn enter_ring(&mut self, id: ConsumerId) {
        let Some(entry) = self.entry_mut(id) else { return };
        entry.activity = Activity::InRing;
        let ring = entry.ring;
        let was_empty = self.rings[ring as usize].first == NONE;
        self.put_last(ring, id.index);
        if was_empty && ring != self.first_ring {
            self.put_in_order(ring);
        }
    }

    /// A consumer waits in a ring that was empty.
    fn put_in_order(&mut self, ring: u32) {
        let priority = self.rings[ring as usize].priority;
        let Some(first) = self.rings.get(self.first_ring as usize) else {
            self.first_ring = ring;
            return;
        };
        if priority < first.priority {
            self.other_rings.insert((Reverse(priority), ring));
            return;
        }
        if first.first != NONE {
            self.other_rings.insert((Reverse(first.priority), self.first_ring));
        }
        self.first_ring = ring;
    }

    #[cold]
    fn go_to_next_ring(&mut self) {
        self.first_ring = self.other_rings.pop_first().map_or(NONE, |(_, ring)| ring);
    }

    /// Links a entry into a ring, before the one whose turn it is.
    fn put_last(&mut self, ring: u32, index: u32) {
        let ring = &mut self.rings[ring as usize];
        if ring.first == NONE {
            ring.first = index;
        }
        let first = ring.first;
        let last = if first == index { index } else { self.link(first).previous };
        let entry = self.link(index);
        (entry.previous, entry.next) = (last, first);
        self.link(last).next = index;
        self.link(first).previous = index;
    }

    /// Unlinks a entry from its ring.
    fn leave_ring(&mut self, index: u32) {
        let entry = self.link(index);
        let (number, previous, next) = (entry.ring, entry.previous, entry.next);
        (entry.previous, entry.next) = (NONE, NONE);
        if next == index {
            let ring = &mut self.rings[number as usize];
            ring.first = NONE;
            if number != self.first_ring {
                self.other_rings.remove(&(Reverse(ring.priority), number));
            }
            return;
        }
        self.link(previous).next = next;
        self.link(next).previous = previous;
        let ring = &mut self.rings[number as usize];
        if ring.first == index {
            ring.first = next;
        }
    }

    fn link(&mut self, index: u32) -> &mut ConsumerEntry<G> {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
        self.entries[index as usize].as_mut().expect(IN_RING)
    }

    fn view<'a>(&self, entry: &'a ConsumerEntry<G>) -> ConsumerView<'a, G> {
        let is_active = !self.is_single || self.active == Some(entry.id);
        ConsumerView { id: entry.id, consumer: &entry.consumer, unacked_count: entry.unacked_count, is_active }
    }

    /// The ring of a priority, made if there is none.
    fn ring_of(&mut self, priority: i32) -> u32 {
        if self.rings.first().is_some_and(|ring| ring.consumer_count > 0 && ring.priority == priority) {
            return 0;
        }
        if let Some(&ring) = self.by_priority.get(&priority) {
            return ring;
        }
        let ring = Ring { priority, consumer_count: 0, first: NONE };
        let number = if let Some(number) = self.free_rings.pop() {
            self.rings[number as usize] = ring;
            number
        } else {
            self.rings.push(ring);
            self.rings.len() as u32 - 1
        };
        if number != 0 {
            self.by_priority.insert(priority, number);
        }
        number
    }

    /// Forgets a ring that no longer has consumers.
    fn remove_ring(&mut self, ring: u32) {
        if ring == self.first_ring {
            self.go_to_next_ring();
        }
        if ring != 0 {
            self.by_priority.remove(&self.rings[ring as usize].priority);
        }
        self.free_rings.push(ring);
    }

    fn entry(&self, id: ConsumerId) -> Option<&ConsumerEntry<G>> {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
        self.entries.get(id.index as usize)?.as_ref().filter(|entry| entry.id == id)
    }

    fn entry_mut(&mut self, id: ConsumerId) -> Option<&mut ConsumerEntry<G>> {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
        self.entries.get_mut(id.index as usize)?.as_mut().filter(|entry| entry.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Open;

    impl Gate for Open {
        fn try_acquire(&self, _: u32) -> bool {
            true
        }
    }

    fn consumer(priority: i32) -> Consumer<Open> {
        Consumer { gate: Open, no_ack: false, exclusive: false, priority, credit: Credit::window(1), timeout_ms: None }
    }

    /// How many entries and rings are looked at while so many consumers come, are served, settle, and go, the oldest first or last.
    fn looks(count: u32, is_single: bool, goes_oldest_first: bool, priority_of: fn(u32) -> i32) -> u64 {
        let mut consumers = Consumers::new(is_single, true);
        let number = |number: u32| NonZeroU32::new(number).expect("from one on");
        let mut ids: Vec<ConsumerId> =
            (1..=count).map(|at| consumers.add(number(at), consumer(priority_of(at)))).collect();
        while let Some(turn) = consumers.take_turn(1) {
            if turn.id.number.get() % 2 == 0 {
                consumers.give_credit(turn.id);
                assert!(consumers.take_turn_of(turn.id, 1).is_some());
            }
        }
        if !goes_oldest_first {
            ids.reverse();
        }
        for id in ids {
            consumers.remove(id).expect("it is there");
            consumers.take_turn(1);
        }
        assert_eq!((consumers.count(), consumers.idle_count, consumers.is_waiting()), (0, 0, false));
        consumers.looks.get()
    }

    #[test]
    fn what_happens_to_one_consumer_looks_at_few_others() {
        type PriorityOf = fn(u32) -> i32;
        let priorities: [(&str, PriorityOf); 4] = [
            ("one", |_| 0),
            ("three", |at| (at % 3) as i32),
            ("rising", |at| at as i32),
            ("falling", |at| -(at as i32)),
        ];
        for is_single in [false, true] {
            for goes_oldest_first in [false, true] {
                for (name, priority_of) in priorities {
                    let looks = looks(10_000, is_single, goes_oldest_first, priority_of);
                    assert!(looks < 40 * 10_000, "{looks} looks, {is_single}, {goes_oldest_first}, {name}");
                }
            }
        }
    }

    #[test]
    fn the_highest_priority_that_waits_is_served_whatever_came_before() {
        const COUNT: u32 = 40;
        let mut consumers = Consumers::new(false, false);
        // What happens next is chosen by a sequence that looks like chance and is the same each time.
        let mut state = 7_u32;
        let mut chance = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let mut number = 0;
        let mut here: Vec<(ConsumerId, i32, u32)> = Vec::new();
        for step in 0..20_000 {
            match chance(4) {
                0 if here.len() < COUNT as usize => {
                    number += 1;
                    let priority = chance(12) as i32;
                    let id = consumers.add(NonZeroU32::new(number).expect("from one on"), consumer(priority));
                    here.push((id, priority, 0));
                }
                1 if !here.is_empty() => {
                    let (id, ..) = here.swap_remove(chance(here.len() as u32) as usize);
                    consumers.remove(id).expect("it is there");
                }
                2 if !here.is_empty() => {
                    let at = chance(here.len() as u32) as usize;
                    let (id, _, unacked_count) = &mut here[at];
                    if *unacked_count > 0 {
                        *unacked_count = 0;
                        consumers.give_credit(*id);
                    } else if chance(2) == 0 {
                        *unacked_count = 1;
                        assert_eq!(consumers.take_turn_of(*id, 1).map(|turn| turn.id), Some(*id));
                    }
                }
                _ => {
                    let turn = consumers.take_turn(1).map(|turn| turn.id);
                    let expected =
                        here.iter().filter(|(.., unacked_count)| *unacked_count == 0).map(|each| each.1).max();
                    let served = here.iter_mut().find(|each| Some(each.0) == turn);
                    assert_eq!(served.as_ref().map(|each| each.1), expected, "step {step}");
                    if let Some((.., unacked_count)) = served {
                        *unacked_count = 1;
                    }
                }
            }
            let is_waiting = here.iter().any(|(.., unacked_count)| *unacked_count == 0);
            assert_eq!(consumers.is_waiting(), is_waiting, "step {step}");
        }
        for (id, ..) in here {
            consumers.remove(id).expect("it is there");
        }
        assert!(consumers.by_priority.is_empty() && consumers.other_rings.is_empty() && consumers.first_ring == NONE);
        assert_eq!(consumers.free_rings.len(), consumers.rings.len());
    }

    #[test]
    fn turns_go_round_whichever_consumer_leaves() {
        let mut consumers = Consumers::new(false, false);
        let mut ids: Vec<ConsumerId> = (1..=5)
            .map(|at| {
                let unbounded = Consumer { credit: Credit::UNLIMITED, ..consumer(0) };
                consumers.add(NonZeroU32::new(at).expect("from one on"), unbounded)
            })
            .collect();
        let turns = |consumers: &mut Consumers<Open>, count: usize| -> Vec<ConsumerId> {
            (0..count).map(|_| consumers.take_turn(1).expect("a consumer waits").id).collect()
        };
        assert_eq!(turns(&mut consumers, 6), [ids[0], ids[1], ids[2], ids[3], ids[4], ids[0]]);
        // It was the next one's turn, and it is that one's that leaves.
        consumers.remove(ids.remove(1));
        assert_eq!(turns(&mut consumers, 4), [ids[1], ids[2], ids[3], ids[0]]);
        assert_eq!(consumers.take_turn_of(ids[2], 1).map(|turn| turn.id), Some(ids[2]));
        assert_eq!(turns(&mut consumers, 4), [ids[1], ids[3], ids[0], ids[2]]);
        for id in ids {
            consumers.remove(id);
        }
        assert!(!consumers.is_waiting() && consumers.take_turn(1).is_none());
    }
}
