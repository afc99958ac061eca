//! Why there is nothing to measure, and why a round was lost. Each is one sentence.

use std::io;
use std::time::Duration;

use amqp_client::{CallError, Closed, OpenError};
use net::{DialError, TlsSetupError};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{}", dial_sentence(.0))]
    Dial(#[from] DialError),
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
    #[error("{}", open_sentence(.0))]
    Open(#[from] OpenError),
    #[error(transparent)]
    Closed(#[from] Closed),
    /// A request on the connection that is kept.
    #[error("the broker refuses the {what}: {error}")]
    Refused { what: &'static str, error: CallError },
    #[error("no {what} within {} s", timeout.as_secs_f64())]
    TimedOut { what: &'static str, timeout: Duration },
    #[error("the broker blocks publishers: {reason}")]
    Blocked { reason: String },
    #[error("the broker closed the channel: {code} {text}")]
    ChannelClosed { code: u16, text: String },
    #[error("the broker returned the message: {0}")]
    Returned(String),
    #[error("the broker refused the message (basic.nack)")]
    Nacked,
    #[error("the queue was deleted")]
    QueueDeleted,
    #[error("cannot generate a name for the queue: {0}")]
    Random(getrandom::Error),
}

impl Failure {
    /// What the error of a request is.
    pub(crate) fn of_call(what: &'static str, error: CallError) -> Self {
        match error {
            CallError::Closed(closed) => Failure::Closed(closed),
            CallError::TimedOut(timeout) => Failure::TimedOut { what, timeout },
            CallError::Refused { .. } => Failure::Refused { what, error },
        }
    }

    /// Whether it only took too long: the next round may be quicker. Anything else will be the same, unless a round was completed before.
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(
            self,
            Failure::TimedOut { .. }
                | Failure::Dial(DialError::TimedOut { .. })
                | Failure::Open(OpenError::TimedOut { .. } | OpenError::Dial(DialError::TimedOut { .. }))
        )
    }
}

fn dial_sentence(error: &DialError) -> String {
    match error {
        // What answers there begins with no record of TLS: rustls reports that in its own words.
        DialError::Tls { host, port, source } if source.to_string().contains("InvalidContentType") => {
            format!("{host}:{port} does not speak TLS, which amqps:// asks for")
        }
        // A peer that does not understand may close the socket so soon that nothing of its answer arrives.
        DialError::Tls { host, port, source } if is_cut_off(source) => {
            format!("{host}:{port} ended the TLS handshake, and may not speak TLS: {source}")
        }
        other => other.to_string(),
    }
}

fn is_cut_off(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe)
}

fn open_sentence(error: &OpenError) -> String {
    match error {
        OpenError::Dial(error) => dial_sentence(error),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tls_failed(reason: &str) -> Failure {
        let source = io::Error::new(io::ErrorKind::InvalidData, reason);
        Failure::Dial(DialError::Tls { host: "h".to_owned(), port: 5672, source })
    }

    #[test]
    fn plain_port_is_said_to_be_one() {
        let plain = tls_failed("received corrupt message of type InvalidContentType");
        assert_eq!(plain.to_string(), "h:5672 does not speak TLS, which amqps:// asks for");
        let source = io::Error::new(io::ErrorKind::UnexpectedEof, "tls handshake eof");
        let cut_off = Failure::Dial(DialError::Tls { host: "h".to_owned(), port: 5672, source });
        let expected = "h:5672 ended the TLS handshake, and may not speak TLS: tls handshake eof";
        assert_eq!(cut_off.to_string(), expected);
        let untrusted = tls_failed("invalid peer certificate: UnknownIssuer");
        assert_eq!(untrusted.to_string(), "TLS with h:5672 failed: invalid peer certificate: UnknownIssuer");
    }

    #[test]
    fn only_what_took_too_long_may_pass() {
        let timeout = Duration::from_millis(1_500);
        let late = Failure::of_call("answer", CallError::TimedOut(timeout));
        assert_eq!((late.to_string().as_str(), late.is_timeout()), ("no answer within 1.5 s", true));
        let address = || "h:5672".to_owned();
        assert!(Failure::Open(OpenError::TimedOut { address: address(), timeout }).is_timeout());
        assert!(Failure::Dial(DialError::TimedOut { host: "h".to_owned(), port: 1, timeout }).is_timeout());
        let refused = OpenError::Refused { address: address(), code: 530, text: "no".to_owned(), has_logged_in: true };
        assert!(!Failure::Open(refused).is_timeout());
        assert!(!Failure::Blocked { reason: "low on memory".to_owned() }.is_timeout());
        assert!(!tls_failed("").is_timeout());
    }

    #[test]
    fn refused_request_is_named() {
        let refused = CallError::Refused { code: 403, text: "ACCESS_REFUSED - no".to_owned() };
        let failure = Failure::of_call("queue", refused);
        assert_eq!(failure.to_string(), "the broker refuses the queue: 403 ACCESS_REFUSED - no");
    }
}
