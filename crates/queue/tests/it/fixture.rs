//! A message, a gate and a disk that tests can look into.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::rc::Rc;

use ::model::ids::{Place, QueueSeq, SegmentId};
use ::queue::{Consumer, Credit, Delivery, Effects, Gate, Get, Load, Message, PlacedMessage, Queue, Return};

pub(crate) type TestQueue = Queue<Note, Door>;

/// A message of a handle's usual size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    paper: Rc<Paper>,
    /// The place, and whether the body is still here.
    place: Option<(SegmentId, u32)>,
    is_released: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Paper {
    name: u64,
    len: u32,
    is_journaled: bool,
    /// It lets go of its body when it is asked to.
    is_light: bool,
    priority: u8,
    ttl_ms: Option<u64>,
    entered_at_ms: u64,
    group: Option<u64>,
    header_len: u32,
}

impl Paper {
    fn new(name: u64, len: u32, is_journaled: bool) -> Self {
        Paper {
            name,
            len,
            is_journaled,
            is_light: false,
            priority: 0,
            ttl_ms: None,
            entered_at_ms: 0,
            group: None,
            header_len: 0,
        }
    }
}

impl Note {
    pub(crate) fn new(name: u64, len: u32, is_journaled: bool) -> Self {
        Note::with_paper(Paper::new(name, len, is_journaled))
    }

    pub(crate) fn light(name: u64, len: u32, is_journaled: bool) -> Self {
        Note::with_paper(Paper { is_light: true, ..Paper::new(name, len, is_journaled) })
    }

    /// The same with a priority.
    pub(crate) fn of_priority(self, priority: u8) -> Self {
        self.change(|paper| paper.priority = priority)
    }

    /// The same with a time to live, entering now.
    pub(crate) fn with_ttl(self, ttl_ms: Option<u64>, entered_at_ms: u64) -> Self {
        self.change(|paper| (paper.ttl_ms, paper.entered_at_ms) = (ttl_ms, entered_at_ms))
    }

    /// The same with a header.
    pub(crate) fn with_header(self, header_len: u32) -> Self {
        self.change(|paper| paper.header_len = header_len)
    }

    /// The same in a group.
    pub(crate) fn in_group(self, group: Option<u64>) -> Self {
        self.change(|paper| paper.group = group)
    }

    /// Its group by a header, whether or not its body is here: by "pairs" two groups are one, by any other each is its own.
    pub(crate) fn group_by(&self, header: &str) -> Option<u64> {
        let group = self.paper.group?;
        Some(if header == "pairs" { group / 2 } else { group })
    }

    /// Its time to live and when it entered, whether or not its body is here.
    pub(crate) fn time(&self) -> (Option<u64>, u64) {
        (self.paper.ttl_ms, self.paper.entered_at_ms)
    }

    fn change(mut self, change: impl FnOnce(&mut Paper)) -> Self {
        change(Rc::get_mut(&mut self.paper).expect("the note is new"));
        self
    }

    fn with_paper(paper: Paper) -> Self {
        Note { paper: Rc::new(paper), place: None, is_released: false }
    }

    pub(crate) fn name(&self) -> u64 {
        self.paper.name
    }

    /// Handles on this message, anywhere.
    pub(crate) fn handle_count(&self) -> usize {
        Rc::strong_count(&self.paper)
    }

    #[track_caller]
    pub(crate) fn placed(&self) -> Place {
        self.place().expect("the message lies in a segment")
    }

    /// As it is read from a segment.
    pub(crate) fn read_at(&self, place: Place) -> Self {
        Note { paper: Rc::clone(&self.paper), place: Some((place.segment, place.slot)), is_released: false }
    }
}

impl Message for Note {
    fn len(&self) -> u32 {
        self.paper.len
    }

    fn delivered_len(&self) -> u32 {
        self.paper.len + self.paper.header_len
    }

    fn is_journaled(&self) -> bool {
        self.paper.is_journaled
    }

    fn priority(&self) -> u8 {
        self.paper.priority
    }

    fn has_ttl(&self) -> bool {
        self.paper.ttl_ms.is_some()
    }

    fn ttl_ms(&self) -> Option<u64> {
        assert!(self.has_body(), "a time to live is in the body");
        self.paper.ttl_ms
    }

    fn entered_at_ms(&self) -> u64 {
        assert!(self.has_body(), "the time of entering is in the body");
        self.paper.entered_at_ms
    }

    fn group(&self, header: &str) -> Option<NonZeroU64> {
        assert!(self.has_body(), "the group is in the body");
        self.group_by(header).and_then(|group| NonZeroU64::new(group + 1))
    }

    fn place(&self) -> Option<Place> {
        self.place.map(|(segment, slot)| Place { segment, slot })
    }

    fn set_place(&mut self, place: Place) {
        self.place = Some((place.segment, place.slot));
    }

    fn release_body(&mut self) {
        assert!(self.place.is_some(), "the body would be lost");
        self.is_released = self.paper.is_light;
    }

    fn has_body(&self) -> bool {
        !self.is_released
    }
}

/// A gate that opens so many times, and remembers a refusal.
#[derive(Debug, Clone)]
pub(crate) struct Door(Rc<(Cell<u32>, Cell<bool>)>);

impl Door {
    pub(crate) fn open() -> Self {
        Door::open_for(u32::MAX)
    }

    pub(crate) fn open_for(times: u32) -> Self {
        Door(Rc::new((Cell::new(times), Cell::new(false))))
    }

    pub(crate) fn set(&self, times: u32) {
        self.0.0.set(times);
    }

    /// Whether it has refused since it was last asked this.
    pub(crate) fn take_refused(&self) -> bool {
        self.0.1.replace(false)
    }
}

impl Gate for Door {
    fn try_acquire(&self, _len: u32) -> bool {
        let times = self.0.0.get();
        self.0.0.set(times.saturating_sub(1));
        if times == 0 {
            self.0.1.set(true);
        }
        times > 0
    }
}

/// A consumer that acks, without limit.
pub(crate) fn acking() -> Consumer<Door> {
    Consumer {
        gate: Door::open(),
        no_ack: false,
        exclusive: false,
        priority: 0,
        credit: Credit::UNLIMITED,
        timeout_ms: None,
    }
}

/// A consumer that need not ack.
pub(crate) fn no_ack() -> Consumer<Door> {
    Consumer { no_ack: true, ..acking() }
}

/// A consumer that acks and holds so many at most.
pub(crate) fn with_prefetch(prefetch: u16) -> Consumer<Door> {
    Consumer { credit: Credit::window(prefetch), ..acking() }
}

/// Publishes journaled messages whose names are their seqs.
pub(crate) fn publish(queue: &mut TestQueue, count: u64) {
    for _ in 0..count {
        queue.publish(Note::new(queue.next_seq().0, 10, true));
    }
}

pub(crate) fn seqs(numbers: impl IntoIterator<Item = u64>) -> Vec<QueueSeq> {
    numbers.into_iter().map(QueueSeq).collect()
}

/// Dispatches; nothing needs to be loaded, and the queue drops nothing.
#[track_caller]
pub(crate) fn dispatch(queue: &mut TestQueue) -> Vec<Delivery<Note>> {
    let mut deliveries = Vec::new();
    assert_eq!(dispatch_into(queue, &mut deliveries), None, "nothing is in segments");
    deliveries
}

/// Dispatches where the queue drops nothing, and returns what is to be loaded.
#[track_caller]
pub(crate) fn dispatch_into(queue: &mut TestQueue, deliveries: &mut Vec<Delivery<Note>>) -> Option<Load> {
    let mut effects = Effects::default();
    queue.dispatch(0, &mut effects);
    assert!(effects.dropped.is_empty() && effects.returned.is_empty());
    assert!(effects.loads.len() <= 1, "one lane needs one load");
    assert!(effects.drained.is_empty(), "no consumer drains");
    deliveries.append(&mut effects.deliveries);
    effects.loads.pop()
}

/// Dispatches and answers every load at once and in full.
pub(crate) fn dispatch_loading(queue: &mut TestQueue, disk: &Disk) -> Vec<Delivery<Note>> {
    let mut deliveries = Vec::new();
    while let Some(load) = dispatch_into(queue, &mut deliveries) {
        assert_eq!(loaded(queue, &load, disk.read(&load, load.end_slot), load.end_slot), 0);
    }
    deliveries
}

/// Answers a load.
pub(crate) fn loaded(queue: &mut TestQueue, load: &Load, entries: Vec<(QueueSeq, Note)>, next_slot: u32) -> u64 {
    queue.loaded(load, entries, next_slot, &mut Effects::default())
}

/// Gets where the queue drops nothing.
pub(crate) fn get(queue: &mut TestQueue, no_ack: bool) -> Get<Note> {
    queue.get(no_ack, 0, &mut Effects::default())
}

/// Requeues in a queue without rules.
pub(crate) fn requeue(queue: &mut TestQueue, seqs: &[QueueSeq]) {
    let mut effects = Effects::default();
    queue.requeue(seqs, Return::Failed, 0, &mut effects);
    assert!(effects.dropped.is_empty() && effects.returned.is_empty());
}

pub(crate) fn seqs_of(deliveries: &[Delivery<Note>]) -> Vec<u64> {
    deliveries.iter().map(|delivery| delivery.seq.0).collect()
}

/// Segments, and which of their slots are alive.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    pub(crate) segments: BTreeMap<SegmentId, Vec<Slot>>,
    next_segment: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) seq: QueueSeq,
    pub(crate) note: Note,
    pub(crate) is_alive: bool,
}

impl Disk {
    /// Writes a segment; says where each message lies.
    pub(crate) fn write(&mut self, is_journaled: bool, messages: &[(QueueSeq, Note)]) -> Vec<PlacedMessage> {
        self.next_segment += 1;
        let segment = if is_journaled { SegmentId(self.next_segment) } else { SegmentId::transient(self.next_segment) };
        let slots = messages.iter().map(|(seq, note)| Slot { seq: *seq, note: note.clone(), is_alive: true });
        self.segments.insert(segment, slots.collect());
        let places = (0..).map(|slot| Place { segment, slot });
        messages.iter().zip(places).map(|((seq, _), place)| PlacedMessage { seq: *seq, place }).collect()
    }

    /// What is alive in the slots of a load before `next_slot`.
    pub(crate) fn read(&self, load: &Load, next_slot: u32) -> Vec<(QueueSeq, Note)> {
        let Some(slots) = self.segments.get(&load.segment) else { return Vec::new() };
        (load.first_slot..next_slot)
            .filter_map(|slot| Some((slot, slots.get(slot as usize)?)))
            .filter(|(_, found)| found.is_alive)
            .map(|(slot, found)| (found.seq, found.note.read_at(Place { segment: load.segment, slot })))
            .collect()
    }

    /// A segment's slots as the ranges that the store makes of them: of one lane each, by ascending seq.
    pub(crate) fn runs(&self, segment: SegmentId) -> impl Iterator<Item = Vec<(u32, &Slot)>> {
        let slots: Vec<_> = (0..).zip(&self.segments[&segment]).collect();
        let continues = |left: &(u32, &Slot), right: &(u32, &Slot)| {
            left.1.note.priority() == right.1.note.priority() && left.1.seq < right.1.seq
        };
        slots.chunk_by(continues).map(<[_]>::to_vec).collect::<Vec<_>>().into_iter()
    }

    pub(crate) fn is_alive(&self, place: Place) -> bool {
        self.segments.get(&place.segment).is_some_and(|slots| slots[place.slot as usize].is_alive)
    }

    /// The name of the message in a slot.
    pub(crate) fn read_one(&self, place: Place) -> u64 {
        self.segments[&place.segment][place.slot as usize].note.name()
    }

    #[track_caller]
    pub(crate) fn settle(&mut self, place: Place) {
        let slot = &mut self.segments.get_mut(&place.segment).expect("the segment exists")[place.slot as usize];
        assert!(slot.is_alive, "{place} is settled twice");
        slot.is_alive = false;
    }
}

/// Moves all that is in memory to segments.
pub(crate) fn spill(queue: &mut TestQueue, disk: &mut Disk) {
    let mut messages = Vec::new();
    queue.in_memory(&mut |_| true, &mut messages);
    let (journaled, transient): (Vec<_>, Vec<_>) = messages.into_iter().partition(|(_, note)| note.is_journaled());
    for (is_journaled, messages) in [(true, journaled), (false, transient)] {
        if messages.is_empty() {
            continue;
        }
        let mut dead = Vec::new();
        queue.relocate(0, &disk.write(is_journaled, &messages), &mut dead);
        assert_eq!(dead, []);
    }
}
