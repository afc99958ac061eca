//! Why a life of a link is over. Texts have no passwords.

use bridge::ConnectError;
use client::{CallError, Closed, OpenError};

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
    #[error("upstream: the consumer was cancelled, as it is when its queue is deleted")]
    Cancelled,
    #[error("this broker: a message was returned: {code} {text}")]
    Returned { code: u16, text: String },
    #[error("upstream: the exchange '{0}' of the link is gone")]
    ExchangeGone(String),
    #[error("what is fed is gone, or its bindings change faster than the upstream takes them")]
    Unfollowed,
    #[error("the name '{0}' has more than 255 bytes")]
    Unnameable(String),
}

impl Failure {
    /// Whether an upstream does not know the type of exchange that keeps messages from going round: it closes the connection then.
    pub(crate) fn is_of_unknown_type(&self) -> bool {
        const COMMAND_INVALID: u16 = 503;
        matches!(
            self,
            Failure::UpstreamRefused { source: CallError::Closed(Closed::ByBroker { code: COMMAND_INVALID, .. }), .. }
                | Failure::Upstream(Closed::ByBroker { code: COMMAND_INVALID, .. })
        )
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
