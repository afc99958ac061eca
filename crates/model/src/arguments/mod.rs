//! Arguments of queues, exchanges and consumers: checked as RabbitMQ checks them, with its texts, and kept as they came.
//!
//! The table itself is what is stored and listed; typed values are read from it on demand, so that a queue with no
//! arguments costs nothing. Unknown arguments are kept and ignored.

mod check;
mod consumer;
mod equivalence;
mod exchange;
mod exchange_options;
mod plain;
mod queue;
mod queue_type;

pub use consumer::ConsumerArguments;
pub(crate) use equivalence::check_flag;
pub use equivalence::check_name;
pub use exchange::{ExchangeArguments, ExchangeType, HISTORY_COUNT};
pub use exchange_options::{DELAYED_TYPE, parse_delayed_type};
pub(crate) use queue::EXPIRY_MS_MAX;
pub use queue::{Overflow, QueueArguments};
pub use queue_type::{QUEUE_TYPE, QueueShape, QueueType, check_queue_type, check_server_named, default_queue_type};
