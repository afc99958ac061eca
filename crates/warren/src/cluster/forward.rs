//! Clients' connections on their way to the node that leads.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use cluster::link::{ForwardHeader, ListenerKind, NodeName};
use cluster::{ClusterNode, Links};
use tokio::sync::watch;

use super::host::ProcessHost;
use crate::node::{EntryPoint, Forward, ForwardedConnection, Forwarding};

/// The way to the leader.
#[derive(Debug)]
pub(super) struct LinkForward {
    leader: NodeName,
    cluster: Arc<ClusterNode>,
    /// Ends what was carried when this node is to have no clients.
    own_refusal: watch::Receiver<Option<Arc<str>>>,
}

impl LinkForward {
    pub(super) fn to(leader: &NodeName, cluster: &Arc<ClusterNode>, host: &ProcessHost) -> Self {
        LinkForward { leader: leader.clone(), cluster: cluster.clone(), own_refusal: host.own_refusal() }
    }

    fn links(&self) -> &Links {
        self.cluster.links()
    }
}

impl Forward for LinkForward {
    fn forward(&self, connection: ForwardedConnection) -> Forwarding<'_> {
        Box::pin(async move {
            let header = header_of(&connection);
            let carrier = match self.links().forward(&self.leader, &header).await {
                Ok(carrier) => carrier,
                Err(error) => {
                    tracing::debug!(%error, leader = self.leader.as_str(), "a connection cannot be passed on yet");
                    return Err(connection);
                }
            };
            let ForwardedConnection { stream, received, is_clients, .. } = connection;
            let mut own_refusal = self.own_refusal.clone();
            let is_refused = async {
                match is_clients {
                    true => drop(own_refusal.wait_for(Option::is_some).await),
                    false => std::future::pending::<()>().await,
                }
            };
            tokio::select! {
                // Either side may go at any time.
                _ = net::splice(stream, received, carrier) => {}
                () = is_refused => {}
            }
            Ok(())
        })
    }
}

/// Which listeners of HTTP are meant by numbers.
const OF_HTTP: [EntryPoint; 3] = [EntryPoint::Api, EntryPoint::QueueInfo, EntryPoint::ControlSocket];

fn header_of(connection: &ForwardedConnection) -> ForwardHeader {
    let ForwardedConnection { entry, stream, .. } = connection;
    let number = OF_HTTP.iter().position(|of_http| of_http == entry);
    let unknown = || SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    ForwardHeader {
        listener: match number {
            None => ListenerKind::Amqp,
            Some(_) => ListenerKind::Management,
        },
        number: number.unwrap_or_default() as u16,
        peer: stream.peer_addr().unwrap_or_else(|_| unknown()),
        local: stream.local_addr().unwrap_or_else(|_| unknown()),
        tls: stream.tls_info(),
    }
}

/// Where a connection came in that another node passes on. `None`: nothing that this program knows.
pub(super) fn entry_of(header: &ForwardHeader) -> Option<EntryPoint> {
    match header.listener {
        ListenerKind::Amqp => Some(EntryPoint::Amqp),
        ListenerKind::Management => OF_HTTP.get(usize::from(header.number)).copied(),
        ListenerKind::Metrics => None,
    }
}
