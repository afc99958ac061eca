//! A line: a connection to an upstream, and its channels.

use std::borrow::Cow;
use std::rc::Rc;

use amqp::frame::{FrameKind, put_method};
use client::Unconfirmed;

use super::buffer::Buffer;
use super::pool::{Kind, LoginId, PoolId};
use super::{ClientId, Refusal};
use crate::limits::LINE_OUTPUT_LEN_MAX;

/// Whose a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It checks a login; the first client who then names a vhost gives it its pool.
    Login(LoginId),
    /// It sees whether a login is let in still, and is closed then.
    Check(PoolId),
    /// All clients of a pool.
    Shared(PoolId, Kind),
    /// One client.
    Own(ClientId),
    /// Nobody: it is being closed.
    None,
}

/// How far a line has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinePhase {
    /// Wanted, and not connected yet.
    Dialling,
    Start,
    Tune,
    /// The login is good, and no vhost is known yet.
    LoggedIn {
        until_ms: u64,
    },
    OpenOk,
    Running,
    /// It was told to close; the upstream's answer is awaited.
    Closing {
        until_ms: u64,
    },
    /// Nothing is said any more but what waits to be written.
    Over,
}

#[derive(Debug)]
pub(super) struct Line {
    pub(super) usage: Use,
    pub(super) phase: LinePhase,
    pub(super) login: LoginId,
    pub(super) vhost: Option<Rc<str>>,
    pub(super) input: Buffer,
    pub(super) output: Buffer,
    pub(super) frame_len_max: u32,
    pub(super) channel_max: u16,
    pub(super) heartbeat_s: u16,
    /// By number, from 1.
    pub(super) channels: Vec<Option<LineChannel>>,
    /// Numbers below `channels.len() + 1` that are not open.
    pub(super) vacant: Vec<u16>,
    pub(super) open_count: usize,
    /// Channels that a client uses.
    pub(super) used_count: usize,
    /// Channels that are [parked](LineChannel::is_parked).
    pub(super) parked_count: usize,
    /// Clients that wait for room.
    pub(super) waiters: Vec<ClientId>,
    /// Why the upstream publishes nothing, if it says so.
    pub(super) blocked: Option<Box<[u8]>>,
    /// What the upstream said when it closed it.
    pub(super) closed_with: Option<Refusal>,
    /// Whether its handshake was done.
    pub(super) has_opened: bool,
    /// What the upstream did wrong, if it was given up for that.
    pub(super) fault: Option<Cow<'static, str>>,
    /// Whether that is only that it lets nobody into the vhost.
    pub(super) is_vhost_refused: bool,
    /// No client gets a channel on it any more.
    pub(super) is_draining: bool,
    /// It is left by all who share it, and may be replaced before it is gone.
    pub(super) is_uncounted: bool,
    /// Since when no client has used it.
    pub(super) idle_since_ms: u64,
    pub(super) heard_ms: u64,
    pub(super) said_ms: u64,
}

impl Line {
    pub(super) fn new(usage: Use, login: LoginId, vhost: Option<Rc<str>>, now_ms: u64) -> Self {
        Line {
            usage,
            phase: LinePhase::Dialling,
            login,
            vhost,
            input: Buffer::default(),
            output: Buffer::default(),
            frame_len_max: amqp::limits::FRAME_LEN_MAX,
            channel_max: 0,
            heartbeat_s: 0,
            channels: Vec::new(),
            vacant: Vec::new(),
            open_count: 0,
            used_count: 0,
            parked_count: 0,
            waiters: Vec::new(),
            blocked: None,
            closed_with: None,
            has_opened: false,
            fault: None,
            is_vhost_refused: false,
            is_draining: false,
            is_uncounted: false,
            idle_since_ms: now_ms,
            heard_ms: now_ms,
            said_ms: now_ms,
        }
    }

    /// Whose own it is.
    pub(super) fn owner(&self) -> Option<ClientId> {
        match self.usage {
            Use::Own(client) => Some(client),
            _ => None,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.phase == LinePhase::Running
    }

    /// Whether a client may have a channel on it for this. Calls are not to be held up by an alarm.
    pub(super) fn takes(&self, kind: Kind) -> bool {
        self.is_running() && !self.is_draining && (kind == Kind::Publishes || self.blocked.is_none())
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase == LinePhase::Over
    }

    pub(super) fn has_room(&self) -> bool {
        self.output.len() <= LINE_OUTPUT_LEN_MAX
    }

    pub(super) fn has_much_room(&self) -> bool {
        self.output.len() <= LINE_OUTPUT_LEN_MAX / 2
    }

    pub(super) fn channel(&mut self, number: u16) -> Option<&mut LineChannel> {
        self.channels.get_mut(usize::from(number).checked_sub(1)?)?.as_mut()
    }

    /// Whether no publish on it waits for its confirm.
    pub(super) fn is_confirmed(&self) -> bool {
        self.channels.iter().flatten().all(|there| there.unconfirmed.is_empty())
    }

    /// A channel's client has gone before all was confirmed.
    pub(super) fn park(&mut self, number: u16) {
        if let Some(channel) = self.channel(number)
            && !std::mem::replace(&mut channel.is_parked, true)
        {
            self.parked_count += 1;
        }
    }

    /// A channel waits no more for its confirms, or for so long that it counts no more.
    pub(super) fn unpark(&mut self, number: u16) {
        if let Some(channel) = self.channel(number)
            && std::mem::take(&mut channel.is_parked)
        {
            self.parked_count -= 1;
        }
    }

    /// Forgets a channel that both sides have closed.
    pub(super) fn vacate(&mut self, number: u16) {
        self.unpark(number);
        let index = usize::from(number).wrapping_sub(1);
        if self.channels.get_mut(index).and_then(Option::take).is_some() {
            self.open_count -= 1;
            self.vacant.push(number);
        }
    }

    pub(super) fn send<M: amqp::method::EncodeMethod + ?Sized>(&mut self, channel: u16, method: &M) {
        put_method(self.output.end(), channel, method);
    }
}

/// A content that is coming from an upstream: a message that was returned, or the answer to a get.
#[derive(Debug, Clone, Copy)]
pub(super) struct Incoming {
    /// Bytes of the body that are still to come; `None` while the header is.
    pub(super) left: Option<u64>,
    /// Whether it is an answer.
    pub(super) is_answer: bool,
}

/// A channel of a shared line. It confirms.
#[derive(Debug)]
pub(super) struct LineChannel {
    /// The client that uses it, and its number there.
    pub(super) owner: Option<(ClientId, u16)>,
    /// Nothing was done on it but publishing.
    pub(super) is_clean: bool,
    /// It was told to close; the upstream's answer is awaited.
    pub(super) is_closing: bool,
    /// Publishes that are not confirmed yet, by the upstream's tags.
    pub(super) unconfirmed: Unconfirmed<()>,
    /// The tag of the last publish.
    pub(super) published: u64,
    /// When that was.
    pub(super) published_ms: u64,
    /// Whether a client had it before.
    pub(super) was_used: bool,
    /// Whether its client has gone, and the pool waits for its confirms to give it to the next one.
    pub(super) is_parked: bool,
    /// A content that is coming from the upstream.
    pub(super) incoming: Option<Incoming>,
    /// Since when nobody has had it.
    pub(super) ownerless_since_ms: u64,
}

impl LineChannel {
    pub(super) fn new() -> Self {
        LineChannel {
            owner: None,
            is_clean: true,
            is_closing: false,
            unconfirmed: Unconfirmed::new(),
            published: 0,
            published_ms: 0,
            was_used: false,
            is_parked: false,
            incoming: None,
            ownerless_since_ms: 0,
        }
    }

    /// Whether nothing is under way on it.
    pub(super) fn is_quiet(&self) -> bool {
        self.unconfirmed.is_empty() && self.incoming.is_none()
    }

    /// A frame of a content that is coming. `Some` at its end: whether it is an answer.
    pub(super) fn incoming_frame(&mut self, kind: FrameKind, payload: &[u8]) -> Result<Option<bool>, String> {
        let stray = || Err("a content frame came without its method".to_owned());
        let Some(incoming) = &mut self.incoming else { return stray() };
        let left = match (kind, incoming.left) {
            (FrameKind::Header, None) => {
                let len = payload.get(4..12).and_then(|len| len.try_into().ok()).map(u64::from_be_bytes);
                len.ok_or("a content header was too short")?
            }
            (FrameKind::Body, Some(left)) => {
                left.checked_sub(payload.len() as u64).ok_or("a content body was longer than its header said")?
            }
            _ => return stray(),
        };
        incoming.left = Some(left);
        if left > 0 {
            return Ok(None);
        }
        Ok(self.incoming.take().map(|incoming| incoming.is_answer))
    }

    /// Whether the next client may have it as it is.
    pub(super) fn is_free(&self) -> bool {
        self.owner.is_none() && self.is_clean && !self.is_closing && self.is_quiet()
    }
}
