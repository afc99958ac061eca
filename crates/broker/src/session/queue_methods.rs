//! queue.declare, bind, unbind, purge, delete: from the wire to what [`crate::vhost_access`] does, and the answers.

use std::sync::Arc;

use amqp::frame::put_method;
use amqp::method::queue;
use engine::Positions;
use model::name::QueueName;

use crate::binding_request::{BindingEnd, BindingRequest};
use crate::changed::Changed;
use crate::reply_to;
use crate::session::Session;
use crate::session::channel::Channel;
use crate::session::exception::{self, Handled};
use crate::vhost::DeleteConditions;
use crate::vhost_access::{QueueRequest, exchange_name};
use engine::queue_handle::QueueHandle;

impl Session {
    pub(super) fn queue_declare(&mut self, channel: &mut Channel, declare: &queue::Declare<'_>) -> Handled<()> {
        if declare.queue == reply_to::QUEUE.as_bytes() || reply_to::is_address(declare.queue) {
            return self.declare_reply_address(channel, declare);
        }
        let (queue, changed) = if declare.passive {
            // No name is no queue's here, as RabbitMQ has it; AMQP 0-9-1 knows of nothing but that it would be a new queue's.
            let name = queue_name(declare.queue)?;
            (
                self.front.access().find_queue(&self.front.vhost().queue_to_declare(self.front.broker(), name))?,
                Changed::default(),
            )
        } else {
            self.declare_queue(declare)?
        };
        let counts = self.front.broker().engine.with_queue(&queue, |entry, work| {
            work.note_used(entry);
            (entry.queue.ready_count(), entry.queue.consumer_count())
        });
        let Some(((ready_count, consumer_count), _)) = counts else {
            return Ok(self.front.vhost().no_queue(queue.name())?);
        };
        channel.state.last_queue = Some(queue.name().into());
        let position = self.front.defined_position(changed);
        self.declared(channel, declare, position, queue.name(), [ready_count, consumer_count.into()])
    }

    /// Declaring a reply consumer's address returns whether it still exists. It has one consumer then, as has the name that all share:
    /// requesters look for it before they go on.
    fn declare_reply_address(&mut self, channel: &Channel, declare: &queue::Declare<'_>) -> Handled<()> {
        let vhost = self.front.vhost().name().as_str();
        let name = String::from_utf8_lossy(declare.queue);
        if reply_to::is_address(declare.queue) && !self.front.broker().replies.is_there(vhost, declare.queue) {
            return Ok(self.front.vhost().no_queue(&name)?);
        }
        self.declared(channel, declare, Positions::NONE, &name, [0, 1])
    }

    fn declared(
        &mut self,
        channel: &Channel,
        declare: &queue::Declare<'_>,
        position: Positions,
        name: &str,
        counts: [u64; 2],
    ) -> Handled<()> {
        if !declare.no_wait {
            let [message_count, consumer_count] = counts.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            let method = queue::DeclareOk { queue: name.as_bytes(), message_count, consumer_count };
            let number = channel.number().0;
            self.front.answer_definition(position, |out| put_method(out, number, &method));
        }
        Ok(())
    }

    fn declare_queue(&mut self, declare: &queue::Declare<'_>) -> Handled<(Arc<QueueHandle>, Changed)> {
        let request = QueueRequest {
            name: &self.front.vhost().queue_to_declare(self.front.broker(), queue_name(declare.queue)?),
            is_durable: declare.durable,
            is_auto_delete: declare.auto_delete,
            is_exclusive: declare.exclusive,
            arguments: declare.arguments,
        };
        let (queue, changed) = self.front.access().queue_declared(&request)?;
        if changed.is_new && declare.exclusive {
            self.front.own_queue(queue.clone());
        }
        Ok((queue, changed))
    }

    pub(super) fn queue_bind(&mut self, channel: &mut Channel, bind: &queue::Bind<'_>) -> Handled<()> {
        let name = expand_name(channel, bind.queue)?;
        self.front.vhost().refuse_sharded(&name, "bind")?;
        let request = BindingRequest {
            source: &exchange_name(bind.exchange)?,
            destination: BindingEnd::Queue(&name),
            routing_key: binding_key(channel, bind.queue, bind.routing_key),
            arguments: bind.arguments,
        };
        let changed = self.front.access().bind(&request)?;
        if !bind.no_wait {
            let number = channel.number().0;
            self.front.answer_change(changed, |out| put_method(out, number, &queue::BindOk));
        }
        Ok(())
    }

    pub(super) fn queue_unbind(&mut self, channel: &mut Channel, unbind: &queue::Unbind<'_>) -> Handled<()> {
        let name = expand_name(channel, unbind.queue)?;
        self.front.vhost().refuse_sharded(&name, "unbind")?;
        let request = BindingRequest {
            source: &exchange_name(unbind.exchange)?,
            destination: BindingEnd::Queue(&name),
            routing_key: binding_key(channel, unbind.queue, unbind.routing_key),
            arguments: unbind.arguments,
        };
        let changed = self.front.access().unbind(&request)?;
        let number = channel.number().0;
        self.front.answer_change(changed, |out| put_method(out, number, &queue::UnbindOk));
        Ok(())
    }

    pub(super) fn queue_purge(&mut self, channel: &mut Channel, purge: &queue::Purge<'_>) -> Handled<()> {
        let name = expand_name(channel, purge.queue)?;
        self.front.vhost().refuse_sharded(&name, "purge")?;
        let (count, changed) = self.front.access().purge_queue(&name)?;
        if !purge.no_wait {
            let number = channel.number().0;
            let method = queue::PurgeOk { message_count: u32::try_from(count).unwrap_or(u32::MAX) };
            // Where none were left, another client may have purged them just now.
            let position = if count == 0 { self.front.broker().journal_end() } else { changed.position };
            self.front.answer_definition(position, |out| put_method(out, number, &method));
        }
        Ok(())
    }

    pub(super) fn queue_delete(&mut self, channel: &mut Channel, delete: &queue::Delete<'_>) -> Handled<()> {
        let name = expand_name(channel, delete.queue)?;
        self.front.vhost().refuse_sharded(&name, "delete")?;
        let conditions =
            DeleteConditions { if_unused: delete.if_unused, if_empty: delete.if_empty, ..DeleteConditions::default() };
        // Deleting what is not there is as good as deleting it.
        let (mut count, mut position) = (0, self.front.broker().journal_end());
        if let Some((queue, ready_count, changed)) = self.front.access().queue_deleted(&name, conditions)? {
            (count, position) = (ready_count, changed.position);
            self.front.disown_queue(&queue);
        }
        if !delete.no_wait {
            let number = channel.number().0;
            let method = queue::DeleteOk { message_count: u32::try_from(count).unwrap_or(u32::MAX) };
            self.front.answer_definition(position, |out| put_method(out, number, &method));
        }
        Ok(())
    }
}

/// The queue that a name means: an empty one the channel's last.
pub(super) fn expand_name(channel: &Channel, name: &[u8]) -> Handled<QueueName> {
    let name = queue_name(name)?;
    if !name.as_str().is_empty() {
        return Ok(name);
    }
    match &channel.state.last_queue {
        Some(last) => queue_name(last.as_bytes()),
        None => exception::not_found("no previously declared queue"),
    }
}

/// The key of a binding. With neither queue nor key named it is the last queue's name (AMQP 0-9-1, queue.bind).
fn binding_key<'a>(channel: &'a Channel, queue: &[u8], routing_key: &'a [u8]) -> &'a [u8] {
    match (&channel.state.last_queue, queue, routing_key) {
        (Some(last), [], []) => last.as_bytes(),
        _ => routing_key,
    }
}

fn queue_name(bytes: &[u8]) -> Handled<QueueName> {
    QueueName::parse(bytes).or_else(|error| exception::syntax_error(error.to_string()))
}
