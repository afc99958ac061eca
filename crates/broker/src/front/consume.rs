//! Consumers, and messages that are got one at a time.

use std::sync::Arc;

use amqp::table::Table;
use engine::Positions;
use engine::gate::ConsumerGate;
use engine::queue_handle::QueueHandle;
use engine::shard::Parked;
use message::Parts;
use model::name::QueueName;
use model::refusal::{self, Outcome};
use model::user::Access;
use queue::{ConsumeError, Consumer, Counts, Credit, Get};
use store::Content;

use super::consumer_slots::ConsumerSlot;
use super::lane::Lane;
use super::tracer::GOT;
use super::unacked::UnackedDelivery;
use super::waits::LoadingGet;
use super::{Front, Protocol};
use crate::connections::ConsumerHandle;
use crate::events::Event;
use crate::permissions::Permitted;
use crate::statistics::{ChannelNumber, ConsumerCounters};

/// A consumer that a client wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConsumeRequest<'a> {
    /// Of which queue.
    pub(crate) queue: &'a QueueName,
    /// Its tag, which no other consumer of the lane has.
    pub(crate) tag: &'a [u8],
    /// Whether messages count as settled when they are delivered.
    pub(crate) no_ack: bool,
    /// How many deliveries it may be given. A window bounds nothing where they need no acks.
    pub(crate) credit: Credit,
    /// Whether it is to be the queue's only one.
    pub(crate) is_exclusive: bool,
    /// Its arguments, such as `x-priority`.
    pub(crate) arguments: Table<'a>,
}

/// What a get has come to.
#[derive(Debug)]
pub(crate) enum Got {
    /// The queue is empty.
    Nothing,
    /// The message is read from a segment first: then the protocol is asked to try again.
    Later,
    /// A message.
    Message(GotMessage),
}

/// A message that was got.
#[derive(Debug)]
pub(crate) struct GotMessage {
    /// As it is stored.
    pub(crate) content: Content,
    /// By which the lane knows it.
    pub(crate) tag: u64,
    /// Whether it may have been delivered before.
    pub(crate) is_redelivered: bool,
    /// How many messages wait behind it.
    pub(crate) remaining_count: u64,
    /// How often its queue has had it back, where its type counts that.
    pub(crate) counts: Option<Counts>,
    /// Where the journal has to be before it may leave.
    pub(crate) hold_until: Positions,
}

impl<P: Protocol> Front<P> {
    /// Refuses a tag that the lane has given to another consumer.
    pub(crate) fn check_tag(&self, lane: &Lane<P::Lane>, tag: &[u8]) -> Outcome<()> {
        let is_reply_tag = lane.reply_consumer.as_ref().is_some_and(|consumer| *consumer.tag == *tag);
        if lane.consumers.contains_key(tag) || is_reply_tag {
            let tag = String::from_utf8_lossy(tag);
            return refusal::not_allowed(format!("attempt to reuse consumer tag '{tag}'"));
        }
        Ok(())
    }

    /// Refuses one more consumer than a lane may have.
    pub(crate) fn check_consumer_count(&self, lane: &Lane<P::Lane>) -> Outcome<()> {
        if let Some(count_max) = self.broker.options.consumer_max_per_channel
            && lane.consumers.len() >= count_max
        {
            return refusal::not_allowed(format!("reached maximum ({count_max}) of consumers per channel"));
        }
        Ok(())
    }

    /// A consumer begins. What it is given waits in the outbox until the protocol has answered.
    pub(crate) fn consume(&mut self, lane: &mut Lane<P::Lane>, request: &ConsumeRequest<'_>) -> Outcome<()> {
        let ConsumeRequest { tag, no_ack, .. } = *request;
        let vhost = self.vhost().clone();
        let chosen = vhost.queue_to_read(request.queue.clone())?;
        let queue = self.access().queue_for(Access::Read, &chosen.name)?;
        let arguments = match model::arguments::ConsumerArguments::parse(
            request.arguments,
            queue.definition.arguments.queue_type(),
            queue.definition.resource(),
        ) {
            Ok(arguments) => arguments,
            Err(error) => return refusal::precondition_failed(error.to_string()),
        };
        let is_parked = Parked::default();
        let counters = Arc::new(ConsumerCounters::default());
        let number = self.consumers.insert(ConsumerSlot {
            lane: lane.number,
            queue: queue.clone(),
            consumer: None,
            tag: tag.into(),
            no_ack,
            is_live: true,
            is_void: false,
            unacked_count: 0,
            is_parked: is_parked.clone(),
            counters: counters.clone(),
        });
        let prefetch = if no_ack { 0 } else { lane.prefetch };
        let consumer = Consumer {
            no_ack,
            // As in RabbitMQ quorum queues know of no exclusive consumers, and do not say so.
            exclusive: request.is_exclusive && !queue.is_quorum(),
            priority: arguments.priority,
            credit: request.credit,
            timeout_ms: arguments.timeout_ms,
            gate: ConsumerGate {
                outbox: self.handle.outbox.clone(),
                consumer: number,
                channel_limit: (!no_ack).then(|| lane.limit.clone()),
                is_parked,
            },
        };
        let broker = self.broker.clone();
        // The slot knows its consumer before the queue hands anything out: deliveries wait in the outbox meanwhile.
        let result = broker.engine.with_queue(&queue, |entry, work| {
            let id = entry.queue.consume(consumer)?;
            work.preopen_watermark(entry);
            work.dispatch(entry);
            Ok(id)
        });
        drop(chosen);
        let id = match result {
            Some((Ok(id), _)) => id,
            Some((Err(ConsumeError::InExclusiveUse), _)) => {
                self.forget_slot(number);
                return refusal::access_refused(format!("{} in exclusive use", queue.definition.resource()));
            }
            None => {
                self.forget_slot(number);
                return refusal::not_found(format!("no {}", queue.definition.resource()));
            }
        };
        self.consumers.get_mut(number).expect("inserted above").consumer = Some(id);
        let handle = Arc::new(ConsumerHandle {
            tag: tag.into(),
            channel: lane.number.0,
            queue: queue.clone(),
            id,
            no_ack,
            is_exclusive: request.is_exclusive,
            prefetch,
            arguments: request.arguments.to_owned(),
            counters,
        });
        self.broker.emit_if_wanted(|| Event::consumer_created(&self.handle, &handle));
        self.broker.queue_consumers.add(self.handle.id, number, handle.clone());
        self.handle.consumers.lock().insert(number, handle);
        lane.consumers.insert(tag.into(), number);
        Ok(())
    }

    fn forget_slot(&mut self, number: u32) {
        if let Some(slot) = self.consumers.get_mut(number) {
            slot.is_live = false;
        }
        self.consumers.tidy(number);
    }

    /// A consumer of direct replies begins.
    pub(crate) fn consume_replies(&mut self, lane: &mut Lane<P::Lane>, tag: &[u8], no_ack: bool) -> Outcome<()> {
        if !no_ack {
            return refusal::precondition_failed("reply consumer cannot acknowledge");
        }
        if lane.reply_consumer.is_some() {
            return refusal::precondition_failed("reply consumer already set");
        }
        let token = self.broker.random().or_else(|error| refusal::internal(error.to_string()))?;
        let (vhost, outbox) = (self.vhost().name().clone(), self.handle.outbox.clone());
        lane.reply_consumer = Some(self.broker.replies.register(token, vhost, outbox, lane.number, tag.into()));
        Ok(())
    }

    /// Ends a consumer. One that does not exist is as good as ended. Says whether deliveries to it were written, which may leave only when
    /// the journal is durable up to [`Front::held_deliveries`].
    pub(crate) fn cancel(&mut self, lane: &mut Lane<P::Lane>, tag: &[u8]) -> bool {
        if lane.reply_consumer.as_ref().is_some_and(|consumer| *consumer.tag == *tag) {
            self.end_reply_consumer(lane);
        }
        let start = self.out.len();
        if let Some(number) = lane.consumers.remove(tag) {
            self.end_consumer(lane, number);
        }
        self.out.len() > start
    }

    pub(super) fn end_reply_consumer(&mut self, lane: &mut Lane<P::Lane>) {
        if let Some(consumer) = lane.reply_consumer.take() {
            self.broker.replies.forget(&consumer);
        }
    }

    /// Gets one message of a queue.
    pub(crate) fn get(&mut self, lane: &mut Lane<P::Lane>, queue: QueueName, no_ack: bool) -> Outcome<Got> {
        let name = self.vhost().queue_to_read(queue)?.name;
        let queue = self.access().queue_for(Access::Read, &name)?;
        if queue.is_quorum() && queue.features().is_single_active {
            return refusal::locked(format!(
                "cannot obtain access to locked {}. basic.get operations are not supported by <<\"quorum\">> queues with \
                 single active consumer",
                queue.definition.resource()
            ));
        }
        self.get_from(lane, queue, no_ack)
    }

    /// The same, of a queue that the user may read.
    pub(crate) fn get_from(
        &mut self,
        lane: &mut Lane<P::Lane>,
        queue: Permitted<Arc<QueueHandle>>,
        no_ack: bool,
    ) -> Outcome<Got> {
        let broker = self.broker.clone();
        let outbox = self.handle.outbox.clone();
        let Some(((got, hold_until), _)) =
            broker.engine.with_queue(&queue, |entry, work| work.get(entry, no_ack, &outbox))
        else {
            return refusal::not_found(format!("no {}", queue.definition.resource()));
        };
        match got {
            Get::Empty => {
                lane.counts.add(ChannelNumber::GotEmpty, 1);
                Ok(Got::Nothing)
            }
            Get::Loading(_) => {
                self.waits.load(LoadingGet { lane: lane.number, queue, no_ack });
                Ok(Got::Later)
            }
            Get::Message(got) => {
                let Some(parts) = Parts::read(got.message.content().bytes()) else {
                    return refusal::internal("a message's content was unreadable");
                };
                lane.counts.add(if no_ack { ChannelNumber::GotNoAck } else { ChannelNumber::Got }, 1);
                lane.counts.add(ChannelNumber::Redelivered, u64::from(got.redelivered));
                let tag = lane.take_delivery_tag();
                if !no_ack {
                    let slot = self.getter(lane, &queue);
                    lane.unacked.push(UnackedDelivery { tag, seq: got.seq, slot });
                }
                if broker.engine.taps.want(GOT) {
                    self.report_got(lane.number, &queue, &got, no_ack, &parts);
                }
                Ok(Got::Message(GotMessage {
                    content: got.message.content().clone(),
                    tag,
                    is_redelivered: got.redelivered || parts.history.counts.delivery_count > 0,
                    remaining_count: got.remaining,
                    counts: queue.is_quorum().then_some(got.counts),
                    hold_until,
                }))
            }
        }
    }

    /// The slot for unacked messages that were got from a queue on a lane: one for all of them.
    fn getter(&mut self, lane: &Lane<P::Lane>, queue: &Arc<QueueHandle>) -> u32 {
        let found = self
            .consumers
            .iter_mut()
            .find(|(_, slot)| slot.consumer.is_none() && slot.lane == lane.number && slot.queue.id() == queue.id());
        if let Some((number, slot)) = found {
            slot.unacked_count += 1;
            return number;
        }
        self.consumers.insert(ConsumerSlot {
            lane: lane.number,
            queue: queue.clone(),
            consumer: None,
            tag: Box::default(),
            no_ack: false,
            is_live: false,
            is_void: false,
            unacked_count: 1,
            is_parked: Default::default(),
            counters: Arc::default(),
        })
    }

    /// Each consumer of the lane that begins from now on may have so many deliveries unacked; 0: any number. As in RabbitMQ that takes
    /// the place of a limit for all of them.
    pub(crate) fn limit_consumers(&mut self, lane: &mut Lane<P::Lane>, count_max: u16) {
        lane.prefetch = count_max;
        lane.limit.set(0);
    }

    /// All consumers of the lane may have so many deliveries unacked together; 0: any number. Deliveries that this makes room for leave
    /// with [`Front::resume_parked`].
    pub(crate) fn limit_lane(&mut self, lane: &mut Lane<P::Lane>, count_max: u16) -> Outcome<()> {
        if !self.broker.options.permits_global_qos {
            return refusal::not_implemented(
                "basic.qos with global=true is denied by deprecated_features.permit.global_qos = false",
            );
        }
        lane.limit.set(count_max);
        Ok(())
    }
}
