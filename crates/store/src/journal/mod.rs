//! The journal.

mod record;

pub use record::{Record, RecordBatch, Targets};
