//! The parts of a connection that have an order and confirms of their own.

use std::fmt;

/// The number of a lane in its connection: a channel of AMQP 0-9-1, a link of AMQP 1.0, the session of an MQTT or a STOMP connection.
/// What is published and delivered on one lane stays in order, and is confirmed by the lane's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LaneNumber(pub u16);

impl LaneNumber {
    /// Of what came by no lane.
    pub const NONE: Self = Self(0);
}

impl fmt::Display for LaneNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
