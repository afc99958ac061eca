//! Why a life of a link is over. Texts have no passwords.

use amqp_client::{CallError, Closed, OpenError};
use bridge::ConnectError;

use crate::status::LinkState;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("upstream: {0}")]
    UpstreamConnect(ConnectError),
    #[error("this broker: {0}")]
    HereConnect(ConnectError),
    #[error("upstream: {0}")]
    Upstream(Closed),
    #[error("this broker: {0}")]
    Here(Closed),
    #[error("upstream: {what}: {source}")]
    UpstreamRefused { what: String, source: CallError },
    #[error("this broker: {what}: {source}")]
    HereRefused { what: String, source: CallError },
    #[error("upstream: the channel was closed: {code} {text}")]
    UpstreamChannel { code: u16, text: String },
    #[error("this broker: the channel was closed: {code} {text}")]
    HereChannel { code: u16, text: String },
    #[error("upstream: the consumer was cancelled, probably because its queue was deleted")]
    Cancelled,
    #[error("this broker: a message was returned: {code} {text}")]
    Returned { code: u16, text: String },
    #[error("upstream: the link's exchange '{0}' was deleted")]
    ExchangeGone(String),
    #[error(
        "the federated exchange or queue was deleted, or its bindings change faster than the upstream accepts them"
    )]
    Unfollowed,
    #[error("the name '{0}' is longer than 255 bytes")]
    Unnameable(String),
}

impl Failure {
    /// Whether an upstream does not know the type of exchange that keeps messages from going round. RabbitMQ closes the channel then, and
    /// before 4.0 the connection.
    pub(crate) fn is_of_unknown_type(&self) -> bool {
        let text = match self {
            Failure::UpstreamRefused { source: CallError::Refused { text, .. }, .. }
            | Failure::UpstreamRefused { source: CallError::Closed(Closed::ByBroker { text, .. }), .. }
            | Failure::Upstream(Closed::ByBroker { text, .. }) => text,
            _ => return false,
        };
        text.contains("unknown exchange type") || text.contains("invalid exchange type")
    }

    /// What the link does after it.
    pub(crate) fn state(&self) -> LinkState {
        let reason = self.to_string().into();
        match self {
            Failure::UpstreamConnect(ConnectError::Open(
                OpenError::Refused { .. } | OpenError::LoginRefused { .. },
            ))
            | Failure::UpstreamConnect(ConnectError::Channel { .. })
            | Failure::Upstream(Closed::ByBroker { .. })
            | Failure::UpstreamRefused { .. }
            | Failure::UpstreamChannel { .. } => LinkState::Shutdown { reason },
            _ => LinkState::Error { reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_without_federation_says_so_on_either_way() {
        let refused = |source| Failure::UpstreamRefused { what: "bindings".to_owned(), source };
        let text = || "PRECONDITION_FAILED - unknown exchange type 'x-federation-upstream'".to_owned();
        assert!(refused(CallError::Refused { code: 406, text: text() }).is_of_unknown_type());
        let text = || "COMMAND_INVALID - unknown exchange type 'x-federation-upstream'".to_owned();
        assert!(refused(CallError::Closed(Closed::ByBroker { code: 503, text: text() })).is_of_unknown_type());
        let text = "NOT_FOUND - no exchange 'x' in vhost '/'".to_owned();
        assert!(!refused(CallError::Refused { code: 404, text }).is_of_unknown_type());
        assert!(!Failure::Cancelled.is_of_unknown_type());
    }

    #[test]
    fn a_link_is_shut_down_by_its_upstream_and_fails_by_itself() {
        let text = "CONNECTION_FORCED".to_owned();
        assert_eq!(Failure::Upstream(Closed::ByBroker { code: 320, text }).state().name(), "shutdown");
        assert_eq!(Failure::Here(Closed::ByUs).state().name(), "error");
        assert_eq!(Failure::Unfollowed.state().name(), "error");
    }
}
