//! basic.consume, cancel, get, qos.

use std::sync::Arc;

use amqp::frame::put_method;
use amqp::method::basic;
use model::name::generate_consumer_tag;
use model::user::Access;
use queue::{ConsumeError, Consumer, Get};

use crate::connections::ConsumerHandle;
use crate::events::Event;
use crate::permissions::Permitted;
use crate::refusal::{self, Outcome};
use crate::reply_to;
use crate::session::channel::Channel;
use crate::session::consumer_slots::ConsumerSlot;
use crate::session::queue_methods::expand_name;
use crate::session::told;
use crate::session::unacked::UnackedDelivery;
use crate::session::waits::LoadingGet;
use crate::session::{Session, Site};
use crate::statistics::{ChannelNumber, ConsumerCounters};
use engine::gate::ConsumerGate;
use engine::message::Parts;
use engine::queue_handle::QueueHandle;

impl Session {
    /// basic.consume.
    pub(super) fn consume(&mut self, channel: &mut Channel, consume: &basic::Consume<'_>) -> Outcome<()> {
        let tag: Box<[u8]> = if consume.consumer_tag.is_empty() {
            generate_consumer_tag(self.broker.random()?).into_bytes().into()
        } else {
            consume.consumer_tag.into()
        };
        let is_reply_tag = channel.reply_consumer.as_ref().is_some_and(|consumer| consumer.tag == tag);
        if channel.consumers.contains_key(&tag) || is_reply_tag {
            let tag = String::from_utf8_lossy(&tag);
            return refusal::not_allowed(format!("attempt to reuse consumer tag '{tag}'"));
        }
        if consume.queue == reply_to::QUEUE.as_bytes() {
            return self.consume_replies(channel, consume, tag);
        }
        if let Some(count_max) = self.broker.options.consumer_max_per_channel
            && channel.consumers.len() >= count_max
        {
            return refusal::not_allowed(format!("reached maximum ({count_max}) of consumers per channel"));
        }
        let vhost = self.vhost().clone();
        let chosen = vhost.queue_to_read(expand_name(channel, consume.queue)?)?;
        let queue = self.access().queue_for(Access::Read, &chosen.name)?;
        let arguments = match model::arguments::ConsumerArguments::parse(
            consume.arguments,
            queue.definition.arguments.queue_type(),
            queue.definition.resource(),
        ) {
            Ok(arguments) => arguments,
            Err(error) => return refusal::precondition_failed(error.to_string()),
        };
        let is_parked = engine::shard::Parked::default();
        let counters = Arc::new(ConsumerCounters::default());
        let number = self.consumers.insert(ConsumerSlot {
            channel: channel.number,
            queue: queue.clone(),
            consumer: None,
            tag: tag.clone(),
            no_ack: consume.no_ack,
            is_live: true,
            is_void: false,
            unacked_count: 0,
            is_parked: is_parked.clone(),
            counters: counters.clone(),
        });
        let consumer = Consumer {
            no_ack: consume.no_ack,
            // As in RabbitMQ quorum queues know of no exclusive consumers, and do not say so.
            exclusive: consume.exclusive && !queue.is_quorum(),
            priority: arguments.priority,
            prefetch: if consume.no_ack { 0 } else { channel.prefetch },
            timeout_ms: arguments.timeout_ms,
            gate: ConsumerGate {
                outbox: self.handle.outbox.clone(),
                consumer: number,
                channel_limit: (!consume.no_ack).then(|| channel.limit.clone()),
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
            tag: tag.clone(),
            channel: channel.number,
            queue: queue.clone(),
            id,
            no_ack: consume.no_ack,
            is_exclusive: consume.exclusive,
            prefetch: if consume.no_ack { 0 } else { channel.prefetch },
            arguments: consume.arguments.to_owned(),
            counters,
        });
        self.broker.emit_if_wanted(|| Event::consumer_created(&self.handle, &handle));
        self.broker.queue_consumers.add(self.handle.id, number, handle.clone());
        self.handle.consumers.lock().insert(number, handle);
        if !consume.no_wait {
            put_method(&mut self.out, channel.number, &basic::ConsumeOk { consumer_tag: &tag });
        }
        channel.consumers.insert(tag, number);
        Ok(())
    }

    fn forget_slot(&mut self, number: u32) {
        if let Some(slot) = self.consumers.get_mut(number) {
            slot.is_live = false;
        }
        self.consumers.tidy(number);
    }

    fn consume_replies(&mut self, channel: &mut Channel, consume: &basic::Consume<'_>, tag: Box<[u8]>) -> Outcome<()> {
        if !consume.no_ack {
            return refusal::precondition_failed("reply consumer cannot acknowledge");
        }
        if channel.reply_consumer.is_some() {
            return refusal::precondition_failed("reply consumer already set");
        }
        let token = self.broker.random()?;
        if !consume.no_wait {
            put_method(&mut self.out, channel.number, &basic::ConsumeOk { consumer_tag: &tag });
        }
        let vhost = self.vhost().name().clone();
        channel.reply_consumer =
            Some(self.broker.replies.register(token, vhost, self.handle.outbox.clone(), channel.number, tag));
        Ok(())
    }

    /// basic.cancel. Cancelling what is not there is answered like anything else.
    pub(super) fn cancel(&mut self, channel: &mut Channel, cancel: &basic::Cancel<'_>) -> Outcome<()> {
        if channel.reply_consumer.as_ref().is_some_and(|consumer| *consumer.tag == *cancel.consumer_tag) {
            self.end_reply_consumer(channel);
        }
        let start = self.out.len();
        if let Some(number) = channel.consumers.remove(cancel.consumer_tag) {
            self.end_consumer(channel, number);
        }
        let has_delivered = self.out.len() > start;
        if !cancel.no_wait {
            put_method(&mut self.out, channel.number, &basic::CancelOk { consumer_tag: cancel.consumer_tag });
        }
        if has_delivered {
            self.send_when_durable(self.deliveries.hold_until(), start);
        }
        Ok(())
    }

    pub(super) fn end_reply_consumer(&mut self, channel: &mut Channel) {
        if let Some(consumer) = channel.reply_consumer.take() {
            self.broker.replies.forget(&consumer);
        }
    }

    /// basic.get.
    pub(super) fn get(&mut self, channel: &mut Channel, get: &basic::Get<'_>) -> Outcome<()> {
        let name = self.vhost().queue_to_read(expand_name(channel, get.queue)?)?.name;
        let queue = self.access().queue_for(Access::Read, &name)?;
        if queue.is_quorum() && queue.features().is_single_active {
            return refusal::resource_locked(format!(
                "cannot obtain access to locked {}. basic.get operations are not supported by <<\"quorum\">> queues with \
                 single active consumer",
                queue.definition.resource()
            ));
        }
        self.get_from(channel, queue, get.no_ack)
    }

    /// Tries a get again whose message has to be read from a segment first.
    pub(super) fn retry_get(&mut self, get: LoadingGet) {
        let Some(mut channel) = self.channels.take(get.channel) else { return };
        let result = self.get_from(&mut channel, get.queue, get.no_ack);
        self.channels.put(channel);
        if let Err(refusal) = result {
            let site = Site { channel: get.channel, class_id: 60, method_id: 70 };
            self.fail(&refusal, site);
        }
    }

    fn get_from(&mut self, channel: &mut Channel, queue: Permitted<Arc<QueueHandle>>, no_ack: bool) -> Outcome<()> {
        let broker = self.broker.clone();
        let outbox = self.handle.outbox.clone();
        let Some(((got, hold_until), _)) =
            broker.engine.with_queue(&queue, |entry, work| work.get(entry, no_ack, &outbox))
        else {
            return refusal::not_found(format!("no {}", queue.definition.resource()));
        };
        match got {
            Get::Empty => {
                channel.counts.add(ChannelNumber::GotEmpty, 1);
                put_method(&mut self.out, channel.number, &basic::GetEmpty { cluster_id: b"" });
            }
            Get::Loading(_) => {
                self.waits.load(LoadingGet { channel: channel.number, queue, no_ack });
            }
            Get::Message(got) => {
                let Some(parts) = Parts::read(got.message.content().bytes()) else {
                    return refusal::internal_error("a message's content was unreadable");
                };
                channel.counts.add(if no_ack { ChannelNumber::GotNoAck } else { ChannelNumber::Got }, 1);
                channel.counts.add(ChannelNumber::Redelivered, u64::from(got.redelivered));
                let tag = channel.take_delivery_tag();
                if !no_ack {
                    let slot = self.getter(channel, &queue);
                    channel.unacked.push(UnackedDelivery { tag, seq: got.seq, slot });
                }
                if broker.engine.taps.want(told::GOT) {
                    self.tell_got(channel.number, &queue, &got, no_ack, &parts);
                }
                let start = self.out.len();
                let counts = queue.is_quorum().then_some(got.counts);
                self.put_get_ok(channel.number, tag, got.redelivered, got.remaining, &parts, counts);
                self.send_when_durable(hold_until, start);
            }
        }
        Ok(())
    }

    /// The slot for unacked messages that were got from a queue on a channel: one for all of them.
    fn getter(&mut self, channel: &Channel, queue: &Arc<QueueHandle>) -> u32 {
        let found = self.consumers.iter_mut().find(|(_, slot)| {
            slot.consumer.is_none() && slot.channel == channel.number && slot.queue.id() == queue.id()
        });
        if let Some((number, slot)) = found {
            slot.unacked_count += 1;
            return number;
        }
        self.consumers.insert(ConsumerSlot {
            channel: channel.number,
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

    /// basic.qos.
    pub(super) fn qos(&mut self, channel: &mut Channel, qos: &basic::Qos) -> Outcome<()> {
        if qos.prefetch_size != 0 {
            return refusal::not_implemented(format!("prefetch_size!=0 ({})", qos.prefetch_size));
        }
        if !qos.global {
            channel.prefetch = qos.prefetch_count;
            // As in RabbitMQ, a limit for each consumer takes the place of one for the channel.
            channel.limit.set(0);
        } else if !self.broker.options.permits_global_qos {
            return refusal::not_implemented(
                "basic.qos with global=true is denied by deprecated_features.permit.global_qos = false",
            );
        } else {
            channel.limit.set(qos.prefetch_count);
        }
        put_method(&mut self.out, channel.number, &basic::QosOk);
        self.resume_parked();
        Ok(())
    }
}
