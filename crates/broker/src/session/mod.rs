//! AMQP 0-9-1, without its socket: bytes in, bytes out.
//!
//! [`Session`] takes apart what a client sends, down to the methods of a channel, asks its [`Front`] for what they mean, and writes the
//! answers. What the broker says of itself (deliveries, confirms, returns) is written by [`encoding`], as the front wants it.
//!
//! - `frames` takes apart what arrives, `methods` leads to what each method does: `handshake`, `publish`, `consume`, `settle`, `tx`,
//!   `exchange_methods`, `queue_methods`.
//! - `ending` closes channels and connections, `exception` says why. `traced` shows methods as calls.

mod assembly;
mod channel;
mod consume;
mod encoding;
mod ending;
mod exception;
mod exchange_methods;
mod frames;
mod handshake;
mod methods;
mod publish;
mod queue_methods;
mod settle;
mod traced;
mod tx;

use std::sync::Arc;
use std::time::Duration;

use amqp::frame::{frame_len, put_heartbeat, put_method};
use amqp::handshake::ServerHandshake;
use amqp::method::{basic, connection};
use amqp::server::ClientCapabilities;
use engine::lane::LaneNumber;
use model::refusal::Refusal;

use crate::broker::Broker;
use crate::connections::ConnectionHandle;
use crate::front::{Confirm, Delivery, Front, Incoming, LoadingGet, Protocol};
use channel::ChannelState;
use exception::Exception;
pub(crate) use traced::METHODS;

/// One connection of AMQP 0-9-1.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) front: Front<Session>,
    /// What is expected next while the connection opens.
    handshake: ServerHandshake,
    /// Channels that both sides have closed at once: the client's `close-ok` is yet to come.
    crossing: Vec<LaneNumber>,
}

/// What client and server have agreed on.
#[derive(Debug, Default)]
pub(crate) struct Agreed {
    capabilities: ClientCapabilities,
    frame_len_max: u32,
    channel_max: u16,
    /// 0: none.
    heartbeat_s: u16,
}

/// Where a failure happened, for the close method.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Site {
    pub(crate) channel: u16,
    pub(crate) class_id: u16,
    pub(crate) method_id: u16,
}

impl Protocol for Session {
    type Lane = ChannelState;
    type Agreed = Agreed;

    #[inline(always)]
    fn put_delivery(out: &mut Vec<u8>, agreed: &Agreed, lane: LaneNumber, delivery: &Delivery<'_>) {
        encoding::put_delivery(out, agreed.frame_len_max, lane.0, delivery);
    }

    fn put_returned(out: &mut Vec<u8>, agreed: &Agreed, lane: LaneNumber, message: &Incoming<'_>) {
        encoding::put_returned(out, agreed.frame_len_max, lane.0, message);
    }

    #[inline]
    fn put_confirm(out: &mut Vec<u8>, lane: LaneNumber, confirm: Confirm) {
        match confirm {
            Confirm::Accepted { seq, is_multiple } => {
                put_method(out, lane.0, &basic::Ack { delivery_tag: seq, multiple: is_multiple });
            }
            Confirm::Refused { seq } => {
                put_method(out, lane.0, &basic::Nack { delivery_tag: seq, multiple: false, requeue: false });
            }
        }
    }

    fn understands_cancellations(agreed: &Agreed) -> bool {
        agreed.capabilities.consumer_cancel_notify
    }

    fn put_cancelled(out: &mut Vec<u8>, lane: LaneNumber, consumer_tag: &[u8]) {
        put_method(out, lane.0, &basic::Cancel { consumer_tag, no_wait: true });
    }

    fn put_blocked(out: &mut Vec<u8>, agreed: &Agreed, reason: &str) {
        if agreed.capabilities.connection_blocked {
            put_method(out, 0, &connection::Blocked { reason: reason.as_bytes() });
        }
    }

    fn put_unblocked(out: &mut Vec<u8>, agreed: &Agreed) {
        if agreed.capabilities.connection_blocked {
            put_method(out, 0, &connection::Unblocked);
        }
    }

    fn put_heartbeat(out: &mut Vec<u8>) {
        put_heartbeat(out);
    }

    fn begin(broker: Arc<Broker>, handle: Arc<ConnectionHandle>) -> Self {
        let agreed = Agreed { frame_len_max: broker.options.initial_frame_len_max, ..Agreed::default() };
        Self { front: Front::new(broker, handle, agreed), handshake: ServerHandshake::Header, crossing: Vec::new() }
    }

    #[inline]
    fn front(&self) -> &Front<Self> {
        &self.front
    }

    #[inline]
    fn front_mut(&mut self) -> &mut Front<Self> {
        &mut self.front
    }

    fn receive(&mut self, bytes: &[u8], now_ms: u64) -> usize {
        self.receive_frames(bytes, now_ms)
    }

    fn frame_len(&self, bytes: &[u8]) -> Option<usize> {
        // The protocol header comes before all frames.
        if self.handshake == ServerHandshake::Header { None } else { frame_len(bytes) }
    }

    fn keep_alive_interval(&self) -> Duration {
        Duration::from_secs(self.front.agreed().heartbeat_s.into())
    }

    fn retry_get(&mut self, get: LoadingGet) {
        self.try_get_again(get);
    }

    fn fail_lane(&mut self, lane: LaneNumber, refusal: Box<Refusal>) {
        self.fail(&<Box<Exception>>::from(refusal), Site { channel: lane.0, class_id: 0, method_id: 0 });
    }

    fn close_by_server(&mut self, reason: &str) {
        self.force_close(reason);
    }
}
