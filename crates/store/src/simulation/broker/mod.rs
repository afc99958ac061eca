//! A small broker over the real queues: does random things, and keeps book of them in a [`History`].
//!
//! The store calls it back in the middle of its work; it then does random things too, as other threads would.

mod queue_owner;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::ids::{JournalPosition, Place, QueueId, QueueSeq};
use parking_lot::Mutex;
use queue::{Counts, Effects, Get, PagedRange, PurgedMessages, Queue, RestoredQueue, Return, Rules, Settings};

use super::held::{Held, Open, content_of, number_of, priority_of};
use super::history::{Event, History, MessageNumber};
use crate::{ChunkWriter, Kind, Random, ReclaimReport, RecordBatch, RecoveredStore, Returns, Store, WorkError};

/// A queue, and what it must hold.
struct Cell {
    queue: Queue<Held, Open>,
    is_durable: bool,
    live: BTreeMap<QueueSeq, (MessageNumber, bool)>,
    unacked: BTreeSet<QueueSeq>,
    watermark: Option<QueueSeq>,
    returned: BTreeMap<QueueSeq, Returns>,
}

impl Cell {
    fn new(is_durable: bool) -> Self {
        Cell {
            queue: counting(Queue::new(Settings::default())),
            is_durable,
            live: BTreeMap::new(),
            unacked: BTreeSet::new(),
            watermark: None,
            returned: BTreeMap::new(),
        }
    }

    fn first_ready(&self, id: QueueId) -> Option<QueueSeq> {
        let ready = self.live.iter().filter(|(seq, _)| !self.unacked.contains(seq));
        ready.min_by_key(|(seq, (number, _))| (Reverse(priority_of(id, *number)), **seq)).map(|(seq, _)| *seq)
    }
}

/// A queue that counts how often messages come back.
fn counting(mut queue: Queue<Held, Open>) -> Queue<Held, Open> {
    queue.set_rules(Rules { counts_returns: true, ..Rules::default() });
    queue
}

struct State {
    seen: Seen,
    random: Random,
    queues: BTreeMap<QueueId, Cell>,
    next_queue: u64,
    history: History,
    next_message: MessageNumber,
    writers: [ChunkWriter; 2],
    batch: RecordBatch,
    events: Vec<Event>,
    /// Publishers ask before each message.
    is_careful: bool,
    has_publishers: bool,
}

/// The broker.
pub struct Broker {
    store: Arc<Store>,
    state: Mutex<State>,
}

/// How much has been tried.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// Messages that were written to segments.
    pub spilled: u64,
    /// Checkpoints that retired journal files.
    pub checkpoints: u64,
    /// Segments that were copied together.
    pub copied: u64,
    /// Segments that were removed.
    pub removed: u64,
    /// Messages that were loaded from segments.
    pub loaded: u64,
}

/// What a broker leaves to the next one.
pub struct Legacy {
    /// What was tried.
    pub seen: Seen,
    /// Where all that is random comes from.
    pub random: Random,
    /// What was done.
    pub history: History,
    /// The number of the next queue.
    pub next_queue: u64,
    /// The number of the next message.
    pub next_message: MessageNumber,
}

fn definition(queue: QueueId) -> Vec<u8> {
    format!("queue/{queue}").into_bytes()
}

fn queue_of(definition: &[u8]) -> Option<QueueId> {
    Some(QueueId(std::str::from_utf8(definition).ok()?.strip_prefix("queue/")?.parse().ok()?))
}

impl Broker {
    /// Goes on from what was recovered, which the caller has checked.
    pub fn restore(store: Arc<Store>, recovered: RecoveredStore, legacy: Legacy) -> Arc<Self> {
        let mut queues = BTreeMap::new();
        let recovered_definitions = recovered.definitions;
        for (id, recovered) in recovered.queues {
            if !recovered_definitions.contains_key(&definition(id)) {
                continue;
            }
            let mut cell = Cell::new(true);
            let messages: Vec<_> = recovered
                .messages
                .into_iter()
                .map(|(seq, content)| (seq, Held::new(id, content, true, None)))
                .collect();
            let returned = recovered.returned.iter();
            let restored = RestoredQueue {
                next_seq: recovered.next_seq,
                watermark: recovered.watermark,
                ranges: recovered.ranges.into_iter().map(|recovered| (recovered.lane, recovered.range)).collect(),
                messages,
                returned: returned.map(|(seq, returns)| (*seq, returns.counts, 0)).collect(),
                may_expire: recovered.may_expire,
            };
            cell.queue = counting(Queue::restore(Settings::default(), restored));
            cell.watermark = recovered.watermark;
            cell.returned = recovered.returned.into_iter().collect();
            queues.insert(id, cell);
        }
        let defined = recovered_definitions.keys().filter_map(|key| queue_of(key));
        for id in defined {
            queues.entry(id).or_insert_with(|| Cell::new(true));
        }
        let Legacy { seen, random, history, next_queue, next_message } = legacy;
        let writers = [store.chunk_writer(Kind::Journaled), store.chunk_writer(Kind::Transient)];
        let (batch, events) = (RecordBatch::new(), Vec::new());
        let (is_careful, has_publishers) = (false, true);
        let state = State {
            seen,
            random,
            queues,
            next_queue,
            history,
            next_message,
            writers,
            batch,
            events,
            is_careful,
            has_publishers,
        };
        Arc::new(Broker { store, state: Mutex::new(state) })
    }

    /// What must be in a queue that was just restored.
    pub fn expect(&self, queue: QueueId, messages: &BTreeMap<QueueSeq, MessageNumber>) {
        let mut state = self.state.lock();
        if let Some(cell) = state.queues.get_mut(&queue) {
            cell.live = messages.iter().map(|(seq, number)| (*seq, (*number, true))).collect();
            assert_eq!(
                cell.queue.ready_count(),
                messages.len() as u64,
                "queue {queue} counts other messages than it has"
            );
        }
    }

    /// Ends, with nothing done. Nothing else may keep it.
    #[must_use]
    pub fn end(self: Arc<Self>) -> (Arc<Store>, Legacy) {
        let broker = Arc::into_inner(self).expect("nothing else keeps the broker");
        let State { seen, random, history, next_queue, next_message, .. } = broker.state.into_inner();
        (broker.store, Legacy { seen, random, history, next_queue, next_message })
    }

    /// What it does things with.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Makes a checkpoint of all that its group has committed; it may not be the moment.
    pub fn retire_committed(&self) {
        if let Ok(retired) = self.store.retire_committed(self) {
            self.state.lock().seen.checkpoints += u64::from(retired.has_checkpoint);
        }
    }

    /// The numbers of the next queue and the next message.
    pub fn next_numbers(&self) -> (u64, MessageNumber) {
        let state = self.state.lock();
        (state.next_queue, state.next_message)
    }

    /// What has been done so far.
    pub fn history(&self) -> History {
        self.state.lock().history.clone()
    }

    /// Does what clients do.
    pub fn serve(&self) {
        self.state.lock().act(&self.store);
    }

    /// From now on nothing is published while publishers must wait, one message after the other.
    pub fn be_careful(&self) {
        self.state.lock().is_careful = true;
    }

    /// From now on nothing is published but by [`Broker::publish`].
    pub fn stop_publishers(&self) {
        self.state.lock().has_publishers = false;
    }

    /// Publishes messages.
    pub fn publish(&self) {
        let mut state = self.state.lock();
        if state.queues.is_empty() {
            state.create_queue(&self.store);
        }
        state.publish(&self.store);
    }

    /// Takes what the first queue with something ready gives, and settles it. False: nothing is ready anywhere.
    pub fn consume(&self) -> bool {
        let mut state = self.state.lock();
        let ids: Vec<_> = state.queues.keys().copied().collect();
        let Some(id) = ids.into_iter().find(|id| state.queues[id].first_ready(*id).is_some()) else { return false };
        for _ in 0..20 {
            if state.get(&self.store, id).is_none() {
                break;
            }
        }
        let unacked: Vec<_> = state.queues[&id].unacked.iter().copied().collect();
        state.settle(&self.store, id, &unacked);
        true
    }

    /// Does something.
    pub fn act(&self) -> Result<(), WorkError> {
        let dice = self.state.lock().random.below(100);
        match dice {
            0..60 => self.state.lock().act(&self.store),
            60..65 => self.store.step_journal()?,
            65..66 => self.store.record_synced(),
            66..72 => self.retire()?,
            72..74 => {
                // Now and then the journal has rested.
                self.store.trim_disk();
                self.store.retire_once(self)?;
            }
            74..80 => {
                let reclaimed = self.store.reclaim_once(self)?;
                let seen = &mut self.state.lock().seen;
                match reclaimed {
                    Some(ReclaimReport::Removed(count)) => seen.removed += count as u64,
                    Some(ReclaimReport::Copied { from, .. }) => seen.copied += from as u64,
                    None => {}
                }
            }
            80..82 => self.store.checkpoint_once()?,
            82..100 => drop(self.store.load_once(self)),
            _ => unreachable!("a dice of one hundred"),
        }
        Ok(())
    }

    fn retire(&self) -> Result<(), WorkError> {
        let (position, chunk_end) = {
            let mut state = self.state.lock();
            let positions = state.history.positions();
            let position = state.random.pick(&positions).copied().unwrap_or(JournalPosition::START);
            let is_short = state.random.percent(50);
            (position, if is_short { u64::MAX } else { 0 })
        };
        let retired = self.store.retire_to(position, chunk_end, self)?;
        let seen = &mut self.state.lock().seen;
        seen.spilled += retired.message_count;
        seen.checkpoints += u64::from(retired.has_checkpoint);
        Ok(())
    }

    /// What clients might do just now.
    fn interfere(&self) {
        let mut state = self.state.lock();
        while state.random.percent(40) {
            state.act(&self.store);
        }
    }

    /// The same, and what readers might do.
    fn interfere_with_loads(&self) {
        self.interfere();
        while self.state.lock().random.percent(20) {
            self.store.load_once(self);
        }
    }

    /// As [`Broker::interfere`], unless this is called from within it.
    pub fn meddle(&self) {
        if let Some(mut state) = self.state.try_lock() {
            while state.random.percent(10) {
                state.act(&self.store);
            }
        }
    }

    /// What clients and the store's other threads might do just now. If the power fails, the caller will notice too.
    fn interfere_deeply(&self) {
        self.interfere();
        let dice = self.state.lock().random.below(100);
        match dice {
            0..8 => drop(self.store.reclaim_once(self)),
            8..12 => drop(self.store.checkpoint_once()),
            12..20 => drop(self.store.load_once(self)),
            _ => {}
        }
    }

    /// Takes every message out of every queue, reading what must be read, and checks them.
    pub fn drain(&self) {
        let ids: Vec<_> = self.state.lock().queues.keys().copied().collect();
        for id in ids {
            loop {
                let seqs: Vec<_> = {
                    let mut state = self.state.lock();
                    let cell = state.queues.get_mut(&id).expect("nothing else happens");
                    cell.unacked.iter().copied().collect()
                };
                self.state.lock().settle(&self.store, id, &seqs);
                if self.state.lock().get(&self.store, id).is_none() && !self.store.load_once(self) {
                    break;
                }
            }
            let state = self.state.lock();
            let cell = &state.queues[&id];
            assert!(cell.live.is_empty(), "queue {id} does not give {:?}", cell.live);
            assert_eq!((cell.queue.ready_count(), cell.queue.ready_bytes()), (0, 0));
        }
    }
}

impl State {
    /// Something that a client might do.
    fn act(&mut self, store: &Store) {
        let ids: Vec<_> = self.queues.keys().copied().collect();
        let Some(id) = self.random.pick(&ids).copied() else { return self.create_queue(store) };
        match self.random.below(100) {
            // The alarm stops publishers; others go on.
            0..40 if !self.has_publishers || store.is_disk_full() => {}
            0..40 => self.publish(store),
            40..62 => {
                for _ in 0..self.random.below(12) {
                    self.get(store, id);
                }
            }
            62..82 => {
                let seqs = self.some_unacked(id);
                self.settle(store, id, &seqs);
            }
            82..88 => {
                let seqs = self.some_unacked(id);
                self.requeue(store, id, &seqs);
            }
            88..89 => self.purge(store, id),
            89..91 => self.drop_queue(store, id),
            91..93 => self.create_queue(store),
            93..95 => self.change_definition(store),
            95..97 => self.move_watermark(store, id),
            97..98 => self.queues.get_mut(&id).expect("picked").queue.unload(),
            _ => self.change_chunks(store),
        }
    }

    fn commit(&mut self, store: &Store) {
        if !self.batch.is_empty() {
            let position = store.append(&mut self.batch);
            self.history.append(position, self.events.drain(..));
        }
    }

    fn publish(&mut self, store: &Store) {
        for _ in 0..=self.random.below(8) {
            let number = self.next_message;
            if self.is_careful {
                self.commit(store);
                if store.is_congested() || store.is_disk_full() {
                    return;
                }
            }
            self.next_message += 1;
            let is_persistent = self.random.percent(75);
            let ids: Vec<_> = self.queues.keys().copied().collect();
            let fanout = if self.random.percent(70) { 1 } else { 3 };
            let mut targets: Vec<QueueId> = (0..fanout).filter_map(|_| self.random.pick(&ids).copied()).collect();
            targets.sort_unstable();
            targets.dedup();
            let content = self.writers[usize::from(!is_persistent)].copy(&[&content_of(number)]);
            let mut journaled = Vec::new();
            for id in targets {
                let cell = self.queues.get_mut(&id).expect("picked");
                let is_journaled = is_persistent && cell.is_durable;
                let seq = cell.queue.publish(Held::new(id, content.clone(), is_journaled, None));
                cell.live.insert(seq, (number, is_journaled));
                if is_journaled {
                    journaled.push((id, seq));
                    self.events.push(Event::Publish { queue: id, seq, message: number });
                }
            }
            if !journaled.is_empty() {
                self.batch.publish(&content, &journaled);
            }
        }
        self.commit(store);
    }

    /// Gets a message, if one is ready and in memory.
    fn get(&mut self, store: &Store, id: QueueId) -> Option<QueueSeq> {
        let cell = self.queues.get_mut(&id)?;
        match cell.queue.get(false, 0, &mut Effects::default()) {
            Get::Empty => {
                assert_eq!(cell.first_ready(id), None, "queue {id} says that it is empty");
                None
            }
            Get::Loading(load) => {
                assert!(cell.first_ready(id).is_some(), "queue {id} loads and has nothing");
                if let Some(load) = load {
                    store.load(id, load);
                }
                None
            }
            Get::Message(got) => {
                assert_eq!(Some(got.seq), cell.first_ready(id), "queue {id} does not give its first message");
                let content = got.message.content.as_ref().expect("what is handed out has a body");
                assert_eq!(cell.live[&got.seq].0, number_of(content.bytes()), "queue {id}, message {}", got.seq);
                cell.unacked.insert(got.seq);
                Some(got.seq)
            }
        }
    }

    fn some_unacked(&mut self, id: QueueId) -> Vec<QueueSeq> {
        let unacked = &self.queues[&id].unacked;
        let percent = self.random.range(10..101);
        unacked.iter().copied().filter(|_| self.random.percent(percent)).collect()
    }

    fn settle(&mut self, store: &Store, id: QueueId, seqs: &[QueueSeq]) {
        let cell = self.queues.get_mut(&id).expect("picked");
        let mut settled = Vec::new();
        cell.queue.settle(seqs, &mut settled);
        assert_eq!(settled.len(), seqs.len(), "queue {id} knows nothing of what it handed out");
        let mut places = Vec::new();
        for (seq, message) in &settled {
            cell.unacked.remove(seq);
            places.extend(message.place);
        }
        if cell.is_durable && self.random.percent(30) {
            self.settle_as_runs(id, seqs);
        }
        for (seq, _) in settled {
            self.forget(id, seq);
        }
        self.commit(store);
        store.settle_slots(&places);
    }

    /// Journals runs of seqs as they are, messages that do not last among them.
    fn settle_as_runs(&mut self, id: QueueId, seqs: &[QueueSeq]) {
        for &seq in seqs {
            self.batch.settle(id, seq, seq);
            self.events.push(Event::Settle { queue: id, seq });
        }
    }

    /// A message leaves its queue.
    fn forget(&mut self, id: QueueId, seq: QueueSeq) {
        let cell = self.queues.get_mut(&id).expect("picked");
        let (_, is_journaled) = cell.live.remove(&seq).expect("a settled message was alive");
        cell.returned.remove(&seq);
        if is_journaled {
            self.batch.settle(id, seq, seq);
            self.events.push(Event::Settle { queue: id, seq });
        }
    }

    fn requeue(&mut self, store: &Store, id: QueueId, seqs: &[QueueSeq]) {
        let cell = self.queues.get_mut(&id).expect("picked");
        let mut effects = Effects::default();
        cell.queue.requeue(seqs, Return::Failed, 0, &mut effects);
        let counts: BTreeMap<QueueSeq, Counts> =
            effects.returned.into_iter().map(|returned| (returned.seq, returned.counts)).collect();
        for &seq in seqs {
            cell.unacked.remove(&seq);
            if cell.live[&seq].1 {
                let waits_until_ms = self.random.below(3);
                let returns = Returns { counts: counts[&seq], waits_until_ms };
                cell.returned.insert(seq, returns);
                self.batch.returned(id, seq, returns);
                self.events.push(Event::Returned { queue: id, seq, returns });
            }
        }
        self.commit(store);
    }

    fn purge(&mut self, store: &Store, id: QueueId) {
        let cell = self.queues.get_mut(&id).expect("picked");
        let mut purged = PurgedMessages::default();
        let count = cell.queue.purge(&mut purged);
        let ready: Vec<_> = cell.live.keys().filter(|seq| !cell.unacked.contains(seq)).copied().collect();
        assert_eq!(count, ready.len() as u64, "queue {id} purged");
        ready.into_iter().for_each(|seq| self.forget(id, seq));
        self.commit(store);
        settle_purged(store, &purged);
    }

    fn drop_queue(&mut self, store: &Store, id: QueueId) {
        let mut cell = self.queues.remove(&id).expect("picked");
        if cell.is_durable {
            self.batch.delete(&definition(id));
            self.batch.drop_queue(id);
            self.events.extend([Event::Delete { key: definition(id) }, Event::Drop { queue: id }]);
            self.commit(store);
            return;
        }
        // Nothing of it is in the journal, so the store learns of it slot by slot.
        let (mut purged, mut unacked) = (PurgedMessages::default(), Vec::new());
        cell.queue.purge(&mut purged);
        cell.queue.drain_unacked(&mut unacked);
        purged.messages.append(&mut unacked);
        settle_purged(store, &purged);
    }

    fn create_queue(&mut self, store: &Store) {
        if self.queues.len() >= 6 {
            return;
        }
        let id = QueueId(self.next_queue);
        self.next_queue += 1;
        let is_durable = self.random.percent(75);
        self.queues.insert(id, Cell::new(is_durable));
        if is_durable {
            self.batch.put(&definition(id), b"durable");
            self.events.push(Event::Put { key: definition(id), value: b"durable".to_vec() });
        }
        self.commit(store);
    }

    fn change_definition(&mut self, store: &Store) {
        let key = format!("exchange/{}", self.random.below(5)).into_bytes();
        if self.random.percent(30) {
            self.batch.delete(&key);
            self.events.push(Event::Delete { key });
        } else {
            let value = self.random.next().to_le_bytes().to_vec();
            self.batch.put(&key, &value);
            self.events.push(Event::Put { key, value });
        }
        self.commit(store);
    }

    fn move_watermark(&mut self, store: &Store, id: QueueId) {
        let cell = self.queues.get_mut(&id).expect("picked");
        if cell.is_durable {
            cell.watermark = self.random.percent(60).then(|| cell.queue.last_delivered());
            self.batch.watermark(id, cell.watermark);
            self.events.push(Event::Watermark { queue: id, seq: cell.watermark });
            self.commit(store);
        }
    }

    fn change_chunks(&mut self, store: &Store) {
        let which = self.random.below(2) as usize;
        self.writers[which] = store.chunk_writer(Kind::Journaled);
    }
}

fn settle_purged(store: &Store, purged: &PurgedMessages<Held>) {
    let places: Vec<Place> = purged.messages.iter().filter_map(|(_, message)| message.place).collect();
    store.settle_slots(&places);
    store.settle_ranges(&purged.ranges);
}

/// Bytes and messages of ranges, for comparison with what is read from them.
pub(crate) fn counts_of(ranges: &[PagedRange]) -> (u64, u64) {
    ranges.iter().fold((0, 0), |sum, range| (sum.0 + u64::from(range.count), sum.1 + range.bytes))
}
