//! Runs a plan: connects, declares, starts all tasks at the same instant, measures, and cleans up.
//!
//! ```text
//!  clock, pacer    time, and waiting for it to the microsecond
//!  workers         what generates the load, as a run sees it: threads here, or agents elsewhere
//!  load_share      which part of a run one of several machines does
//!  threads         threads here that do a part of a run, or all of it
//!  worker          threads, each with tasks of its own that share nothing with other threads
//!  control         from preparing to the end
//!  target          the broker: connecting, and connecting again
//!  topology        what is declared
//!  serving         what a task waits for while its connection is open
//!  publisher       one connection's publishers           ─┐ tasks
//!  consumer        one connection's consumers             ├ of a thread
//!  idle, churn     connections that only stay; things made, removed ─┘
//!  users           users with a script of steps each: see there
//!  probes          questions to the management API
//!  message, stamp  what is published, and what it says of itself
//!  recorder, seen  what is measured on a thread, and whose messages came
//!  followed        whether lost messages can be detected
//!  measured        what the run has come to
//!  environment     what a run needs at the broker
//!  observer        what follows a run in progress
//!  run             all of it together; settings, run_error: how it is done, and why there is none
//! ```

mod churn;
pub(crate) mod clock;
mod consumer;
mod control;
mod environment;
mod followed;
mod idle;
pub(crate) mod incident;
pub(crate) mod load_share;
pub(crate) mod measured;
mod message;
mod observer;
mod pacer;
mod probes;
mod publisher;
pub(crate) mod recorder;
pub(crate) mod run;
pub(crate) mod run_error;
pub(crate) mod seen;
mod serving;
mod settings;
mod stamp;
mod tag;
mod target;
pub(crate) mod threads;
pub(crate) mod topology;
mod users;
mod values;
mod worker;
pub(crate) mod workers;

pub(crate) use clock::{Ahead, StampUnit};
pub(crate) use observer::{Interrupt, Observer};
pub(crate) use run::run;
pub(crate) use run_error::RunError;
pub(crate) use settings::Settings;
pub(crate) use target::{Allocation, Recovery, Target};
