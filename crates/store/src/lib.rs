//! The store: what must last, and recent content in memory.
//!
//! Files and threads; no sockets, no AMQP, no rules of queues. The journal takes all that must last in one order,
//! chunks hold recent content in memory, segments hold what outlived its journal file.

mod backup;
mod bitmap;
mod catalog;
mod checkpoint;
mod checkpoint_copy;
mod checkpoint_delta;
mod checkpointer;
pub mod chunk;
mod closing;
mod content_memory;
mod damages;
mod directory;
pub mod file;
pub mod fsck;
pub mod group;
mod handles;
pub mod journal;
mod load;
mod loads;
mod make_checkpoint;
mod manifest;
mod memory_waiters;
mod options;
mod paths;
mod queue_owner;
#[cfg(any(test, feature = "simulation"))]
mod random;
mod reclaim;
mod recovery;
mod reserve;
mod rest;
mod retire;
mod scrub;
mod segment;
mod segment_ids;
mod shared;
mod signals;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
#[cfg(any(test, feature = "simulation"))]
mod stepped;
mod store;
mod store_dir;
#[cfg(test)]
mod tests;
mod threads;
mod trace_points;
mod varint;
mod wake;
mod work_error;

pub use backup::{Backup, BackupError};
pub use chunk::{Chunk, ChunkBudget, ChunkWriter, Content};
pub use damages::DamagedSegment;
pub use directory::{DataDir, DirError, FORMAT};
pub use journal::{JOURNAL_THREADS, Record, RecordBatch, SyncCounts};
pub use options::Options;
pub use queue_owner::{
    CollectedResidents, LaneResidents, LoadAnswer, LoadedMessage, QueueOwner, QueueState, RecoveredRange, Resident,
    Returns,
};
#[cfg(any(test, feature = "simulation"))]
pub use random::Random;
pub use reclaim::ReclaimReport;
pub use recovery::{OpenError, RecoveredQueue, RecoveredStore};
pub use retire::RetireReport;
pub use scrub::ScrubReport;
pub use segment::ReadError;
pub use store::{Admission, CloseError, Kind, Stats, Store};
pub use threads::READER_THREAD;
pub use trace_points::TRACE_POINTS;
pub use wake::DurableWaiter;
pub use work_error::WorkError;
