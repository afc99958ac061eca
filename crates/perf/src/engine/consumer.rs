//! Consumers: those of one connection are one task. Each channel is a consumer.
//!
//! What comes is measured, settled and forgotten at once, unless the consumer takes time for it: then deliveries wait in
//! line here, as they do in any client, and the connection is not read from while the line is long.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use amqp::{Method, TableBuf, basic, tx};
use client::{CallError, Closed, Connection, Content, Event, Turn};
use rustc_hash::FxHashMap;

use super::clock::{StampUnit, now_ns, ns};
use super::incident::{Incident, Incidents, Role, tell};
use super::message::in_cycle;
use super::pacer::Timer;
use super::recorder::Recorder;
use super::seen::unwrapped;
use super::stamp::{NOBODY, Said};
use super::target::Target;
use super::topology::{Declarations, QueueNames};
use super::values;
use super::worker::Local;
use crate::plan::{ConsumedQueues, Consumers, Processing, Random, Settle};

/// A line this long is not added to: the connection waits.
const LINE_LEN_MAX: usize = 1_000;
/// Deliveries between two looks at the clock.
const DELIVERIES_PER_TIME: u32 = 32;
/// How long goodbyes may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// The consumers of one connection.
#[derive(Clone, Debug)]
pub(crate) struct ConsumerTask {
    pub(crate) group: Arc<Consumers>,
    pub(crate) declarations: Arc<Declarations>,
    pub(crate) target: Arc<Target>,
    pub(crate) incidents: Incidents,
    pub(crate) unit: StampUnit,
    pub(crate) seed: u64,
    /// The number of the first consumer in its group.
    pub(crate) first_index: u32,
    /// Publishers of the run, on all machines: others' numbers are not ours.
    pub(crate) publisher_count: u32,
    /// Shown by the broker.
    pub(crate) name: String,
    /// Whether to tell when a queue is empty.
    pub(crate) is_watching_for_empty: bool,
}

/// A delivery that waits in line.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    tag: u64,
    body_len: usize,
    sent: Option<u64>,
    late_ns: u64,
    /// Publisher and number, if its sequence is followed.
    position: Option<(u32, u32)>,
    redelivered: bool,
    queue: u16,
}

/// One consumer.
#[derive(Debug)]
struct Consumer {
    channel: u16,
    queues: Vec<String>,
    settle: Settle,
    unsettled: u32,
    tx_size: u32,
    tx_count: u32,
    left: u64,
    /// The last position that came from a publisher, by publisher and queue.
    last: FxHashMap<(u32, u16), u64>,
    line: VecDeque<Waiting>,
    busy_until: u64,
    gap_ns: Option<u64>,
    random: Random,
    /// Asks with `basic.get`: when next, and from which of its queues.
    get_at: u64,
    get_queue: usize,
    is_getting: bool,
    is_started: bool,
    starts_at: u64,
}

enum ServeError {
    Closed(Closed),
    Failed(String),
}

impl From<Closed> for ServeError {
    fn from(closed: Closed) -> Self {
        ServeError::Closed(closed)
    }
}

impl ConsumerTask {
    /// Runs until the consumers are done or the run is over.
    pub(crate) async fn run(self, local: Local) {
        let mut random = Random::new(self.seed ^ 0x636f_6e73, u64::from(self.first_index));
        let arguments = match values::table(&self.group.arguments) {
            Ok(arguments) => arguments,
            Err(error) => return tell(&self.incidents, Incident::Failed(error.to_string())),
        };
        let mut connection = match self.target.open(&self.name, &mut random).await {
            Ok(connection) => connection,
            Err(error) => return tell(&self.incidents, Incident::Failed(error.to_string())),
        };
        let mut names = QueueNames::default();
        let mut consumers = match self.prepare(&mut connection, &mut names, &arguments).await {
            Ok(consumers) => consumers,
            Err(error) => {
                return tell(&self.incidents, Incident::Failed(format!("{} cannot start: {error}", self.name)));
            }
        };
        local.opened();
        tell(&self.incidents, Incident::Ready);
        let mut timer = Timer::new(&local.pacer);
        loop {
            let served = self.serve(&mut connection, &mut consumers, &arguments, &local, &mut timer).await;
            local.closed();
            match served {
                Ok(()) => {
                    connection.close(GOODBYE).await;
                    break;
                }
                Err(ServeError::Failed(reason)) => {
                    tell(&self.incidents, Incident::Failed(format!("{}: {reason}", self.name)));
                    break;
                }
                Err(ServeError::Closed(closed)) => {
                    local.recorder.borrow_mut().counts.connections_lost += 1;
                    tell(&self.incidents, Incident::Lost(closed.to_string()));
                    let again = loop {
                        let Some(mut again) = self.target.reopen(&self.name, &mut random, &local).await else {
                            break None;
                        };
                        // What was not durable is gone with the broker: it is declared again.
                        names = QueueNames::default();
                        match self.declarations.declare_again(&mut again, &self.group.queues).await {
                            Ok(()) => {}
                            Err(_) => continue,
                        }
                        if let Ok(prepared) = self.prepare(&mut again, &mut names, &arguments).await {
                            let lefts: Vec<u64> = consumers.iter().map(|consumer| consumer.left).collect();
                            consumers = prepared;
                            consumers.iter_mut().zip(lefts).for_each(|(consumer, left)| consumer.left = left);
                            break Some(again);
                        }
                    };
                    let Some(again) = again else { break };
                    connection = again;
                    local.opened();
                    tell(&self.incidents, Incident::Back);
                }
            }
        }
        tell(&self.incidents, Incident::Done(Role::Consumer));
    }

    /// Opens the channels and declares the queues that belong to this connection. Who starts at once, consumes.
    async fn prepare(
        &self,
        connection: &mut Connection,
        names: &mut QueueNames,
        arguments: &TableBuf,
    ) -> Result<Vec<Consumer>, CallError> {
        let mut consumers = Vec::new();
        for at in 0..self.group.channels {
            let index = self.first_index + at;
            let channel = (at + 1) as u16;
            connection.open_channel(channel).await?;
            let wanted: Vec<String> = match &self.group.queues {
                ConsumedQueues::All(names) => names.clone(),
                ConsumedQueues::Spread(names) if names.is_empty() => Vec::new(),
                ConsumedQueues::Spread(names) => vec![names[index as usize % names.len()].clone()],
            };
            let queues = self.declarations.declare_own(connection, channel, &wanted, names).await?;
            let mut consumer = self.consumer(channel, index, queues);
            if consumer.starts_at == 0 {
                self.start(connection, &mut consumer, arguments).await?;
            }
            consumers.push(consumer);
        }
        Ok(consumers)
    }

    fn consumer(&self, channel: u16, index: u32, queues: Vec<String>) -> Consumer {
        let group = &self.group;
        Consumer {
            channel,
            queues,
            settle: group.settle,
            unsettled: 0,
            tx_size: group.tx_size,
            tx_count: 0,
            left: group.message_limit.unwrap_or(u64::MAX),
            last: FxHashMap::default(),
            line: VecDeque::new(),
            busy_until: 0,
            gap_ns: group.rate.filter(|rate| *rate > 0.0).map(|rate| (1e9 / rate) as u64),
            random: Random::new(self.seed ^ 0x636f_6e73, u64::from(index) << 32),
            get_at: 0,
            get_queue: 0,
            is_getting: false,
            is_started: false,
            // Since the start of the run; what is 0 has started before it.
            starts_at: ns(group.start_delay + group.start_gap * index),
        }
    }

    /// Sets the prefetch, and starts to consume from all of the consumer's queues.
    async fn start(
        &self,
        connection: &mut Connection,
        consumer: &mut Consumer,
        arguments: &TableBuf,
    ) -> Result<(), CallError> {
        self.send_start(connection, consumer, arguments);
        for _ in 0..self.answers_to_start(consumer) {
            connection.answer(consumer.channel).await?;
        }
        Ok(())
    }

    fn answers_to_start(&self, consumer: &Consumer) -> usize {
        usize::from(self.group.prefetch > 0)
            + usize::from(self.group.channel_prefetch > 0)
            + usize::from(self.group.tx_size > 0)
            + if self.group.polling.is_some() { 0 } else { consumer.queues.len() }
    }

    fn send_start(&self, connection: &mut Connection, consumer: &mut Consumer, arguments: &TableBuf) {
        let channel = consumer.channel;
        consumer.is_started = true;
        if self.group.tx_size > 0 {
            connection.send(channel, &tx::Select);
        }
        for (prefetch_count, global) in [(self.group.prefetch, false), (self.group.channel_prefetch, true)] {
            if prefetch_count > 0 {
                connection.send(channel, &basic::Qos { prefetch_size: 0, prefetch_count, global });
            }
        }
        if self.group.polling.is_some() {
            return;
        }
        for (at, queue) in consumer.queues.iter().enumerate() {
            connection.send(
                channel,
                &basic::Consume {
                    queue: queue.as_bytes(),
                    // Short, because it comes with every delivery.
                    consumer_tag: at.to_string().as_bytes(),
                    no_ack: self.group.settle == Settle::AutoAck,
                    exclusive: self.group.exclusive,
                    arguments: arguments.as_table(),
                    ..Default::default()
                },
            );
        }
    }

    async fn serve(
        &self,
        connection: &mut Connection,
        consumers: &mut [Consumer],
        arguments: &TableBuf,
        local: &Local,
        timer: &mut Timer,
    ) -> Result<(), ServeError> {
        let mut ending = pin!(local.control.clone().ended());
        let mut starting = pin!(async { local.control.clone().started().await });
        let mut start = None;
        loop {
            let wake_at = {
                let mut recorder = local.recorder.borrow_mut();
                self.take_events(connection, consumers, &mut recorder)?;
                start.and_then(|start| self.proceed_all(connection, consumers, &mut recorder, start, arguments))
            };
            connection.set_receiving(consumers.iter().all(|consumer| consumer.line.len() < LINE_LEN_MAX));
            if consumers.iter().all(|consumer| consumer.left == 0) {
                return connection.flush().await.map_err(ServeError::from);
            }
            match wait(connection, timer, wake_at, start.is_none().then_some(starting.as_mut()), ending.as_mut())
                .await?
            {
                Woken::Socket(turn) => {
                    let mut recorder = local.recorder.borrow_mut();
                    recorder.counts.sent_wire_bytes += turn.sent as u64;
                    recorder.counts.received_wire_bytes += turn.received as u64;
                }
                Woken::Started(at) => start = Some(at),
                Woken::Time => {}
                Woken::End => {
                    consumers.iter_mut().for_each(|consumer| consumer.settle_rest(connection));
                    return Ok(());
                }
            }
        }
    }

    fn take_events(
        &self,
        connection: &mut Connection,
        consumers: &mut [Consumer],
        recorder: &mut Recorder,
    ) -> Result<(), ServeError> {
        let mut now = now_ns();
        let mut count = 0_u32;
        while let Some(event) = connection.next_event()? {
            count += 1;
            if count.is_multiple_of(DELIVERIES_PER_TIME) {
                now = now_ns();
            }
            if let Some((index, tag)) = self.on_event(event, consumers, recorder, now)? {
                consumers[index].settle(connection, tag);
            }
        }
        Ok(())
    }

    /// Does what time has come for. Returns when to look again.
    fn proceed_all(
        &self,
        connection: &mut Connection,
        consumers: &mut [Consumer],
        recorder: &mut Recorder,
        start: u64,
        arguments: &TableBuf,
    ) -> Option<u64> {
        let next = |consumer| self.proceed(consumer, connection, recorder, start, arguments);
        consumers.iter_mut().filter_map(next).min()
    }

    /// Takes an event. Returns a delivery that is to be settled now, with its consumer.
    fn on_event(
        &self,
        event: Event<'_>,
        consumers: &mut [Consumer],
        recorder: &mut Recorder,
        now: u64,
    ) -> Result<Option<(usize, u64)>, ServeError> {
        match event {
            Event::Delivered { channel, deliver, content } => {
                let index = usize::from(channel).wrapping_sub(1);
                let Some(consumer) = consumers.get_mut(index) else { return Ok(None) };
                let queue = tag_number(deliver.consumer_tag);
                let waiting = self.look_at(deliver.delivery_tag, deliver.redelivered, queue, content);
                Ok(self.take(consumer, waiting, recorder, now).then_some((index, deliver.delivery_tag)))
            }
            Event::Got { channel, got, content } => {
                let index = usize::from(channel).wrapping_sub(1);
                let Some(consumer) = consumers.get_mut(index) else { return Ok(None) };
                self.has_got(consumer, now);
                let queue = consumer.get_queue as u16;
                let waiting = self.look_at(got.delivery_tag, got.redelivered, queue, content);
                if got.message_count == 0 && self.is_watching_for_empty {
                    tell(&self.incidents, Incident::QueueEmpty);
                }
                Ok(self.take(consumer, waiting, recorder, now).then_some((index, got.delivery_tag)))
            }
            Event::Answered { channel, method: Method::BasicGetEmpty(_) } => {
                if let Some(consumer) = consumers.get_mut(usize::from(channel).wrapping_sub(1)) {
                    self.has_got(consumer, now);
                }
                if self.is_watching_for_empty {
                    tell(&self.incidents, Incident::QueueEmpty);
                }
                Ok(None)
            }
            Event::Answered { method: Method::BasicCancel(_), .. } => {
                Err(ServeError::Failed("the broker cancelled a consumer: its queue is gone".to_owned()))
            }
            Event::ChannelClosed { close, .. } => Err(ServeError::Failed(format!(
                "the broker closed a consumer's channel: {} {}",
                close.reply_code,
                String::from_utf8_lossy(close.reply_text)
            ))),
            _ => Ok(None),
        }
    }

    fn has_got(&self, consumer: &mut Consumer, now: u64) {
        consumer.is_getting = false;
        consumer.get_at = now + ns(self.group.polling.unwrap_or_default());
        consumer.get_queue = (consumer.get_queue + 1) % consumer.queues.len().max(1);
    }

    fn look_at(&self, tag: u64, redelivered: bool, queue: u16, content: Content<'_>) -> Waiting {
        let said = Said::of(&content);
        let publisher = said.origin.map(|origin| origin.publisher).filter(|number| *number < self.publisher_count);
        Waiting {
            tag,
            body_len: content.body.len(),
            sent: said.sent,
            // Others' numbers are not ours, but simulated users are as late as they say.
            late_ns: said
                .origin
                .filter(|origin| publisher.is_some() || origin.publisher == NOBODY)
                .map_or(0, |origin| origin.late_ns),
            position: publisher.zip(said.sequence),
            redelivered,
            queue,
        }
    }

    /// A message has come: measures it, or puts it in line. Returns whether it is to be settled now.
    #[inline]
    fn take(&self, consumer: &mut Consumer, waiting: Waiting, recorder: &mut Recorder, now: u64) -> bool {
        let takes_time = consumer.gap_ns.is_some()
            || !matches!(self.group.processing, Processing::None)
            || !self.group.pauses.is_empty();
        if takes_time {
            consumer.line.push_back(waiting);
            return false;
        }
        self.consume(consumer, waiting, recorder, now)
    }

    /// Measures a message. Returns whether it is to be settled: one beyond the limit is left to others.
    #[inline]
    fn consume(&self, consumer: &mut Consumer, waiting: Waiting, recorder: &mut Recorder, now: u64) -> bool {
        if consumer.left == 0 {
            return false;
        }
        consumer.left -= 1;
        let timing = waiting.sent.map(|sent| (self.unit.age_ns(sent, now), waiting.late_ns));
        recorder.consumed(waiting.body_len, timing);
        recorder.consumed_at = now;
        recorder.counts.redelivered += u64::from(waiting.redelivered);
        if let Some((publisher, sequence)) = waiting.position {
            let last = consumer.last.entry((publisher, waiting.queue)).or_default();
            // `last` is the position after the last one.
            let position = unwrapped(sequence, *last);
            let is_late = position < *last;
            *last = (*last).max(position + 1);
            recorder.sighted.note(publisher, position, waiting.redelivered, is_late);
        }
        true
    }

    /// Does what time has come for: starts, works on the line, asks for the next message. Returns when to look again.
    fn proceed(
        &self,
        consumer: &mut Consumer,
        connection: &mut Connection,
        recorder: &mut Recorder,
        start: u64,
        arguments: &TableBuf,
    ) -> Option<u64> {
        if consumer.left == 0 {
            return None;
        }
        let mut now = now_ns();
        if !consumer.is_started {
            if now < start + consumer.starts_at {
                return Some(start + consumer.starts_at);
            }
            self.send_start(connection, consumer, arguments);
        }
        if let Some(pause) =
            self.group.pauses.iter().find(|(from, to)| (start + ns(*from)..start + ns(*to)).contains(&now))
        {
            return Some(start + ns(pause.1));
        }
        while let Some(waiting) = consumer.line.front().copied() {
            if consumer.busy_until > now {
                break;
            }
            consumer.line.pop_front();
            if self.consume(consumer, waiting, recorder, now) {
                let work_ns = self.work_ns(consumer, now - start);
                let begun = consumer.busy_until.max(now.saturating_sub(consumer.gap_ns.unwrap_or(0)));
                consumer.busy_until = match consumer.gap_ns {
                    // Never two at once, however late the last one was.
                    Some(gap_ns) => (now + work_ns).max(begun + gap_ns),
                    None => now + work_ns,
                };
                consumer.settle(connection, waiting.tag);
                now = now_ns();
            }
        }
        if self.group.polling.is_some() {
            return self.ask(consumer, connection, now);
        }
        if consumer.line.is_empty() { None } else { Some(consumer.busy_until) }
    }

    fn work_ns(&self, consumer: &mut Consumer, elapsed: u64) -> u64 {
        match &self.group.processing {
            Processing::None => 0,
            Processing::Drawn(distribution) => (distribution.draw(&mut consumer.random) * 1e9) as u64,
            Processing::Cycle(stretches) => in_cycle(stretches, elapsed).map_or(0, |work| ns(*work)),
        }
    }

    fn ask(&self, consumer: &mut Consumer, connection: &mut Connection, now: u64) -> Option<u64> {
        if consumer.is_getting || consumer.queues.is_empty() {
            return None;
        }
        let get_at = consumer.get_at.max(consumer.busy_until);
        if get_at > now {
            return Some(get_at);
        }
        let queue = consumer.queues[consumer.get_queue % consumer.queues.len()].as_bytes();
        let no_ack = self.group.settle == Settle::AutoAck;
        connection.send(consumer.channel, &basic::Get { queue, no_ack, ..Default::default() });
        consumer.is_getting = true;
        None
    }
}

impl Consumer {
    /// A delivery has been dealt with.
    #[inline]
    fn settle(&mut self, connection: &mut Connection, tag: u64) {
        let (every, requeue) = match self.settle {
            Settle::AutoAck => return,
            Settle::AckEvery(every) => (every.max(1), None),
            Settle::NackEvery { count, requeue } => (count.max(1), Some(requeue)),
        };
        self.unsettled += 1;
        // The last one takes the others with it.
        if self.unsettled < every && self.left > 0 {
            return;
        }
        let is_multiple = self.unsettled > 1;
        match requeue {
            None => connection.ack(self.channel, tag, is_multiple),
            Some(requeue) => connection.nack(self.channel, tag, is_multiple, requeue),
        }
        if self.tx_size > 0 {
            self.tx_count += self.unsettled;
            if self.tx_count >= self.tx_size || self.left == 0 {
                connection.send(self.channel, &tx::Commit);
                self.tx_count = 0;
            }
        }
        self.unsettled = 0;
    }

    /// What is begun is brought to its end: an open transaction.
    fn settle_rest(&mut self, connection: &mut Connection) {
        if self.tx_count > 0 {
            connection.send(self.channel, &tx::Commit);
            self.tx_count = 0;
        }
    }
}

/// Consumer tags are the numbers of the consumer's queues.
#[inline]
pub(crate) fn tag_number(tag: &[u8]) -> u16 {
    tag.iter().fold(0, |number: u16, digit| number.wrapping_mul(10).wrapping_add(u16::from(digit.wrapping_sub(b'0'))))
}

/// What a wait ended with.
enum Woken {
    Socket(Turn),
    Started(u64),
    Time,
    End,
}

async fn wait<S: Future<Output = Option<u64>>>(
    connection: &mut Connection,
    timer: &mut Timer,
    wake_at: Option<u64>,
    mut starting: Option<Pin<&mut S>>,
    mut ending: Pin<&mut impl Future<Output = ()>>,
) -> Result<Woken, Closed> {
    poll_fn(|cx| {
        if ending.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(Woken::End));
        }
        if let Some(starting) = &mut starting
            && let Poll::Ready(start) = starting.as_mut().poll(cx)
        {
            return Poll::Ready(Ok(start.map_or(Woken::End, Woken::Started)));
        }
        if let Poll::Ready(result) = connection.poll_turn(cx) {
            return Poll::Ready(result.map(Woken::Socket));
        }
        match wake_at {
            Some(at) if timer.poll_until(cx, at).is_ready() => Poll::Ready(Ok(Woken::Time)),
            _ => Poll::Pending,
        }
    })
    .await
}
