//! Where accepted connections go: to this node's broker, to another node, or nowhere yet. What is done is decided once a connection, when
//! it has been let in; a node that is alone always serves.
//!
//! ```text
//!  listeners ─► Acceptor ─► Ingress ─┬─ Serving ────► broker, HTTP sites
//!                                    ├─ Forwarding ─► another node's Ingress::admit_forwarded
//!                                    ├─ Waiting ────► held until that changes, for a while
//!                                    └─ Refusing ───► refused with the reason: 320, 503
//! ```
//!
//! What this node answers itself over HTTP while no broker runs on it is answered here: see [`LocalSites`].

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use management::{
    Absent, AmqpSink, ConnectionGroup, ConnectionLimits, LocalSite, RequestLine, Site, read_request_line,
};
use net::Stream;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use super::arrival::{Arrival, EntryPoint};
use super::doorkeeper::doorkeeper;
use super::serving::Serving;
use crate::connection_limiter::{ConnectionLimiter, ConnectionPermits, GlobalLimit};
use crate::http_sites::LocalSites;

/// How long a connection is held while it is not known which node leads.
const HOLD_TIME: Duration = Duration::from_secs(5);

/// How long a connection that another node has passed on is held by one that knows of another leader: it may be about to lead.
const TAKE_OVER_TIME: Duration = Duration::from_millis(500);

/// How soon it is tried again to reach the node that leads, while a connection is held.
const RETRY_TIME: Duration = Duration::from_millis(100);

/// What the operator reads when a request that is not about this node has been held for long enough.
const NO_LEADER: &str = "no leader can be reached: this node answers only requests about itself and its cluster";

/// What becomes of connections.
#[derive(Debug, Clone)]
pub(crate) enum Situation {
    /// This node's broker serves them.
    Serving(Arc<Serving>),
    /// Another node's does.
    Forwarding(Arc<dyn Forward>),
    /// It is not known which node's does.
    Waiting,
    /// None does, for this reason.
    Refusing(Arc<str>),
}

/// Brings connections to another node.
pub(crate) trait Forward: fmt::Debug + Send + Sync {
    /// Carries a connection until it ends. Gives it back where the other node cannot be reached: nothing of it has been sent then.
    fn forward(&self, connection: ForwardedConnection) -> Forwarding<'_>;
}

/// A connection on its way.
pub(crate) type Forwarding<'a> = Pin<Box<dyn Future<Output = Result<(), ForwardedConnection>> + Send + 'a>>;

/// A connection that is to be carried: see [`net::splice`]. The other node needs the entry point, and what the stream knows of
/// the client: its address, where it connected to, its TLS. That one makes a [`Stream::forwarded`] of it, for [`Ingress::admit_forwarded`].
#[derive(Debug)]
pub(crate) struct ForwardedConnection {
    /// Where it came in. Never metrics, which are each node's own.
    pub(crate) entry: EntryPoint,
    /// The client's.
    pub(crate) stream: Stream,
    /// What has been read of it already, and is sent first.
    pub(crate) received: Vec<u8>,
    /// It ends when the node where it came in is to have no clients. Those for operators stay.
    pub(crate) is_clients: bool,
}

/// Takes in the connections of all listeners.
pub(crate) struct Ingress {
    situation: watch::Sender<Situation>,
    /// What clients of AMQP read about this node while it serves none.
    of_broker: broker::Options,
    of_http: Arc<management::Options>,
    /// Connections of HTTP that no broker answers.
    unserved: ConnectionGroup,
    local: RwLock<Arc<LocalSites>>,
    /// Why this node's own listeners let no clients in, while other nodes' do.
    own_refusal: RwLock<Option<Arc<str>>>,
    /// Where clients of AMQP are served, those over WebSockets too.
    runtime: Handle,
    /// What a forwarded connection takes a place of, by whether it speaks AMQP.
    forwarded_limiters: [Vec<ConnectionLimiter>; 2],
}

impl Ingress {
    /// One for listeners behind which nothing is yet.
    pub(super) fn new(
        of_broker: broker::Options,
        of_http: Arc<management::Options>,
        unserved: ConnectionGroup,
        local: LocalSites,
        limit: &GlobalLimit,
    ) -> Arc<Self> {
        Arc::new(Self {
            situation: watch::channel(Situation::Waiting).0,
            of_broker,
            of_http,
            unserved,
            local: RwLock::new(Arc::new(local)),
            own_refusal: RwLock::default(),
            runtime: Handle::current(),
            forwarded_limiters: [limit.of_http(), limit.of_amqp()],
        })
    }

    /// What becomes of connections that come from now on, and of those that are held.
    pub(super) fn set(&self, situation: Situation) {
        self.situation.send_replace(situation);
    }

    /// Tells what this node answers itself.
    pub(super) fn set_local(&self, local: LocalSites) {
        *self.local.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(local);
    }

    fn local(&self, entry: EntryPoint) -> Option<Arc<LocalSite>> {
        self.local.read().unwrap_or_else(PoisonError::into_inner).of(entry)
    }

    /// A connection found no place.
    pub(crate) fn count_refused(&self) {
        if let Situation::Serving(serving) = &*self.situation.borrow() {
            serving.broker.count_refused_connection();
        }
    }

    /// From now on this node's own listeners let no clients in, for this reason, or do again. What is for the operator, and metrics, is
    /// served.
    pub(crate) fn refuse_own(&self, reason: Option<Arc<str>>) {
        *self.own_refusal.write().unwrap_or_else(PoisonError::into_inner) = reason;
    }

    /// Why a connection that comes here is not let in.
    fn own_refusal(&self, arrival: &Arrival) -> Option<Arc<str>> {
        let refusal = || self.own_refusal.read().unwrap_or_else(PoisonError::into_inner).clone();
        arrival.is_clients().then(refusal).flatten()
    }

    /// Takes a connection in.
    pub(crate) fn admit(self: &Arc<Self>, arrival: Arrival) {
        if let Some(reason) = self.own_refusal(&arrival) {
            let ingress = self.clone();
            tokio::spawn(async move { ingress.refuse(arrival, &reason).await });
            return;
        }
        let situation = self.situation.borrow().clone();
        match situation {
            Situation::Serving(serving) => serving.serve(arrival, &self.runtime),
            _ => drop(tokio::spawn(self.clone().handle_unserved(arrival))),
        }
    }

    /// Takes in a connection that another node, of this name, has accepted ([`Stream::forwarded`]), at this entry point of that one. It is
    /// served, held until it can be, or closed, and never sent on again: two nodes that take each other for the leader would send it to and
    /// fro. An error says why it is closed.
    pub(crate) fn admit_forwarded(self: &Arc<Self>, entry: EntryPoint, stream: Stream, by: &str) -> Result<()> {
        let peer = stream.peer_addr().context("the owner of the connection is unknown")?;
        let limiters = &self.forwarded_limiters[usize::from(entry == EntryPoint::Amqp)];
        let permits = ConnectionPermits::take(limiters, None, peer.ip()).map_err(|full| anyhow!(full))?;
        let arrival = Arrival::of_http(stream, peer, permits, entry, ConnectionLimits::default());
        let arrival = Arrival { forwarded_by: Some(by.into()), ..arrival };
        match self.situation.borrow().clone() {
            Situation::Serving(serving) => serving.serve(arrival, &self.runtime),
            _ => drop(tokio::spawn(self.clone().hold_forwarded(arrival))),
        }
        Ok(())
    }

    /// Waits for a broker that serves it: this node may be about to take over.
    async fn hold_forwarded(self: Arc<Self>, arrival: Arrival) {
        let mut situations = self.situation.subscribe();
        let until = Instant::now() + HOLD_TIME;
        loop {
            let situation = situations.borrow_and_update().clone();
            let until = match situation {
                Situation::Serving(serving) => return serving.serve(arrival, &self.runtime),
                Situation::Refusing(reason) => return self.refuse(arrival, &reason).await,
                Situation::Waiting => until,
                Situation::Forwarding(_) => until.min(Instant::now() + TAKE_OVER_TIME),
            };
            if tokio::time::timeout_at(until, situations.changed()).await.is_err() {
                return tracing::debug!("forwarded connection closed: no broker is running on this node");
            }
        }
    }

    /// Has something done with a connection that this node's broker does not serve, or not yet.
    async fn handle_unserved(self: Arc<Self>, mut arrival: Arrival) {
        let mut situations = self.situation.subscribe();
        let mut held_until = None;
        let mut local = self.local(arrival.entry);
        loop {
            let situation = situations.borrow_and_update().clone();
            let forward = match situation {
                Situation::Serving(serving) => return serving.serve(arrival, &self.runtime),
                Situation::Refusing(reason) => return self.refuse(arrival, &reason).await,
                _ if matches!(arrival.entry, EntryPoint::Metrics { .. }) => return self.answer_metrics(arrival),
                Situation::Forwarding(forward) => Some(forward),
                Situation::Waiting => None,
            };
            if let Some(site) = local.take() {
                let Arrival { stream, received, limits, .. } = &mut arrival;
                let time = if forward.is_some() { limits.head_timeout } else { HOLD_TIME };
                match read_request_line(stream, received, time).await {
                    Ok(Some(RequestLine { method, path })) if site.has_answer(&method, &path) => {
                        return self.answer(arrival, Absent::new(self.of_http.clone(), site), None);
                    }
                    Ok(Some(RequestLine { method, path })) if site.looks_inside(&method, &path) => match &forward {
                        Some(forward) => {
                            let path = site.administrators_path();
                            let forward = forward.clone();
                            let carry = move |stream, received| carry_alone(forward.clone(), stream, received);
                            let doorkeeper = doorkeeper(carry, &arrival.stream, arrival.peer, path);
                            let absent = Absent::guarded(self.of_http.clone(), site, doorkeeper);
                            return self.answer(arrival, absent, None);
                        }
                        // Which users may is not known yet.
                        None => local = Some(site),
                    },
                    Ok(Some(RequestLine { path, .. })) if self.of_http.is_websocket(&path) => {
                        arrival.is_websocket = true;
                        if let Some(reason) = self.own_refusal(&arrival) {
                            return self.refuse(arrival, &reason).await;
                        }
                        continue;
                    }
                    // It may have come to pass meanwhile that it is served.
                    Ok(_) => continue,
                    Err(_) => return,
                }
            }
            let mut retry_time = HOLD_TIME;
            if let Some(forward) = forward {
                match forward_arrival(&*forward, arrival).await {
                    None => return,
                    Some(returned) => arrival = returned,
                }
                retry_time = RETRY_TIME;
            }
            let until = *held_until.get_or_insert_with(|| Instant::now() + HOLD_TIME);
            tokio::select! {
                // An error cannot be: the sender is ours.
                _ = situations.changed() => {}
                () = tokio::time::sleep(retry_time) => {}
                () = tokio::time::sleep_until(until) => {
                    // The command line shows what this node knows, once it has read that there is no more.
                    if arrival.entry == EntryPoint::ControlSocket {
                        self.refuse(arrival, NO_LEADER).await;
                    }
                    return;
                }
            }
        }
    }

    /// Says that no broker serves the client, and why. What this node answers itself it does.
    async fn refuse(&self, arrival: Arrival, reason: &str) {
        if arrival.entry == EntryPoint::Amqp {
            broker::reject_connection(arrival.stream, &self.of_broker, reason).await;
            return;
        }
        if matches!(arrival.entry, EntryPoint::Metrics { .. }) {
            return self.answer_metrics(arrival);
        }
        let sink = (arrival.entry == EntryPoint::Api).then(|| self.refusing_sink(reason));
        let absent = Absent::refusing(self.of_http.clone(), reason, self.local(arrival.entry));
        self.answer(arrival, absent, sink);
    }

    fn answer(&self, arrival: Arrival, absent: Absent, sink: Option<AmqpSink>) {
        let (stream, client) = arrival.into_http(sink);
        self.unserved.serve(Site::Absent(Arc::new(absent)), stream, client);
    }

    /// Metrics are each node's own, whichever one leads.
    fn answer_metrics(&self, arrival: Arrival) {
        let compress = matches!(arrival.entry, EntryPoint::Metrics { compress: true });
        let metrics = self.local.read().unwrap_or_else(PoisonError::into_inner).metrics();
        let (stream, client) = arrival.into_http(None);
        self.unserved.serve(Site::Metrics(metrics, compress), stream, client);
    }

    /// What takes clients that ask for AMQP over a WebSocket while none is served.
    fn refusing_sink(&self, reason: &str) -> AmqpSink {
        let (runtime, options, reason) = (self.runtime.clone(), self.of_broker.clone(), Arc::<str>::from(reason));
        Arc::new(move |stream, permit| {
            let (options, reason) = (options.clone(), reason.clone());
            runtime.spawn(async move {
                broker::reject_connection(stream, &options, &reason).await;
                drop(permit);
            });
        })
    }
}

/// Has a connection of this node's own carried to another one. Says whether that could be reached.
async fn carry_alone(forward: Arc<dyn Forward>, stream: Stream, received: Vec<u8>) -> bool {
    let connection = ForwardedConnection { entry: EntryPoint::Api, stream, received, is_clients: false };
    forward.forward(connection).await.is_ok()
}

/// Has a connection carried to another node. Gives it back where that cannot be reached.
async fn forward_arrival(forward: &dyn Forward, arrival: Arrival) -> Option<Arrival> {
    let is_clients = arrival.is_clients();
    let Arrival { stream, peer, entry, limits, permits, received, forwarded_by, is_websocket } = arrival;
    let returned = forward.forward(ForwardedConnection { entry, stream, received, is_clients }).await.err()?;
    let (stream, received) = (returned.stream, returned.received);
    Some(Arrival { stream, peer, entry, limits, permits, received, forwarded_by, is_websocket })
}
