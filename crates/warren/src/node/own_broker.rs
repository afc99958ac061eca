//! The process's own broker, for what joins it with others: shovels and links of federation.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use bridge::{OwnConnection, TlsFiles};
use broker::Broker;
use model::config::LinkOptions;
use net::Stream;
use tokio::runtime::Handle;

/// What both are given of it.
pub(super) struct OwnBroker {
    broker: Weak<Broker>,
    runtime: Handle,
    allowed_hosts: Vec<String>,
    tls_files: TlsFiles,
}

impl OwnBroker {
    /// Of this broker, to be asked on this runtime. Where the list is empty, all hosts may be connected to.
    pub(super) fn new(broker: &Arc<Broker>, options: &LinkOptions) -> Self {
        let LinkOptions { allowed_hosts, tls_directories } = options.clone();
        let tls_files = TlsFiles::new(tls_directories.into_iter().map(PathBuf::from).collect());
        Self { broker: Arc::downgrade(broker), runtime: Handle::current(), allowed_hosts, tls_files }
    }

    /// The broker, unless it has stopped.
    pub(super) fn broker(&self) -> Option<Arc<Broker>> {
        self.broker.upgrade()
    }
}

impl bridge::Host for OwnBroker {
    fn connect(&self, is_trusted: bool) -> io::Result<OwnConnection> {
        let Some(broker) = self.broker.upgrade() else { return Err(io::ErrorKind::ConnectionRefused.into()) };
        let (ours, its) = Stream::pair()?;
        let (name, serving) = broker.serve_own(its, is_trusted);
        self.runtime.spawn(serving);
        Ok(OwnConnection { stream: ours, name: name.into() })
    }

    fn permits(&self, host: &str) -> bool {
        self.allowed_hosts.is_empty() || self.allowed_hosts.iter().any(|pattern| is_like(pattern, host))
    }

    fn tls_files(&self) -> &TlsFiles {
        &self.tls_files
    }

    fn cluster_name(&self) -> String {
        self.broker.upgrade().map(|broker| broker.cluster_name()).unwrap_or_default()
    }
}

/// Whether the pattern names a host: by its name, or as one below a domain (`*.example.com`).
fn is_like(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(rest) => {
            let start = host.len().checked_sub(rest.len());
            start.is_some_and(|start| host.as_bytes()[start..].eq_ignore_ascii_case(rest.as_bytes()))
        }
        None => pattern.eq_ignore_ascii_case(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_meant_by_name_or_domain() {
        for (pattern, host, expected) in [
            ("a.example", "A.example", true),
            ("a.example", "b.example", false),
            ("*.example", "a.b.example", true),
            ("*.example", "example", false),
            ("*", "anything", true),
        ] {
            assert_eq!(is_like(pattern, host), expected, "{pattern} {host}");
        }
    }
}
