//! Federation: links that bring what is published at other brokers, the upstreams, to exchanges and queues here, as RabbitMQ's plugins do.
//!
//! ```text
//!  status            which links there are, and what each does
//!  supervisor        which links run
//!  host              what the process gives them
//! ```

mod host;
mod status;
mod supervisor;

pub use host::Host;
pub use status::{LinkId, LinkKind, LinkState, LinkStatus};
pub use supervisor::Links;
