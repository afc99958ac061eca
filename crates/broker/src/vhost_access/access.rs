//! Which client is inside a vhost, as which user, and whether that user may do something.

use std::sync::Arc;
use std::time::Duration;

use model::name::{ExchangeName, QueueName};
use model::user::{Access, TopicAccess};
use parking_lot::Mutex;
use routing::Removed;

use crate::broker::Broker;
use crate::events::Event;
use crate::identity::{Actor, Identity, Origin};
use crate::login::ASKING;
use crate::permissions::{Permissions, Permitted, Resource};
use crate::vhost::Vhost;
use engine::queue_handle::ConnectionId;
use model::refusal::Outcome;
use telemetry::trace::waiting;

/// A user inside a vhost.
#[derive(Debug, Clone)]
pub struct VhostAccess {
    pub(crate) broker: Arc<Broker>,
    pub(crate) vhost: Arc<Vhost>,
    pub(crate) permissions: Arc<Permissions>,
    pub(crate) origin: Origin,
    /// The connection that exclusive queues belong to.
    pub(crate) connection: Option<ConnectionId>,
    /// The name of a queue that is to be declared without one.
    pub(super) generated_name: Arc<Mutex<Option<QueueName>>>,
    /// How long a caller that has published here without a channel is to wait, because the vhost's limit of rates asks for it.
    pub(super) throttled_for: Arc<Mutex<Duration>>,
}

impl VhostAccess {
    pub(crate) fn new(broker: Arc<Broker>, vhost: Arc<Vhost>, actor: &Actor, connection: Option<ConnectionId>) -> Self {
        let permissions = Arc::new(Permissions::new(actor.identity.clone(), vhost.name().clone(), actor.origin));
        Self {
            broker,
            vhost,
            permissions,
            origin: actor.origin,
            connection,
            generated_name: Arc::default(),
            throttled_for: Arc::default(),
        }
    }

    /// Does something, as often as a back end has to be asked whether the user may do it. What `act` changes takes a [`Permitted`], so
    /// it is changed once.
    pub async fn retry_until_authorized<T>(&self, act: impl Fn(&Self) -> Outcome<T>) -> Outcome<T> {
        loop {
            let result = act(self);
            if !self.await_authorization().await {
                return result;
            }
        }
    }

    /// Waits for the answer that the last check needs, if it needs one: then the same is to be done again. False when what was done
    /// is done, or refused; and, if it was a publish, has waited as the vhost's limit of rates asks for, a second at most.
    pub async fn await_authorization(&self) -> bool {
        let Some(mut open) = self.permissions.take_open() else {
            self.permissions.forget_answers();
            let throttled_for = std::mem::take(&mut *self.throttled_for.lock());
            if !throttled_for.is_zero() {
                tokio::time::sleep(throttled_for).await;
            }
            return false;
        };
        let is_allowed = waiting(ASKING, open.answer.as_mut()).await;
        self.permissions.close(*open, is_allowed);
        true
    }

    /// The same as another user, or as the same user with what it is now.
    pub(crate) fn renewed(&self, identity: Arc<Identity>) -> Self {
        let permissions = Arc::new(Permissions::new(identity, self.vhost.name().clone(), self.origin));
        Self { permissions, ..self.clone() }
    }

    pub(crate) fn identity(&self) -> &Arc<Identity> {
        self.permissions.identity()
    }

    /// Whether the user may be here.
    #[must_use]
    pub fn still_allowed(&self) -> bool {
        self.permissions.may_enter(&self.broker.users)
    }

    pub(crate) fn check(&self, access: Access, resource: Resource, name: &str) -> Outcome<Permitted> {
        self.permissions.check(&self.broker.users, access, resource, name)
    }

    pub(crate) fn check_any(&self, resource: Resource, name: &str) -> Outcome<Permitted> {
        self.permissions.check_any(&self.broker.users, resource, name)
    }

    /// Whether the user may publish to an exchange under keys: a message's own, and those in its headers (as in RabbitMQ since
    /// 4.0). Asked once a route, not once a message.
    pub(crate) fn check_publish(&self, exchange: &[u8], routing_keys: &[&[u8]]) -> Outcome<Permitted> {
        let Ok(name) = std::str::from_utf8(exchange) else {
            return self.vhost.no_exchange(exchange);
        };
        let permitted = self.check(Access::Write, Resource::Exchange, name)?;
        self.check_topics(permitted, TopicAccess::Write, name, routing_keys)
    }

    /// Whether the user may use routing keys as well. Rules about them are for topic exchanges.
    pub(super) fn check_topics(
        &self,
        permitted: Permitted,
        access: TopicAccess,
        exchange: &str,
        routing_keys: &[&[u8]],
    ) -> Outcome<Permitted> {
        if !self.permissions.has_topic_rules(&self.broker.users, exchange) || !self.vhost.is_topic(exchange) {
            return Ok(permitted);
        }
        let check = |permitted: Permitted, key: &&[u8]| {
            Ok(permitted.and(self.permissions.check_topic(&self.broker.users, access, exchange, key)?))
        };
        routing_keys.iter().try_fold(permitted, check)
    }

    pub(crate) fn emit(&self, make: impl FnOnce() -> Event) {
        self.broker.emit(make().by(self.identity().name(), self.origin));
    }

    pub(super) fn emit_removals(&self, removed: &Removed) {
        self.broker.emit_removals(self.vhost.name(), removed, self.identity().name(), self.origin);
    }

    pub(super) fn resource_of_exchange<'a>(&'a self, name: &'a ExchangeName) -> model::resource::Resource<'a> {
        model::resource::Resource::exchange(self.vhost.name(), name)
    }
}
