//! The store: what must last, and recent content in memory.
//!
//! Files and threads; no sockets, no AMQP, no rules of queues. The journal takes all that must last in one order,
//! chunks hold recent content in memory, segments hold what outlived its journal file.

mod bitmap;
mod catalog;
mod checkpoint;
pub mod chunk;
pub mod file;
pub mod journal;
mod manifest;
mod paths;
mod residents;
mod segment;
mod store;
mod varint;
mod wake;

pub use chunk::{Chunk, ChunkBudget, ChunkWriter, Content};
pub use journal::{Record, RecordBatch};
pub use residents::{Collected, LaneResidents, Loaded, LoadedMessage, QueueState, RecoveredRange, Resident, Residents};
pub use segment::ReadError;
pub use store::{CloseError, Kind, OpenError, Options, Recovered, RecoveredQueue, Store};
pub use wake::Wake;
