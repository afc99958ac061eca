//! A client: how far its connection has come, and its channels.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use amqp::frame::put_method;
use amqp::server::{ClientCapabilities, ContentProgress};
use amqp::{TableBuf, basic};
use model::ids::QueueSeq;

use super::LineId;
use super::buffer::Buffer;
use super::pool::{Kind, LoginId, PoolId};
use crate::limits::CLIENT_OUTPUT_LEN_MAX;

/// What is read ahead of a client that waits: enough to see it go.
const READ_AHEAD_LEN: usize = 64 * 1024;

/// How far a client's connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Header,
    StartOk,
    TuneOk,
    Open,
    Running,
    /// It was told to close; its answer is awaited.
    Closing {
        until_ms: u64,
    },
    /// It wants to close; the upstream of its own line is to agree.
    Leaving {
        until_ms: u64,
    },
    /// close-ok was said: it closes its socket next. What it still sends is thrown away, and it is not hung up on meanwhile, or it might
    /// find the end before close-ok.
    Parting {
        until_ms: u64,
    },
    /// It cannot be told that its login was refused, and is kept waiting.
    Refused {
        until_ms: u64,
    },
    /// Nothing is said any more but what waits to be written.
    Over,
}

/// What the next frame of a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    Nothing,
    /// That an upstream has a word on its login or its vhost, or the guard on its user.
    Login,
    /// A line of its pool of this kind, or a channel on one.
    Pool(Kind),
    /// Room in a line's output.
    Room,
    /// A line of its own.
    OwnLine,
    /// The answers and confirms that are to come over shared lines before it can leave them.
    Quiet,
    /// The answer to what it asked before.
    Answer,
    /// Room in the spool.
    SpoolRoom,
    /// That what was kept of its user and vhost is sent on.
    SpoolEnd,
}

impl Waits {
    /// With which patience that is waited for.
    fn patience(self) -> Option<Patience> {
        match self {
            Waits::Nothing => None,
            Waits::Login | Waits::Pool(_) | Waits::OwnLine | Waits::SpoolRoom | Waits::SpoolEnd => {
                Some(Patience::Upstream)
            }
            Waits::Quiet => Some(Patience::Quiet),
            Waits::Room | Waits::Answer => Some(Patience::Turn),
        }
    }
}

/// Whose patience it is that a client has: how long it has waited for one thing says nothing of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// For upstreams: a line, a word on a login, room in the spool.
    Upstream,
    /// For confirms and answers.
    Quiet,
    /// For a line that takes more, or an answer that comes before the next question: nobody who is there is closed for that.
    Turn,
}

#[derive(Debug)]
pub(super) struct Client {
    pub(super) phase: Phase,
    pub(super) waits: Waits,
    /// What it waits for with patience that ends, and since when.
    pub(super) waiting: Option<(Patience, u64)>,
    pub(super) input: Buffer,
    pub(super) output: Buffer,
    pub(super) properties: TableBuf,
    pub(super) capabilities: ClientCapabilities,
    /// By which it logged in.
    pub(super) mechanism: &'static str,
    pub(super) login: Option<LoginId>,
    pub(super) vhost: Option<Rc<str>>,
    pub(super) pool: Option<PoolId>,
    pub(super) frame_len_max: u32,
    pub(super) channel_max: u16,
    pub(super) heartbeat_s: u16,
    /// A line of its own: wanted, being opened, or open.
    pub(super) own: Option<LineId>,
    /// Whether its channels are on its own line.
    pub(super) has_moved: bool,
    pub(super) channels: BTreeMap<u16, Channel>,
    pub(super) is_told_blocked: bool,
    /// Whether it has found no room in the spool.
    pub(super) is_without_room: bool,
    /// Whether there is room for its user.
    pub(super) is_admitted: bool,
    /// Whether an upstream has just let it in, however long that is believed.
    pub(super) is_vouched: bool,
    /// Bytes of publishes that are not whole yet.
    pub(super) held_len: usize,
    /// When its socket came to its end, if it has: what waits in the input is the last.
    pub(super) ended_ms: Option<u64>,
    /// Whether nothing is read from it for a while, since it has sent too much.
    pub(super) is_paused: bool,
    pub(super) joined_ms: u64,
    pub(super) heard_ms: u64,
    pub(super) said_ms: u64,
}

impl Client {
    pub(super) fn new(now_ms: u64) -> Self {
        Client {
            phase: Phase::Header,
            waits: Waits::Nothing,
            waiting: None,
            input: Buffer::default(),
            output: Buffer::default(),
            properties: TableBuf::new(),
            capabilities: ClientCapabilities::default(),
            mechanism: "PLAIN",
            login: None,
            vhost: None,
            pool: None,
            frame_len_max: amqp::limits::FRAME_LEN_MAX_INITIAL,
            channel_max: 0,
            heartbeat_s: 0,
            own: None,
            has_moved: false,
            channels: BTreeMap::new(),
            is_told_blocked: false,
            is_without_room: false,
            is_admitted: false,
            is_vouched: false,
            held_len: 0,
            ended_ms: None,
            is_paused: false,
            joined_ms: now_ms,
            heard_ms: now_ms,
            said_ms: now_ms,
        }
    }

    /// It looks at its frame again when this has come. It waits from now on, unless it has waited with the same patience before.
    pub(super) fn wait_for(&mut self, what: Waits, now_ms: u64) {
        self.waits = what;
        let since_ms = |(before, since_ms)| (Some(before) == what.patience()).then_some(since_ms);
        let since_ms = self.waiting.and_then(since_ms).unwrap_or(now_ms);
        self.waiting = what.patience().map(|patience| (patience, since_ms));
    }

    /// Whether all is done that it said before its end.
    pub(super) fn has_said_all(&self) -> bool {
        self.ended_ms.is_some() && self.waits == Waits::Nothing && !self.is_full()
    }

    /// Whether so much waits to be written to it that nothing more is to be asked for it.
    pub(super) fn is_full(&self) -> bool {
        self.output.len() > CLIENT_OUTPUT_LEN_MAX
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    pub(super) fn may_read(&self) -> bool {
        match self.phase {
            _ if self.ended_ms.is_some() => false,
            Phase::Over => false,
            Phase::Refused { .. } | Phase::Leaving { .. } => self.input.rest().len() < READ_AHEAD_LEN,
            _ => !self.is_full() && (self.waits == Waits::Nothing || self.input.rest().len() < READ_AHEAD_LEN),
        }
    }

    /// Whether its frames may be looked at.
    pub(super) fn is_ready(&self) -> bool {
        let is_listened_to = !matches!(self.phase, Phase::Over | Phase::Refused { .. } | Phase::Leaving { .. });
        is_listened_to && self.waits == Waits::Nothing && !self.is_full()
    }

    pub(super) fn send<M: amqp::method::EncodeMethod + ?Sized>(&mut self, channel: u16, method: &M) {
        put_method(self.output.end(), channel, method);
    }
}

/// How far a client's channel has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Open,
    /// The client was told that it is closed; what comes until it has agreed is not looked at.
    Closed,
    /// The client wants it closed; the upstream is to agree.
    Closing,
}

/// A channel of a client.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) stage: Stage,
    /// The line and the channel there that it uses. It needs none until it says something.
    pub(super) seat: Option<(LineId, u16)>,
    /// A publish that is not whole yet.
    pub(super) content: Option<Content>,
    /// Confirms, if the client wants them.
    pub(super) tags: Option<Tags>,
    /// Requests that the upstream has not answered, in their order: whether the client wants the answer.
    pub(super) unanswered: VecDeque<bool>,
    /// Answers that are for the proxy: it asked itself.
    pub(super) swallowed: u32,
    /// Asked for on a shared line, where it means nothing; said again on a line of its own.
    pub(super) qos: Option<basic::Qos>,
    /// The queue that an empty name means.
    pub(super) declared: Option<Box<[u8]>>,
    /// Whether the upstream's channel knows of `declared`.
    pub(super) is_declared_here: bool,
    /// The last that was published here and kept, and may not have been sent on.
    pub(super) kept: Option<QueueSeq>,
}

impl Channel {
    pub(super) fn new() -> Self {
        Channel {
            stage: Stage::Open,
            seat: None,
            content: None,
            tags: None,
            unanswered: VecDeque::new(),
            swallowed: 0,
            qos: None,
            declared: None,
            is_declared_here: false,
            kept: None,
        }
    }
}

/// How a client counts its publishes, and how the upstream does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tags {
    /// Publishes of the client since it selected confirms.
    pub(super) count: u64,
    /// The upstream's tag of a publish less the client's.
    pub(super) offset: i64,
}

impl Tags {
    /// The client's tag; `None` for what it published before it wanted confirms, or another did.
    pub(super) fn of_upstream(&self, tag: u64) -> Option<u64> {
        u64::try_from(i64::try_from(tag).ok()?.checked_sub(self.offset)?).ok().filter(|tag| *tag > 0)
    }
}

/// Frames of a publish, as they came, until the last one is there.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) frames: Vec<u8>,
    pub(super) progress: ContentProgress,
    /// Of the header's frame.
    pub(super) header_len: Option<usize>,
}
