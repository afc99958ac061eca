//! A link that is connected: what comes from the upstream is published here, and acknowledged there.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use amqp::{Method, basic};
use amqp_client::{Connection, Content, Event, Route};
use bridge::{CHANNEL, Outcome, Settlement, Taken, Transfer};

use crate::failure::Failure;
use crate::message::{Way, WayKind};

/// The channel for commands, where they have one of their own.
pub(crate) const COMMANDS: u16 = 2;
/// The channel for questions whose answer may be that it is closed.
pub(crate) const ASKING: u16 = 3;

/// Deliveries taken in a row before this broker's words are looked at.
const DELIVERY_COUNT: usize = 512;
/// Bytes that wait to be sent to this broker at most: as long as there are more, nothing is taken from the upstream.
const OUTPUT_LEN_MAX: usize = 1 << 20;

/// See the module.
pub(crate) struct Life {
    pub(crate) upstream: Connection,
    pub(crate) here: Connection,
    pub(crate) transfer: Transfer,
    pub(crate) publisher: Publisher,
    /// Deliveries have come that were not looked at.
    pub(crate) has_more: bool,
}

/// How messages are published here.
pub(crate) struct Publisher {
    way: Way,
    /// The route of the last message, and its key.
    route: Option<(Vec<u8>, Route)>,
    encoded: Vec<u8>,
}

impl Publisher {
    pub(crate) fn new(way: Way) -> Self {
        Publisher { way, route: None, encoded: Vec::new() }
    }

    /// Where a message is sent, and with which properties. `None`: nowhere.
    fn forward(
        &mut self,
        deliver: &basic::Deliver<'_>,
        content: &Content<'_>,
    ) -> Result<Option<(&Route, &[u8])>, Failure> {
        if !self.way.forward(deliver, content, &mut self.encoded) {
            return Ok(None);
        }
        let (exchange, key) = match &self.way.kind {
            WayKind::Exchange { name, .. } => (name.as_bytes(), deliver.routing_key),
            WayKind::Queue { name } => (&b""[..], name.as_bytes()),
        };
        // A deleted queue is a failure, and not the end of its messages.
        let is_mandatory = matches!(self.way.kind, WayKind::Queue { .. });
        if self.route.as_ref().is_none_or(|(of, _)| of != key) {
            let route = Route::new(exchange, key, is_mandatory);
            let route = route.ok_or_else(|| Failure::Unnameable(String::from_utf8_lossy(key).into_owned()))?;
            self.route = Some((key.to_vec(), route));
        }
        Ok(self.route.as_ref().map(|(_, route)| (route, &self.encoded[..])))
    }
}

impl Life {
    /// Moves what has come, and waits until more can be done. May be dropped at any time.
    pub(crate) async fn step(&mut self) -> Result<(), Failure> {
        self.advance()?;
        self.upstream.set_receiving(!self.has_more);
        self.turn().await
    }

    /// Sends and receives at both ends, until one of them has done something.
    async fn turn(&mut self) -> Result<(), Failure> {
        poll_fn(|cx| {
            // Both are asked, whatever the first one says.
            let upstream = self.upstream.poll_turn(cx).map_err(Failure::Upstream)?;
            let here = self.here.poll_turn(cx).map_err(Failure::Here)?;
            if upstream.is_ready() || here.is_ready() { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await
    }

    fn advance(&mut self) -> Result<(), Failure> {
        loop {
            self.hear()?;
            let has_taken_all = self.take_deliveries()?;
            self.tell_upstream();
            if has_taken_all || !self.takes_more() {
                self.has_more = !has_taken_all;
                return Ok(());
            }
        }
    }

    /// Whether this broker takes messages just now.
    fn takes_more(&self) -> bool {
        self.here.is_blocked().is_none() && self.here.output_len() < OUTPUT_LEN_MAX
    }

    /// What this broker says of what it was given.
    fn hear(&mut self) -> Result<(), Failure> {
        while let Some(event) = self.here.next_event().map_err(Failure::Here)? {
            match event {
                Event::Confirmed { tag, is_multiple, is_ack, .. } => {
                    self.transfer.confirm(tag, is_multiple, if is_ack { Outcome::Accepted } else { Outcome::Refused });
                }
                Event::Returned { returned, .. } => {
                    let text = String::from_utf8_lossy(returned.reply_text).into_owned();
                    return Err(Failure::Returned { code: returned.reply_code, text });
                }
                Event::ChannelClosed { close, .. } => {
                    let text = String::from_utf8_lossy(close.reply_text).into_owned();
                    return Err(Failure::HereChannel { code: close.reply_code, text });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Publishes what the upstream has given out. Returns whether that was all.
    fn take_deliveries(&mut self) -> Result<bool, Failure> {
        for _ in 0..DELIVERY_COUNT {
            if !self.takes_more() {
                return Ok(false);
            }
            let Some(event) = self.upstream.next_event().map_err(Failure::Upstream)? else { return Ok(true) };
            match event {
                Event::Delivered { deliver, content, .. } => match self.publisher.forward(&deliver, &content)? {
                    Some((route, properties)) => {
                        if self.transfer.take(deliver.delivery_tag) == Taken::Publish {
                            self.here.publish(CHANNEL, route, properties, content.body);
                        }
                    }
                    None => self.transfer.drop_delivery(deliver.delivery_tag),
                },
                Event::ChannelClosed { close, .. } => {
                    let text = String::from_utf8_lossy(close.reply_text).into_owned();
                    return Err(Failure::UpstreamChannel { code: close.reply_code, text });
                }
                Event::Answered { method: Method::BasicCancel(_), .. } => return Err(Failure::Cancelled),
                _ => {}
            }
        }
        Ok(false)
    }

    fn tell_upstream(&mut self) {
        while let Some(Settlement { tag, is_multiple, outcome }) = self.transfer.next_settlement() {
            match outcome {
                Outcome::Accepted => self.upstream.ack(CHANNEL, tag, is_multiple),
                Outcome::Refused => self.upstream.nack(CHANNEL, tag, is_multiple, true),
                Outcome::Rejected => self.upstream.nack(CHANNEL, tag, is_multiple, false),
            }
        }
    }

    /// Takes no more, and waits for what is under way, but not for ever: what is not settled then comes again as redelivered.
    pub(crate) async fn settle(&mut self, timeout: Duration) -> Result<(), Failure> {
        self.transfer.take_no_more();
        self.upstream.set_receiving(false);
        let settling = async {
            while self.transfer.unconfirmed_count() > 0 || self.here.output_len() > 0 {
                self.turn().await?;
                self.hear()?;
                self.tell_upstream();
            }
            self.tell_upstream();
            self.upstream.flush().await.map_err(Failure::Upstream)
        };
        match tokio::time::timeout(timeout, settling).await {
            Ok(settled) => settled,
            Err(_) => Ok(()),
        }
    }
}
