//! exchange.declare, delete, bind, unbind.

use amqp::frame::put_method;
use amqp::method::exchange;
use amqp::table::Value;
use model::arguments::{ExchangeArguments, ExchangeType};
use model::definition;
use model::name::ExchangeName;
use model::user::Access;
use routing::{BindError, BindingSpec, DeleteError, Destination};

use crate::channel::Channel;
use crate::permissions::Resource;
use crate::refusal::{self, Outcome};
use crate::session::Session;

const TOPIC_HASH_COUNT_MAX: usize = 2;

/// 403 for whatever is asked of the default exchange by its name.
fn default_exchange<T>() -> Outcome<T> {
    refusal::access_refused("operation not permitted on the default exchange")
}

/// A name as it came over the wire.
pub(crate) fn exchange_name(bytes: &[u8]) -> Outcome<ExchangeName> {
    ExchangeName::parse(bytes).or_else(|error| refusal::syntax_error(error.to_string()))
}

impl Session {
    pub(crate) fn exchange_declare(&mut self, channel: &mut Channel, declare: &exchange::Declare<'_>) -> Outcome<()> {
        let name = exchange_name(declare.exchange)?;
        if name.is_default() {
            return default_exchange();
        }
        if declare.passive {
            self.check_any_access(Resource::Exchange, name.as_str())?;
            if self.vhost().exchange(name.as_str()).is_none() {
                return self.vhost().no_exchange(name.as_bytes());
            }
        } else {
            self.declare_exchange(name, declare)?;
        }
        if !declare.no_wait {
            put_method(&mut self.out, channel.number, &exchange::DeclareOk);
        }
        Ok(())
    }

    fn declare_exchange(&mut self, name: ExchangeName, declare: &exchange::Declare<'_>) -> Outcome<()> {
        let exchange_type = match ExchangeType::parse(declare.kind) {
            Ok(exchange_type) => exchange_type,
            Err(error) => return refusal::precondition_failed(error.to_string()),
        };
        if !exchange_type.is_built() {
            return refusal::not_implemented(format!(
                "the exchange type '{}' is not implemented",
                exchange_type.name()
            ));
        }
        self.check_access(Access::Configure, Resource::Exchange, name.as_str())?;
        let vhost = self.vhost().clone();
        let resource = model::resource::Resource::exchange(vhost.name(), &name);
        let arguments = match ExchangeArguments::parse(declare.arguments, resource) {
            Ok(arguments) => arguments,
            Err(error) => return refusal::precondition_failed(error.to_string()),
        };
        let check = |existing: definition::Exchange| {
            existing
                .check_redeclare(
                    exchange_type,
                    declare.durable,
                    declare.auto_delete,
                    declare.internal,
                    declare.arguments,
                )
                .or_else(|error| refusal::precondition_failed(error.to_string()))
        };
        if let Some(existing) = vhost.exchange(name.as_str()) {
            return check(existing);
        }
        if let Err(error) = name.refuse_reserved() {
            return refusal::access_refused(error.to_string());
        }
        if let Some(alternate) = arguments.alternate_exchange() {
            self.check_access(Access::Read, Resource::Exchange, name.as_str())?;
            self.check_access(Access::Write, Resource::Exchange, alternate.as_str())?;
        }
        let exchange = definition::Exchange {
            vhost: vhost.name().clone(),
            name,
            exchange_type,
            is_durable: declare.durable,
            is_auto_delete: declare.auto_delete,
            is_internal: declare.internal,
            arguments,
        };
        if !vhost.declare_exchange(&self.broker, &exchange)
            && let Some(existing) = vhost.exchange(exchange.name.as_str())
        {
            return check(existing);
        }
        Ok(())
    }

    pub(crate) fn exchange_delete(&mut self, channel: &mut Channel, delete: &exchange::Delete<'_>) -> Outcome<()> {
        let name = exchange_name(delete.exchange)?;
        if name.is_default() {
            return default_exchange();
        }
        self.check_access(Access::Configure, Resource::Exchange, name.as_str())?;
        if let Err(error) = name.refuse_reserved() {
            let _ = error;
            return refusal::access_refused(format!(
                "deletion of system exchange '{name}' in vhost '{}' not allowed",
                self.vhost().name()
            ));
        }
        let position = match self.vhost().delete_exchange(&self.broker, &name, delete.if_unused) {
            Ok(position) => position,
            // Deleting what is not there is as good as deleting it.
            Err(DeleteError::Missing | DeleteError::Predeclared) => None,
            Err(DeleteError::InUse) => {
                return refusal::precondition_failed(format!(
                    "exchange '{name}' in vhost '{}' in use",
                    self.vhost().name()
                ));
            }
        };
        if !delete.no_wait {
            let number = channel.number;
            self.reply_when_durable(position, |out| put_method(out, number, &exchange::DeleteOk));
        }
        Ok(())
    }

    pub(crate) fn exchange_bind(&mut self, channel: &mut Channel, bind: &exchange::Bind<'_>) -> Outcome<()> {
        let (source, destination) = self.check_exchange_binding(bind.source, bind.destination)?;
        self.check_binding_key(&source, bind.routing_key)?;
        let spec = BindingSpec {
            source: source.as_bytes(),
            destination: Destination::Exchange(destination.as_bytes()),
            routing_key: bind.routing_key,
            arguments: bind.arguments,
        };
        let vhost = self.vhost().clone();
        vhost
            .bind(&self.broker, &spec, definition::Destination::Exchange(destination.clone()))
            .or_else(|error| self.bind_refused(error, &spec, Some(&destination)))?;
        if !bind.no_wait {
            put_method(&mut self.out, channel.number, &exchange::BindOk);
        }
        Ok(())
    }

    pub(crate) fn exchange_unbind(&mut self, channel: &mut Channel, unbind: &exchange::Unbind<'_>) -> Outcome<()> {
        let (source, destination) = self.check_exchange_binding(unbind.source, unbind.destination)?;
        let spec = BindingSpec {
            source: source.as_bytes(),
            destination: Destination::Exchange(destination.as_bytes()),
            routing_key: unbind.routing_key,
            arguments: unbind.arguments,
        };
        match self.vhost().unbind(&self.broker, &spec) {
            Ok(_) | Err(BindError::SourceMissing | BindError::DestinationMissing) => {}
            Err(error) => self.bind_refused(error, &spec, Some(&destination))?,
        }
        if !unbind.no_wait {
            put_method(&mut self.out, channel.number, &exchange::UnbindOk);
        }
        Ok(())
    }

    fn check_exchange_binding(&self, source: &[u8], destination: &[u8]) -> Outcome<(ExchangeName, ExchangeName)> {
        let (source, destination) = (exchange_name(source)?, exchange_name(destination)?);
        if source.is_default() || destination.is_default() {
            return default_exchange();
        }
        self.check_access(Access::Write, Resource::Exchange, destination.as_str())?;
        self.check_access(Access::Read, Resource::Exchange, source.as_str())?;
        Ok((source, destination))
    }

    /// The text for a binding that could not be.
    pub(crate) fn bind_refused(
        &self,
        error: BindError,
        spec: &BindingSpec<'_>,
        destination: Option<&ExchangeName>,
    ) -> Outcome<()> {
        match error {
            BindError::DefaultExchange => default_exchange(),
            BindError::SourceMissing => self.vhost().no_exchange(spec.source),
            BindError::DestinationMissing => match destination {
                Some(destination) => self.vhost().no_exchange(destination.as_bytes()),
                None => refusal::not_found("no such queue"),
            },
            BindError::InvalidMatch => refusal::precondition_failed(match spec.arguments.get("x-match") {
                Some(Value::LongStr(value)) => format!(
                    "Invalid x-match field value <<\"{}\">>; expected all, any, all-with-x, or any-with-x",
                    String::from_utf8_lossy(value)
                ),
                Some(other) => {
                    let shown = other.as_i64().map_or_else(|| format!("{other:?}"), |number| number.to_string());
                    format!("Invalid x-match field type {} (value {shown}); expected longstr", other.type_name())
                }
                None => "Invalid x-match".to_owned(),
            }),
        }
    }

    /// Keys of topic bindings may have so many `#` and no more (RabbitMQ since 4.3).
    pub(crate) fn check_binding_key(&self, source: &ExchangeName, key: &[u8]) -> Outcome<()> {
        let count = key.split(|&byte| byte == b'.').filter(|word| *word == b"#").count();
        if count <= TOPIC_HASH_COUNT_MAX {
            return Ok(());
        }
        let exchange = self.vhost().exchange(source.as_str());
        if exchange.is_none_or(|exchange| exchange.exchange_type != ExchangeType::Topic) {
            return Ok(());
        }
        let key = String::from_utf8_lossy(key);
        refusal::precondition_failed(format!(
            "Topic binding key '{key}' uses {count} '#' wildcards, at most {TOPIC_HASH_COUNT_MAX} are allowed"
        ))
    }

    /// Whether the user may publish to an exchange; asked once a route, not once a message.
    pub(crate) fn check_publish(&self, exchange: &[u8]) -> Outcome<()> {
        let Ok(name) = std::str::from_utf8(exchange) else {
            return self.vhost().no_exchange(exchange);
        };
        self.check_access(Access::Write, Resource::Exchange, name)
    }
}
