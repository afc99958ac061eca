//! What AMQP 0-9-1 keeps of a channel, beside what every lane has.

use std::sync::Arc;

use super::assembly::Assembly;
use crate::front::Lane;

/// An open channel, or one that the server has closed and whose client has not answered yet.
pub(super) type Channel = Lane<ChannelState>;

/// What AMQP 0-9-1 keeps of a channel.
#[derive(Debug, Default)]
pub(crate) struct ChannelState {
    /// The server closed it: all but close and close-ok is ignored.
    pub(super) is_closing: bool,
    /// A publish whose content has not arrived in full.
    pub(super) assembly: Option<Box<Assembly>>,
    /// The queue that an empty name means.
    pub(super) last_queue: Option<Arc<str>>,
}

impl ChannelState {
    /// Of a channel that the server has closed.
    pub(super) fn closing() -> Self {
        Self { is_closing: true, ..Self::default() }
    }
}
