//! Clients' connections on their way to the node that leads.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use cluster::wire::{ForwardHeader, ListenerKind, NodeName};
use cluster::{ClusterNode, Links};
use tokio::sync::watch;

use super::host::ProcessHost;
use crate::node::{EntryPoint, Forward, ForwardedConnection, Forwarding};

/// The way to the node that leads, as long as that one does. A leader that fell silent closes nothing: a node that learns of another one
/// ends what it carries to it.
#[derive(Debug, Default)]
pub(super) struct Way(Option<(NodeName, watch::Sender<()>)>);

impl Way {
    /// Leads there from now on. Connections to another node end at once; connections to that one stay.
    fn lead_to(&mut self, leader: &NodeName) -> WayEnd {
        let (_, open) = match self.0.take() {
            Some(way) if way.0 == *leader => self.0.insert(way),
            _ => self.0.insert((leader.clone(), watch::channel(()).0)),
        };
        WayEnd(open.subscribe())
    }

    /// The carried connections end at once: that node no longer leads.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }
}

/// The end of a [`Way`], for the task that carries something on it.
#[derive(Debug, Clone)]
struct WayEnd(watch::Receiver<()>);

impl WayEnd {
    /// Waits for it.
    async fn come(&mut self) {
        // Nothing is ever sent: an error says that the sender was dropped, and the connection is closed.
        while self.0.changed().await.is_ok() {}
    }
}

/// Carries connections to the leader.
#[derive(Debug)]
pub(super) struct LinkForward {
    leader: NodeName,
    cluster: Arc<ClusterNode>,
    /// Ends what was carried when that node no longer leads.
    way_end: WayEnd,
    /// Ends what was carried when this node is to have no clients.
    own_refusal: watch::Receiver<Option<Arc<str>>>,
}

impl LinkForward {
    pub(super) fn to(leader: &NodeName, way: &mut Way, cluster: &Arc<ClusterNode>, host: &ProcessHost) -> Self {
        let way_end = way.lead_to(leader);
        LinkForward { leader: leader.clone(), cluster: cluster.clone(), way_end, own_refusal: host.own_refusal() }
    }

    fn links(&self) -> &Links {
        self.cluster.links()
    }
}

impl Forward for LinkForward {
    fn forward(&self, connection: ForwardedConnection) -> Forwarding<'_> {
        Box::pin(async move {
            let header = header_of(&connection);
            let mut way_end = self.way_end.clone();
            let carrier = tokio::select! {
                carrier = self.links().forward(&self.leader, &header) => carrier,
                () = way_end.come() => return Err(connection),
            };
            let carrier = match carrier {
                Ok(carrier) => carrier,
                Err(error) => {
                    tracing::debug!(%error, leader = self.leader.as_str(), "connection cannot be forwarded yet");
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
                // Either side may disconnect at any time.
                _ = net::splice(stream, received, carrier) => {}
                () = is_refused => {}
                () = way_end.come() => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> NodeName {
        NodeName::new(name).unwrap()
    }

    async fn has_ended(end: &mut WayEnd) -> bool {
        tokio::select! {
            biased;
            () = end.come() => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn what_is_carried_ends_when_another_node_leads() {
        let mut way = Way::default();
        let mut first = way.lead_to(&name("rabbit@a"));
        assert!(!has_ended(&mut first).await);
        let mut again = way.lead_to(&name("rabbit@a"));
        assert!(!has_ended(&mut first).await && !has_ended(&mut again).await, "the same node leads on");
        let mut second = way.lead_to(&name("rabbit@b"));
        assert!(has_ended(&mut first).await && has_ended(&mut again).await && !has_ended(&mut second).await);
        // This node leads, or is in a minority.
        way.end();
        assert!(has_ended(&mut second).await);
        assert!(!has_ended(&mut way.lead_to(&name("rabbit@b"))).await);
    }
}
