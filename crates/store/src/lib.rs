//! The store: what must last, and recent content in memory.
//!
//! Files and threads; no sockets, no AMQP, no rules of queues. The journal takes all that must last in one order,
//! chunks hold recent content in memory, segments hold what outlived its journal file.

pub mod chunk;
pub mod file;
pub mod journal;
mod wake;

pub use chunk::{Chunk, ChunkBudget, ChunkWriter, Content};
pub use journal::{Record, RecordBatch};
pub use wake::Wake;
