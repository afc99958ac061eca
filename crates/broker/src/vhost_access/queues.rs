//! Queues: declared, deleted, purged.

use std::sync::Arc;

use amqp::table::{Table, TableBuf, Value};
use engine::Positions;
use model::arguments::{
    QUEUE_TYPE, QueueArguments, QueueShape, QueueType, check_queue_type, check_server_named, default_queue_type,
};
use model::definition;
use model::name::{QueueName, VhostName};
use model::user::Access;

use super::VhostAccess;
use crate::broker::Broker;
use crate::changed::Changed;
use crate::events::Event;
use crate::limits::SETTLED_COUNT_MAX;
use crate::long_turns::take_long;
use crate::permissions::{Permitted, Resource};
use crate::vhost::{Declared, DeleteConditions, Deletion};
use engine::queue_handle::QueueHandle;
use model::refusal::{self, Outcome};

/// A queue that is to be there.
#[derive(Debug, Clone, Copy)]
pub struct QueueRequest<'a> {
    /// Its name; empty for a generated one.
    pub name: &'a QueueName,
    /// Whether it survives a restart.
    pub is_durable: bool,
    /// Whether it is deleted with its last consumer.
    pub is_auto_delete: bool,
    /// Whether it belongs to the connection that asks.
    pub is_exclusive: bool,
    /// Its arguments.
    pub arguments: Table<'a>,
}

impl QueueRequest<'_> {
    /// An exclusive queue does not outlive its connection, whatever was asked for.
    fn is_effectively_durable(&self) -> bool {
        self.is_durable && !self.is_exclusive
    }

    fn shape(&self) -> QueueShape {
        let QueueRequest { is_durable, is_exclusive, is_auto_delete, .. } = *self;
        QueueShape { is_durable, is_exclusive, is_auto_delete }
    }

    /// The arguments with the type in them that the queue gets, where none was asked for and the default is not the one that
    /// goes without saying.
    pub(crate) fn with_default_type(&self, default: QueueType) -> Option<TableBuf> {
        if self.arguments.get(QUEUE_TYPE).is_some() {
            return None;
        }
        match default_queue_type(default, self.shape()) {
            QueueType::Classic => None,
            other => Some(self.arguments.to_owned().with(QUEUE_TYPE, Value::LongStr(other.name().as_bytes()))),
        }
    }
}

/// What a request to declare a queue has been found to be.
enum Declaration {
    /// There is such a queue.
    Existing(Arc<QueueHandle>),
    /// There is none of this name.
    New { name: QueueName, arguments: QueueArguments, is_named: bool },
}

impl VhostAccess {
    /// The queue of this name, if the user may use it so and it is not another connection's.
    pub(crate) fn queue_for(&self, access: Access, name: &QueueName) -> Outcome<Permitted<Arc<QueueHandle>>> {
        let permitted = self.check(access, Resource::Queue, name.as_str())?;
        Ok(permitted.with(self.own_queue(name)?))
    }

    /// The queue of this name, if it is not another connection's.
    pub(crate) fn own_queue(&self, name: &QueueName) -> Outcome<Arc<QueueHandle>> {
        let Some(queue) = self.vhost.queue(name.as_bytes()) else { return self.vhost.no_queue(name.as_str()) };
        self.check_owner(&queue)?;
        Ok(queue)
    }

    /// 405 for another connection's exclusive queue.
    pub(crate) fn check_owner(&self, queue: &QueueHandle) -> Outcome<()> {
        if queue.owner.is_none() || queue.owner == self.connection {
            return Ok(());
        }
        locked(queue)
    }

    /// The queue of this name, for a passive declaration.
    pub(crate) fn find_queue(&self, name: &QueueName) -> Outcome<Arc<QueueHandle>> {
        let _: Permitted = self.check_any(Resource::Queue, name.as_str())?;
        self.own_queue(name)
    }

    /// Declares a queue. Says whether it is new.
    pub fn declare_queue(&self, request: &QueueRequest<'_>) -> Outcome<Changed> {
        self.queue_declared(request).map(|(_, changed)| changed)
    }

    /// Declares a queue that is among definitions: its name may be one that a broker has made up.
    pub fn import_queue(&self, request: &QueueRequest<'_>) -> Outcome<Changed> {
        self.declare_unchecked(request).map(|(_, changed)| changed)
    }

    pub(crate) fn queue_declared(&self, request: &QueueRequest<'_>) -> Outcome<(Arc<QueueHandle>, Changed)> {
        if let Err(error) = request.name.refuse_reserved() {
            return refusal::access_refused(error.to_string());
        }
        self.declare_unchecked(request)
    }

    fn declare_unchecked(&self, request: &QueueRequest<'_>) -> Outcome<(Arc<QueueHandle>, Changed)> {
        let with_type = request.with_default_type(self.broker.default_queue_type(&self.vhost.facts()));
        let arguments = with_type.as_ref().map_or(request.arguments, TableBuf::as_table);
        let request = &QueueRequest { arguments, ..*request };
        let is_named = !request.name.as_str().is_empty();
        if !is_named && let Err(error) = check_server_named(request.arguments) {
            return refusal::precondition_failed(error.to_string());
        }
        let name = if is_named { request.name.clone() } else { self.generated_name()? };
        let permitted = self.check(Access::Configure, Resource::Queue, name.as_str())?;
        let declaration = match self.check_declaration(permitted, request, name) {
            // The same comes again when a back end has answered.
            Err(refusal) if self.permissions.has_open() => return Err(refusal),
            checked => checked,
        };
        self.broker.counters.queues_declared.add(1);
        self.declare(declaration?, request)
    }

    /// The first step of a declaration: what may be wrong with it, and whether the user may make it.
    fn check_declaration(
        &self,
        permitted: Permitted,
        request: &QueueRequest<'_>,
        name: QueueName,
    ) -> Outcome<Permitted<Declaration>> {
        let is_named = !request.name.as_str().is_empty();
        if is_named && let Some(existing) = self.vhost.queue(name.as_bytes()) {
            return Ok(permitted.with(Declaration::Existing(existing)));
        }
        let arguments = check_new_queue(&self.broker, self.vhost.name(), request, &name)?;
        let permitted = match arguments.dead_letter_exchange() {
            Some(exchange) => permitted
                .and(self.check(Access::Read, Resource::Queue, name.as_str())?)
                .and(self.check(Access::Write, Resource::Exchange, exchange.as_str())?),
            None => permitted,
        };
        Ok(permitted.with(Declaration::New { name, arguments, is_named }))
    }

    /// The second step.
    fn declare(
        &self,
        declaration: Permitted<Declaration>,
        request: &QueueRequest<'_>,
    ) -> Outcome<(Arc<QueueHandle>, Changed)> {
        let (name, arguments, is_named) = match declaration.into_inner() {
            Declaration::Existing(existing) => return Ok((self.redeclared(existing, request)?, Changed::default())),
            Declaration::New { name, arguments, is_named } => (name, arguments, is_named),
        };
        let owner = self.connection.filter(|_| request.is_exclusive);
        let make = |id| definition::Queue {
            vhost: self.vhost.name().clone(),
            name: name.clone(),
            id,
            is_durable: request.is_effectively_durable(),
            is_auto_delete: request.is_auto_delete,
            is_exclusive: request.is_exclusive,
            arguments,
        };
        match self.vhost.declare_queue(&self.broker, owner, make, &name) {
            Declared::New(queue, position) => {
                if !is_named {
                    *self.generated_name.lock() = None;
                }
                self.emit(|| Event::queue_created(&queue));
                Ok((queue, Changed { is_new: true, position }))
            }
            Declared::Existing(existing) => Ok((self.redeclared(existing, request)?, Changed::default())),
            Declared::VhostDeleted => refusal::not_found(format!("no vhost '{}'", self.vhost.name())),
            Declared::LimitReached { queue_max } => refusal::precondition_failed(format!(
                "cannot declare queue '{name}': queue limit in vhost '{}' ({queue_max}) is reached",
                self.vhost.name()
            )),
        }
    }

    /// A name for a queue without one. It stays the same until there is such a queue: others may have to be asked about it, and the
    /// declaration is made again with their answer.
    fn generated_name(&self) -> Outcome<QueueName> {
        let mut generated = self.generated_name.lock();
        if let Some(name) = &*generated {
            return Ok(name.clone());
        }
        let name = QueueName::generate(self.broker.random().or_else(|error| refusal::internal(error.to_string()))?);
        Ok(generated.insert(name).clone())
    }

    fn redeclared(&self, existing: Arc<QueueHandle>, request: &QueueRequest<'_>) -> Outcome<Arc<QueueHandle>> {
        self.check_owner(&existing)?;
        let (definition, received) = (&existing.definition, request.arguments);
        let is_relaxed = self.broker.options.permits_quorum_queues_declared_as_classic
            && definition.arguments.is_quorum_declared_as_classic(received);
        if existing.owner.is_some() != request.is_exclusive && !is_relaxed {
            return locked(&existing);
        }
        let checked = match is_relaxed {
            true => definition.arguments.check_equivalent_to_classic(received, definition.resource()),
            false => definition.check_redeclare(request.is_effectively_durable(), request.is_auto_delete, received),
        };
        checked.map_or_else(|error| refusal::precondition_failed(error.to_string()), |()| Ok(existing))
    }

    /// Deletes a queue, unless it is used or has messages and must not. Returns the deleted queue, how many messages were deleted with it,
    /// and where that is durable; None when there was none.
    pub(crate) fn queue_deleted(
        &self,
        name: &QueueName,
        conditions: DeleteConditions,
    ) -> Outcome<Option<(Arc<QueueHandle>, u64, Changed)>> {
        let permitted = self.check(Access::Configure, Resource::Queue, name.as_str())?;
        let Some(queue) = self.vhost.queue(name.as_bytes()) else { return Ok(None) };
        self.check_owner(&queue)?;
        let resource = queue.definition.resource();
        let asked = [(conditions.if_unused, "if-unused"), (conditions.if_empty, "if-empty")];
        if let Some((_, flag)) = asked.into_iter().find(|(is_asked, _)| *is_asked && queue.is_quorum()) {
            return refusal::not_implemented(format!(
                "cannot delete {resource}. queue.delete operations with {flag} flag set are not supported by quorum queues"
            ));
        }
        self.delete(permitted.with(queue), conditions)
    }

    fn delete(
        &self,
        queue: Permitted<Arc<QueueHandle>>,
        conditions: DeleteConditions,
    ) -> Outcome<Option<(Arc<QueueHandle>, u64, Changed)>> {
        let queue = queue.into_inner();
        let resource = queue.definition.resource();
        match self.vhost.delete_queue(&self.broker, &queue, conditions) {
            Deletion::Deleted { ready_count, removed, position } => {
                self.broker.emit_removals_with_queue(&queue, &removed);
                self.emit(|| Event::queue_deleted(&queue));
                Ok(Some((queue, ready_count, Changed { is_new: false, position })))
            }
            Deletion::Missing => Ok(None),
            Deletion::InUse => refusal::precondition_failed(format!("{resource} in use")),
            Deletion::NotEmpty => refusal::precondition_failed(format!("{resource} not empty")),
        }
    }

    /// Deletes a queue, unless it is used (`if_unused`) or has messages (`if_empty`). 404 where there is none.
    pub fn delete_queue(&self, name: &QueueName, if_unused: bool, if_empty: bool) -> Outcome<Changed> {
        let conditions = DeleteConditions { if_unused, if_empty, ..DeleteConditions::default() };
        match self.queue_deleted(name, conditions)? {
            Some((_, _, changed)) => Ok(changed),
            None => self.vhost.no_queue(name.as_str()),
        }
    }

    /// Removes all messages that wait in a queue. Says how many there were.
    pub fn purge_queue(&self, name: &QueueName) -> Outcome<(u64, Changed)> {
        self.purge(self.queue_for(Access::Read, name)?)
    }

    fn purge(&self, queue: Permitted<Arc<QueueHandle>>) -> Outcome<(u64, Changed)> {
        let engine = &self.broker.engine;
        let ready_count = engine.with_queue(&queue, |entry, _| entry.queue.ready_count());
        // In pieces: no more than were there, whatever is published meanwhile.
        let piece_count = ready_count.map_or(0, |(count, _)| count / SETTLED_COUNT_MAX as u64);
        let (mut count, mut position) = (0, Positions::NONE);
        let purge_pieces = || {
            for _ in 0..piece_count {
                let purged = engine.with_queue(&queue, |entry, work| work.purge_some(entry, SETTLED_COUNT_MAX));
                let Some((purged, durable_at)) = purged.filter(|(purged, _)| *purged > 0) else { break };
                count += purged;
                position.add(durable_at);
            }
        };
        if piece_count > 0 {
            take_long(purge_pieces);
        }
        let rest = engine.with_queue(&queue, |entry, work| work.purge(entry));
        let Some((rest, durable_at)) = rest else { return self.vhost.no_queue(queue.name()) };
        (count, position) = (count + rest, position.and(durable_at));
        self.emit(|| Event::queue_purged(&queue, count));
        Ok((count, Changed { is_new: false, position }))
    }
}

/// What can be wrong with a new queue whatever else is there.
pub(crate) fn check_new_queue(
    broker: &Broker,
    vhost: &VhostName,
    request: &QueueRequest<'_>,
    name: &QueueName,
) -> Outcome<QueueArguments> {
    let resource = model::resource::Resource::queue(vhost, name);
    let arguments = match QueueArguments::parse(request.arguments, resource) {
        Ok(arguments) => arguments,
        Err(error) => return refusal::precondition_failed(error.to_string()),
    };
    if let Err(error) = check_queue_type(arguments.queue_type(), request.shape(), resource) {
        return refusal::precondition_failed(error.to_string());
    }
    if !arguments.queue_type().is_built() {
        let name = arguments.queue_type().name();
        return refusal::not_implemented(format!("the queue type '{name}' is not implemented"));
    }
    let is_transient = !request.is_durable && !request.is_exclusive;
    if is_transient && !broker.options.permits_transient_nonexclusive_queues {
        return refusal::internal(
            "Feature `transient_nonexcl_queues` is deprecated and denied by \
             deprecated_features.permit.transient_nonexcl_queues = false",
        );
    }
    Ok(arguments)
}

/// 405 for an exclusive queue.
fn locked<T>(queue: &QueueHandle) -> Outcome<T> {
    refusal::locked(format!(
        "cannot obtain exclusive access to locked {}. It could be originally declared on another connection or the \
         exclusive property value does not match that of the original declaration.",
        queue.definition.resource()
    ))
}
