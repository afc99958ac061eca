//! Sets of waiting messages in the store: their seqs are far apart, arrive in no order, and their ranges overlap in many segments.
//!
//! As in `power_loss`: the power fails at any operation, and what is recovered afterwards must be exactly what the journal said. Then
//! all of it must be released, in order.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use model::ids::{JournalPosition, Place, QueueId, QueueSeq, SegmentId};
use parking_lot::Mutex;
use queue::{
    Ask, Cancel, DelayId, Delays, Message, MovedMessage, PlacedMessage, Progress, PurgedDelays, RestoredGeneration,
    SearchOutcome, SettledDelays,
};

use crate::file::SimDisk;
use crate::simulation::{Event, Held, History, MessageNumber, check, content_of};
use crate::{
    ChunkWriter, CollectedResidents, Content, Kind, LaneResidents, LoadAnswer, Options, QueueOwner, QueueState, Random,
    ReadError, ReclaimReport, RecordBatch, RecoveredStore, Resident, Store, WorkError,
};

/// A queue whose messages have no priorities: as these messages are.
const NO_PRIORITIES: QueueId = QueueId(0);

const SEED_COUNT: u64 = 600;
const START_MS: u64 = 1_720_000_000_000;

/// What the store was made to do.
#[derive(Debug, Default)]
struct Seen {
    spilled: u64,
    checkpoints: u64,
    copied: u64,
    loaded: u64,
    sought: u64,
    released: u64,
}

/// One set, under a lock, and what it must hold.
struct Owner {
    store: Arc<Store>,
    state: Mutex<State>,
}

struct State {
    set: Delays<Held>,
    writer: ChunkWriter,
    live: BTreeMap<(u64, DelayId), MessageNumber>,
    leaving: BTreeMap<DelayId, MessageNumber>,
    legacy: Legacy,
}

/// What outlives a process.
struct Legacy {
    random: Random,
    history: History,
    now: u64,
    next_id: u64,
    next_message: u64,
    seen: Seen,
}

impl Owner {
    fn new(store: Arc<Store>, recovered: RecoveredStore, mut legacy: Legacy) -> Owner {
        let mut live = BTreeMap::new();
        for (queue, durable) in &legacy.history.cut_at(store.appended()).queues {
            for (seq, message) in &durable.messages {
                let id = DelayId { generation: *queue, seq: *seq };
                live.insert((id.due_ms(), id), *message);
            }
        }
        let generations: BTreeMap<_, _> = recovered.queues.into_iter().collect();
        let held = |content| Held::new(NO_PRIORITIES, content, true, None);
        let set = Delays::restore(generations.into_iter().map(|(generation, recovered)| RestoredGeneration {
            generation,
            ranges: recovered.ranges.into_iter().map(|recovered| recovered.range).collect(),
            messages: recovered.messages.into_iter().map(|(seq, content)| (seq, held(content))).collect(),
        }));
        assert_eq!(set.count(), live.len() as u64);
        let writer = store.chunk_writer(Kind::Journaled);
        let mut state = State { set, writer, live, leaving: BTreeMap::new(), legacy };
        state.settled(&store, Vec::new(), std::iter::empty());
        Owner { store, state: Mutex::new(state) }
    }

    fn act(&self) -> Result<(), WorkError> {
        let dice = self.state.lock().legacy.random.below(100);
        match dice {
            0..60 => self.interfere_once(),
            60..66 => self.store.step_journal()?,
            66..73 => {
                let (position, is_short) = {
                    let legacy = &mut self.state.lock().legacy;
                    let positions = legacy.history.positions();
                    let position = legacy.random.pick(&positions).copied().unwrap_or(JournalPosition::START);
                    (position, legacy.random.percent(50))
                };
                let retired = self.store.retire_to(position, if is_short { u64::MAX } else { 0 }, self)?;
                let seen = &mut self.state.lock().legacy.seen;
                seen.spilled += retired.message_count;
                seen.checkpoints += u64::from(retired.has_checkpoint);
            }
            73..80 => {
                if let Some(ReclaimReport::Copied { from, .. }) = self.store.reclaim_once(self)? {
                    self.state.lock().legacy.seen.copied += from as u64;
                }
            }
            80..82 => self.store.checkpoint_once()?,
            _ => drop(self.store.load_once(self)),
        }
        Ok(())
    }

    fn interfere_once(&self) {
        let asks = self.state.lock().act(&self.store);
        self.ask(asks);
    }

    /// What clients might do just now, and readers.
    fn interfere(&self) {
        while self.state.lock().legacy.random.percent(40) {
            self.interfere_once();
        }
        while self.state.lock().legacy.random.percent(20) {
            self.store.load_once(self);
        }
    }

    fn ask(&self, asks: Vec<Ask>) {
        asks.into_iter().for_each(|ask| self.store.load(ask.generation, ask.load));
    }

    /// Everything comes out, once and in order.
    fn drain(&self) {
        let mut rounds = 0;
        while !self.state.lock().live.is_empty() {
            while self.store.load_once(self) {}
            let asks = {
                let mut state = self.state.lock();
                state.legacy.now = state.legacy.now.max(state.set.wake_at_ms().unwrap_or(0));
                let asks = state.release(1000);
                state.settle(&self.store, u64::MAX);
                asks
            };
            self.ask(asks);
            rounds += 1;
            assert!(rounds < 100_000, "the set is stuck");
        }
        let mut state = self.state.lock();
        state.settle(&self.store, u64::MAX);
        assert_eq!((state.set.count(), state.set.leaving_count()), (0, 0));
    }
}

impl State {
    fn act(&mut self, store: &Store) -> Vec<Ask> {
        match self.legacy.random.below(100) {
            0..40 => self.insert(store),
            40..50 => self.legacy.now += self.legacy.random.below(3000),
            50..70 => {
                let count_max = self.legacy.random.range(1..200);
                return self.release(count_max as usize);
            }
            70..85 => {
                let pattern = self.legacy.random.next();
                self.settle(store, pattern);
            }
            85..96 => return self.cancel(store),
            96..97 => self.purge(store),
            97..99 => self.set.unload(),
            _ => {
                let ids: Vec<_> = self.leaving.keys().copied().collect();
                self.set.put_back(&ids);
                let back = std::mem::take(&mut self.leaving);
                self.live.extend(back.into_iter().map(|(id, message)| ((id.due_ms(), id), message)));
            }
        }
        Vec::new()
    }

    fn insert(&mut self, store: &Store) {
        let (mut batch, mut events) = (RecordBatch::new(), Vec::new());
        let legacy = &mut self.legacy;
        let spread = legacy.random.pick(&[1u64, 5_000, 60_000]).copied().unwrap_or(1);
        for _ in 0..legacy.random.range(1..20) {
            let message = legacy.next_message;
            legacy.next_message += 1;
            let content = self.writer.copy(&[&content_of(message)]);
            let due = legacy.now + legacy.random.below(spread);
            let next_id = &mut legacy.next_id;
            let id = self.set.insert(due, Held::new(NO_PRIORITIES, content.clone(), true, None), || {
                *next_id += 1;
                QueueId(*next_id)
            });
            batch.publish(&content, &[(id.generation, id.seq)]);
            events.push(Event::Publish { queue: id.generation, seq: id.seq, message });
            self.live.insert((id.due_ms(), id), message);
        }
        let position = store.append(&mut batch);
        self.legacy.history.append(position, events);
        self.settled(store, Vec::new(), std::iter::empty());
    }

    fn release(&mut self, count_max: usize) -> Vec<Ask> {
        let (mut out, mut asks) = (Vec::new(), Vec::new());
        let progress = self.set.release(self.legacy.now, count_max, &mut out, &mut asks);
        for (id, held) in out {
            let ((due, first), message) = self.live.pop_first().expect("only what is here is released");
            assert_eq!((first, id.due_ms()), (id, due), "what is released next");
            assert!(due <= self.legacy.now, "{id:?} is early");
            assert_eq!(crate::simulation::number_of(held.content().bytes()), message);
            self.leaving.insert(id, message);
            self.legacy.seen.released += 1;
        }
        let is_due = self.live.first_key_value().is_some_and(|((due, _), _)| *due <= self.legacy.now);
        assert!(progress != Progress::Done || !is_due, "not all that is due was released");
        asks
    }

    fn settle(&mut self, store: &Store, pattern: u64) {
        let chosen = self.leaving.iter().filter(|(_, message)| pattern >> (*message % 64) & 1 == 1);
        let ids: Vec<_> = chosen.map(|(id, _)| *id).collect();
        let mut settled = SettledDelays::default();
        self.set.settle(ids.iter().copied(), &mut settled);
        assert_eq!(settled.messages.len(), ids.len());
        self.leaving.retain(|id, _| ids.binary_search(id).is_err());
        self.settled(store, settled.records, settled.messages.into_iter().map(|(id, held)| (id, held.place())));
    }

    /// These are settled, by the records.
    fn settled(
        &mut self,
        store: &Store,
        records: Vec<(QueueId, QueueSeq, QueueSeq)>,
        messages: impl Iterator<Item = (DelayId, Option<Place>)>,
    ) {
        let (mut batch, mut events, mut places) = (RecordBatch::new(), Vec::new(), Vec::new());
        for (generation, first, last) in records {
            batch.settle(generation, first, last);
        }
        for (id, place) in messages {
            events.push(Event::Settle { queue: id.generation, seq: id.seq });
            places.extend(place);
        }
        for queue in self.set.take_ended() {
            batch.drop_queue(queue);
            events.push(Event::Drop { queue });
        }
        if !batch.is_empty() {
            let position = store.append(&mut batch);
            self.legacy.history.append(position, events);
        }
        store.settle_slots(&places);
    }

    fn cancel(&mut self, store: &Store) -> Vec<Ask> {
        let mut asks = Vec::new();
        let ids: Vec<_> = self.live.keys().map(|(_, id)| *id).collect();
        let Some(&id) = self.legacy.random.pick(&ids) else { return asks };
        match self.set.cancel(id, &mut asks) {
            Cancel::Unknown => panic!("{id:?} waits"),
            Cancel::Taken(held) => self.cancelled(store, id, &held),
            Cancel::Loading => assert!(!asks.is_empty()),
        }
        asks
    }

    fn cancelled(&mut self, store: &Store, id: DelayId, held: &Held) {
        let message = self.live.remove(&(id.due_ms(), id)).expect("only what is here is cancelled");
        assert_eq!(crate::simulation::number_of(held.content().bytes()), message);
        let record = (id.generation, id.seq, id.seq);
        self.settled(store, vec![record], std::iter::once((id, held.place())));
    }

    fn purge(&mut self, store: &Store) {
        let mut purged = PurgedDelays::default();
        assert_eq!(self.set.purge(&mut purged), self.live.len() as u64);
        let places: BTreeMap<_, _> = purged.messages.iter().map(|(id, held)| (*id, held.place())).collect();
        let gone = std::mem::take(&mut self.live);
        let gone = gone.into_keys().map(|(_, id)| (id, places.get(&id).copied().flatten()));
        self.settled(store, purged.records, gone);
        store.settle_ranges(&purged.ranges);
    }
}

impl QueueOwner for Owner {
    fn collect(&self, is_old: &dyn Fn(&Content) -> bool, out: &mut CollectedResidents) {
        self.interfere();
        let mut found = Vec::new();
        {
            let state = self.state.lock();
            // Nothing is ever added to a generation after a restart, so its next seq is never asked for.
            let never = QueueSeq(u64::MAX);
            let known = state.set.generations();
            out.queues.extend(known.map(|(queue, _)| QueueState {
                queue,
                next_seq: never,
                watermark: None,
                may_expire: false,
            }));
            state.set.in_memory(&mut |held| is_old(held.content()), &mut |id, held| found.push((id, held.clone())));
        }
        found.sort_by_key(|(id, _): &(DelayId, Held)| *id);
        for of_generation in found.chunk_by(|left, right| left.0.generation == right.0.generation) {
            let resident = |(id, held): &(DelayId, Held)| Resident {
                seq: id.seq,
                content: held.content().clone(),
                body_len: held.len(),
            };
            let residents = of_generation.iter().map(resident).collect();
            let queue = of_generation[0].0.generation;
            out.lanes.push(LaneResidents { queue, lane: 0, is_journaled: true, residents });
        }
        self.interfere();
    }

    fn relocate(&self, queue: QueueId, _lane: u8, placed: &[PlacedMessage]) {
        self.interfere();
        {
            let mut dead = Vec::new();
            let mut state = self.state.lock();
            state.set.relocate(queue, placed, &mut dead);
            self.store.settle_slots(&dead);
        }
        self.interfere();
    }

    fn loaded(&self, _queue: QueueId, loaded: LoadAnswer) {
        let mut state = self.state.lock();
        state.legacy.seen.loaded += loaded.entries.len() as u64;
        if let Some(error) = &loaded.error {
            assert!(matches!(error, ReadError::Io { .. }), "{error}");
        }
        let held = |content, place| Held::new(NO_PRIORITIES, content, true, Some(place));
        let entries = loaded.entries.into_iter().map(|entry| (entry.seq, held(entry.content, entry.place))).collect();
        let mut asks = Vec::new();
        let answered = state.set.loaded(&loaded.load, entries, loaded.next_slot, &mut asks);
        assert_eq!(answered.lost_count, 0, "messages are not where they should be");
        if let Some(sought) = answered.sought {
            state.legacy.seen.sought += 1;
            match sought.found {
                SearchOutcome::Message(held) => state.cancelled(&self.store, sought.id, &held),
                SearchOutcome::Missing => {
                    assert!(!state.live.contains_key(&(sought.id.due_ms(), sought.id)), "{sought:?}")
                }
                SearchOutcome::Interrupted => {}
            }
        }
        drop(state);
        self.ask(asks);
    }

    fn moved(&self, queue: QueueId, from: &[SegmentId], moved: &[MovedMessage]) {
        self.interfere();
        {
            let mut dead = Vec::new();
            let mut state = self.state.lock();
            let alive = self.store.settle_moved(moved);
            assert_eq!(state.set.move_ranges(queue, from, &alive, &mut dead), 0, "messages were not copied");
            self.store.settle_slots(&dead);
        }
        self.interfere();
    }
}

fn run(seed: u64) -> Seen {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(seed);
    let mut durable = JournalPosition::START;
    let mut legacy = Legacy {
        random: random.clone(),
        history: History::default(),
        now: START_MS,
        next_id: 0,
        next_message: 1,
        seen: Seen::default(),
    };
    for round in 0..4 {
        let options = Options::small(PathBuf::from("/data"), random.next());
        let (store, recovered) = Store::open_stepped(options, Arc::new(disk.clone())).unwrap();
        check(&store, &recovered, &mut legacy.history, durable);
        let owner = Owner::new(store, recovered, legacy);
        if random.percent(70) {
            disk.cut_power_at(disk.operation_count() + random.below(200));
        }
        for _ in 0..random.below(250) {
            if let Err(error) = owner.act() {
                assert!(disk.is_cut(), "{error}");
                break;
            }
        }
        if round == 3 && !disk.is_cut() {
            disk.cut_power_at(u64::MAX);
            owner.drain();
        }
        let Owner { store, state } = owner;
        legacy = state.into_inner().legacy;
        if !disk.is_cut() && random.percent(50) {
            disk.cut_power_at(u64::MAX);
            store.close().unwrap();
        }
        durable = store.durable();
        drop(store);
        disk.restart();
    }
    legacy.seen
}

#[test]
fn what_waits_is_released_in_order_whatever_happens() {
    let read = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    if let Some(seed) = read("STORE_SEED") {
        println!("{:?}", run(seed));
        return;
    }
    let mut all = Seen::default();
    for seed in 0..SEED_COUNT * read("STORE_SEED_FACTOR").unwrap_or(1) {
        match std::panic::catch_unwind(|| run(seed)) {
            Ok(seen) => {
                all.spilled += seen.spilled;
                all.checkpoints += seen.checkpoints;
                all.copied += seen.copied;
                all.loaded += seen.loaded;
                all.sought += seen.sought;
                all.released += seen.released;
            }
            Err(panic) => {
                eprintln!("STORE_SEED={seed} shows it again");
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("{all:?}");
    let is_thorough = [all.spilled, all.checkpoints, all.copied, all.loaded, all.sought, all.released];
    assert!(is_thorough.iter().all(|count| *count > SEED_COUNT), "the test has become too tame: {all:?}");
}
