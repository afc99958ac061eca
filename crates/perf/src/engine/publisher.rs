//! Publishers: those of one connection are one task. Each channel is a publisher with its own schedule, sequence and
//! window.
//!
//! The schedule is open: when a message is due was fixed before, and does not move when the broker, the window or a lost
//! connection holds the publisher up. What is overdue is sent as soon as it can be, and its latency counts from then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use amqp::{Method, channel, confirm, tx};
use client::{CallError, Closed, Connection, Event, Turn, Unconfirmed};

use super::clock::{StampUnit, now_ns, ns};
use super::control::Stage;
use super::incident::{Incident, Incidents, PublisherEnd, Role, tell};
use super::message::{Messages, Sender};
use super::pacer::Timer;
use super::recorder::Recorder;
use super::target::Target;
use super::worker::Local;
use crate::plan::{Distribution, Due, Next, Publishers, Random};

/// Output beyond which publishers wait for the socket: one write carries that much.
const OUTPUT_LEN: usize = 64 * 1024;
/// Messages of one publisher before it is the next one's turn.
const BURST: u32 = 64;
/// How long goodbyes may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// The publishers of one connection.
#[derive(Clone, Debug)]
pub(crate) struct PublisherTask {
    pub(crate) group: Arc<Publishers>,
    pub(crate) messages: Arc<Messages>,
    pub(crate) target: Arc<Target>,
    pub(crate) incidents: Incidents,
    pub(crate) unit: StampUnit,
    pub(crate) seed: u64,
    /// The number of the first publisher in the run.
    pub(crate) first_publisher: u32,
    /// The same in its group.
    pub(crate) first_index: u32,
    /// How many publishers the group has, on all machines.
    pub(crate) group_count: u32,
    /// Shown by the broker.
    pub(crate) name: String,
}

/// A message whose confirm has not come.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    position: u64,
    due: u64,
    sent: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Publishes.
    Open,
    /// Waits for the last confirms of its channel, to close it.
    Leaving,
    /// Waits for close-ok or open-ok.
    Changing,
    /// Has nothing more to publish.
    Done,
}

/// One publisher.
#[derive(Debug)]
struct Publisher {
    number: u32,
    channel: u16,
    phase: Phase,
    due: Due,
    sender: Sender,
    /// The position of the next message in its sequence.
    position: u64,
    unconfirmed: Unconfirmed<InFlight>,
    window: Option<u32>,
    /// Its window is full since then.
    full_since: Option<u64>,
    tx_size: u32,
    tx_count: u32,
    think_time: Option<Distribution>,
    not_before: u64,
    left: u64,
    on_channel: u32,
    messages_per_channel: Option<u32>,
    end: PublisherEnd,
}

/// When a publisher wants to be asked again.
enum Again {
    At(u64),
    /// When its window opens, or its channel.
    Later,
    Never,
}

/// How the service of a connection ended.
enum Served {
    /// All publishers are done, or the run is.
    Done,
    /// It carried as many messages as it was to.
    WornOut,
}

impl PublisherTask {
    /// Runs until the publishers are done or the run is over.
    pub(crate) async fn run(self, local: Local) {
        let mut random = Random::new(self.seed ^ 0x7075_626c, u64::from(self.first_publisher));
        let is_churning = self.group.messages_per_connection.is_some();
        let mut connection = match self.target.open(&self.name, &mut random).await {
            Ok(connection) => Some(connection),
            Err(error) => return tell(&self.incidents, Incident::Failed(error.to_string())),
        };
        if let Some(connection) = &mut connection
            && let Err(error) = self.prepare(connection).await
        {
            return tell(&self.incidents, Incident::Failed(self.explain(&error)));
        }
        local.opened();
        tell(&self.incidents, Incident::Ready);
        let Some(start) = local.control.clone().started().await else { return };
        let mut publishers = self.publishers(start, &mut random);
        let mut timer = Timer::new(&local.pacer);
        if is_churning && let Some(first) = connection.take() {
            // Each message is to pay for its own connection.
            first.close(GOODBYE).await;
            local.closed();
        }
        loop {
            let mut open = match connection.take() {
                Some(connection) => connection,
                None => {
                    let first_due = publishers.iter().filter_map(|publisher| publisher.next_at(start)).min();
                    let Some(first_due) = first_due else { break };
                    let waiting = timer.until(first_due);
                    let is_over = tokio::select! {
                        () = waiting => false,
                        () = local.control.clone().draining() => true,
                    };
                    if is_over {
                        break;
                    }
                    match self.open_again(&mut random, &local).await {
                        Some(connection) => connection,
                        None => break,
                    }
                }
            };
            let served = serve(&mut open, &mut publishers, &self.group, start, &local, &mut timer).await;
            local.closed();
            match served {
                Ok(served) => {
                    open.close(GOODBYE).await;
                    if matches!(served, Served::Done) {
                        break;
                    }
                }
                Err(ServeError::Failed(reason)) => {
                    tell(&self.incidents, Incident::Failed(format!("{}: {reason}", self.name)));
                    break;
                }
                Err(ServeError::Closed(closed)) => {
                    local.recorder.borrow_mut().counts.connections_lost += 1;
                    publishers.iter_mut().for_each(Publisher::lose_connection);
                    tell(&self.incidents, Incident::Lost(closed.to_string()));
                    match self.target.reopen(&self.name, &mut random, &local).await {
                        Some(mut again) => {
                            if self.prepare(&mut again).await.is_ok() {
                                local.opened();
                                connection = Some(again);
                            }
                            tell(&self.incidents, Incident::Back);
                        }
                        None => break,
                    }
                }
            }
        }
        for publisher in publishers {
            tell(&self.incidents, Incident::PublisherEnded(publisher.into_end()));
        }
        tell(&self.incidents, Incident::Done(Role::Publisher));
    }

    /// For connections that carry only so many messages.
    async fn open_again(&self, random: &mut Random, local: &Local) -> Option<Connection> {
        loop {
            let opened = match self.target.open(&self.name, random).await {
                Ok(mut connection) => {
                    self.prepare(&mut connection).await.map(|()| connection).map_err(|e| self.explain(&e))
                }
                Err(error) => Err(error.to_string()),
            };
            match opened {
                Ok(connection) => {
                    local.opened();
                    return Some(connection);
                }
                Err(reason) => {
                    local.recorder.borrow_mut().counts.connections_lost += 1;
                    tell(&self.incidents, Incident::Lost(reason));
                    if local.control.stage() >= Stage::Draining {
                        return None;
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    tell(&self.incidents, Incident::Back);
                }
            }
        }
    }

    /// Opens the channels, all at once.
    async fn prepare(&self, connection: &mut Connection) -> Result<(), CallError> {
        let channels = 1..=u16::try_from(self.group.channels).unwrap_or(u16::MAX);
        for channel in channels.clone() {
            open_channel(connection, channel, &self.group);
        }
        for channel in channels {
            connection.answer(channel).await?;
            if self.group.confirm_window.is_some() || self.group.tx_size > 0 {
                connection.answer(channel).await?;
            }
        }
        Ok(())
    }

    fn explain(&self, error: &CallError) -> String {
        format!("{} cannot open its channels: {error}", self.name)
    }

    fn publishers(&self, start: u64, random: &mut Random) -> Vec<Publisher> {
        let make = |at: u32| {
            let number = self.first_publisher + at;
            let index = self.first_index + at;
            let delay = self.group.start_delay_max.mul_f64(random.fraction());
            let random = Random::new(self.seed, u64::from(number));
            Publisher {
                number,
                channel: (at + 1) as u16,
                phase: Phase::Open,
                due: Due::new(&self.group.schedule, self.seed, index, self.group_count),
                sender: Sender::new(&self.messages, number, index, self.unit, random),
                position: 0,
                unconfirmed: Unconfirmed::new(),
                window: self.group.confirm_window,
                full_since: None,
                tx_size: self.group.tx_size,
                tx_count: 0,
                think_time: self.group.think_time.clone(),
                not_before: start + ns(delay),
                left: self.group.message_limit.unwrap_or(u64::MAX),
                on_channel: 0,
                messages_per_channel: self.group.messages_per_channel,
                end: PublisherEnd { publisher: number, ..PublisherEnd::default() },
            }
        };
        (0..self.group.channels).map(make).collect()
    }
}

fn open_channel(connection: &mut Connection, channel: u16, group: &Publishers) {
    connection.send(channel, &channel::Open::default());
    if group.confirm_window.is_some() {
        connection.send(channel, &confirm::Select::default());
    } else if group.tx_size > 0 {
        connection.send(channel, &tx::Select);
    }
}

impl Publisher {
    /// When it wants to publish next; `None` when it is done.
    fn next_at(&self, start: u64) -> Option<u64> {
        if self.left == 0 || self.phase == Phase::Done {
            return None;
        }
        match self.due.peek() {
            Next::At(at) => Some((start + at).max(self.not_before)),
            Next::NowUntil(_) => Some(self.not_before),
            Next::Never => None,
        }
    }

    /// Publishes what is due, as far as window and output let it.
    fn publish_due(
        &mut self,
        connection: &mut Connection,
        recorder: &mut Recorder,
        start: u64,
        on_connection: &mut u64,
    ) -> Again {
        for _ in 0..BURST {
            if self.phase != Phase::Open {
                return Again::Later;
            }
            if self.messages_per_channel.is_some_and(|most| self.on_channel >= most) {
                self.phase = Phase::Leaving;
                self.leave_channel(connection);
                return Again::Later;
            }
            let now = now_ns();
            let (due, is_scheduled) = match self.due.peek() {
                _ if self.left == 0 => return self.stop(connection),
                Next::Never => return self.stop(connection),
                Next::At(at) => (start + at, true),
                Next::NowUntil(Some(end)) if now >= start + end => {
                    self.due.leave_unlimited();
                    continue;
                }
                Next::NowUntil(_) => (now, false),
            };
            let earliest = due.max(self.not_before);
            if earliest > now {
                return Again::At(earliest);
            }
            if self.window.is_some_and(|window| self.unconfirmed.len() >= window as usize) {
                self.full_since.get_or_insert(now);
                return Again::Later;
            }
            if *on_connection == 0 || connection.output_len() >= OUTPUT_LEN {
                return Again::At(now);
            }
            let body_len = self.sender.send(connection, self.channel, self.position, due, now, now - start);
            recorder.published(body_len, due, now, is_scheduled);
            if self.window.is_some() {
                self.unconfirmed.push(InFlight { position: self.position, due, sent: now });
            } else if self.tx_size > 0 {
                self.tx_count += 1;
                if self.tx_count == self.tx_size {
                    connection.send(self.channel, &tx::Commit);
                    self.end.expected += u64::from(self.tx_size);
                    self.tx_count = 0;
                }
            } else {
                self.end.expected += 1;
            }
            self.position += 1;
            self.left -= 1;
            self.on_channel += 1;
            *on_connection -= 1;
            self.due.advance();
            if let Some(think_time) = &self.think_time {
                self.not_before = now + (self.sender.draw(think_time) * 1e9) as u64;
            }
        }
        Again::At(now_ns())
    }

    /// Nothing more to publish. What an open transaction holds is committed.
    fn stop(&mut self, connection: &mut Connection) -> Again {
        if self.phase != Phase::Done && self.tx_count > 0 {
            connection.send(self.channel, &tx::Commit);
            self.end.expected += u64::from(std::mem::take(&mut self.tx_count));
        }
        self.phase = Phase::Done;
        Again::Never
    }

    /// Closes the channel once nothing on it waits for a confirm.
    fn leave_channel(&mut self, connection: &mut Connection) {
        if self.phase == Phase::Leaving && self.unconfirmed.is_empty() {
            let reply_code = amqp::ReplyCode::Success.code();
            connection.send(self.channel, &channel::Close { reply_code, reply_text: b"Goodbye", ..Default::default() });
            self.phase = Phase::Changing;
        }
    }

    fn settle(&mut self, tag: u64, is_multiple: bool, is_ack: bool, recorder: &mut Recorder) {
        let now = now_ns();
        let end = &mut self.end;
        self.unconfirmed.settle(tag, is_multiple, |message| {
            if is_ack {
                end.expected += 1;
                recorder.confirmed(message.due, message.sent, now);
            } else {
                end.doubtful.push(message.position);
                recorder.counts.nacked += 1;
            }
        });
        if self.window.is_some_and(|window| self.unconfirmed.len() < window as usize) {
            self.full_since = None;
        }
    }

    /// The connection is gone, and with it what nobody knows of.
    fn lose_connection(&mut self) {
        if self.window.is_some() {
            let unconfirmed = std::mem::take(&mut self.unconfirmed);
            self.end.doubtful.extend(unconfirmed.into_rest().map(|message| message.position));
        } else {
            self.end.is_unknown = true;
        }
        self.tx_count = 0;
        self.full_since = None;
        self.on_channel = 0;
        if self.phase != Phase::Done {
            self.phase = Phase::Open;
        }
    }

    fn into_end(mut self) -> PublisherEnd {
        debug_assert_eq!(self.end.publisher, self.number);
        self.end.doubtful.extend(self.unconfirmed.into_rest().map(|message| message.position));
        self.end
    }
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

/// What a wait ended with.
enum Woken {
    Socket(Turn),
    Time,
    /// Publishers are to stop.
    Stop,
    /// The run is over.
    End,
}

async fn serve(
    connection: &mut Connection,
    publishers: &mut [Publisher],
    group: &Publishers,
    start: u64,
    local: &Local,
    timer: &mut Timer,
) -> Result<Served, ServeError> {
    let mut on_connection = group.messages_per_connection.map_or(u64::MAX, u64::from);
    let mut stopping = pin!(local.control.clone().draining());
    let mut ending = pin!(local.control.clone().ended());
    if local.control.stage() >= Stage::Draining {
        // It was opened too late.
        return Ok(Served::Done);
    }
    let mut is_stopped = false;
    let mut blocked = BlockedGauge::new(local);
    let mut turns = Turns::default();
    for (at, publisher) in publishers.iter_mut().enumerate() {
        publisher.unconfirmed = Unconfirmed::new();
        publisher.full_since = None;
        turns.push(publisher.not_before, at);
    }
    loop {
        let mut wake_at = None;
        {
            let mut recorder = local.recorder.borrow_mut();
            take_events(connection, publishers, group, &mut turns, &mut recorder)?;
            blocked.set(connection.is_blocked().is_some());
            if !is_stopped && !blocked.is_set {
                wake_at = publish(connection, publishers, &mut turns, &mut recorder, start, &mut on_connection);
            }
        }
        let is_all_confirmed = publishers.iter().all(|publisher| publisher.unconfirmed.is_empty());
        if is_all_confirmed && connection.output_len() == 0 {
            if is_stopped || publishers.iter().all(|publisher| publisher.phase == Phase::Done) {
                return Ok(Served::Done);
            }
            if on_connection == 0 {
                return Ok(Served::WornOut);
            }
        }
        let full_since = publishers.iter().filter_map(|publisher| publisher.full_since).min();
        let patience_ends = full_since.map(|since| since + ns(group.confirm_timeout));
        let wake_at = [wake_at, patience_ends].into_iter().flatten().min();
        match wait(connection, timer, wake_at, stopping.as_mut(), is_stopped, ending.as_mut()).await? {
            Woken::Socket(turn) => {
                let mut recorder = local.recorder.borrow_mut();
                recorder.counts.sent_wire_bytes += turn.sent as u64;
                recorder.counts.received_wire_bytes += turn.received as u64;
            }
            Woken::Time => {
                if patience_ends.is_some_and(|ends| now_ns() >= ends) {
                    return Err(ServeError::Failed(format!(
                        "no confirm came for {} s",
                        group.confirm_timeout.as_secs_f64()
                    )));
                }
            }
            Woken::Stop => {
                is_stopped = true;
                publishers.iter_mut().for_each(|publisher| {
                    publisher.stop(connection);
                });
            }
            Woken::End => return Ok(Served::Done),
        }
    }
}

/// Takes all that has come, and asks those who may go on by it.
fn take_events(
    connection: &mut Connection,
    publishers: &mut [Publisher],
    group: &Publishers,
    turns: &mut Turns,
    recorder: &mut Recorder,
) -> Result<(), ServeError> {
    while let Some(event) = connection.next_event()? {
        let channel = on_event(event, publishers, recorder)?;
        let Some(index) = channel.map(|channel| usize::from(channel).wrapping_sub(1)) else { continue };
        let Some(publisher) = publishers.get_mut(index) else { continue };
        match publisher.phase {
            Phase::Leaving => publisher.leave_channel(connection),
            Phase::Changing => {
                publisher.phase = Phase::Open;
                publisher.on_channel = 0;
                publisher.unconfirmed = Unconfirmed::new();
                open_channel(connection, publisher.channel, group);
            }
            Phase::Open | Phase::Done => {}
        }
        turns.push(0, index);
    }
    Ok(())
}

/// Publishes what is due. Returns when something will be.
fn publish(
    connection: &mut Connection,
    publishers: &mut [Publisher],
    turns: &mut Turns,
    recorder: &mut Recorder,
    start: u64,
    on_connection: &mut u64,
) -> Option<u64> {
    while connection.output_len() < OUTPUT_LEN && *on_connection > 0 {
        let at = turns.next_at()?;
        if at > now_ns() {
            return Some(at);
        }
        let index = turns.pop()?;
        match publishers[index].publish_due(connection, recorder, start, on_connection) {
            Again::At(at) => turns.push(at, index),
            Again::Later | Again::Never => {}
        }
    }
    None
}

/// Who is to be asked when.
#[derive(Debug, Default)]
struct Turns {
    /// Time, number, publisher: the number keeps those of the same time in turn.
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
    count: u64,
}

impl Turns {
    fn push(&mut self, at: u64, index: usize) {
        self.heap.push(Reverse((at, self.count, index)));
        self.count += 1;
    }

    fn next_at(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    fn pop(&mut self) -> Option<usize> {
        self.heap.pop().map(|Reverse((_, _, index))| index)
    }
}

/// Counts this connection among those that the broker has blocked, as long as it is.
struct BlockedGauge<'a> {
    local: &'a Local,
    is_set: bool,
}

impl<'a> BlockedGauge<'a> {
    fn new(local: &'a Local) -> Self {
        BlockedGauge { local, is_set: false }
    }

    fn set(&mut self, is_set: bool) {
        let gauge = &self.local.gauges.blocked;
        match (std::mem::replace(&mut self.is_set, is_set), is_set) {
            (false, true) => gauge.set(gauge.get() + 1),
            (true, false) => gauge.set(gauge.get().saturating_sub(1)),
            _ => {}
        }
    }
}

impl Drop for BlockedGauge<'_> {
    fn drop(&mut self) {
        self.set(false);
    }
}

/// Takes an event. Returns the channel whose publisher may go on.
fn on_event(
    event: Event<'_>,
    publishers: &mut [Publisher],
    recorder: &mut Recorder,
) -> Result<Option<u16>, ServeError> {
    match event {
        Event::Confirmed { channel, tag, is_multiple, is_ack } => {
            let Some(publisher) = publishers.get_mut(usize::from(channel).wrapping_sub(1)) else { return Ok(None) };
            let was_full = publisher.full_since.is_some();
            publisher.settle(tag, is_multiple, is_ack, recorder);
            let may_go_on = was_full || publisher.phase == Phase::Leaving;
            Ok((may_go_on && publisher.phase != Phase::Changing).then_some(channel))
        }
        Event::Returned { channel, .. } => {
            recorder.counts.returned += 1;
            if let Some(publisher) = publishers.get_mut(usize::from(channel).wrapping_sub(1)) {
                publisher.end.returned += 1;
            }
            Ok(None)
        }
        Event::Answered { channel, method: Method::ChannelCloseOk(_) } => Ok(Some(channel)),
        Event::ChannelClosed { close, .. } => Err(ServeError::Failed(format!(
            "the broker closed a publisher's channel: {} {}",
            close.reply_code,
            String::from_utf8_lossy(close.reply_text)
        ))),
        _ => Ok(None),
    }
}

async fn wait(
    connection: &mut Connection,
    timer: &mut Timer,
    wake_at: Option<u64>,
    mut stopping: Pin<&mut impl Future<Output = ()>>,
    is_stopped: bool,
    mut ending: Pin<&mut impl Future<Output = ()>>,
) -> Result<Woken, Closed> {
    poll_fn(|cx| {
        // The socket last: what it brings has to be taken, what else there is can wait for another turn.
        if is_stopped {
            if ending.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(Woken::End));
            }
        } else if stopping.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(Woken::Stop));
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
