//! What can be traced of a member.

use telemetry::trace::Point;

pub(crate) static RECEIVE: Point = Point::new(
    "replication::receive",
    &["commits"],
    "Takes a message of another member of the cluster: entries of the log, answers, votes.",
);
pub(crate) static PROPOSE: Point = Point::new(
    "replication::propose",
    &["bytes"],
    "Gives a commit its place in the cluster's log, and has it sent to the others.",
);

/// All of them.
pub static TRACE_POINTS: &[&Point] = &[&RECEIVE, &PROPOSE];
