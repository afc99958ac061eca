//! What the model cannot say: limits, memory, generations.

use ::model::ids::{Place, QueueId, SegmentId};
use ::queue::{Cancel, Delays, Message, PlacedMessage, Progress, SearchOutcome};

use crate::fixture::Note;

const START_MS: u64 = 1_720_000_000_000;

fn note(name: u64) -> Note {
    Note::new(name, 10, true)
}

fn release(set: &mut Delays<Note>, now_ms: u64) -> (Vec<u64>, Progress) {
    let (mut out, mut asks) = (Vec::new(), Vec::new());
    let progress = set.release(now_ms, usize::MAX >> 1, &mut out, &mut asks);
    assert_eq!(asks, []);
    (out.iter().map(|(_, note)| note.name()).collect(), progress)
}

#[test]
fn what_is_due_comes_out_in_order_and_not_before() {
    let mut set = Delays::new();
    for (name, delay) in [(1, 50), (2, 10), (3, 50), (4, 0), (5, 10)] {
        set.insert(START_MS + delay, note(name), || QueueId(1));
    }
    assert_eq!(set.wake_at_ms(), Some(START_MS));
    assert_eq!(release(&mut set, START_MS + 9), (vec![4], Progress::Done));
    assert_eq!(set.wake_at_ms(), Some(START_MS + 10));
    assert_eq!(release(&mut set, START_MS + 49), (vec![2, 5], Progress::Done));
    assert_eq!(release(&mut set, START_MS + 50), (vec![1, 3], Progress::Done));
    assert_eq!(set.wake_at_ms(), None);
}

#[test]
fn a_generation_begins_where_one_is_needed_and_ends_with_its_last_message() {
    let mut set = Delays::new();
    let first = set.insert(START_MS, note(1), || QueueId(5));
    let second = set.insert(START_MS, note(2), || unreachable!("the generation is not full"));
    assert_eq!((first.generation, second.generation), (QueueId(5), QueueId(5)));
    let mut purged = queue::PurgedDelays::default();
    assert_eq!(set.purge(&mut purged), 2);
    assert_eq!(set.take_ended(), [QueueId(5)]);
    assert_eq!(set.insert(START_MS, note(3), || QueueId(6)).generation, QueueId(6));
    assert_eq!(set.take_ended(), []);
}

#[test]
fn far_messages_are_read_once_and_left_where_they_are() {
    let mut set = Delays::new();
    let mut placed = Vec::new();
    let notes: Vec<_> = (0..100).map(note).collect();
    for (slot, note) in (0..).zip(&notes) {
        // Two are due now, all others in an hour.
        let delay = if slot < 2 { 0 } else { 3_600_000 };
        let id = set.insert(START_MS + delay, note.clone(), || QueueId(1));
        placed.push(PlacedMessage { seq: id.seq, place: Place { segment: SegmentId(1), slot } });
    }
    set.relocate(QueueId(1), &placed, &mut Vec::new());
    assert_eq!(set.paged_count(), 100);
    let (mut out, mut asks) = (Vec::new(), Vec::new());
    assert_eq!(set.release(START_MS, 10, &mut out, &mut asks), Progress::Loading);
    let load = asks.pop().unwrap().load;
    let read = placed.iter().zip(&notes).map(|(placed, note)| (placed.seq, note.read_at(placed.place)));
    let answered = set.loaded(&load, read.collect(), 100, &mut asks);
    assert_eq!((answered.lost_count, set.paged_count()), (0, 98));
    assert_eq!(release(&mut set, START_MS), (vec![0, 1], Progress::Done));
    assert_eq!(set.wake_at_ms(), Some(START_MS + 3_600_000 - 2_000), "when the rest is read ahead");
    assert_eq!(set.next_due_ms(), Some(START_MS + 3_600_000));
}

#[test]
fn a_damaged_segment_loses_its_messages_and_no_others() {
    let mut set = Delays::new();
    let mut placed = Vec::new();
    for slot in 0..10 {
        let id = set.insert(START_MS, note(slot), || QueueId(1));
        placed.push(PlacedMessage { seq: id.seq, place: Place { segment: SegmentId(1), slot: slot as u32 } });
    }
    set.insert(START_MS, note(10), || unreachable!());
    set.relocate(QueueId(1), &placed, &mut Vec::new());
    let (mut out, mut asks) = (Vec::new(), Vec::new());
    set.release(START_MS, 10, &mut out, &mut asks);
    let load = asks.pop().unwrap().load;
    let read = vec![(placed[3].seq, note(3).read_at(placed[3].place))];
    assert_eq!(set.loaded(&load, read, 10, &mut asks).lost_count, 9);
    assert_eq!(set.count(), 2);
    assert_eq!(release(&mut set, START_MS), (vec![3, 10], Progress::Done));
}

#[test]
fn what_is_put_back_while_it_is_sought_is_not_called_missing() {
    let mut set = Delays::new();
    // Two runs of a generation that may both hold the message.
    let mut placed = Vec::new();
    for (name, delay) in [(1, 0), (2, 10), (3, 20), (4, 30)] {
        let id = set.insert(START_MS + delay, Note::light(name, 10, true), || QueueId(1));
        placed.push((id, Note::light(name, 10, true)));
    }
    for (segment, at) in [(1, [0, 2]), (2, [1, 3])] {
        let place = |slot| Place { segment: SegmentId(segment), slot };
        let of_segment: Vec<_> =
            (0..).zip(at).map(|(slot, at)| PlacedMessage { seq: placed[at].0.seq, place: place(slot) }).collect();
        set.relocate(QueueId(1), &of_segment, &mut Vec::new());
    }
    let (id, note) = (placed[2].0, &placed[2].1);
    let read = |at: usize, segment, slot| {
        let place = Place { segment: SegmentId(segment), slot };
        (placed[at].0.seq, placed[at].1.read_at(place))
    };
    let mut seeks = Vec::new();
    assert!(matches!(set.cancel(id, &mut seeks), Cancel::Loading));
    assert_eq!(seeks.len(), 2);
    // Meanwhile all of it is read and released.
    let (mut out, mut asks) = (Vec::new(), Vec::new());
    set.release(START_MS + 20, 10, &mut out, &mut asks);
    for ask in std::mem::take(&mut asks) {
        let entries = match ask.load.segment {
            SegmentId(1) => vec![read(0, 1, 0), read(2, 1, 1)],
            _ => vec![read(1, 2, 0), read(3, 2, 1)],
        };
        set.loaded(&ask.load, entries, 2, &mut asks);
    }
    set.release(START_MS + 20, 10, &mut out, &mut asks);
    assert!(out.iter().any(|(released, _)| *released == id));
    let answer = |set: &mut Delays<Note>, segment, entries| {
        let ask = seeks.iter().find(|ask| ask.load.segment == SegmentId(segment)).unwrap();
        set.loaded(&ask.load, entries, 2, &mut Vec::new()).sought
    };
    assert!(answer(&mut set, 1, vec![read(2, 1, 1)]).is_none(), "the other may still have it");
    set.put_back(&[id]);
    let sought = answer(&mut set, 2, vec![read(3, 2, 1)]).expect("it was the last");
    assert_eq!(sought.id, id);
    assert!(
        matches!(sought.found, SearchOutcome::Interrupted),
        "{note:?} with {} bytes waits: {:?}",
        note.len(),
        sought.found
    );
}
