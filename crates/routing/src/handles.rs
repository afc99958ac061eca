//! Handles of what a vhost's exchanges, queues and bindings hold of each other. Each points into the slab of its kind in
//! [`Exchanges`](crate::Exchanges).

use crate::slab::Handle;

/// The kind of handles of exchanges.
#[derive(Debug)]
pub(crate) enum ExchangeKind {}

/// The kind of handles of queues.
#[derive(Debug)]
pub(crate) enum QueueKind {}

/// The kind of handles of bindings.
#[derive(Debug)]
pub(crate) enum BindingKind {}

pub(crate) type ExchangeHandle = Handle<ExchangeKind>;
pub(crate) type QueueHandle = Handle<QueueKind>;
pub(crate) type BindingHandle = Handle<BindingKind>;

/// An exchange that a message came by. It means nothing once the exchanges have changed; see
/// [`Exchanges::name_of`](crate::Exchanges::name_of).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeRef(pub(crate) ExchangeHandle);
