//! Why a user's script ended before its end.

use std::collections::HashSet;
use std::mem::Discriminant;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use amqp_client::{Closed, OpenError};

use super::template::UnknownVariable;
use http_client::{HttpError, HttpUrlError};

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Variable(#[from] UnknownVariable),
    #[error("the user is not connected")]
    NotConnected,
    #[error("the user is connected already")]
    AlreadyConnected,
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Closed(#[from] Closed),
    /// The broker closed the channel.
    #[error("the broker closed the channel: {code} {text}")]
    Refused { code: u16, text: String },
    #[error("the broker has not answered within {} s", .0.as_secs_f64())]
    NoAnswer(Duration),
    #[error("the name '{0}' is longer than 255 bytes")]
    TooLong(String),
    #[error("the broker has refused {0} of the messages")]
    Nacked(u64),
    #[error("{came} of {count} messages arrived within {} s", timeout.as_secs_f64())]
    TooFew { came: u64, count: u32, timeout: Duration },
    #[error("{came} of {count} messages arrived, and the consumer no longer exists")]
    NoConsumer { came: u64, count: u32 },
    #[error("expected {min} to {max} messages in queue '{queue}', which has {ready}")]
    QueueLength { queue: String, min: u32, max: u32, ready: u32 },
    #[error("expected to have received {min} to {max} messages, not {received}")]
    Received { min: u64, max: u64, received: u64 },
    #[error("expected \"{expected}\", not \"{value}\"")]
    Value { expected: String, value: String },
    #[error(transparent)]
    Url(#[from] HttpUrlError),
    #[error("no management URL is set")]
    NoManagement,
    #[error("{url}: {error}")]
    Http { url: String, error: HttpError },
    #[error("{url} answered {status}, not {expected}")]
    Status { url: String, status: u16, expected: u16 },
}

impl Failure {
    /// What makes two failures of a step the same, whatever names and numbers are in them.
    fn kind(&self) -> (Discriminant<Self>, u16) {
        let code = match self {
            Failure::Refused { code, .. } | Failure::Closed(Closed::ByBroker { code, .. }) => *code,
            Failure::Status { status, .. } => *status,
            _ => 0,
        };
        (std::mem::discriminant(self), code)
    }
}

/// Failures of a group that were reported: the first of each kind, and not too many.
#[derive(Debug, Default)]
pub(crate) struct ReportedFailures(Mutex<HashSet<(usize, Discriminant<Failure>, u16)>>);

impl ReportedFailures {
    /// So many are reported at most.
    const COUNT_MAX: usize = 10;

    /// Whether this failure of an instruction is to be reported: notes it as reported then.
    pub(crate) fn is_new(&self, instruction: usize, failure: &Failure) -> bool {
        let (kind, code) = failure.kind();
        let mut reported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reported.len() < Self::COUNT_MAX && reported.insert((instruction, kind, code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_failure_is_reported_once_for_each_step() {
        let reported = ReportedFailures::default();
        let refused = |code, name: &str| Failure::Refused { code, text: format!("no queue '{name}'") };
        assert!(reported.is_new(0, &refused(404, "a")));
        assert!(!reported.is_new(0, &refused(404, "b")));
        assert!(reported.is_new(0, &refused(403, "a")));
        assert!(reported.is_new(1, &refused(404, "a")));
        assert!(reported.is_new(0, &Failure::NotConnected));
        let more = (2..100).filter(|step| reported.is_new(*step, &Failure::NotConnected)).count();
        assert_eq!(more, ReportedFailures::COUNT_MAX - 4);
    }
}
