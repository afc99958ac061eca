//! What can be seen of a running broker: counters and gauges that sit beside the thing they count, and calls while they happen.
//!
//! A counter is one relaxed atomic. The code that does a thing counts it, in batches where it works in batches; the code
//! that shows it reads it without a lock. There is no registry: the owner of a counter knows what it is called.
//!
//! - [`Counter`] has many writers, [`LocalCounter`] one; [`Gauge`] rises and falls; [`Scale`] and [`Histogram`] count by size,
//!   [`Latencies`] times.
//! - [`RecentSamples`] and [`Series`] are what a reader keeps of such numbers over time. They know no clock.
//! - [`trace`] shows calls of the functions that an operator would ask about, and what they wait for.
//! - [`Backlog`] is what waits for a viewer that may be slow, up to a bound, and [`Mailbox`] the same between threads.
//! - [`exposition`] writes the text format of Prometheus.

mod backlog;
mod counter;
pub mod exposition;
mod latencies;
mod local_counter;
mod mailbox;
mod scale;
mod series;
pub mod trace;

pub use backlog::{Backlog, Bound, Overflow};
pub use counter::{Counter, Gauge};
pub use latencies::{Latencies, LatencyCounts};
pub use local_counter::LocalCounter;
pub use mailbox::{Mailbox, Received, ReceivedAll};
pub use scale::{Buckets, Histogram, Scale, SharedHistogram};
pub use series::{RecentSamples, Retention, Sample, Series};
