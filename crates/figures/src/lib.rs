//! What is measured, as `warren perf` and `warren ping` count it, and figures as people write and read them.
//!
//! ```text
//!  latencies  histograms of latencies
//!  format     numbers, times and sizes as they are shown
//!  quantity   times and sizes as they are given
//! ```

pub mod format;
pub mod latencies;
pub mod quantity;
