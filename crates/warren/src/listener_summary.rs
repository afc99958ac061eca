//! A listener as people and the API are shown it.

use std::fmt;
use std::sync::Arc;

use management::ListenerInfo;
use net::{Gate, ListenerAddress, ServerTls};

/// A listener, for people.
#[derive(Debug, Clone)]
pub(crate) struct ListenerSummary {
    pub(crate) address: ListenerAddress,
    /// What is spoken there.
    pub(crate) protocol: &'static str,
    pub(crate) tls: Option<Arc<ServerTls>>,
    /// What suspends it, if anything does.
    pub(crate) gate: Option<Gate>,
}

/// What listeners speak.
pub(crate) const AMQP: &str = "AMQP 0-9-1";

impl fmt::Display for ListenerSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}{})", self.address, self.protocol, if self.tls.is_some() { ", TLS" } else { "" })
    }
}

impl ListenerSummary {
    /// As the API shows it; `None` for Unix-domain sockets.
    pub(crate) fn info(&self) -> Option<ListenerInfo> {
        let ListenerAddress::Tcp(address) = self.address else { return None };
        let protocol = match (self.protocol, self.tls.is_some()) {
            (AMQP, false) => "amqp",
            (AMQP, true) => "amqp/ssl",
            (PROMETHEUS, false) => "http/prometheus",
            (PROMETHEUS, true) => "https/prometheus",
            // Not one of the API's, and counted as none.
            (QUEUE_INFO, _) => "queue-info",
            (_, false) => "http",
            (_, true) => "https",
        };
        Some(ListenerInfo {
            protocol: protocol.to_owned(),
            ip: address.ip(),
            port: address.port(),
            tls: self.tls.clone(),
            gate: self.gate.clone(),
        })
    }
}

/// What the listeners speak.
pub(crate) const HTTP: &str = "HTTP API";

pub(crate) const PROMETHEUS: &str = "Prometheus metrics";

pub(crate) const QUEUE_INFO: &str = "list of queues";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_says_what_it_speaks() {
        let address = ListenerAddress::Tcp("127.0.0.1:5671".parse().unwrap());
        let listening = ListenerSummary { address, protocol: AMQP, tls: None, gate: None };
        assert_eq!(listening.to_string(), "127.0.0.1:5671 (AMQP 0-9-1)");
    }
}
