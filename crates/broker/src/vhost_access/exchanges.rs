//! Exchanges: declared and deleted.

use amqp::table::Table;
use model::arguments::{ExchangeArguments, ExchangeType, parse_delayed_type};
use model::definition;
use model::name::{ExchangeName, VhostName};
use model::user::Access;
use routing::DeleteError;

use super::VhostAccess;
use crate::broker::Broker;
use crate::changed::Changed;
use crate::events::Event;
use crate::permissions::{Permitted, Resource};
use crate::vhost::Removal;
use model::refusal::{self, Outcome};

/// An exchange that is to be there.
#[derive(Debug, Clone, Copy)]
pub struct ExchangeRequest<'a> {
    /// Its name.
    pub name: &'a ExchangeName,
    /// Its type's name.
    pub kind: &'a [u8],
    /// Whether it outlives a restart.
    pub is_durable: bool,
    /// Whether it is deleted with the last binding from it.
    pub is_auto_delete: bool,
    /// Whether only other exchanges may publish to it.
    pub is_internal: bool,
    /// Its arguments.
    pub arguments: Table<'a>,
}

/// 403 for whatever is asked of the default exchange by its name.
pub(crate) fn default_exchange<T>() -> Outcome<T> {
    refusal::access_refused("operation not permitted on the default exchange")
}

/// A name as it came over the wire.
pub(crate) fn exchange_name(bytes: &[u8]) -> Outcome<ExchangeName> {
    ExchangeName::parse(bytes).or_else(|error| refusal::malformed(error.to_string()))
}

impl VhostAccess {
    /// Whether there is such an exchange, for a passive declaration: 404 if not.
    pub(crate) fn find_exchange(&self, name: &ExchangeName) -> Outcome<()> {
        if name.is_default() {
            return default_exchange();
        }
        let _: Permitted = self.check_any(Resource::Exchange, name.as_str())?;
        match self.vhost.exchange(name.as_str()) {
            Some(_) => Ok(()),
            None => self.vhost.no_exchange(name.as_bytes()),
        }
    }

    /// Declares an exchange. Says whether it is new.
    pub fn declare_exchange(&self, request: &ExchangeRequest<'_>) -> Outcome<Changed> {
        if request.name.is_default() {
            return default_exchange();
        }
        let exchange_type = check_type(request.kind)?;
        let mut permitted = self.check(Access::Configure, Resource::Exchange, request.name.as_str())?;
        let arguments = check_arguments(self.vhost.name(), request)?;
        if let Some(existing) = self.vhost.exchange(request.name.as_str()) {
            return check_redeclare(&existing, exchange_type, request);
        }
        if let Err(error) = request.name.refuse_reserved() {
            return refusal::access_refused(error.to_string());
        }
        check_new_exchange(&self.broker, exchange_type, &arguments, self.vhost.name(), request.name)?;
        if let Some(alternate) = arguments.alternate_exchange() {
            permitted = permitted
                .and(self.check(Access::Read, Resource::Exchange, request.name.as_str())?)
                .and(self.check(Access::Write, Resource::Exchange, alternate.as_str())?);
        }
        let exchange = definition::Exchange {
            vhost: self.vhost.name().clone(),
            name: request.name.clone(),
            exchange_type,
            is_durable: request.is_durable,
            is_auto_delete: request.is_auto_delete,
            is_internal: request.is_internal,
            arguments,
        };
        self.declare_new_exchange(permitted.with(exchange), request)
    }

    fn declare_new_exchange(
        &self,
        exchange: Permitted<definition::Exchange>,
        request: &ExchangeRequest<'_>,
    ) -> Outcome<Changed> {
        let exchange = exchange.into_inner();
        let changed = self.vhost.declare_exchange(&self.broker, &exchange);
        if changed.is_new {
            self.emit(|| Event::exchange_created(&exchange));
            return Ok(changed);
        }
        match self.vhost.exchange(exchange.name.as_str()) {
            Some(existing) => check_redeclare(&existing, exchange.exchange_type, request),
            // It was quicker to come, and to go.
            None => Ok(Changed::default()),
        }
    }

    /// Deletes an exchange, unless it is used and must not. None: there was none.
    pub(crate) fn exchange_deleted(&self, name: &ExchangeName, if_unused: bool) -> Outcome<Option<Changed>> {
        if name.is_default() {
            return default_exchange();
        }
        let permitted = self.check(Access::Configure, Resource::Exchange, name.as_str())?;
        let resource = self.resource_of_exchange(name);
        if name.refuse_reserved().is_err() {
            return refusal::access_refused(format!("deletion of system {resource} not allowed"));
        }
        self.remove_exchange(permitted.with(name), if_unused)
    }

    fn remove_exchange(&self, name: Permitted<&ExchangeName>, if_unused: bool) -> Outcome<Option<Changed>> {
        let name = name.into_inner();
        let resource = self.resource_of_exchange(name);
        match self.vhost.delete_exchange(&self.broker, name, if_unused) {
            Ok(Removal { removed, position }) => {
                self.emit_removals(&removed);
                Ok(Some(Changed { is_new: false, position }))
            }
            Err(DeleteError::Missing | DeleteError::Predeclared) => Ok(None),
            Err(DeleteError::InUse) => refusal::precondition_failed(format!("{resource} in use")),
        }
    }

    /// Deletes an exchange, unless messages can leave it (`if_unused`). 404 where there is none.
    pub fn delete_exchange(&self, name: &ExchangeName, if_unused: bool) -> Outcome<Changed> {
        match self.exchange_deleted(name, if_unused)? {
            Some(changed) => Ok(changed),
            None => self.vhost.no_exchange(name.as_bytes()),
        }
    }
}

/// The type that an exchange is to be of.
pub(crate) fn check_type(kind: &[u8]) -> Outcome<ExchangeType> {
    let exchange_type = match ExchangeType::parse(kind) {
        Ok(exchange_type) => exchange_type,
        Err(error) => return refusal::precondition_failed(error.to_string()),
    };
    if !exchange_type.is_built() {
        let name = exchange_type.name();
        return refusal::not_implemented(format!("the exchange type '{name}' is not implemented"));
    }
    Ok(exchange_type)
}

pub(crate) fn check_arguments(vhost: &VhostName, request: &ExchangeRequest<'_>) -> Outcome<ExchangeArguments> {
    let parsed = ExchangeArguments::parse(request.arguments, model::resource::Resource::exchange(vhost, request.name));
    parsed.or_else(|error| refusal::precondition_failed(error.to_string()))
}

/// Checks what only exchanges of this type have to have when they are made.
pub(crate) fn check_new_exchange(
    broker: &Broker,
    exchange_type: ExchangeType,
    arguments: &ExchangeArguments,
    vhost: &VhostName,
    name: &ExchangeName,
) -> Outcome<()> {
    let routing_type = match exchange_type {
        ExchangeType::DelayedMessage => match parse_delayed_type(arguments.table()) {
            Ok(delayed_type) => check_type(delayed_type.name().as_bytes())?,
            Err(error) => return refusal::precondition_failed(error.to_string()),
        },
        other => other,
    };
    if routing_type == ExchangeType::LocalRandom && !broker.options.permits_local_random_exchanges {
        return refusal::precondition_failed("x-local-random exchange is disabled by configuration");
    }
    let checked = arguments.check_for(exchange_type, model::resource::Resource::exchange(vhost, name));
    checked.or_else(|error| refusal::precondition_failed(error.to_string()))
}

fn check_redeclare(
    existing: &definition::Exchange,
    exchange_type: ExchangeType,
    request: &ExchangeRequest<'_>,
) -> Outcome<Changed> {
    let ExchangeRequest { is_durable, is_auto_delete, is_internal, arguments, .. } = *request;
    let checked = existing.check_redeclare(exchange_type, is_durable, is_auto_delete, is_internal, arguments);
    checked.map_or_else(|error| refusal::precondition_failed(error.to_string()), |()| Ok(Changed::default()))
}
