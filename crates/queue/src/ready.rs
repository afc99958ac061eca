//! All that is ready: a level of lanes for each priority that was ever used, the highest first.
//!
//! Each level has its own mark of what was handed out: a message is redelivered if it is at or below its level's. Levels are
//! never taken away, for their marks are needed as long as a message may come back.

use std::collections::VecDeque;

use model::ids::QueueSeq;

use crate::groups::{Group, GroupAccess, Groups, Key, PassedMessage};
use crate::lane::{Head, Lane, Source};
use crate::message::Message;
use crate::ranges::PagedRange;
use crate::unacked::{Holder, Unacked};

/// The ready messages of one priority.
#[derive(Debug)]
pub(crate) struct PriorityLevel<M> {
    priority: u8,
    /// Messages that are only in this process's life, and those that last.
    lanes: [Lane<M>; 2],
    /// The highest seq ever handed out, or 0.
    delivered: QueueSeq,
}

#[derive(Debug)]
pub(crate) struct Ready<M> {
    /// Of priority 0: all there is in a queue without priorities.
    lowest: PriorityLevel<M>,
    /// By descending priority.
    higher: Vec<PriorityLevel<M>>,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    /// What levels that are yet to come start with.
    delivered_before: QueueSeq,
    /// What came back and is delivered first, in that order, where the queue has that order. Those that a segment has again follow in their
    /// own order: what is no longer in memory is passed over here.
    returns: Option<VecDeque<Return>>,
    keeps_returns_in_order: bool,
    /// Which consumer may have what, where messages are in groups.
    pub(crate) groups: Option<Box<Groups>>,
}

/// A message that came back.
#[derive(Debug, Clone, Copy)]
struct Return {
    seq: QueueSeq,
    priority: u8,
    is_journaled: bool,
}

/// Where the message is that is delivered next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Front {
    pub(crate) head: Head,
    /// 0: the lowest; else one more than the index among the higher ones.
    level: usize,
    lane: usize,
}

const SEEN: &str = "the front was just seen";

impl<M: Message> PriorityLevel<M> {
    fn new(priority: u8, delivered: QueueSeq) -> Self {
        PriorityLevel { priority, lanes: [Lane::new(priority), Lane::new(priority)], delivered }
    }

    /// The lane whose head is delivered next, and that head.
    #[inline(always)]
    fn head(&self) -> Option<(usize, Head)> {
        match (self.lanes[0].head(), self.lanes[1].head()) {
            (None, right) => right.map(|head| (1, head)),
            (Some(left), Some(right)) if right.seq < left.seq => Some((1, right)),
            (Some(left), _) => Some((0, left)),
        }
    }

    /// The lane whose head is delivered next among what has not come back, and that head.
    fn head_of_new(&self) -> Option<(usize, Head)> {
        let heads = self.lanes.iter().enumerate().filter_map(|(lane, messages)| Some((lane, messages.head_of_new()?)));
        heads.min_by_key(|(_, head)| head.seq)
    }

    /// The lane whose first message after this one is delivered next, and that message.
    fn head_after(&self, seq: QueueSeq) -> Option<(usize, Head)> {
        let heads =
            self.lanes.iter().enumerate().filter_map(|(lane, messages)| Some((lane, messages.head_after(seq)?)));
        heads.min_by_key(|(_, head)| head.seq)
    }
}

impl<M> PriorityLevel<M> {
    pub(crate) fn priority(&self) -> u8 {
        self.priority
    }

    /// The highest seq ever handed out, or 0.
    pub(crate) fn delivered(&self) -> QueueSeq {
        self.delivered
    }

    pub(crate) fn lanes(&self) -> &[Lane<M>] {
        &self.lanes
    }
}

/// Which lane of its level a message belongs to.
#[inline]
fn lane_of(is_journaled: bool) -> usize {
    usize::from(is_journaled)
}

impl<M: Message> Ready<M> {
    /// Bytes that it takes beside itself. Groups count for what they know of messages.
    pub(crate) fn memory_len(&self) -> usize {
        let levels = std::iter::once(&self.lowest).chain(&self.higher);
        let lanes = levels.flat_map(|level| &level.lanes).map(Lane::memory_len).sum::<usize>();
        let returns = self.returns.as_ref().map_or(0, VecDeque::capacity) * size_of::<Return>();
        let groups = self.groups.as_ref().map_or(0, |groups| groups.memory_len());
        lanes + self.higher.capacity() * size_of::<PriorityLevel<M>>() + returns + groups
    }

    pub(crate) fn new(keeps_returns_in_order: bool) -> Self {
        Ready {
            returns: keeps_returns_in_order.then(VecDeque::new),
            keeps_returns_in_order,
            groups: None,
            lowest: PriorityLevel::new(0, QueueSeq(0)),
            higher: Vec::new(),
            count: 0,
            bytes: 0,
            delivered_before: QueueSeq(0),
        }
    }

    /// Everything up to here may have been handed out before this process.
    pub(crate) fn set_delivered(&mut self, delivered: QueueSeq) {
        self.delivered_before = delivered;
        self.levels_mut().for_each(|level| level.delivered = delivered);
    }

    #[inline(always)]
    pub(crate) fn publish(&mut self, seq: QueueSeq, message: M) {
        self.count += 1;
        self.bytes += u64::from(message.len());
        self.lane(message.priority(), message.is_journaled()).publish(seq, message);
    }

    /// The message that is delivered next: of the highest priority the lowest seq.
    #[inline(always)]
    pub(crate) fn front(&mut self) -> Option<Front> {
        if self.returns.is_some()
            && let Some(front) = self.first_return()
        {
            return Some(front);
        }
        for (index, level) in self.higher.iter().enumerate() {
            if let Some((lane, head)) = level.head() {
                return Some(Front { head, level: index + 1, lane });
            }
        }
        self.lowest.head().map(|(lane, head)| Front { head, level: 0, lane })
    }

    fn first_return(&mut self) -> Option<Front> {
        while let Some(returned) = self.returns.as_ref()?.front() {
            if let Some(front) = self.front_of_return(returned) {
                return Some(front);
            }
            self.returns.as_mut()?.pop_front();
        }
        None
    }

    /// Where a message is that came back, if it is in memory.
    fn front_of_return(&self, returned: &Return) -> Option<Front> {
        let (level, lane) = (self.level_of(returned.priority), lane_of(returned.is_journaled));
        let head = self.level(level).lanes[lane].returned(returned.seq)?;
        Some(Front { head, level, lane })
    }

    /// Those that are dropped when their time is over: the heads of all priorities. Where what came back is delivered first, as in RabbitMQ
    /// the first of that, and of each priority the first of the rest.
    pub(crate) fn expiring(&self) -> impl Iterator<Item = Front> {
        let first_return = self.returns.iter().flatten().find_map(|returned| self.front_of_return(returned));
        let is_apart = self.returns.is_some();
        let head_of = move |at: &PriorityLevel<M>| if is_apart { at.head_of_new() } else { at.head() };
        let levels = self.higher.iter().enumerate().map(|(index, level)| (index + 1, level)).chain([(0, &self.lowest)]);
        let heads = levels.filter_map(move |(level, at)| head_of(at).map(|(lane, head)| Front { head, level, lane }));
        first_return.into_iter().chain(heads)
    }

    /// What is no longer among what came back is not looked at again.
    pub(crate) fn forget_gone_returns(&mut self) {
        if self.returns.is_some() {
            self.first_return();
        }
    }

    /// The heads of all priorities that have messages, the highest first.
    pub(crate) fn heads(&self) -> impl Iterator<Item = Front> {
        let levels = self.higher.iter().enumerate().map(|(index, level)| (index + 1, level)).chain([(0, &self.lowest)]);
        levels.filter_map(|(level, at)| at.head().map(|(lane, head)| Front { head, level, lane }))
    }

    /// The priority of a front.
    pub(crate) fn priority_of(&self, front: &Front) -> u8 {
        self.level(front.level).priority
    }

    /// The message at a front, which is in memory.
    #[inline]
    pub(crate) fn peek(&self, front: &Front) -> Option<&M> {
        self.level(front.level).lanes[front.lane].peek(&front.head)
    }

    /// Takes the message at a front, which is in memory.
    pub(crate) fn take(&mut self, front: &Front) -> M {
        self.note_taken(front);
        self.lane_at(front).take(&front.head).expect(SEEN)
    }

    /// Takes the message at a front, which is in memory, as part of something else.
    #[inline(always)]
    pub(crate) fn take_into<T>(&mut self, front: &Front, out: &mut Vec<T>, make: impl Fn(M) -> T) {
        self.note_taken(front);
        // Twice the same, so that the usual one is moved once, from where it lies to its new place.
        if front.head.source == Source::Fifo {
            out.push(make(self.lane_at(front).take_first().expect(SEEN)));
        } else {
            out.push(make(self.lane_at(front).take(&front.head).expect(SEEN)));
        }
    }

    /// The message at a front is about to be taken.
    #[inline(always)]
    fn note_taken(&mut self, front: &Front) {
        if front.head.source == Source::ReturnedAt
            && let Some(returns) = &mut self.returns
        {
            returns.pop_front();
        }
        if self.groups.is_some() {
            let key = self.key_of(front);
            self.groups.as_mut().into_iter().for_each(|groups| groups.forget(key));
        }
        self.count -= 1;
        self.bytes -= u64::from(front.head.len);
    }

    /// The message at a front is about to be handed out. Whether it may have been before.
    #[inline(always)]
    pub(crate) fn note_delivered(&mut self, front: &Front) -> bool {
        let level = self.level_mut(front.level);
        let (before, priority) = (level.delivered, level.priority);
        level.delivered = before.max(front.head.seq);
        match &mut self.groups {
            None => front.head.seq <= before,
            Some(groups) => groups.note_delivered(Key::new(priority, front.head.seq), before),
        }
    }

    /// The highest seq ever handed out, or 0.
    pub(crate) fn last_delivered(&self) -> QueueSeq {
        self.levels().map(|level| level.delivered).max().unwrap_or(QueueSeq(0))
    }

    /// The lane of a front.
    pub(crate) fn lane_seen(&self, front: &Front) -> &Lane<M> {
        &self.level(front.level).lanes[front.lane]
    }

    /// The lane of a front.
    pub(crate) fn lane_at(&mut self, front: &Front) -> &mut Lane<M> {
        &mut self.level_mut(front.level).lanes[front.lane]
    }

    /// Puts a message that was handed out back to where it was.
    pub(crate) fn put_back(&mut self, seq: QueueSeq, message: M, unacked: &Unacked<M>) {
        self.count += 1;
        self.bytes += u64::from(message.len());
        let (priority, is_journaled) = (message.priority(), message.is_journaled());
        self.lane(priority, is_journaled).put_back(seq, message, unacked);
        if let Some(returns) = &mut self.returns {
            returns.push_back(Return { seq, priority, is_journaled });
        }
        if self.groups.is_some() {
            self.note_put_back(seq, priority, u8::from(is_journaled));
        }
    }

    /// A queue with groups has got a message back.
    fn note_put_back(&mut self, seq: QueueSeq, priority: u8, lane: u8) {
        let key = Key::new(priority, seq);
        let entry = self.front_of(priority, lane, seq).map(|front| self.entry_of(&front));
        match (&mut self.groups, entry) {
            (Some(groups), Some(entry)) => groups.put_back(key, entry),
            (Some(groups), None) => groups.rewind(key),
            (None, _) => {}
        }
    }

    /// A message in memory, as one that is passed over.
    pub(crate) fn entry_of(&self, front: &Front) -> PassedMessage {
        let (message, lane) = (self.peek(front), if front.lane == 0 { 0 } else { 1 });
        let group = self.groups.as_ref().and_then(|groups| groups.of_message(message?));
        let read_len = message.filter(|message| message.place().is_some()).map_or(0, M::len);
        PassedMessage { group, lane, read_len }
    }

    /// From now on messages are in groups, by a header of this name, or not.
    ///
    /// Where they are, what came back returns to its place: order within a group is more than the order of returns.
    pub(crate) fn set_groups(&mut self, header: Option<&str>) {
        self.groups = header.map(|header| Box::new(Groups::new(header)));
        self.returns = (self.keeps_returns_in_order && header.is_none()).then(VecDeque::new);
    }

    /// The first message that dispatch has not looked at yet, unless it has passed over as many as it may.
    pub(crate) fn first_unseen(&self) -> Option<Front> {
        let groups = self.groups.as_ref()?;
        let levels = self.higher.iter().enumerate().map(|(index, level)| (index + 1, level)).chain([(0, &self.lowest)]);
        for (index, level) in levels {
            let rank = Key::new(level.priority, QueueSeq(0)).rank;
            if let Some((lane, head)) = level.head_after(groups.seen(rank)) {
                // What is behind those passed over precedes lower priorities.
                return (!groups.is_full(rank)).then_some(Front { head, level: index, lane });
            }
        }
        None
    }

    /// A message that was passed over, if it is still in memory.
    pub(crate) fn front_of(&self, priority: u8, lane: u8, seq: QueueSeq) -> Option<Front> {
        let (level, lane) = (self.level_of(priority), usize::from(lane));
        let head = self.level(level).lanes[lane].find(seq)?;
        Some(Front { head, level, lane })
    }

    #[inline]
    pub(crate) fn key_of(&self, front: &Front) -> Key {
        Key::new(self.level(front.level).priority, front.head.seq)
    }

    pub(crate) fn access(&self, group: Option<Group>) -> GroupAccess {
        self.groups.as_ref().map_or(GroupAccess::Free, |groups| groups.access(group))
    }

    pub(crate) fn see(&mut self, front: &Front) {
        let key = self.key_of(front);
        if let Some(groups) = &mut self.groups {
            groups.see(key);
        }
    }

    pub(crate) fn hold(&mut self, seq: QueueSeq, group: Group, holder: Holder) {
        if let Some(groups) = &mut self.groups {
            groups.hold(seq, group, holder);
        }
    }

    pub(crate) fn set_held_up(&mut self, holds_up: bool) {
        if let Some(groups) = &mut self.groups {
            groups.holds_up = holds_up;
        }
    }

    /// Lets go of ready messages that lie in segments too.
    pub(crate) fn unload(&mut self, unacked: &Unacked<M>) {
        for lane in self.lanes_mut() {
            lane.unload(unacked);
        }
        if let Some(groups) = &mut self.groups {
            groups.rewind_all();
        }
    }

    /// Puts messages that lie in a segment among the ranges of their lane. They are counted already.
    pub(crate) fn page(&mut self, priority: u8, range: PagedRange, unacked: &Unacked<M>) {
        if let Some(groups) = &mut self.groups {
            groups.rewind(Key::new(priority, range.first_seq));
        }
        self.lane(priority, !range.segment.is_transient()).page(range, unacked);
    }

    /// The lane of a priority, made if there is none.
    #[inline]
    pub(crate) fn lane(&mut self, priority: u8, is_journaled: bool) -> &mut Lane<M> {
        let level = if priority == 0 { &mut self.lowest } else { self.higher_level(priority) };
        &mut level.lanes[lane_of(is_journaled)]
    }

    fn higher_level(&mut self, priority: u8) -> &mut PriorityLevel<M> {
        let at = match self.higher.binary_search_by(|level| priority.cmp(&level.priority)) {
            Ok(at) => at,
            Err(at) => {
                self.higher.insert(at, PriorityLevel::new(priority, self.delivered_before));
                at
            }
        };
        &mut self.higher[at]
    }

    /// All lanes, the highest priority first.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = &Lane<M>> {
        self.levels().flat_map(|level| &level.lanes)
    }

    /// All lanes, the highest priority first.
    pub(crate) fn lanes_mut(&mut self) -> impl Iterator<Item = &mut Lane<M>> {
        self.levels_mut().flat_map(|level| &mut level.lanes)
    }

    /// All lanes of messages that last, or all others.
    pub(crate) fn lanes_of_mut(&mut self, is_journaled: bool) -> impl Iterator<Item = &mut Lane<M>> {
        self.levels_mut().map(move |level| &mut level.lanes[lane_of(is_journaled)])
    }

    /// Some ready messages, counted by (count, bytes) `before`, have turned out to be those counted `after`. How many are missing.
    pub(crate) fn recount(&mut self, before: (u64, u64), after: (u64, u64)) -> u64 {
        self.count = (self.count + after.0).saturating_sub(before.0);
        self.bytes = (self.bytes + after.1).saturating_sub(before.1);
        before.0.saturating_sub(after.0)
    }

    /// The levels of a priority and of lower ones, the highest first.
    pub(crate) fn bands_from(&self, priority: u8) -> impl Iterator<Item = &PriorityLevel<M>> {
        self.levels().filter(move |level| level.priority <= priority)
    }

    fn levels(&self) -> impl Iterator<Item = &PriorityLevel<M>> {
        self.higher.iter().chain([&self.lowest])
    }

    fn levels_mut(&mut self) -> impl Iterator<Item = &mut PriorityLevel<M>> {
        self.higher.iter_mut().chain([&mut self.lowest])
    }

    /// The index of a priority's level; that of the lowest, if it has none.
    fn level_of(&self, priority: u8) -> usize {
        self.higher.binary_search_by(|level| priority.cmp(&level.priority)).map_or(0, |at| at + 1)
    }

    #[inline]
    fn level(&self, index: usize) -> &PriorityLevel<M> {
        if index == 0 { &self.lowest } else { &self.higher[index - 1] }
    }

    #[inline]
    fn level_mut(&mut self, index: usize) -> &mut PriorityLevel<M> {
        if index == 0 { &mut self.lowest } else { &mut self.higher[index - 1] }
    }
}
