//! An open connection's consumers, until it ends or they do.

use amqp::{Method, TableBuf, basic};
use amqp_client::{Connection, Content, Event};

use super::ConsumerTask;
use super::state::{Consumer, WaitingDelivery};
use crate::engine::clock::{now_ns, ns};
use crate::engine::control::Stage;
use crate::engine::message::in_cycle;
use crate::engine::pacer::Timer;
use crate::engine::recorder::Recorder;
use crate::engine::seen::unwrapped;
use crate::engine::serving::{ServeError, Waiter, WakeReason};
use crate::engine::stamp::{NO_PUBLISHER, ReceivedStamp};
use crate::engine::tag::tag_number;
use crate::engine::target::GOODBYE;
use crate::engine::worker::Local;
use crate::plan::{Processing, Settle};

/// A line this long is not added to: the connection waits.
const LINE_LEN_MAX: usize = 1_000;
/// Deliveries between two looks at the clock.
const DELIVERIES_PER_TIME: u32 = 32;

impl ConsumerTask {
    /// Lets the consumers work until they are done, the connection is lost, or the run is over.
    pub(super) async fn serve(
        &self,
        connection: &mut Connection,
        consumers: &mut [Consumer],
        arguments: &TableBuf,
        start: &mut Option<u64>,
        local: &Local,
        timer: &mut Timer,
    ) -> Result<(), ServeError> {
        let stage = match start {
            Some(start) => Stage::Running { start: *start },
            None => Stage::Preparing,
        };
        let mut waiter = Waiter::new(local, timer, stage);
        loop {
            let wake_at = {
                let mut recorder = local.recorder.borrow_mut();
                self.take_events(connection, consumers, &mut recorder)?;
                start.and_then(|start| self.proceed_all(connection, consumers, &mut recorder, start, arguments))
            };
            connection.set_receiving(consumers.iter().all(|consumer| consumer.line.len() < LINE_LEN_MAX));
            if consumers.iter().all(|consumer| consumer.left == 0) {
                // A broker that no longer reads is not waited for.
                return match tokio::time::timeout(GOODBYE, connection.flush()).await {
                    Ok(flushed) => flushed.map_err(ServeError::from),
                    Err(_) => Ok(()),
                };
            }
            match waiter.wait(connection, wake_at).await? {
                WakeReason::Socket | WakeReason::Time | WakeReason::Stage(Stage::Preparing) => {}
                WakeReason::Stage(Stage::Running { start: at }) => *start = Some(at),
                // Consumers take what is still there.
                WakeReason::Stage(Stage::Draining) => *start = local.control.start(),
                WakeReason::Stage(Stage::Ended) => {
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
                Ok(self.take(consumer, waiting, recorder, now).then_some((index, got.delivery_tag)))
            }
            Event::Answered { channel, method: Method::BasicGetEmpty(_) } => {
                if let Some(consumer) = consumers.get_mut(usize::from(channel).wrapping_sub(1)) {
                    self.has_got(consumer, now);
                }
                Ok(None)
            }
            Event::Answered { method: Method::BasicCancel(_), .. } => {
                Err(ServeError::Failed("the broker cancelled a consumer because its queue was deleted".to_owned()))
            }
            Event::ChannelClosed { close, .. } => Err(ServeError::channel_closed("consumer", &close)),
            _ => Ok(None),
        }
    }

    fn has_got(&self, consumer: &mut Consumer, now: u64) {
        consumer.is_getting = false;
        consumer.get_at = now + ns(self.group.polling.unwrap_or_default());
        consumer.get_queue = (consumer.get_queue + 1) % consumer.queues.len().max(1);
    }

    fn look_at(&self, tag: u64, redelivered: bool, queue: u16, content: Content<'_>) -> WaitingDelivery {
        let said = ReceivedStamp::of(&content);
        let publisher = said.origin.map(|origin| origin.publisher).filter(|number| *number < self.publisher_count);
        WaitingDelivery {
            tag,
            body_len: content.body.len(),
            sent: said.sent,
            // Others' numbers are not ours, but simulated users are as late as they say.
            late_ns: said
                .origin
                .filter(|origin| publisher.is_some() || origin.publisher == NO_PUBLISHER)
                .map_or(0, |origin| origin.late_ns),
            position: publisher.zip(said.sequence),
            redelivered,
            queue,
        }
    }

    /// A message has come: measures it, or puts it in line. Returns whether it is to be settled now.
    #[inline]
    fn take(&self, consumer: &mut Consumer, waiting: WaitingDelivery, recorder: &mut Recorder, now: u64) -> bool {
        let takes_time = consumer.gap_ns.is_some()
            || !matches!(self.group.processing, Processing::None)
            || !self.group.pauses.is_empty();
        // It has come, whatever becomes of it here.
        if let Some((publisher, sequence)) = waiting.position {
            let last = consumer.last.entry((publisher, waiting.queue)).or_default();
            // `last` is the position after the last one.
            let position = unwrapped(sequence, *last);
            let is_late = position < *last;
            *last = (*last).max(position + 1);
            recorder.sighted.note(publisher, position, waiting.redelivered, is_late);
        }
        if takes_time {
            consumer.line.push_back(waiting);
            return false;
        }
        self.consume(consumer, waiting, recorder, now)
    }

    /// Measures a message. Returns whether it is to be settled: one beyond the limit is left to others.
    #[inline]
    fn consume(&self, consumer: &mut Consumer, waiting: WaitingDelivery, recorder: &mut Recorder, now: u64) -> bool {
        if consumer.left == 0 {
            return false;
        }
        consumer.left -= 1;
        let timing = waiting.sent.map(|sent| (self.unit.age_ns(sent, now), waiting.late_ns));
        recorder.consumed(waiting.body_len, timing);
        recorder.consumed_at = now;
        recorder.counts.redelivered += u64::from(waiting.redelivered);
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
                let work_ns = self.work_ns(consumer, now.saturating_sub(start));
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
