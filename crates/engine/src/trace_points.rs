//! What can be traced of the data path. Queues are traced by batches: what one read of a connection brings to all its queues.

use telemetry::trace::Point;

pub(crate) static APPLY: Point = Point::new(
    "queues::apply_batch",
    &["publishes", "settlements", "shards"],
    "Brings what one read of a connection brought to its queues: publishes and acknowledgements.",
);
pub(crate) static TIMERS: Point =
    Point::new("queues::run_timers", &["queue"], "Does what is due in a queue: expiry, timeouts, what was held.");
pub(crate) static RELEASE: Point =
    Point::new("delayed::release", &["exchange", "vhost"], "Releases delayed messages of an exchange that are due.");
pub(crate) static REPUBLISH: Point =
    Point::new("dead_letters::republish", &["queue"], "Republishes messages that a queue has given up.");

/// All of them.
pub static TRACE_POINTS: &[&Point] = &[&APPLY, &TIMERS, &RELEASE, &REPUBLISH];
