//! Where messages go, behind one face: a broker, or a web server.

use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use amqp::basic;
use amqp_client::{Connection, Content, Event};
use bridge::{CHANNEL, Outcome};

use crate::message::Forwarding;
use crate::status::Flow;
use crate::web_server::WebServer;
use crate::worker::Failure;

/// Bytes that wait to be sent at most: as long as there are more, nothing is taken from the source.
const OUTPUT_LEN_MAX: usize = 1 << 20;

/// What the destination says of publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Which publish of this life, from 1.
    pub(crate) tag: u64,
    pub(crate) is_multiple: bool,
    pub(crate) outcome: Outcome,
}

pub(crate) enum Destination {
    Broker(Box<Broker>),
    Web(Box<WebServer>),
}

pub(crate) struct Broker {
    pub(crate) connection: Connection,
    pub(crate) forwarding: Forwarding,
}

impl Destination {
    /// Gives it a message.
    pub(crate) fn publish(&mut self, deliver: &basic::Deliver<'_>, content: &Content<'_>) -> Result<(), Failure> {
        match self {
            Destination::Broker(broker) => broker.publish(deliver, content),
            Destination::Web(server) => {
                server.push(deliver, content);
                Ok(())
            }
        }
    }

    /// Its next word; `None` when it has said all so far.
    pub(crate) fn next_verdict(&mut self) -> Result<Option<Verdict>, Failure> {
        match self {
            Destination::Broker(broker) => broker.next_verdict(),
            Destination::Web(server) => Ok(server.next_verdict()),
        }
    }

    /// Sends and receives. Ready when something has been done.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        match self {
            Destination::Broker(broker) => broker.connection.poll_turn(cx).map_ok(drop).map_err(Failure::Destination),
            Destination::Web(server) => server.poll(cx),
        }
    }

    /// Whether it takes messages just now.
    pub(crate) fn flow(&self) -> Flow {
        match self {
            Destination::Broker(broker) if broker.connection.is_blocked().is_some() => Flow::Blocked,
            Destination::Broker(broker) if broker.connection.output_len() >= OUTPUT_LEN_MAX => Flow::Flow,
            Destination::Web(server) if server.is_full() => Flow::Flow,
            Destination::Broker(_) | Destination::Web(_) => Flow::Running,
        }
    }

    /// Messages that it was given and that have not left.
    pub(crate) fn waiting_count(&self) -> usize {
        match self {
            Destination::Broker(_) => 0,
            Destination::Web(server) => server.waiting_count(),
        }
    }

    /// Whether all that it was given has left.
    pub(crate) fn is_flushed(&self) -> bool {
        match self {
            Destination::Broker(broker) => broker.connection.output_len() == 0,
            Destination::Web(server) => server.waiting_count() == 0,
        }
    }

    /// Says goodbye.
    pub(crate) async fn close(self, timeout: Duration) {
        if let Destination::Broker(broker) = self {
            broker.connection.close(timeout).await;
        }
    }
}

impl Broker {
    fn publish(&mut self, deliver: &basic::Deliver<'_>, content: &Content<'_>) -> Result<(), Failure> {
        let (route, properties) = self.forwarding.forward(deliver, content, now_s).ok_or(Failure::Unnameable)?;
        self.connection.publish(CHANNEL, route, properties, content.body);
        Ok(())
    }

    fn next_verdict(&mut self) -> Result<Option<Verdict>, Failure> {
        while let Some(event) = self.connection.next_event().map_err(Failure::Destination)? {
            match event {
                Event::Confirmed { tag, is_multiple, is_ack, .. } => {
                    let outcome = if is_ack { Outcome::Accepted } else { Outcome::Refused };
                    return Ok(Some(Verdict { tag, is_multiple, outcome }));
                }
                // It would be confirmed next, and be nowhere.
                Event::Returned { returned, .. } => {
                    return Err(Failure::Returned {
                        code: returned.reply_code,
                        text: String::from_utf8_lossy(returned.reply_text).into_owned(),
                        key: String::from_utf8_lossy(returned.routing_key).into_owned(),
                    });
                }
                Event::ChannelClosed { close, .. } => {
                    let text = String::from_utf8_lossy(close.reply_text).into_owned();
                    return Err(Failure::DestinationChannel { code: close.reply_code, text });
                }
                Event::Delivered { .. }
                | Event::Got { .. }
                | Event::Blocked { .. }
                | Event::Unblocked
                | Event::Answered { .. } => {}
            }
        }
        Ok(None)
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
