//! A user's connection: what comes over it is measured and settled whatever the user is doing.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use amqp::method::EncodeMethod;
use amqp::{Method, basic, channel, confirm, queue};
use amqp_client::{Connection, Content, Event, Route, Unconfirmed};

use super::super::clock::{now_ns, ns};
use super::super::pacer::Timer;
use super::super::recorder::Recorder;
use super::super::stamp::ReceivedStamp;
use super::super::tag::tag_number;
use super::super::target::GOODBYE;
use super::super::worker::Gauges;
use super::crowd::Station;
use super::failure::Failure;
use crate::plan::Settle;

/// Output beyond which a user waits for the socket.
const OUTPUT_LEN: usize = 64 * 1024;

/// A user's connection.
#[derive(Debug)]
pub(crate) struct Link {
    connection: Connection,
    gauge: OpenGauge,
    /// Channel `i + 1`. Steps use the last one.
    channels: Vec<Channel>,
    /// Their tags are their places.
    consumers: Vec<Consumer>,
    received: u64,
    /// Of those, the ones that no step has waited for.
    unclaimed: u64,
    /// How long the broker may take.
    patience: Timer,
}

#[derive(Debug, Default)]
struct Channel {
    is_confirming: bool,
    /// When each was due and was sent.
    unconfirmed: Unconfirmed<(u64, u64)>,
    nacked: u64,
}

#[derive(Debug)]
struct Consumer {
    channel: u16,
    settle: Settle,
    unsettled: u32,
    is_live: bool,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Done,
    Queue { name: Box<str>, ready: u32 },
}

impl Link {
    pub(crate) fn new(connection: Connection, station: &Station) -> Self {
        station.local.recorder.borrow_mut().counts.connections_opened += 1;
        Link {
            connection,
            gauge: OpenGauge::new(&station.local.gauges),
            channels: Vec::new(),
            consumers: Vec::new(),
            received: 0,
            unclaimed: 0,
            patience: Timer::new(&station.local.pacer),
        }
    }

    /// Messages that have come so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Opens a channel, which what follows uses.
    pub(crate) async fn open_channel(&mut self, station: &Station) -> Result<(), Failure> {
        self.channels.push(Channel::default());
        self.call(station, &channel::Open::default()).await.map(drop)
    }

    /// Sends a request on the last channel, and waits for the answer. There is never more than one under way.
    pub(crate) async fn call<M: EncodeMethod + ?Sized>(
        &mut self,
        station: &Station,
        request: &M,
    ) -> Result<Answer, Failure> {
        self.call_on(self.channel(), station, request).await
    }

    async fn call_on<M: EncodeMethod + ?Sized>(
        &mut self,
        channel: u16,
        station: &Station,
        request: &M,
    ) -> Result<Answer, Failure> {
        self.connection.send(channel, request);
        self.owed(station, |_, answer| answer.map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Asks a queue for how many messages it has ready.
    pub(crate) async fn ready(&mut self, station: &Station, queue: &str) -> Result<u32, Failure> {
        let declare = queue::Declare { queue: queue.as_bytes(), passive: true, ..Default::default() };
        match self.call(station, &declare).await? {
            Answer::Queue { ready, .. } => Ok(ready),
            Answer::Done => Ok(0),
        }
    }

    /// Starts a consumer.
    pub(crate) async fn consume(
        &mut self,
        station: &Station,
        queue: &str,
        prefetch: u16,
        settle: Settle,
    ) -> Result<(), Failure> {
        if prefetch > 0 {
            let qos = basic::Qos { prefetch_size: 0, prefetch_count: prefetch, global: false };
            self.call(station, &qos).await?;
        }
        let tag = self.consumers.len().to_string();
        // Its first message may come with the answer.
        self.consumers.push(Consumer { channel: self.channel(), settle, unsettled: 0, is_live: true });
        let consume = basic::Consume {
            queue: queue.as_bytes(),
            consumer_tag: tag.as_bytes(),
            no_ack: settle == Settle::AutoAck,
            ..Default::default()
        };
        self.call(station, &consume).await.map(drop)
    }

    /// Stops all consumers.
    pub(crate) async fn cancel(&mut self, station: &Station) -> Result<(), Failure> {
        for at in 0..self.consumers.len() {
            if std::mem::take(&mut self.consumers[at].is_live) {
                let tag = at.to_string();
                let cancel = basic::Cancel { consumer_tag: tag.as_bytes(), ..Default::default() };
                self.call_on(self.consumers[at].channel, station, &cancel).await?;
            }
        }
        Ok(())
    }

    /// Waits for so many messages that no such wait had, or until `is_late` returns true.
    pub(crate) async fn claim(
        &mut self,
        station: &Station,
        count: u32,
        timeout: Duration,
        mut is_late: impl FnMut(&mut Context<'_>) -> bool,
    ) -> Result<(), Failure> {
        self.serve(station, |link, _, cx| {
            let came = link.unclaimed;
            if let Some(rest) = came.checked_sub(count.into()) {
                link.unclaimed = rest;
                return Poll::Ready(Ok(()));
            }
            if link.consumers.iter().all(|consumer| !consumer.is_live) {
                return Poll::Ready(Err(Failure::NoConsumer { came, count }));
            }
            if is_late(cx) { Poll::Ready(Err(Failure::TooFew { came, count, timeout })) } else { Poll::Pending }
        })
        .await?
    }

    /// Has publishes on the last channel confirmed from here on.
    pub(crate) async fn select_confirms(&mut self, station: &Station) -> Result<(), Failure> {
        let is_confirming = self.channels.last().is_some_and(|channel| channel.is_confirming);
        if is_confirming {
            return Ok(());
        }
        self.call(station, &confirm::Select::default()).await?;
        if let Some(channel) = self.channels.last_mut() {
            channel.is_confirming = true;
        }
        Ok(())
    }

    /// Waits until the socket takes more, and the broker wants more.
    pub(crate) async fn has_room(&mut self, station: &Station) -> Result<(), Failure> {
        self.serve(station, |link, _, _| {
            if link.connection.output_len() < OUTPUT_LEN && link.connection.is_blocked().is_none() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await
    }

    pub(crate) fn publish(&mut self, route: &Route, properties: &[u8], body: &[u8], due: u64, sent: u64) {
        let channel = self.channel();
        self.connection.publish(channel, route, properties, body);
        if let Some(channel) = self.channels.last_mut().filter(|channel| channel.is_confirming) {
            channel.unconfirmed.push((due, sent));
        }
    }

    /// Waits until the socket has all that was published.
    pub(crate) async fn sent(&mut self, station: &Station) -> Result<(), Failure> {
        self.serve(station, |link, _, _| match link.connection.output_len() {
            0 => Poll::Ready(()),
            _ => Poll::Pending,
        })
        .await
    }

    /// Waits until all that was published on the last channel is confirmed.
    pub(crate) async fn confirmed(&mut self, station: &Station) -> Result<(), Failure> {
        let nacked = self
            .owed(station, |link, _| match link.channels.last_mut() {
                Some(channel) if !channel.unconfirmed.is_empty() => Poll::Pending,
                Some(channel) => Poll::Ready(std::mem::take(&mut channel.nacked)),
                None => Poll::Ready(0),
            })
            .await?;
        if nacked > 0 { Err(Failure::Nacked(nacked)) } else { Ok(()) }
    }

    /// Deals with what comes until `until` is ready, for what the broker owes an answer to: it has so long.
    async fn owed<T>(
        &mut self,
        station: &Station,
        mut until: impl FnMut(&mut Self, Option<Answer>) -> Poll<T>,
    ) -> Result<T, Failure> {
        let timeout = station.crowd.answer_timeout;
        let deadline = now_ns().saturating_add(ns(timeout));
        self.serve(station, |link, answer, cx| match until(link, answer) {
            Poll::Ready(result) => {
                link.patience.forget();
                Poll::Ready(Ok(result))
            }
            Poll::Pending => link.patience.poll_until(cx, deadline).map(|()| Err(Failure::NoAnswer(timeout))),
        })
        .await?
    }

    /// Deals with what comes until `until` is ready. It is asked first, and after everything that came.
    pub(crate) async fn serve<T>(
        &mut self,
        station: &Station,
        mut until: impl FnMut(&mut Self, Option<Answer>, &mut Context<'_>) -> Poll<T>,
    ) -> Result<T, Failure> {
        poll_fn(|cx| {
            loop {
                let answer = self.take_events(station)?;
                let has_more = answer.is_some();
                if let Poll::Ready(result) = until(self, answer, cx) {
                    return Poll::Ready(Ok(result));
                }
                if has_more {
                    continue;
                }
                match self.connection.poll_turn(cx) {
                    Poll::Ready(turn) => {
                        let turn = turn?;
                        let counts = &mut station.local.recorder.borrow_mut().counts;
                        counts.sent_wire_bytes += turn.sent as u64;
                        counts.received_wire_bytes += turn.received as u64;
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }

    /// Takes what has come, up to the answer to a request.
    fn take_events(&mut self, station: &Station) -> Result<Option<Answer>, Failure> {
        let recorder = &mut *station.local.recorder.borrow_mut();
        let now = now_ns();
        while let Some(event) = self.connection.next_event()? {
            match event {
                Event::Confirmed { channel, tag, is_multiple, is_ack } => {
                    let Some(channel) = self.channels.get_mut(usize::from(channel).wrapping_sub(1)) else { continue };
                    let Channel { unconfirmed, nacked, .. } = channel;
                    unconfirmed.settle(tag, is_multiple, |(due, sent)| match is_ack {
                        true => recorder.confirmed(due, sent, now),
                        false => {
                            recorder.counts.nacked += 1;
                            *nacked += 1;
                        }
                    });
                }
                Event::Delivered { deliver, content, .. } => {
                    let at = usize::from(tag_number(deliver.consumer_tag));
                    let tag = deliver.delivery_tag;
                    measure(station, recorder, deliver.redelivered, &content, now);
                    self.received += 1;
                    self.unclaimed += 1;
                    if let Some(consumer) = self.consumers.get_mut(at) {
                        consumer.settle(&mut self.connection, tag);
                    }
                }
                Event::Returned { .. } => recorder.counts.returned += 1,
                Event::ChannelClosed { close, .. } => {
                    let text = String::from_utf8_lossy(close.reply_text).into_owned();
                    return Err(Failure::Refused { code: close.reply_code, text });
                }
                Event::Answered { method: Method::BasicCancel(cancel), .. } => {
                    if let Some(consumer) = self.consumers.get_mut(usize::from(tag_number(cancel.consumer_tag))) {
                        consumer.is_live = false;
                    }
                }
                // Not to a step: the answer to a new secret.
                Event::Answered { channel: 0, .. } => {}
                Event::Answered { method: Method::QueueDeclareOk(ok), .. } => {
                    let name = String::from_utf8_lossy(ok.queue).into();
                    return Ok(Some(Answer::Queue { name, ready: ok.message_count }));
                }
                Event::Answered { .. } => return Ok(Some(Answer::Done)),
                Event::Got { .. } | Event::Blocked { .. } | Event::Unblocked => {}
            }
        }
        self.gauge.set_blocked(self.connection.is_blocked().is_some());
        Ok(None)
    }

    fn channel(&self) -> u16 {
        u16::try_from(self.channels.len()).unwrap_or(u16::MAX)
    }

    /// Says goodbye.
    pub(crate) async fn close(self) {
        self.connection.close(GOODBYE).await;
    }
}

impl Consumer {
    /// A delivery was taken; it is the channel's latest.
    fn settle(&mut self, connection: &mut Connection, tag: u64) {
        let (every, requeue) = match self.settle {
            Settle::AutoAck => return,
            Settle::AckEvery(every) => (every, None),
            Settle::NackEvery { count, requeue } => (count, Some(requeue)),
        };
        self.unsettled += 1;
        if self.unsettled < every {
            return;
        }
        let is_multiple = std::mem::take(&mut self.unsettled) > 1;
        match requeue {
            None => connection.ack(self.channel, tag, is_multiple),
            Some(requeue) => connection.nack(self.channel, tag, is_multiple, requeue),
        }
    }
}

fn measure(station: &Station, recorder: &mut Recorder, is_redelivered: bool, content: &Content<'_>, now: u64) {
    let said = ReceivedStamp::of(content);
    let late_ns = said.origin.map_or(0, |origin| origin.late_ns);
    let timing = said.sent.map(|sent| (station.crowd.unit.age_ns(sent, now), late_ns));
    recorder.consumed(content.body.len(), timing);
    recorder.consumed_at = now;
    recorder.counts.redelivered += u64::from(is_redelivered);
}

/// Counts a connection among those that are open, and blocked, as long as it is.
#[derive(Debug)]
struct OpenGauge {
    gauges: Rc<Gauges>,
    is_blocked: bool,
}

impl OpenGauge {
    fn new(gauges: &Rc<Gauges>) -> Self {
        gauges.connections.set(gauges.connections.get() + 1);
        OpenGauge { gauges: Rc::clone(gauges), is_blocked: false }
    }

    fn set_blocked(&mut self, is_blocked: bool) {
        let gauge = &self.gauges.blocked;
        match (std::mem::replace(&mut self.is_blocked, is_blocked), is_blocked) {
            (false, true) => gauge.set(gauge.get() + 1),
            (true, false) => gauge.set(gauge.get().saturating_sub(1)),
            _ => {}
        }
    }
}

impl Drop for OpenGauge {
    fn drop(&mut self) {
        self.set_blocked(false);
        self.gauges.connections.set(self.gauges.connections.get().saturating_sub(1));
    }
}
