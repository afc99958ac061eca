//! How RabbitMQ's texts call the things of a vhost: `queue 'q' in vhost '/'`.

use std::fmt;

use crate::name::{ExchangeName, QueueName, VhostName};

/// A queue or exchange, to be named in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource<'a> {
    kind: &'static str,
    name: &'a str,
    vhost: &'a str,
}

impl<'a> Resource<'a> {
    /// A queue.
    #[must_use]
    pub fn queue(vhost: &'a VhostName, name: &'a QueueName) -> Resource<'a> {
        Resource { kind: QueueName::KIND, name: name.as_str(), vhost: vhost.as_str() }
    }

    /// An exchange.
    #[must_use]
    pub fn exchange(vhost: &'a VhostName, name: &'a ExchangeName) -> Resource<'a> {
        Resource { kind: ExchangeName::KIND, name: name.as_str(), vhost: vhost.as_str() }
    }
}

impl fmt::Display for Resource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}' in vhost '{}'", self.kind, self.name, self.vhost)
    }
}

/// Why a declaration is refused with 406 PRECONDITION_FAILED, in RabbitMQ's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PreconditionFailed(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_named_with_its_vhost() {
        let vhost = VhostName::parse(b"/").unwrap();
        let queue = QueueName::parse(b"q").unwrap();
        let exchange = ExchangeName::parse(b"").unwrap();
        assert_eq!(Resource::queue(&vhost, &queue).to_string(), "queue 'q' in vhost '/'");
        assert_eq!(Resource::exchange(&vhost, &exchange).to_string(), "exchange '' in vhost '/'");
    }
}
