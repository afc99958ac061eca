//! Shovels: they consume messages at one broker and publish them at another, as RabbitMQ's plugin does.
//!
//! ```text
//!  message           what a message is on its way: its route, its properties                   no I/O
//!  status            what a shovel reports of itself
//!  ends              declaring what is consumed and published to
//!  destination       a broker, or a web server, behind one face
//!  web_server        a web server that is sent each message
//!  worker            one shovel: connects, moves messages, fails, waits, and begins again
//!  supervisor        which shovels run
//!  host              what the process gives them, beside what `bridge` asks for
//! ```
//!
//! Which deliveries are published, confirmed and settled says [`bridge::Transfer`], how brokers are connected to [`bridge::connect`].
//!
//! A shovel is a task. It belongs to no thread, and takes nothing where nothing comes. Not here: where definitions are kept, who may
//! change them, and how they are shown.

mod destination;
mod ends;
mod host;
mod message;
mod status;
mod supervisor;
mod web_server;
mod worker;

pub use host::Host;
pub use status::{Ends, Flow, Progress, ShovelId, ShovelStatus, State};
pub use supervisor::{DesiredShovel, Shovels};
