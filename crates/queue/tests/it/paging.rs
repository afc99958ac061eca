//! The way to segments and back.

use ::model::ids::{Place, QueueSeq, SegmentId};
use ::queue::{
    Consumer, Delivery, Effects, Get, Load, Message, MovedMessage, PlacedMessage, PurgedMessages, Queue, Rules,
    Settings,
};

use crate::fixture::{
    Disk, Door, Note, TestQueue, acking, dispatch, dispatch_into, dispatch_loading, get, loaded, no_ack, publish,
    requeue, seqs, seqs_of, spill, with_prefetch,
};

/// A queue with so many messages, all in one segment.
fn paged_queue(count: u64) -> (TestQueue, Disk) {
    let (mut queue, mut disk) = (Queue::new(Settings::default()), Disk::default());
    publish(&mut queue, count);
    spill(&mut queue, &mut disk);
    (queue, disk)
}

fn place(segment: u32, slot: u32) -> Place {
    Place { segment: SegmentId(segment), slot }
}

/// What the ranges say: first slot, end slot, count.
fn ranges(queue: &TestQueue) -> Vec<(u32, u32, u32)> {
    queue.ranges().map(|range| (range.first_slot, range.end_slot, range.count)).collect()
}

#[track_caller]
fn dispatch_to_load(queue: &mut TestQueue, deliveries: &mut Vec<Delivery<Note>>) -> Load {
    dispatch_into(queue, deliveries).expect("messages are in segments")
}

#[test]
fn a_backlog_in_a_segment_is_one_range() {
    let (mut queue, mut disk) = paged_queue(10_000);
    assert_eq!(ranges(&queue), [(0, 10_000, 10_000)]);
    assert_eq!((queue.ready_count(), queue.paged_count(), queue.paged_bytes()), (10_000, 10_000, 100_000));
    publish(&mut queue, 5);
    spill(&mut queue, &mut disk);
    assert_eq!(ranges(&queue), [(0, 10_000, 10_000), (0, 5, 5)]);
    publish(&mut queue, 5);
    queue.consume(acking()).unwrap();
    assert_eq!(seqs_of(&dispatch_loading(&mut queue, &disk)), (1..=10_010).collect::<Vec<_>>());
}

#[test]
fn what_is_old_is_collected_with_all_before_it() {
    let mut queue: TestQueue = Queue::new(Settings::default());
    publish(&mut queue, 6);
    queue.publish(Note::new(7, 1, false));
    queue.consume(with_prefetch(2)).unwrap();
    dispatch(&mut queue);
    let mut found = Vec::new();
    queue.in_memory(&mut |note| [2, 4].contains(&note.name()), &mut found);
    assert_eq!(found.iter().map(|(seq, _)| seq.0).collect::<Vec<_>>(), [2, 3, 4]);
    queue.in_memory(&mut |_| false, &mut found);
    assert_eq!(found.len(), 3);
}

#[test]
fn what_has_a_place_is_not_collected_again() {
    let (mut queue, disk) = paged_queue(3);
    queue.consume(with_prefetch(1)).unwrap();
    dispatch_loading(&mut queue, &disk);
    let mut found = Vec::new();
    queue.in_memory(&mut |_| true, &mut found);
    assert_eq!(found, []);
}

#[test]
fn what_was_settled_while_it_was_written_is_dead() {
    let (mut queue, mut disk) = (Queue::new(Settings::default()), Disk::default());
    publish(&mut queue, 5);
    let mut messages = Vec::new();
    queue.in_memory(&mut |_| true, &mut messages);
    let placed = disk.write(true, &messages);
    get(&mut queue, true);
    get(&mut queue, false);
    let mut dead = Vec::new();
    queue.relocate(0, &placed, &mut dead);
    assert_eq!(dead, [place(1, 0)]);
    assert_eq!(ranges(&queue), [(2, 5, 3)]);
    let mut settled = Vec::new();
    queue.settle(&seqs([2]), &mut settled);
    assert_eq!(disk.read_one(settled[0].1.placed()), 2, "an unacked message gets its place");
}

#[test]
fn a_message_written_twice_has_its_first_place() {
    let (mut queue, mut disk) = (Queue::new(Settings::default()), Disk::default());
    publish(&mut queue, 2);
    get(&mut queue, false);
    let mut messages = Vec::new();
    queue.in_memory(&mut |_| true, &mut messages);
    let (first, second) = (disk.write(true, &messages), disk.write(true, &messages));
    let mut dead = Vec::new();
    queue.relocate(0, &first, &mut dead);
    assert_eq!(dead, []);
    queue.relocate(0, &second, &mut dead);
    assert_eq!(dead, [place(2, 0), place(2, 1)]);
    assert_eq!(queue.ready_count(), 1);
}

#[test]
fn an_unacked_message_divides_a_range() {
    let (mut queue, mut disk) = (Queue::new(Settings::default()), Disk::default());
    publish(&mut queue, 5);
    (0..3).for_each(|_| drop(get(&mut queue, false)));
    requeue(&mut queue, &seqs([1, 3]));
    spill(&mut queue, &mut disk);
    assert_eq!(ranges(&queue), [(0, 1, 1), (2, 5, 3)]);
    queue.consume(acking()).unwrap();
    assert_eq!(seqs_of(&dispatch_loading(&mut queue, &disk)), [1, 3, 4, 5]);
}

#[test]
fn nothing_is_read_for_nobody() {
    let (mut queue, _) = paged_queue(3);
    let mut deliveries = Vec::new();
    assert_eq!(dispatch_into(&mut queue, &mut deliveries), None);
    let door = Door::open_for(0);
    queue.consume(Consumer { gate: door.clone(), ..acking() }).unwrap();
    publish(&mut queue, 1);
    assert!(dispatch_into(&mut queue, &mut deliveries).is_some(), "the gate has not been asked yet");
    assert!(!door.take_refused(), "a gate is asked only for a message that is there");
}

#[test]
fn nothing_is_read_while_all_consumers_are_full() {
    let (mut queue, disk) = paged_queue(9);
    queue.consume(with_prefetch(1)).unwrap();
    let mut deliveries = Vec::new();
    let load = dispatch_to_load(&mut queue, &mut deliveries);
    loaded(&mut queue, &load, disk.read(&load, 2), 2);
    let ahead = dispatch_to_load(&mut queue, &mut deliveries);
    loaded(&mut queue, &ahead, Vec::new(), ahead.first_slot);
    assert_eq!(dispatch_into(&mut queue, &mut deliveries), None, "one message is loaded, and no consumer takes it");
    get(&mut queue, true);
    assert_eq!(dispatch_into(&mut queue, &mut deliveries), None, "no message is loaded, and no consumer waits for one");
    queue.settle(&seqs([1]), &mut Vec::new());
    assert!(dispatch_into(&mut queue, &mut deliveries).is_some());
}

#[test]
fn a_load_is_asked_for_once() {
    let (mut queue, disk) = paged_queue(3);
    queue.consume(acking()).unwrap();
    let mut deliveries = Vec::new();
    let load = dispatch_to_load(&mut queue, &mut deliveries);
    assert_eq!((load.segment, load.first_slot, load.end_slot), (SegmentId(1), 0, 3));
    assert_eq!(dispatch_into(&mut queue, &mut deliveries), None);
    publish(&mut queue, 1);
    assert_eq!(dispatch_into(&mut queue, &mut deliveries), None);
    assert_eq!(deliveries, [], "what is in memory waits behind what is not");
    loaded(&mut queue, &load, disk.read(&load, 3), 3);
    assert_eq!(seqs_of(&dispatch(&mut queue)), [1, 2, 3, 4]);
}

#[test]
fn a_load_that_failed_is_asked_for_again() {
    let (mut queue, _) = paged_queue(3);
    queue.consume(acking()).unwrap();
    let load = dispatch_to_load(&mut queue, &mut Vec::new());
    assert_eq!(loaded(&mut queue, &load, Vec::new(), load.first_slot), 0);
    let again = dispatch_to_load(&mut queue, &mut Vec::new());
    assert_eq!((again.first_slot, again.end_slot), (0, 3));
}

#[test]
fn the_next_load_is_asked_for_before_the_loaded_messages_run_out() {
    let (mut queue, disk) = paged_queue(10_000);
    queue.consume(with_prefetch(1)).unwrap();
    let mut deliveries = Vec::new();
    let load = dispatch_to_load(&mut queue, &mut deliveries);
    loaded(&mut queue, &load, disk.read(&load, 400), 400);
    for taken in 1..400 {
        let ahead = dispatch_into(&mut queue, &mut deliveries);
        assert_eq!(deliveries.len(), taken);
        if let Some(ahead) = ahead {
            assert_eq!((ahead.first_slot, ahead.end_slot), (400, 10_000));
            assert!((100..300).contains(&taken), "asked for after {taken} of 400");
            return;
        }
        queue.settle(&[deliveries[taken - 1].seq], &mut Vec::new());
    }
    panic!("the consumer had to wait");
}

#[test]
fn loads_grow_for_a_consumer_that_had_to_wait() {
    let (mut queue, disk) = paged_queue(100_000);
    let mut sizes = Vec::new();
    let mut read_all = |queue: &mut TestQueue, end: u32| {
        while let Some(load) = dispatch_into(queue, &mut Vec::new())
            && load.first_slot < end
        {
            let next_slot = (load.first_slot + load.bytes_max / 100).min(load.end_slot);
            dispatch_into(queue, &mut Vec::new());
            loaded(queue, &load, disk.read(&load, next_slot), next_slot);
            sizes.push(load.bytes_max / 1024);
        }
    };
    queue.consume(no_ack()).unwrap();
    read_all(&mut queue, 100_000);
    assert_eq!(sizes[..7], [32, 64, 128, 256, 512, 1024, 1024]);
    assert_eq!(queue.ready_count(), 0);
}

#[test]
fn ranges_close_to_each_other_are_read_at_once() {
    let (mut queue, mut disk) = (Queue::new(Settings::default()), Disk::default());
    publish(&mut queue, 9);
    (0..9).for_each(|_| drop(get(&mut queue, false)));
    requeue(&mut queue, &seqs([1, 3, 5, 7, 9]));
    spill(&mut queue, &mut disk);
    assert_eq!(queue.ranges().count(), 5);
    queue.consume(acking()).unwrap();
    let load = dispatch_to_load(&mut queue, &mut Vec::new());
    assert_eq!((load.first_slot, load.end_slot), (0, 9));
    loaded(&mut queue, &load, disk.read(&load, 9), 9);
    assert_eq!(seqs_of(&dispatch(&mut queue)), [1, 3, 5, 7, 9], "those that are unacked are not handed out twice");
}

#[test]
fn a_purge_gives_up_what_is_being_read() {
    let (mut queue, disk) = paged_queue(3);
    queue.consume(acking()).unwrap();
    let load = dispatch_to_load(&mut queue, &mut Vec::new());
    let mut purged = PurgedMessages::default();
    assert_eq!(queue.purge(&mut purged), 3);
    let range = purged.ranges[0];
    assert_eq!((range.first_slot, range.end_slot, range.first_seq, range.last_seq), (0, 3, QueueSeq(1), QueueSeq(3)));
    assert_eq!(loaded(&mut queue, &load, disk.read(&load, 3), 3), 0);
    assert_eq!(queue.ready_count(), 0);
    assert_eq!(dispatch(&mut queue), []);
}

#[test]
fn an_answer_to_an_older_load_is_passed_over() {
    let (mut queue, disk) = paged_queue(3);
    let ask = |queue: &mut TestQueue| match get(queue, false) {
        Get::Loading(Some(load)) => load,
        other => panic!("expected a load: {other:?}"),
    };
    let old = ask(&mut queue);
    queue.unload();
    let new = ask(&mut queue);
    loaded(&mut queue, &old, disk.read(&old, 3), 3);
    assert_eq!(queue.paged_count(), 3);
    loaded(&mut queue, &new, disk.read(&new, 3), 3);
    assert_eq!((queue.paged_count(), queue.ready_count()), (0, 3));
}

#[test]
fn what_was_read_ahead_goes_back_when_the_last_consumer_goes() {
    let (mut queue, disk) = paged_queue(100);
    let id = queue.consume(with_prefetch(1)).unwrap();
    let load = dispatch_to_load(&mut queue, &mut Vec::new());
    loaded(&mut queue, &load, disk.read(&load, 50), 50);
    let ahead = dispatch_into(&mut queue, &mut Vec::new()).unwrap();
    assert_eq!(ahead.first_slot, 50);
    queue.cancel(id);
    assert_eq!(ranges(&queue), [(1, 100, 99)]);
}

#[test]
fn messages_that_a_segment_no_longer_has_are_reported_missing() {
    let (mut queue, mut disk) = paged_queue(5);
    queue.consume(acking()).unwrap();
    let load = dispatch_to_load(&mut queue, &mut Vec::new());
    disk.settle(place(1, 1));
    disk.settle(place(1, 3));
    assert_eq!(loaded(&mut queue, &load, disk.read(&load, 5), 5), 2);
    assert_eq!((queue.ready_count(), queue.ready_bytes()), (3, 30));
    assert_eq!(seqs_of(&dispatch(&mut queue)), [1, 3, 5]);
}

#[test]
fn an_unacked_message_without_its_body_is_loaded_again() {
    let (mut queue, mut disk) = (Queue::new(Settings::default()), Disk::default());
    for name in 1..=3 {
        queue.publish(Note::light(name, 10, true));
    }
    (0..3).for_each(|_| drop(get(&mut queue, false)));
    spill(&mut queue, &mut disk);
    requeue(&mut queue, &seqs([2, 1, 3]));
    assert_eq!(ranges(&queue), [(0, 3, 3)]);
    queue.consume(acking()).unwrap();
    let deliveries = dispatch_loading(&mut queue, &disk);
    assert_eq!(seqs_of(&deliveries), [1, 2, 3]);
    assert!(deliveries.iter().all(|delivery| delivery.redelivered && delivery.message.has_body()));
}

#[test]
fn what_is_handed_out_from_a_segment_leaves_its_body_there() {
    let (mut queue, mut disk) = (Queue::new(Settings::default()), Disk::default());
    (1..=2).for_each(|name| assert_eq!(queue.publish(Note::light(name, 10, true)), QueueSeq(name)));
    get(&mut queue, false);
    spill(&mut queue, &mut disk);
    queue.consume(acking()).unwrap();
    assert!(dispatch_loading(&mut queue, &disk)[0].message.has_body());
    assert!(queue.unacked().all(|(_, note, _)| !note.has_body()));
}

#[test]
fn a_message_that_comes_back_does_not_spoil_the_load_behind_it() {
    let (mut queue, mut disk) = (Queue::new(Settings::default()), Disk::default());
    (1..=4).for_each(|name| assert_eq!(queue.publish(Note::light(name, 10, true)), QueueSeq(name)));
    get(&mut queue, false);
    spill(&mut queue, &mut disk);
    let Get::Loading(Some(load)) = get(&mut queue, false) else { panic!("the head is in a segment") };
    requeue(&mut queue, &seqs([1]));
    assert_eq!(ranges(&queue), [(0, 1, 1), (1, 4, 3)]);
    loaded(&mut queue, &load, disk.read(&load, 3), 3);
    assert_eq!(ranges(&queue), [(0, 1, 1), (3, 4, 1)]);
    queue.consume(acking()).unwrap();
    assert_eq!(seqs_of(&dispatch_loading(&mut queue, &disk)), [1, 2, 3, 4]);
}

#[test]
fn what_is_in_memory_is_not_read_again_with_the_ranges_around_it() {
    let (mut queue, mut disk) = (Queue::new(Settings::default()), Disk::default());
    (1..=4).for_each(|name| assert_eq!(queue.publish(Note::light(name, 10, true)), QueueSeq(name)));
    get(&mut queue, false);
    let mut messages = Vec::new();
    queue.in_memory(&mut |_| true, &mut messages);
    // As compaction leaves those of segments whose seqs mix: one segment's after the other's.
    messages.swap(1, 2);
    let mut placed = disk.write(true, &messages);
    placed.sort_by_key(|placed| placed.seq);
    queue.relocate(0, &placed, &mut Vec::new());
    let Get::Loading(Some(load)) = get(&mut queue, false) else { panic!("the head is in a segment") };
    assert_eq!((load.first_slot, load.end_slot), (2, 3));
    loaded(&mut queue, &load, disk.read(&load, 3), 3);
    requeue(&mut queue, &seqs([1]));
    assert_eq!(ranges(&queue), [(0, 2, 2), (3, 4, 1)]);
    queue.consume(acking()).unwrap();
    assert_eq!(seqs_of(&dispatch_loading(&mut queue, &disk)), [1, 2, 3, 4]);
    assert_eq!((queue.ready_count(), queue.unacked_count()), (0, 4));
}

#[test]
fn what_a_limit_uncovers_in_a_segment_is_read_for_when_it_expires() {
    let (mut queue, mut disk): (TestQueue, _) = (Queue::new(Settings::default()), Disk::default());
    queue.publish(Note::new(1, 10, true).with_ttl(Some(500), 0));
    queue.publish(Note::new(2, 10, true).with_ttl(Some(100), 0));
    spill(&mut queue, &mut disk);
    let Get::Loading(Some(load)) = get(&mut queue, false) else { panic!("the head is in a segment") };
    loaded(&mut queue, &load, disk.read(&load, 1), 1);
    let mut effects = Effects::default();
    assert!(matches!(queue.get(false, 0, &mut effects), Get::Message(_)));
    requeue(&mut queue, &seqs([1]));
    let failed = effects.loads.pop().expect("the second may have expired");
    loaded(&mut queue, &failed, Vec::new(), failed.first_slot);
    queue.set_rules(Rules { length_max: Some(1), ..Rules::default() });
    queue.dispatch(0, &mut effects);
    assert_eq!(effects.dropped.iter().map(|dropped| dropped.seq.0).collect::<Vec<_>>(), [1]);
    let load = effects.loads.pop().expect("it is not known when the second expires");
    loaded(&mut queue, &load, disk.read(&load, 2), 2);
    assert_eq!(queue.next_due(), Some(100));
}

#[test]
fn a_great_many_returned_messages_do_not_stay_in_memory() {
    let (mut queue, disk) = paged_queue(5_000);
    let id = queue.consume(acking()).unwrap();
    assert_eq!(dispatch_loading(&mut queue, &disk).len(), 5_000);
    queue.cancel(id);
    requeue(&mut queue, &seqs(1..=5_000));
    assert_eq!(queue.ready_count(), 5_000);
    assert_eq!(ranges(&queue), [(1_024, 5_000, 3_976)]);
    queue.consume(no_ack()).unwrap();
    assert_eq!(seqs_of(&dispatch_loading(&mut queue, &disk)), (1..=5_000).collect::<Vec<_>>());
}

#[test]
fn transient_messages_go_to_transient_segments_in_one_order_with_the_others() {
    let (mut queue, mut disk) = (Queue::new(Settings::default()), Disk::default());
    for name in 1..=100 {
        queue.publish(Note::new(name, 1, name % 3 == 0));
    }
    spill(&mut queue, &mut disk);
    assert_eq!(ranges(&queue), [(0, 67, 67), (0, 33, 33)]);
    queue.consume(acking()).unwrap();
    assert_eq!(seqs_of(&dispatch_loading(&mut queue, &disk)), (1..=100).collect::<Vec<_>>());
}

/// Copies these seqs of segment 1 into a new segment.
fn compact(queue: &mut TestQueue, disk: &mut Disk, kept: &[u64]) -> (Vec<Place>, u64) {
    let slots = &disk.segments[&SegmentId(1)];
    let found = kept.iter().map(|seq| slots.iter().position(|slot| slot.seq.0 == *seq).unwrap());
    let found: Vec<_> = found.map(|at| (at, slots[at].clone())).collect();
    let copied: Vec<_> = found.iter().map(|(_, slot)| (slot.seq, slot.note.clone())).collect();
    let placed = disk.write(true, &copied);
    let moved = found.iter().zip(placed).map(|((at, _), PlacedMessage { seq, place: to })| {
        let from = place(1, u32::try_from(*at).unwrap());
        MovedMessage { seq, from, to, len: 10 }
    });
    let mut dead = Vec::new();
    let missing_count = queue.move_ranges(&[SegmentId(1)], &moved.collect::<Vec<_>>(), &mut dead);
    disk.segments.remove(&SegmentId(1));
    (dead, missing_count)
}

#[test]
fn ranges_follow_their_messages_into_a_new_segment() {
    let (mut queue, mut disk) = paged_queue(6);
    queue.consume(with_prefetch(2)).unwrap();
    let load = dispatch_to_load(&mut queue, &mut Vec::new());
    loaded(&mut queue, &load, disk.read(&load, 3), 3);
    dispatch_into(&mut queue, &mut Vec::new());
    let mut settled = Vec::new();
    queue.settle(&seqs([1]), &mut settled);
    assert_eq!(compact(&mut queue, &mut disk, &[1, 2, 3, 4, 5, 6]), (vec![place(2, 0)], 0));
    assert_eq!(ranges(&queue), [(3, 6, 3)]);
    queue.settle(&seqs([2]), &mut settled);
    assert_eq!(settled[1].1.placed(), place(2, 1));
    assert_eq!(
        dispatch_loading(&mut queue, &disk).iter().map(|delivery| delivery.message.placed()).collect::<Vec<_>>(),
        [place(2, 2), place(2, 3)]
    );
}

#[test]
fn an_unacked_message_between_ranges_moves_with_them() {
    let (mut queue, mut disk) = (Queue::new(Settings::default()), Disk::default());
    publish(&mut queue, 5);
    (0..2).for_each(|_| drop(get(&mut queue, false)));
    requeue(&mut queue, &seqs([1]));
    spill(&mut queue, &mut disk);
    assert_eq!(compact(&mut queue, &mut disk, &[1, 2, 3, 4, 5]), (vec![], 0));
    assert_eq!(ranges(&queue), [(0, 1, 1), (2, 5, 3)]);
    assert!(queue.unacked().all(|(_, note, _)| note.placed() == place(2, 1)));
    requeue(&mut queue, &seqs([2]));
    queue.unload();
    assert_eq!(ranges(&queue), [(0, 5, 5)]);
}

#[test]
fn compaction_gives_up_what_is_being_read() {
    let (mut queue, mut disk) = paged_queue(4);
    queue.consume(acking()).unwrap();
    let load = dispatch_to_load(&mut queue, &mut Vec::new());
    let read = disk.read(&load, 4);
    assert_eq!(compact(&mut queue, &mut disk, &[1, 2, 3, 4]), (vec![], 0));
    loaded(&mut queue, &load, read, 4);
    let deliveries = dispatch_loading(&mut queue, &disk);
    assert_eq!(seqs_of(&deliveries), [1, 2, 3, 4]);
    assert!(deliveries.iter().all(|delivery| delivery.message.placed().segment == SegmentId(2)));
}

#[test]
fn messages_that_compaction_left_behind_are_reported_missing() {
    let (mut queue, mut disk) = paged_queue(4);
    assert_eq!(compact(&mut queue, &mut disk, &[1, 4]), (vec![], 2));
    assert_eq!((queue.ready_count(), queue.ready_bytes()), (2, 20));
    queue.consume(acking()).unwrap();
    assert_eq!(seqs_of(&dispatch_loading(&mut queue, &disk)), [1, 4]);
}

#[test]
fn compaction_joins_ranges_but_not_over_an_unacked_message() {
    for (is_settled, expected) in [(false, [(0, 1, 1), (1, 2, 1)].as_slice()), (true, &[(0, 2, 2)])] {
        let (mut queue, mut disk) = (Queue::new(Settings::default()), Disk::default());
        publish(&mut queue, 3);
        (0..3).for_each(|_| drop(get(&mut queue, false)));
        requeue(&mut queue, &seqs([1, 3]));
        let mut messages = Vec::new();
        queue.in_memory(&mut |note| note.name() != 2, &mut messages);
        queue.relocate(0, &disk.write(true, &messages), &mut Vec::new());
        assert_eq!(ranges(&queue), [(0, 1, 1), (1, 2, 1)]);
        if is_settled {
            queue.settle(&seqs([2]), &mut Vec::new());
        }
        assert_eq!(compact(&mut queue, &mut disk, &[1, 3]), (vec![], 0));
        assert_eq!(ranges(&queue), expected);
    }
}

#[test]
fn a_copy_of_another_place_is_dead() {
    let (mut queue, mut disk) = (Queue::new(Settings::default()), Disk::default());
    publish(&mut queue, 1);
    get(&mut queue, false);
    spill(&mut queue, &mut disk);
    let moved = MovedMessage { seq: QueueSeq(1), from: place(8, 0), to: place(9, 0), len: 10 };
    let mut dead = Vec::new();
    assert_eq!(queue.move_ranges(&[SegmentId(8)], &[moved], &mut dead), 0);
    assert_eq!(dead, [place(9, 0)]);
    assert!(queue.unacked().all(|(_, note, _)| note.placed() == place(1, 0)));
}
