//! Bindings: made and removed.

use amqp::limits::SHORT_STR_LEN_MAX;
use amqp::table::Value;
use model::arguments::{ExchangeType, QueueType};
use model::definition;
use model::erlang::value_term;
use model::user::{Access, TopicAccess};
use routing::{BindError, BindingSpec, Destination, InvalidWeight, WEIGHT_MAX, parse_weight};

use super::VhostAccess;
use super::exchanges::default_exchange;
use crate::binding_request::{BindingEnd, BindingRequest};
use crate::changed::Changed;
use crate::events::Event;
use crate::permissions::{Permitted, Resource};
use crate::reply_to;
use crate::vhost::Removal;
use model::refusal::{self, Outcome, RefusalKind};

/// So many `#` may be in the key of a topic binding (RabbitMQ since 4.3).
const BINDING_HASH_COUNT_MAX: usize = 2;

impl VhostAccess {
    /// Binds. Doing it twice is the same as once.
    pub fn bind(&self, request: &BindingRequest<'_>) -> Outcome<Changed> {
        let permitted = self.check_binding(request)?;
        self.check_binding_key(request)?;
        let permitted = self.check_binding_topic(permitted, request)?;
        let (id, destination) = match self.ends(request) {
            // Where both ends are missing RabbitMQ speaks of the exchange.
            Err(_) if self.vhost.exchange(request.source.as_str()).is_none() => {
                return self.vhost.no_exchange(request.source.as_bytes());
            }
            ends => ends?,
        };
        self.check_destination(request, &id)?;
        self.add_binding(permitted.with((id, destination)), request)
    }

    fn add_binding(
        &self,
        ends: Permitted<(Destination<'_>, definition::Destination)>,
        request: &BindingRequest<'_>,
    ) -> Outcome<Changed> {
        let (id, destination) = ends.into_inner();
        let spec = spec_of(request, id);
        match self.vhost.bind(&self.broker, &spec, destination) {
            Ok((mut changed, history)) => {
                if changed.is_new {
                    self.emit(|| Event::binding_created(self.vhost.name(), request));
                    changed.position.add(self.vhost.hand_over(&self.broker, &history, &id));
                }
                Ok(changed)
            }
            Err(error) => self.refuse_binding(error, request),
        }
    }

    /// Unbinds. What is not bound is left as it is.
    pub fn unbind(&self, request: &BindingRequest<'_>) -> Outcome<Changed> {
        let permitted = self.check_binding(request)?;
        let permitted = self.check_binding_topic(permitted, request)?;
        let id = match self.ends(request) {
            Ok((id, _)) => id,
            // Unbinding what is not there is as good as unbinding it.
            Err(refusal) if refusal.kind == RefusalKind::NotFound => return Ok(Changed::default()),
            Err(refusal) => return Err(refusal),
        };
        self.remove_binding(permitted.with(id), request)
    }

    fn remove_binding(&self, end: Permitted<Destination<'_>>, request: &BindingRequest<'_>) -> Outcome<Changed> {
        match self.vhost.unbind(&self.broker, &spec_of(request, end.into_inner())) {
            Ok(Removal { removed, position }) => {
                self.emit_removals(&removed);
                Ok(Changed { is_new: false, position })
            }
            Err(BindError::SourceMissing | BindError::DestinationMissing) => Ok(Changed::default()),
            Err(error) => self.refuse_binding(error, request),
        }
    }

    /// Binding needs write access to where messages go, and read access to where they come from.
    fn check_binding(&self, request: &BindingRequest<'_>) -> Outcome<Permitted> {
        if request.source.is_default() {
            return default_exchange();
        }
        if let BindingEnd::Queue(name) = request.destination
            && reply_to::is_address(name.as_bytes())
        {
            return refusal::access_refused("cannot bind or unbind to a volatile (direct reply-to) queue");
        }
        let destination = match request.destination {
            BindingEnd::Queue(name) => self.check(Access::Write, Resource::Queue, name.as_str())?,
            BindingEnd::Exchange(name) if name.is_default() => return default_exchange(),
            BindingEnd::Exchange(name) => self.check(Access::Write, Resource::Exchange, name.as_str())?,
        };
        Ok(destination.and(self.check(Access::Read, Resource::Exchange, request.source.as_str())?))
    }

    fn check_binding_topic(&self, permitted: Permitted, request: &BindingRequest<'_>) -> Outcome<Permitted> {
        self.check_topics(permitted, TopicAccess::Read, request.source.as_str(), &[request.routing_key])
    }

    /// Finds a queue by its name; exchanges are known by theirs.
    fn ends<'a>(&self, request: &BindingRequest<'a>) -> Outcome<(Destination<'a>, definition::Destination)> {
        Ok(match request.destination {
            BindingEnd::Queue(name) => {
                let queue = self.own_queue(name)?;
                (Destination::Queue(queue.id()), definition::Destination::Queue(name.clone()))
            }
            BindingEnd::Exchange(name) => {
                (Destination::Exchange(name.as_bytes()), definition::Destination::Exchange(name.clone()))
            }
        })
    }

    fn check_binding_key(&self, request: &BindingRequest<'_>) -> Outcome<()> {
        check_hashes(request.routing_key, || {
            let routing_type = self.vhost.routing_type(request.source.as_bytes());
            routing_type.and_then(|kind| ExchangeType::parse(kind.name().as_bytes()).ok())
        })
    }

    /// A local random exchange takes classic queues only, without a key.
    fn check_destination(&self, request: &BindingRequest<'_>, destination: &Destination<'_>) -> Outcome<()> {
        if self.vhost.routing_type(request.source.as_bytes()) != Some(routing::ExchangeType::LocalRandom) {
            return Ok(());
        }
        if let BindingEnd::Exchange(name) = request.destination
            && self.vhost.routing_type(name.as_bytes()).is_none()
        {
            return self.vhost.no_exchange(name.as_bytes());
        }
        check_local(request)?;
        match destination {
            Destination::Queue(id) => {
                match self.vhost.queue_of(*id).map(|queue| queue.definition.arguments.queue_type()) {
                    None | Some(QueueType::Classic) => Ok(()),
                    Some(other) => refusal::precondition_failed(format!(
                        "Queue type {} not valid for this exchange type",
                        other.module()
                    )),
                }
            }
            Destination::Exchange(_) => Ok(()),
        }
    }

    /// The text for a binding that could not be.
    fn refuse_binding<T>(&self, error: BindError, request: &BindingRequest<'_>) -> Outcome<T> {
        match error {
            BindError::DefaultExchange => default_exchange(),
            BindError::SourceMissing => self.vhost.no_exchange(request.source.as_bytes()),
            BindError::DestinationMissing => match request.destination {
                BindingEnd::Exchange(name) => self.vhost.no_exchange(name.as_bytes()),
                BindingEnd::Queue(name) => self.vhost.no_queue(name.as_str()),
            },
            BindError::InvalidMatch => invalid_match(request),
            BindError::InvalidWeight(error) => invalid_weight(error, request),
        }
    }
}

/// What can be wrong with a new binding from an exchange of this type, whatever else is there.
pub(crate) fn check_new_binding(source: ExchangeType, request: &BindingRequest<'_>) -> Outcome<()> {
    let is_to_default = matches!(request.destination, BindingEnd::Exchange(name) if name.is_default());
    if request.source.is_default() || is_to_default {
        return default_exchange();
    }
    if request.routing_key.len() > SHORT_STR_LEN_MAX {
        let len = request.routing_key.len();
        return refusal::precondition_failed(format!(
            "the routing key has {len} bytes, at most {SHORT_STR_LEN_MAX} are allowed"
        ));
    }
    check_hashes(request.routing_key, || Some(source))?;
    if source == ExchangeType::Headers && !routing::is_valid_match(request.arguments) {
        return invalid_match(request);
    }
    match source {
        ExchangeType::ConsistentHash => {
            parse_weight(request.routing_key).map(drop).or_else(|error| invalid_weight(error, request))
        }
        ExchangeType::LocalRandom => check_local(request),
        _ => Ok(()),
    }
}

/// The type of the source is asked for only where it matters.
fn check_hashes(routing_key: &[u8], source: impl FnOnce() -> Option<ExchangeType>) -> Outcome<()> {
    let words = routing_key.split(|&byte| byte == b'.');
    let count = words.filter(|word| *word == b"#").count();
    if count <= BINDING_HASH_COUNT_MAX || source() != Some(ExchangeType::Topic) {
        return Ok(());
    }
    let key = String::from_utf8_lossy(routing_key);
    refusal::precondition_failed(format!(
        "Topic binding key '{key}' uses {count} '#' wildcards, at most {BINDING_HASH_COUNT_MAX} are allowed"
    ))
}

fn invalid_match<T>(request: &BindingRequest<'_>) -> Outcome<T> {
    refusal::precondition_failed(match request.arguments.get("x-match") {
        Some(Value::LongStr(value)) => format!(
            "Invalid x-match field value <<\"{}\">>; expected all, any, all-with-x, or any-with-x",
            String::from_utf8_lossy(value)
        ),
        Some(other) => {
            let shown = other.as_i64().map_or_else(|| format!("{other:?}"), |number| number.to_string());
            format!("Invalid x-match field type {} (value {shown}); expected longstr", other.type_name())
        }
        None => "Invalid x-match".to_owned(),
    })
}

fn invalid_weight<T>(error: InvalidWeight, request: &BindingRequest<'_>) -> Outcome<T> {
    refusal::precondition_failed(match error {
        InvalidWeight::NotAnInteger => {
            format!("The binding key must be an integer: {}", value_term(&Value::LongStr(request.routing_key)))
        }
        InvalidWeight::TooSmall => "The binding key must be greater than 0".to_owned(),
        InvalidWeight::TooLarge => format!("The binding key must not exceed {WEIGHT_MAX}"),
    })
}

/// A local random exchange takes queues on its node only, and no key.
fn check_local(request: &BindingRequest<'_>) -> Outcome<()> {
    let text = if !request.routing_key.is_empty() {
        format!("Non empty binding '{}' key not permitted", String::from_utf8_lossy(request.routing_key))
    } else if matches!(request.destination, BindingEnd::Exchange(_)) {
        "Destination not found".to_owned()
    } else {
        return Ok(());
    };
    refusal::precondition_failed(text)
}

fn spec_of<'a>(request: &BindingRequest<'a>, destination: Destination<'a>) -> BindingSpec<'a> {
    let BindingRequest { source, routing_key, arguments, .. } = *request;
    BindingSpec { source: source.as_bytes(), destination, routing_key, arguments }
}
