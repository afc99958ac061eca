//! Federation: links that bring what is published at other brokers, the upstreams, to exchanges and queues here, as RabbitMQ's plugins do.
//!
//! ```text
//!  wanted            which links policies make of upstreams                                        no I/O
//!  bindings          which bindings of an exchange are made at its upstream, and how far they go   no I/O
//!  swap              how they are made anew without a message lost                                 no I/O
//!  message           which messages are passed on, and what they say of their way                  no I/O
//!  names             what a link's queue and exchanges at its upstream are called                  no I/O
//!  status            which links there are, and what each does
//!  exchange_link     what an exchange's link has at its upstream
//!  queue_link        what a queue's link has there
//!  life              a link that is connected: messages come, and are acknowledged
//!  worker            one link: connects, brings messages, fails, waits, and begins again
//!  supervisor        which links run
//!  host              what the process gives them, beside what `bridge` asks for
//!  failure           why a link has failed
//! ```
//!
//! A link is a task, with a connection to its upstream and one to its own broker. Not here: where policies and upstreams are kept, and how
//! links are shown.

mod bindings;
mod exchange_link;
mod failure;
mod host;
mod life;
mod message;
mod names;
mod queue_link;
mod status;
mod supervisor;
mod swap;
mod wanted;
mod worker;

pub use host::{FollowedBindings, Host};
pub use status::{LinkId, LinkKind, LinkState, LinkStatus};
pub use supervisor::Links;
pub use wanted::{Fed, Link, Subject, Upstreams};
