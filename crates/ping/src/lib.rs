//! `warren ping`: whether it is the network that is slow, or the broker.
//!
//! ```text
//!  arguments   the command line → settings
//!  stage       what is measured in a round, and how long each part of it took   ─┐
//!  statistics  rounds → least, middle, worst, jitter of each stage               │ no I/O, no clock
//!  schedule    when the next round is, and when there is none left               │
//!  verdict     statistics → one sentence: the network, or the broker             │
//!  text, json  what is shown: a line a round, a table, the verdict              ─┘
//!  probe       does a round: sockets, AMQP, the clock; `queue` is what it declares and deletes
//!  failure     why there is nothing to measure, and why a round was lost
//!  run         all of it together
//! ```
//!
//! Works against any AMQP 0-9-1 broker, and knows nothing of Warren's.
//!
//! The request without work is `basic.qos` for a prefetch count that the channel has already. Each client library sends it, so each broker
//! answers it, where `channel.flow` is refused by some. Without a consumer that it would be for, it changes one number of the channel:
//! no queue, no file and no other node is asked. What it takes is the way there and back, and the broker's turn to read it.

mod arguments;
mod failure;
mod json;
mod probe;
mod queue;
mod run;
mod schedule;
mod stage;
mod statistics;
mod text;
mod verdict;

pub use arguments::Arguments;
pub use run::main;
