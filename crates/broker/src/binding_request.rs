//! A binding as a client, an operator or an event names it.

use amqp::table::Table;
use model::name::{ExchangeName, QueueName};

/// A binding that is to be made, or removed.
#[derive(Debug, Clone, Copy)]
pub struct BindingRequest<'a> {
    /// Where messages come from.
    pub source: &'a ExchangeName,
    /// Where they go.
    pub destination: BindingEnd<'a>,
    /// The binding key.
    pub routing_key: &'a [u8],
    /// Its arguments.
    pub arguments: Table<'a>,
}

/// Where a binding leads.
#[derive(Debug, Clone, Copy)]
pub enum BindingEnd<'a> {
    /// To a queue.
    Queue(&'a QueueName),
    /// To an exchange.
    Exchange(&'a ExchangeName),
}
