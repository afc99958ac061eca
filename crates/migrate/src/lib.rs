//! `warren migrate`: everything of a RabbitMQ moved to Warren while both serve clients, and back again.
//!
//! ```text
//!  address      an AMQP URI, and the URL of the same broker's HTTP API
//!  queue        a queue as an HTTP API lists it, and whether its messages can be moved  ─┐
//!  facts        both brokers at one moment                                               │
//!  link         what moves a queue's messages: a shovel, and a way into the queue        │ no I/O, no clock:
//!  mover        which queues are moved now                                               │ facts in,
//!  definitions  what of one broker's definitions the other is to get                     │ actions out
//!  counts       what became of each queue, in numbers                                    │
//!  journal      what is remembered from one run to the next                              │
//!  machine      the steps, one after the other                                          ─┘
//!  arguments    the command line
//!  state_file   the journal on disk
//!  broker       one broker over its HTTP API and AMQP; failure: why it does not answer, or what is wrong
//!  shell        looks at both brokers, and does what the machine wants
//!  preparation  the first steps: what is checked, and what is imported
//!  report       what is reported, as lines or as JSON
//!  rehearsal    what would be done
//!  run          all of it together
//! ```
//!
//! Messages never pass through this program: shovels of Warren's move them, in either direction. These are durable parameters, so what is
//! being moved continues to be moved when this program or a broker dies, and the next run finds it by its name.
//!
//! Knows nothing of Warren's broker but its HTTP API.

mod address;
mod arguments;
mod broker;
mod counts;
mod definitions;
mod facts;
mod failure;
mod journal;
mod link;
mod machine;
mod mover;
mod preparation;
mod queue;
mod rehearsal;
mod report;
mod run;
mod shell;
mod state_file;
#[cfg(test)]
mod tests;

pub use arguments::Arguments;
pub use run::main;
