//! Channels of a shared upstream connection: which are open, whose they are, and what is under way on them.

use amqp::frame::FrameKind;
use amqp_client::Unconfirmed;

use super::ids::ClientId;

/// A channel of a shared upstream connection. It confirms.
#[derive(Debug)]
pub(super) struct UpstreamChannel {
    /// The client that uses it, and its number there.
    owner: Option<(ClientId, u16)>,
    /// Nothing was done on it but publishing.
    is_clean: bool,
    /// It was asked to close; the upstream's answer is awaited.
    is_closing: bool,
    /// Publishes that are not confirmed yet, by the upstream's tags.
    unconfirmed: Unconfirmed<()>,
    /// The tag of the last publish.
    published: u64,
    /// When that was.
    published_ms: u64,
    /// Whether a client had it before.
    was_used: bool,
    /// Whether its client has disconnected, and the pool waits for its confirms to give it to the next one.
    is_parked: bool,
    /// A content that is coming from the upstream.
    incoming: Option<IncomingContent>,
    /// Since when it has belonged to no client.
    ownerless_since_ms: u64,
}

/// A content that is coming from an upstream: a message that was returned, or the answer to a get.
#[derive(Debug, Clone, Copy)]
struct IncomingContent {
    /// Bytes of the body that are still to come; `None` while the header is.
    left: Option<u64>,
    /// Whether it is an answer.
    is_answer: bool,
}

impl UpstreamChannel {
    fn new() -> Self {
        UpstreamChannel {
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

    /// The client that uses it, and its number there.
    #[inline]
    pub(super) fn owner(&self) -> Option<(ClientId, u16)> {
        self.owner
    }

    /// Whether it has had no client for so long.
    pub(super) fn is_left_for(&self, left_ms: u64, now_ms: u64) -> bool {
        now_ms >= self.ownerless_since_ms + left_ms
    }

    /// Whether nothing was done on it but publishing.
    pub(super) fn is_clean(&self) -> bool {
        self.is_clean
    }

    /// Something else is done on it than publishing, or may be: it is not given to the next client as it is.
    pub(super) fn soil(&mut self) {
        self.is_clean = false;
    }

    pub(super) fn is_closing(&self) -> bool {
        self.is_closing
    }

    pub(super) fn is_parked(&self) -> bool {
        self.is_parked
    }

    /// Whether nothing is under way on it.
    pub(super) fn is_quiet(&self) -> bool {
        self.unconfirmed.is_empty() && self.incoming.is_none()
    }

    /// Whether the next client may have it as it is.
    pub(super) fn is_free(&self) -> bool {
        self.owner.is_none() && self.is_clean && !self.is_closing && self.is_quiet()
    }

    /// The tag of the last publish.
    pub(super) fn published(&self) -> u64 {
        self.published
    }

    pub(super) fn unconfirmed_count(&self) -> usize {
        self.unconfirmed.len()
    }

    /// A message was published on it.
    #[inline]
    pub(super) fn note_published(&mut self, now_ms: u64) {
        self.published = self.unconfirmed.push(());
        self.published_ms = now_ms;
    }

    /// The upstream has confirmed or refused publishes. Gives how many, and how long the last publish has waited where none is left.
    pub(super) fn settle(&mut self, tag: u64, is_multiple: bool, now_ms: u64) -> (u64, Option<u64>) {
        let mut count = 0;
        self.unconfirmed.settle(tag, is_multiple, |()| count += 1);
        let is_last = count > 0 && self.unconfirmed.is_empty();
        (count, is_last.then(|| now_ms.saturating_sub(self.published_ms)))
    }

    /// Confirms of what was published up to now are no longer waited for.
    pub(super) fn forget_unconfirmed(&mut self) {
        self.unconfirmed = Unconfirmed::new();
    }

    /// A content begins to come.
    pub(super) fn begin_incoming(&mut self, is_answer: bool) {
        self.incoming = Some(IncomingContent { left: None, is_answer });
    }

    pub(super) fn has_incoming(&self) -> bool {
        self.incoming.is_some()
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
}

/// All of an upstream connection's. Invariant: the counts are those of `channels`.
#[derive(Debug)]
pub(super) struct UpstreamChannels {
    /// By number, from 1.
    channels: Vec<Option<UpstreamChannel>>,
    /// Numbers below `channels.len() + 1` that are not open.
    vacant: Vec<u16>,
    open_count: usize,
    /// Channels that a client uses.
    used_count: usize,
    /// Channels that are [parked](UpstreamChannel::is_parked).
    parked_count: usize,
    /// Since when no client has used any.
    idle_since_ms: u64,
}

impl UpstreamChannels {
    pub(super) fn new(now_ms: u64) -> Self {
        UpstreamChannels {
            channels: Vec::new(),
            vacant: Vec::new(),
            open_count: 0,
            used_count: 0,
            parked_count: 0,
            idle_since_ms: now_ms,
        }
    }

    pub(super) fn open_count(&self) -> usize {
        self.open_count
    }

    pub(super) fn used_count(&self) -> usize {
        self.used_count
    }

    pub(super) fn parked_count(&self) -> usize {
        self.parked_count
    }

    /// For how long no client has used any.
    pub(super) fn idle_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.idle_since_ms)
    }

    /// As if a client had used one just now.
    pub(super) fn touch(&mut self, now_ms: u64) {
        self.idle_since_ms = now_ms;
    }

    #[inline]
    pub(super) fn get(&self, number: u16) -> Option<&UpstreamChannel> {
        self.channels.get(usize::from(number).checked_sub(1)?)?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u16) -> Option<&mut UpstreamChannel> {
        self.channels.get_mut(usize::from(number).checked_sub(1)?)?.as_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &UpstreamChannel> {
        self.channels.iter().flatten()
    }

    pub(super) fn numbered(&self) -> impl Iterator<Item = (u16, &UpstreamChannel)> {
        (1u16..).zip(&self.channels).filter_map(|(number, channel)| Some((number, channel.as_ref()?)))
    }

    /// One more. Gives its number.
    pub(super) fn open(&mut self) -> u16 {
        let number = self.vacant.pop().unwrap_or_else(|| {
            self.channels.push(None);
            u16::try_from(self.channels.len())
                .expect("no more channels are opened than the upstream permits, in 16 bits")
        });
        self.channels[usize::from(number) - 1] = Some(UpstreamChannel::new());
        self.open_count += 1;
        number
    }

    /// A client uses one from now on. Gives the tag of the last publish on it, and whether a client had it before.
    pub(super) fn occupy(&mut self, number: u16, owner: (ClientId, u16)) -> Option<(u64, bool)> {
        self.used_count += 1;
        let channel = self.get_mut(number)?;
        channel.owner = Some(owner);
        Some((channel.published, std::mem::replace(&mut channel.was_used, true)))
    }

    /// Its client uses one no longer. Gives how it stands then, if a client has used it.
    pub(super) fn release(&mut self, number: u16, now_ms: u64) -> Option<&UpstreamChannel> {
        let channel = self.get_mut(number)?;
        channel.owner.take()?;
        channel.ownerless_since_ms = now_ms;
        self.note_unused(now_ms);
        self.get(number)
    }

    /// The upstream is asked to close it.
    pub(super) fn begin_close(&mut self, number: u16) -> bool {
        self.unpark(number);
        match self.get_mut(number) {
            Some(channel) => {
                channel.is_closing = true;
                true
            }
            None => false,
        }
    }

    /// Forgets one that both sides have closed.
    pub(super) fn vacate(&mut self, number: u16, now_ms: u64) {
        if self.get(number).is_some_and(|channel| channel.owner.is_some()) {
            self.note_unused(now_ms);
        }
        self.unpark(number);
        let index = usize::from(number).wrapping_sub(1);
        if self.channels.get_mut(index).and_then(Option::take).is_some() {
            self.open_count -= 1;
            self.vacant.push(number);
        }
    }

    /// A channel's client has disconnected before all was confirmed.
    pub(super) fn park(&mut self, number: u16) {
        if let Some(channel) = self.get_mut(number)
            && !std::mem::replace(&mut channel.is_parked, true)
        {
            self.parked_count += 1;
        }
    }

    /// One waits no more for its confirms, or for so long that it counts no more.
    pub(super) fn unpark(&mut self, number: u16) {
        if let Some(channel) = self.get_mut(number)
            && std::mem::take(&mut channel.is_parked)
        {
            self.parked_count -= 1;
        }
    }

    fn note_unused(&mut self, now_ms: u64) {
        self.used_count -= 1;
        if self.used_count == 0 {
            self.idle_since_ms = now_ms;
        }
    }
}
