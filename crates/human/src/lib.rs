//! What people write: sizes, durations, and names with a letter wrong. For configuration files, the HTTP API and command lines alike.
//! And what they may be shown of what others write.
//!
//! Deliberately absent: fractions and sums (`1h30m`), which `figures` reads for measurements.

mod nearest;
mod printable;
mod quantity;

pub use nearest::{closest, distance, nearest};
pub use printable::printable;
pub use quantity::{parse_duration_ms, parse_size};
