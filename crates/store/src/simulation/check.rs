//! What a start has found is what the journal said, up to where it ends.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use model::ids::{JournalPosition, QueueId, QueueSeq};

use super::broker::counts_of;
use super::held::{body_len_of, number_of};
use super::history::{DurableQueue, History, MessageNumber};
use crate::segment::{ReadAhead, SlotReader};
use crate::{RecoveredQueue, RecoveredStore, Store};

/// Reads what is alive in the queue's ranges.
pub(crate) fn read_ranges(store: &Store, id: QueueId, recovered: &RecoveredQueue) -> BTreeMap<QueueSeq, MessageNumber> {
    let mut found = BTreeMap::new();
    let mut body_bytes = 0;
    let ranges: Vec<_> = recovered.ranges.iter().map(|recovered| recovered.range).collect();
    for range in &ranges {
        let segment = store.shared.catalog.get(range.segment).expect("a recovered range is in a segment");
        let runs = segment.live_runs(range.first_slot, range.end_slot);
        let file = store.shared.handles.get(&segment).expect("the segment opens");
        let mut each = |message: crate::segment::ReadMessage<'_>| {
            assert!((range.first_seq..=range.last_seq).contains(&message.seq), "seq {} in {range:?}", message.seq);
            let is_first = found.insert(message.seq, number_of(message.content)).is_none();
            assert!(is_first, "queue {id} has message {} twice in segments", message.seq);
            assert_eq!(message.body_len, body_len_of(message.content));
            body_bytes += u64::from(message.body_len);
            ControlFlow::Continue(())
        };
        SlotReader::default()
            .read(&file, &runs, ReadAhead::File, &mut each)
            .map_err(|(_, error)| error)
            .expect("it can be read");
    }
    assert_eq!(counts_of(&ranges), (found.len() as u64, body_bytes), "counts of queue {id}'s ranges");
    found
}

#[track_caller]
fn check_queue(store: &Store, id: QueueId, expected: &DurableQueue, recovered: Option<&RecoveredQueue>) {
    let Some(recovered) = recovered else {
        assert!(expected.messages.is_empty() && expected.named == 0, "queue {id} is gone");
        return;
    };
    let mut found = read_ranges(store, id, recovered);
    for (seq, content) in &recovered.messages {
        let is_first = found.insert(*seq, number_of(content.bytes())).is_none();
        assert!(is_first, "queue {id} has message {seq} in memory and elsewhere");
    }
    assert_eq!(found, expected.messages, "messages of queue {id}");
    assert!(recovered.messages.is_sorted_by(|left, right| left.0 < right.0), "messages of queue {id} are not in order");
    assert_eq!(recovered.watermark, expected.watermark, "watermark of queue {id}");
    let returned: BTreeMap<_, _> = recovered.returned.iter().copied().collect();
    assert_eq!(returned, expected.returned, "what had come back to queue {id}");
    assert!(recovered.next_seq.0 > expected.named, "queue {id} would give out {} again", recovered.next_seq);
}

/// Checks what was recovered; what the journal no longer has has never been.
///
/// # Panics
///
/// If it is not what the history says, or less than was durable.
pub fn check(store: &Store, recovered: &RecoveredStore, history: &mut History, durable: JournalPosition) {
    let end = store.appended();
    assert!(end >= durable, "recovered up to {end}, but {durable} was durable");
    let expected = history.cut_at(end);
    assert_eq!(recovered.definitions, expected.definitions, "definitions");
    for (id, queue) in &expected.queues {
        check_queue(store, *id, queue, recovered.queues.get(id));
    }
    for (id, queue) in &recovered.queues {
        let is_expected = expected.queues.contains_key(id) || (queue.messages.is_empty() && queue.ranges.is_empty());
        assert!(is_expected, "queue {id} is back");
    }
}
