//! What can be traced of the store.

use telemetry::trace::Point;

pub(crate) static COMMIT: Point = Point::new(
    "journal::commit",
    &["bytes"],
    "Writes a commit to the journal: all that has gathered since the last one.",
);
pub(crate) static SYNC: Point = Point::new("journal::sync", &[], "Makes the journal durable: fdatasync.");
pub(crate) static READ: Point = Point::new(
    "segments::read",
    &["segment", "queue_id", "first_slot", "end_slot"],
    "Reads messages of a queue, or delayed ones, back from a segment.",
);
pub(crate) static RETIRE: Point = Point::new(
    "journal::retire",
    &["position"],
    "Moves what is alive in old journal files, or fills the memory, to segments.",
);
pub(crate) static CHECKPOINT: Point = Point::new("store::checkpoint", &[], "Writes a checkpoint and puts it in force.");
pub(crate) static COMPACT: Point = Point::new(
    "segments::compact",
    &["from_count"],
    "Copies what is alive in segments together, so that their files can go.",
);
pub(crate) static SCRUB: Point = Point::new("segments::scrub", &["segment"], "Reads a segment to find damage.");

/// All of them.
pub static TRACE_POINTS: &[&Point] = &[&COMMIT, &SYNC, &READ, &RETIRE, &CHECKPOINT, &COMPACT, &SCRUB];
