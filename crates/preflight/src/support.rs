//! What `model` says that this broker can do: asked, never listed here.

use model::arguments::{ExchangeType, QueueType};
use model::config::table::State;
use model::{config, parameter, policy};

/// What shows that a feature is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// This key of the configuration is honoured.
    Key(&'static str),
    /// Parameters of this component are taken.
    Component(&'static str),
    /// Policies may have this key.
    PolicyKey(&'static str),
    /// Exchanges may be of this type.
    ExchangeType(&'static str),
    /// Queues may be of this type.
    QueueType(&'static str),
}

impl Sign {
    pub(crate) fn is_there(self) -> bool {
        match self {
            Sign::Key(key) => matches!(config::state_of(key), Some(State::Effective | State::AliasOf(_))),
            Sign::Component(name) => parameter::COMPONENTS.contains(&name),
            Sign::PolicyKey(key) => policy::is_built(key),
            Sign::ExchangeType(name) => ExchangeType::parse(name.as_bytes()).is_ok_and(ExchangeType::is_built),
            Sign::QueueType(name) => QueueType::parse(name.as_bytes()).is_some_and(QueueType::is_built),
        }
    }
}

pub(crate) const MQTT: Sign = Sign::Key("mqtt.listeners.tcp.default");
pub(crate) const WEB_MQTT: Sign = Sign::Key("web_mqtt.tcp.port");
pub(crate) const STOMP: Sign = Sign::Key("stomp.listeners.tcp.default");
pub(crate) const WEB_STOMP: Sign = Sign::Key("web_stomp.tcp.port");
pub(crate) const AMQP_1_0: Sign = Sign::Key("amqp1_0.default_user");
pub(crate) const STREAMS: Sign = Sign::QueueType("stream");
pub(crate) const SHOVELS: Sign = Sign::Component(parameter::SHOVEL);
pub(crate) const FEDERATION: Sign = Sign::PolicyKey("federation-upstream");

/// What to do where a protocol is missing.
pub(crate) const KEEP_FOR_PROTOCOL: &str = "keep a RabbitMQ for these clients, or move them to AMQP 0-9-1; \
    a shovel on that RabbitMQ can pass messages on to this broker";
/// What to do where shovels are missing.
pub(crate) const SHOVEL_ELSEWHERE: &str = "run the shovel on another RabbitMQ, which connects to this broker by AMQP 0-9-1, \
    or let an application pass the messages on";
/// What to do where federation is missing.
pub(crate) const FEDERATION_ELSEWHERE: &str = "let the other side send: a shovel on the upstream RabbitMQ publishes to this broker by AMQP \
    0-9-1, or an application passes the messages on";
/// What to do where streams are missing.
pub(crate) const WITHOUT_STREAMS: &str = "make it a quorum queue, with x-max-length or a TTL for retention, if each message is read \
    once; otherwise keep a RabbitMQ for it";
/// What to do where LDAP is missing.
pub(crate) const WITHOUT_LDAP: &str =
    "let an HTTP service ask the directory (auth_backends.1 = http), use OAuth 2, or make internal users";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_asked() {
        assert!(Sign::Key("auth_http.user_path").is_there());
        assert!(!Sign::Key("auth_ldap.servers.1").is_there());
        assert!(!Sign::Key("no.such.key").is_there());
        assert!(Sign::Component("shovel").is_there());
        assert!(!Sign::Component("ticker").is_there());
        assert!(Sign::PolicyKey("max-length").is_there());
        assert!(Sign::ExchangeType("x-delayed-message").is_there());
        assert!(Sign::QueueType("quorum").is_there());
        assert!(!Sign::ExchangeType("x-foreign").is_there());
    }
}
