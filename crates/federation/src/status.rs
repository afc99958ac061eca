//! Which link, and what it reports of itself.

use std::fmt;
use std::time::SystemTime;

use model::name::VhostName;
use parking_lot::Mutex;

/// What is fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// An exchange, with what is published there and has a binding here.
    Exchange,
    /// A queue, with what waits there and has a consumer here.
    Queue,
}

impl LinkKind {
    /// RabbitMQ's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LinkKind::Exchange => "exchange",
            LinkKind::Queue => "queue",
        }
    }
}

/// Which link. A set may name an upstream twice, with another exchange or queue there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId {
    /// The vhost here.
    pub vhost: VhostName,
    /// What is fed.
    pub kind: LinkKind,
    /// The exchange or queue here.
    pub name: Box<str>,
    /// The name of the upstream.
    pub upstream: Box<str>,
    /// The exchange or queue there.
    pub upstream_name: Box<str>,
}

impl LinkId {
    /// What the link is called where it is to be restarted: eight hexadecimal digits, the same as long as it is the same link, also after
    /// a restart.
    #[must_use]
    pub fn key(&self) -> String {
        // FNV-1a. Each part ends with a byte that is in no UTF-8.
        let parts = [self.vhost.as_str(), self.kind.name(), &self.name, &self.upstream, &self.upstream_name];
        let bytes = parts.iter().flat_map(|part| part.bytes().chain([0xff]));
        let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        format!("{hash:08x}")
    }
}

impl fmt::Display for LinkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkId { vhost, kind, name, upstream, upstream_name: _ } = self;
        write!(f, "{} '{name}' in vhost '{vhost}' from upstream '{upstream}'", kind.name())
    }
}

/// What a link does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It connects, or declares.
    Starting,
    /// It brings what there is.
    Running {
        /// The name of its connection here.
        local_connection: Box<str>,
    },
    /// The upstream has closed what it had opened. It begins again after its delay.
    Shutdown {
        /// Why, without passwords.
        reason: Box<str>,
    },
    /// It has failed for another reason. It begins again after its delay.
    Error {
        /// Why, without passwords.
        reason: Box<str>,
    },
}

impl LinkState {
    /// What all states are called.
    pub const NAMES: [&str; 4] = ["error", "running", "shutdown", "starting"];

    /// RabbitMQ's word.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            LinkState::Starting => "starting",
            LinkState::Running { .. } => "running",
            LinkState::Shutdown { .. } => "shutdown",
            LinkState::Error { .. } => "error",
        }
    }

    /// Why it does not run, where it has failed.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            LinkState::Shutdown { reason } | LinkState::Error { reason } => Some(reason),
            LinkState::Starting | LinkState::Running { .. } => None,
        }
    }
}

/// A link as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkStatus {
    /// Which.
    pub id: LinkId,
    /// What RabbitMQ calls the consumer of a queue's link, whether or not it consumes now.
    pub consumer_tag: Box<str>,
    /// The upstream that it is connected to, or was last, without users.
    pub uri: Box<str>,
    /// What it does.
    pub state: LinkState,
    /// Since when.
    pub since: SystemTime,
}

/// What a link's task writes, and others read.
#[derive(Debug)]
pub(crate) struct StatusCell {
    status: Mutex<LinkStatus>,
}

impl StatusCell {
    pub(crate) fn new(id: LinkId, consumer_tag: Box<str>, uri: Box<str>) -> Self {
        let status = LinkStatus { id, consumer_tag, uri, state: LinkState::Starting, since: SystemTime::now() };
        StatusCell { status: Mutex::new(status) }
    }

    pub(crate) fn set_state(&self, state: LinkState) {
        let mut status = self.status.lock();
        status.state = state;
        status.since = SystemTime::now();
    }

    pub(crate) fn set_uri(&self, uri: &str) {
        self.status.lock().uri = uri.into();
    }

    pub(crate) fn status(&self) -> LinkStatus {
        self.status.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_keeps_its_key_and_others_have_others() {
        let id = |name: &str, upstream: &str| LinkId {
            vhost: VhostName::parse(b"/").unwrap(),
            kind: LinkKind::Exchange,
            name: name.into(),
            upstream: upstream.into(),
            upstream_name: "x".into(),
        };
        assert_eq!(id("a", "bc").key(), id("a", "bc").key());
        assert_ne!(id("a", "bc").key(), id("ab", "c").key());
        assert_eq!(id("a", "bc").key().len(), 8);
    }
}
