//! What `model` says that this broker can do: asked, never listed here.

use model::arguments::{ExchangeType, QueueType};
use model::config;
use model::config::table::State;

/// What shows that a feature is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// This key of the configuration is honoured.
    Key(&'static str),
    /// Exchanges may be of this type.
    ExchangeType(&'static str),
    /// Queues may be of this type.
    QueueType(&'static str),
}

impl Sign {
    pub(crate) fn is_there(self) -> bool {
        match self {
            Sign::Key(key) => matches!(config::state_of(key), Some(State::Effective | State::AliasOf(_))),
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

/// What to do where a protocol is missing.
pub(crate) const KEEP_FOR_PROTOCOL: &str = "keep a RabbitMQ for these clients, or move them to AMQP 0-9-1; a shovel on this RabbitMQ \
    can move messages to Warren";
/// What to do where streams are missing.
pub(crate) const WITHOUT_STREAMS: &str = "use a quorum queue, with x-max-length or a TTL for retention, if each message is read once; \
    otherwise keep a RabbitMQ for it";
/// What to do where LDAP is missing.
pub(crate) const WITHOUT_LDAP: &str =
    "let an HTTP service query the directory (auth_backends.1 = http), use OAuth 2, or create internal users";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_asked() {
        assert!(Sign::Key("auth_http.user_path").is_there());
        assert!(!Sign::Key("auth_ldap.servers.1").is_there());
        assert!(!Sign::Key("no.such.key").is_there());
        assert!(Sign::ExchangeType("x-delayed-message").is_there());
        assert!(Sign::QueueType("quorum").is_there());
        assert!(!Sign::ExchangeType("x-foreign").is_there());
    }
}
