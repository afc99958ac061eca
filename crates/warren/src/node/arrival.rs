//! A connection that has been let in, and by which kind of listener.

use std::net::SocketAddr;
use std::sync::Arc;

use broker::{Interface, Origin};
use management::{AmqpSink, ConnectionLimits, HttpClient};
use net::Stream;

use crate::connection_limiter::ConnectionPermits;

/// Which kind of listener a connection came in by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryPoint {
    Amqp,
    Api,
    /// The short list of queues, and nothing else.
    QueueInfo,
    /// Compressed for clients that accept that, or not.
    Metrics {
        compress: bool,
    },
    /// The socket in the data directory.
    ControlSocket,
}

impl EntryPoint {
    fn origin(self, peer: SocketAddr) -> Origin {
        match self {
            EntryPoint::Amqp => Origin { peer: Some(peer), interface: Interface::Amqp },
            EntryPoint::ControlSocket => Origin { peer: None, interface: Interface::ControlSocket },
            EntryPoint::Api | EntryPoint::QueueInfo | EntryPoint::Metrics { .. } => {
                Origin { peer: Some(peer), interface: Interface::Http }
            }
        }
    }
}

/// A connection that has been let in.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) stream: Stream,
    /// The other side, as the listener saw it: for streams that do not know.
    pub(crate) peer: SocketAddr,
    pub(crate) entry: EntryPoint,
    /// What it may cost, where it speaks HTTP.
    pub(crate) limits: ConnectionLimits,
    /// The places that it keeps while it is open.
    pub(crate) permits: ConnectionPermits,
    /// What has been read of it already.
    pub(crate) received: Vec<u8>,
    /// The name of the node that was asked, if that is another one.
    pub(crate) forwarded_by: Option<Arc<str>>,
    /// It asks for a WebSocket, as far as that has been looked at.
    pub(crate) is_websocket: bool,
}

impl Arrival {
    pub(crate) fn of_amqp(stream: Stream, peer: SocketAddr, permits: ConnectionPermits) -> Self {
        Self::of_http(stream, peer, permits, EntryPoint::Amqp, ConnectionLimits::default())
    }

    pub(crate) fn of_http(
        stream: Stream,
        peer: SocketAddr,
        permits: ConnectionPermits,
        entry: EntryPoint,
        limits: ConnectionLimits,
    ) -> Self {
        let peer = stream.peer_addr().unwrap_or(peer);
        Self { stream, peer, entry, limits, permits, received: Vec::new(), forwarded_by: None, is_websocket: false }
    }

    /// Whether a client sends and receives messages by it, or will. Connections of operators and for metrics do not.
    pub(super) fn is_clients(&self) -> bool {
        match self.entry {
            EntryPoint::Amqp | EntryPoint::QueueInfo => true,
            EntryPoint::Api => self.is_websocket,
            EntryPoint::Metrics { .. } | EntryPoint::ControlSocket => false,
        }
    }

    /// As a client of the HTTP server.
    pub(super) fn into_http(self, amqp: Option<AmqpSink>) -> (Stream, HttpClient) {
        let Arrival { stream, peer, entry, limits, permits, received, forwarded_by, .. } = self;
        let (origin, permit) = (entry.origin(peer), Arc::new(permits));
        (stream, HttpClient { origin, limits, amqp, permit, received, forwarded_by })
    }
}
