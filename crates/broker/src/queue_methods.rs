//! queue.declare, bind, unbind, purge, delete.

use std::sync::Arc;

use amqp::frame::put_method;
use amqp::method::queue;
use model::arguments::{QueueArguments, QueueType};
use model::definition;
use model::name::QueueName;
use model::user::Access;
use routing::{BindError, BindingSpec, Destination};

use crate::batch;
use crate::channel::Channel;
use crate::exchange_methods::exchange_name;
use crate::permissions::Resource;
use crate::queue_handle::QueueHandle;
use crate::refusal::{self, Outcome};
use crate::reply_to;
use crate::session::Session;
use crate::vhost::{DeleteConditions, Deletion};

impl Session {
    /// The queue of this name, or the channel's last one for an empty name, if the user may use it so and it is not
    /// another connection's.
    pub(crate) fn queue_for(&self, access: Access, channel: &Channel, name: &[u8]) -> Outcome<Arc<QueueHandle>> {
        let name = self.expand_name(channel, name)?;
        self.check_access(access, Resource::Queue, name.as_str())?;
        let Some(queue) = self.vhost().queue(name.as_bytes()) else { return self.vhost().no_queue(name.as_str()) };
        self.check_owner(&queue)?;
        Ok(queue)
    }

    fn expand_name(&self, channel: &Channel, name: &[u8]) -> Outcome<QueueName> {
        let name = queue_name(name)?;
        if !name.as_str().is_empty() {
            return Ok(name);
        }
        match &channel.last_queue {
            Some(last) => queue_name(last.as_bytes()),
            None => refusal::not_found("no previously declared queue"),
        }
    }

    /// 405 for another connection's exclusive queue.
    fn check_owner(&self, queue: &QueueHandle) -> Outcome<()> {
        if queue.owner.is_none_or(|owner| owner == self.id) {
            return Ok(());
        }
        locked(queue)
    }

    pub(crate) fn queue_declare(&mut self, channel: &mut Channel, declare: &queue::Declare<'_>) -> Outcome<()> {
        if declare.queue == reply_to::QUEUE.as_bytes() || reply_to::is_address(declare.queue) {
            return self.declare_reply_address(channel, declare);
        }
        let queue = if declare.passive {
            let queue = self.queue_passive(channel, declare.queue)?;
            self.check_owner(&queue)?;
            queue
        } else {
            self.declare_queue(declare)?
        };
        let counts =
            batch::with_queue(&self.broker, &queue, |cell, _| (cell.queue.ready_count(), cell.queue.consumer_count()));
        let Some(((ready_count, consumer_count), _)) = counts else { return self.vhost().no_queue(queue.name()) };
        channel.last_queue = Some(queue.name().into());
        self.declared(channel, declare, queue.name(), ready_count, consumer_count)
    }

    /// Declaring a reply consumer's address tells whether it is still there.
    fn declare_reply_address(&mut self, channel: &Channel, declare: &queue::Declare<'_>) -> Outcome<()> {
        let vhost = self.vhost().name().as_str();
        let name = String::from_utf8_lossy(declare.queue);
        if reply_to::is_address(declare.queue) && !self.broker.replies.is_there(vhost, declare.queue) {
            return self.vhost().no_queue(&name);
        }
        self.declared(channel, declare, &name, 0, 0)
    }

    fn queue_passive(&self, channel: &Channel, name: &[u8]) -> Outcome<Arc<QueueHandle>> {
        let name = self.expand_name(channel, name)?;
        self.check_any_access(Resource::Queue, name.as_str())?;
        self.vhost().queue(name.as_bytes()).map_or_else(|| self.vhost().no_queue(name.as_str()), Ok)
    }

    fn declared(
        &mut self,
        channel: &Channel,
        declare: &queue::Declare<'_>,
        name: &str,
        ready_count: u64,
        consumer_count: u32,
    ) -> Outcome<()> {
        if !declare.no_wait {
            let method = queue::DeclareOk {
                queue: name.as_bytes(),
                message_count: u32::try_from(ready_count).unwrap_or(u32::MAX),
                consumer_count,
            };
            put_method(&mut self.out, channel.number, &method);
        }
        Ok(())
    }

    fn declare_queue(&mut self, declare: &queue::Declare<'_>) -> Outcome<Arc<QueueHandle>> {
        let given = queue_name(declare.queue)?;
        let is_named = !given.as_str().is_empty();
        let name = if is_named { given } else { QueueName::generate(self.broker.random()) };
        let vhost = self.vhost().clone();
        if is_named && let Err(error) = name.refuse_reserved() {
            return refusal::access_refused(error.to_string());
        }
        self.check_access(Access::Configure, Resource::Queue, name.as_str())?;
        if is_named && let Some(existing) = vhost.queue(name.as_bytes()) {
            return self.redeclare(existing, declare);
        }
        let resource = model::resource::Resource::queue(vhost.name(), &name);
        let arguments = match QueueArguments::parse(declare.arguments, resource) {
            Ok(arguments) => arguments,
            Err(error) => return refusal::precondition_failed(error.to_string()),
        };
        if arguments.queue_type() != QueueType::Classic {
            let queue_type = arguments.queue_type().name();
            return refusal::not_implemented(format!("the queue type '{queue_type}' is not implemented"));
        }
        if let Some(argument) = arguments.unbuilt() {
            return refusal::not_implemented(format!("the queue argument '{argument}' is not implemented"));
        }
        if !declare.durable && !declare.exclusive && !self.broker.options.permits_transient_nonexclusive_queues {
            return refusal::internal_error(
                "Feature `transient_nonexcl_queues` is deprecated and denied by \
                 deprecated_features.permit.transient_nonexcl_queues = false",
            );
        }
        let owner = declare.exclusive.then_some(self.id);
        let make = |id| definition::Queue {
            vhost: vhost.name().clone(),
            name: name.clone(),
            id,
            is_durable: is_durable(declare),
            is_auto_delete: declare.auto_delete,
            is_exclusive: declare.exclusive,
            arguments,
        };
        match vhost.declare_queue(&self.broker, owner, make, &name) {
            Ok(queue) => {
                if declare.exclusive {
                    self.exclusive_queues.push(queue.clone());
                }
                Ok(queue)
            }
            Err(existing) => self.redeclare(existing, declare),
        }
    }

    fn redeclare(&self, existing: Arc<QueueHandle>, declare: &queue::Declare<'_>) -> Outcome<Arc<QueueHandle>> {
        self.check_owner(&existing)?;
        if existing.owner.is_some() != declare.exclusive {
            return locked(&existing);
        }
        let checked = existing.definition.check_redeclare(is_durable(declare), declare.auto_delete, declare.arguments);
        checked.map_or_else(|error| refusal::precondition_failed(error.to_string()), |()| Ok(existing))
    }

    pub(crate) fn queue_bind(&mut self, channel: &mut Channel, bind: &queue::Bind<'_>) -> Outcome<()> {
        let (name, source) = self.check_queue_binding(channel, bind.queue, bind.exchange)?;
        let routing_key = binding_key(channel, bind.queue, bind.routing_key);
        self.check_binding_key(&source, routing_key)?;
        let Some(queue) = self.vhost().queue(name.as_bytes()) else { return self.vhost().no_queue(name.as_str()) };
        self.check_owner(&queue)?;
        let spec = BindingSpec {
            source: source.as_bytes(),
            destination: Destination::Queue(queue.id()),
            routing_key,
            arguments: bind.arguments,
        };
        let vhost = self.vhost().clone();
        let destination = definition::Destination::Queue(queue.definition.name.clone());
        match vhost.bind(&self.broker, &spec, destination) {
            Ok(()) => {}
            Err(BindError::DestinationMissing) => return vhost.no_queue(queue.name()),
            Err(error) => self.bind_refused(error, &spec, None)?,
        }
        if !bind.no_wait {
            put_method(&mut self.out, channel.number, &queue::BindOk);
        }
        Ok(())
    }

    pub(crate) fn queue_unbind(&mut self, channel: &mut Channel, unbind: &queue::Unbind<'_>) -> Outcome<()> {
        let (name, source) = self.check_queue_binding(channel, unbind.queue, unbind.exchange)?;
        // Unbinding what is not there is as good as unbinding it.
        if let Some(queue) = self.vhost().queue(name.as_bytes()) {
            self.check_owner(&queue)?;
            let spec = BindingSpec {
                source: source.as_bytes(),
                destination: Destination::Queue(queue.id()),
                routing_key: binding_key(channel, unbind.queue, unbind.routing_key),
                arguments: unbind.arguments,
            };
            match self.vhost().unbind(&self.broker, &spec) {
                Ok(_) | Err(BindError::SourceMissing | BindError::DestinationMissing) => {}
                Err(error) => self.bind_refused(error, &spec, None)?,
            }
        }
        put_method(&mut self.out, channel.number, &queue::UnbindOk);
        Ok(())
    }

    fn check_queue_binding(
        &self,
        channel: &Channel,
        queue: &[u8],
        exchange: &[u8],
    ) -> Outcome<(QueueName, model::name::ExchangeName)> {
        let source = exchange_name(exchange)?;
        let name = self.expand_name(channel, queue)?;
        if source.is_default() {
            return refusal::access_refused("operation not permitted on the default exchange");
        }
        self.check_access(Access::Write, Resource::Queue, name.as_str())?;
        self.check_access(Access::Read, Resource::Exchange, source.as_str())?;
        Ok((name, source))
    }

    pub(crate) fn queue_purge(&mut self, channel: &mut Channel, purge: &queue::Purge<'_>) -> Outcome<()> {
        let queue = self.queue_for(Access::Read, channel, purge.queue)?;
        let broker = &self.broker;
        let Some((count, position)) = batch::with_queue(broker, &queue, |cell, work| work.purge(cell)) else {
            return self.vhost().no_queue(queue.name());
        };
        if !purge.no_wait {
            let number = channel.number;
            let method = queue::PurgeOk { message_count: u32::try_from(count).unwrap_or(u32::MAX) };
            self.reply_when_durable(position, |out| put_method(out, number, &method));
        }
        Ok(())
    }

    pub(crate) fn queue_delete(&mut self, channel: &mut Channel, delete: &queue::Delete<'_>) -> Outcome<()> {
        let name = self.expand_name(channel, delete.queue)?;
        self.check_access(Access::Configure, Resource::Queue, name.as_str())?;
        let (mut count, mut position) = (0, None);
        if let Some(queue) = self.vhost().queue(name.as_bytes()) {
            self.check_owner(&queue)?;
            let conditions = DeleteConditions {
                if_unused: delete.if_unused,
                if_empty: delete.if_empty,
                ..DeleteConditions::default()
            };
            let resource = queue.definition.resource();
            match self.vhost().delete_queue(&self.broker, &queue, conditions) {
                Deletion::Deleted { ready_count, position: durable } => {
                    count = ready_count;
                    position = durable;
                    self.exclusive_queues.retain(|mine| mine.id() != queue.id());
                }
                // Deleting what is not there is as good as deleting it.
                Deletion::Missing => {}
                Deletion::InUse => return refusal::precondition_failed(format!("{resource} in use")),
                Deletion::NotEmpty => return refusal::precondition_failed(format!("{resource} not empty")),
            }
        }
        if !delete.no_wait {
            let number = channel.number;
            let method = queue::DeleteOk { message_count: u32::try_from(count).unwrap_or(u32::MAX) };
            self.reply_when_durable(position, |out| put_method(out, number, &method));
        }
        Ok(())
    }

    /// The connection ends: its exclusive queue goes, before anybody can see that the connection has gone.
    pub(crate) fn delete_owned(&self, queue: &QueueHandle) {
        self.vhost().delete_queue(&self.broker, queue, DeleteConditions::default());
    }
}

/// An exclusive queue does not outlive its connection, whatever was asked for.
fn is_durable(declare: &queue::Declare<'_>) -> bool {
    declare.durable && !declare.exclusive
}

/// 405 for an exclusive queue.
fn locked<T>(queue: &QueueHandle) -> Outcome<T> {
    refusal::resource_locked(format!(
        "cannot obtain exclusive access to locked {}. It could be originally declared on another connection or the \
         exclusive property value does not match that of the original declaration.",
        queue.definition.resource()
    ))
}

/// The key of a binding. With neither queue nor key named it is the last queue's name (AMQP 0-9-1, queue.bind).
fn binding_key<'a>(channel: &'a Channel, queue: &[u8], routing_key: &'a [u8]) -> &'a [u8] {
    match (&channel.last_queue, queue, routing_key) {
        (Some(last), [], []) => last.as_bytes(),
        _ => routing_key,
    }
}

fn queue_name(bytes: &[u8]) -> Outcome<QueueName> {
    QueueName::parse(bytes).or_else(|error| refusal::syntax_error(error.to_string()))
}
