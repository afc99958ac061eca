//! A user inside a vhost: everything that a user may do there, whether it comes over AMQP or over HTTP. Permissions are
//! checked here, once for both, and refusals have AMQP's codes and RabbitMQ's texts.
//!
//! Deliberately absent: what AMQP keeps for a channel (the last queue's name, transactions, consumers); see
//! [`crate::session`].

mod access;
mod bindings;
mod exchanges;
mod history;
mod inspection;
mod messages;
mod queues;

pub use access::VhostAccess;
pub(crate) use bindings::check_new_binding;
pub use exchanges::ExchangeRequest;
pub(crate) use exchanges::{check_arguments, check_new_exchange, check_type, exchange_name};
pub use inspection::{CheckedRight, NeededRight, WouldRoute};
pub use messages::{AckMode, GetRequest, GotMessage, PublishRequest};
pub use queues::QueueRequest;
pub(crate) use queues::check_new_queue;
