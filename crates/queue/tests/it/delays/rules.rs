//! What the model cannot say: limits, memory, generations.

use ::model::ids::{Place, QueueId, SegmentId};
use ::queue::{Delays, Progress};

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
        placed.push(queue::Placed { seq: id.seq, place: Place { segment: SegmentId(1), slot } });
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
        placed.push(queue::Placed { seq: id.seq, place: Place { segment: SegmentId(1), slot: slot as u32 } });
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
