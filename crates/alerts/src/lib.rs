//! Alerts: rules about queues and the node, which of them hold now, and in which order webhooks are notified.
//!
//! ```text
//!  rule ─── what is watched, and from when on it is an alert ─┐
//!  facts ── how things stand, once an interval ───────────────┴─► engine ─► notices ─┬─► history
//!                                                                 condition          └─► outbox, one a webhook ─► what to send now
//!                                                                 sampling
//!  webhook ── where to, and how
//! ```
//!
//! Everything here is a value or a state machine: facts and the time come in as arguments, notices and "send this now" come out.
//! Nothing here reads a clock, opens a socket or draws a random number, so tests drive hours of alerts and of receivers that fail in no
//! time.
//!
//! Deliberately absent: looking at queues, HTTP, and anything durable. `management` has the first two; rules are kept as global
//! parameters of the broker. What fires is not kept: it is looked at again after a restart.

mod condition;
mod engine;
mod facts;
mod history;
pub mod limits;
mod members;
mod notice;
mod outbox;
mod rule;
mod sampling;
mod webhook;

pub use self::outbox::{DeliveryOutcome, DeliveryStats, NextStep, Outbox};
pub use condition::Phase;
pub use engine::{AlertState, Engine, Needs, Pass};
pub use facts::{Age, NodeFacts, QueueFacts};
pub use history::History;
pub use members::MemberError;
pub use notice::{Alert, Notice, Reason, Sender, Status};
pub use rule::{Kind, Rule, Scope, Severity};
pub use webhook::{HIDDEN, Webhook};
