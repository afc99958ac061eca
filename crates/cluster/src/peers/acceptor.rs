//! Connections from other nodes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use consensus::MemberId;
use net::{Admission, AdmitError, Listener, Liveness, Stream};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;

use super::calls::Questions;
use super::dialler::{Shake, ShakeError, shake};
use super::files;
use super::framed::{FrameStream, read_one};
use super::handler::ForwardedClient;
use super::limits::{CALLS_COUNT_MAX, HANDSHAKE_TIMEOUT, IDLE, UNPROVED_COUNT_MAX};
use super::peer::PeerState;
use super::pump::{Pump, Receive};
use super::queue::LaneQueue;
use super::shared::{Shared, clock_ms};
use super::statistics::PeerCounters;
use super::unproved::UnprovedPlaces;
use crate::wire::{
    Acceptor, Agreement, ForeignProtocol, ForwardHeader, HandshakeError, Hello, Identity, Lane, Local, Refusal,
    replicated,
};

/// Accepts until the runtime ends.
pub(super) async fn accept(shared: Arc<Shared>, mut listener: Listener) {
    let unproved = Arc::new(Mutex::new(UnprovedPlaces::new(UNPROVED_COUNT_MAX)));
    loop {
        let on_refusal = |error: &std::io::Error| tracing::warn!(%error, "a node's connection could not be accepted");
        let (stream, address) = listener.accept(on_refusal).await;
        let served = Arc::clone(&shared);
        let (sender, place) = tokio::sync::oneshot::channel();
        let serving = tokio::spawn(async move {
            if let Ok((place, task)) = place.await {
                serve(served, stream, address, place, task).await;
            }
        });
        let task = serving.abort_handle();
        let (number, evicted) = unproved.lock().enter(address.ip().to_canonical(), task.clone());
        if let Some((from, oldest)) = evicted {
            oldest.abort();
            shared.log_once(&format!(
                "connections are closed that have not said yet which node they are of: there are too many, most of them of {from}"
            ));
        }
        // It may have to be ended by the next connection of the same node.
        let _ = sender.send((Place { unproved: Arc::clone(&unproved), number }, task));
    }
}

/// A place of a connection that has not proved its identity yet.
struct Place {
    unproved: Arc<Mutex<UnprovedPlaces>>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.unproved.lock().leave(self.number);
    }
}

struct AcceptorShake<'a> {
    acceptor: &'a mut Acceptor,
    shared: &'a Shared,
}

impl Shake for AcceptorShake<'_> {
    fn wanted(&self) -> usize {
        self.acceptor.wanted()
    }

    fn feed(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> Result<Option<Agreement>, HandshakeError> {
        self.acceptor.feed(bytes, &|name| self.shared.recognize(name), output).map(|fed| fed.agreement)
    }
}

async fn serve(shared: Arc<Shared>, stream: Stream, address: SocketAddr, place: Place, task: tokio::task::AbortHandle) {
    let mut local = shared.local.subscribe();
    let ours = Arc::clone(&local.borrow_and_update());
    let admitted = admit(&shared, &ours, stream, address).await;
    drop(place);
    let Some((stream, agreement)) = admitted else { return };
    stream.keep_alive(Liveness { idle: IDLE, unacknowledged: None });
    shared.compare_clocks(&agreement);
    let Hello { identity, lane, .. } = agreement.theirs;
    let peer = shared.peer(&identity.name);
    if let Some(peer) = &peer {
        if matches!(lane, Lane::Votes | Lane::Commits | Lane::Calls) {
            shared.replace_inbound(&identity.name, lane, task);
        }
        // It is there, whatever was found when it was dialled last.
        peer.poke.notify_waiters();
    }
    let name = identity.name.clone();
    let serving = serve_lane(&shared, &ours, peer.as_deref(), lane, identity, stream);
    if let Some(reason) = until_changed(&mut local, lane, serving).await {
        tracing::debug!("{name} is no longer linked with {} on the lane {lane}: {reason}", ours.identity.name);
    }
}

/// A client's stream is the handler's, whatever becomes of this node's identity.
async fn until_changed(
    local: &mut watch::Receiver<Arc<Local>>,
    lane: Lane,
    serving: impl Future<Output = Option<String>>,
) -> Option<String> {
    if lane == Lane::Forward {
        return serving.await;
    }
    tokio::select! {
        biased;
        _ = local.changed() => Some("this node has got another identity".to_owned()),
        ended = serving => ended,
    }
}

/// TLS, then the handshake. What comes to nothing is logged here.
async fn admit(
    shared: &Shared,
    local: &Arc<Local>,
    stream: Stream,
    address: SocketAddr,
) -> Option<(Stream, Agreement)> {
    let name = &local.identity.name;
    // Without the port: the same node comes again from another one.
    let remote = address.ip().to_canonical().to_string();
    let refuse = |reason: &str| {
        let sentence = format!("{remote} cannot be linked with {name}: {reason}");
        shared.strangers.count_failure(&sentence);
        shared.log_once(&sentence);
    };
    let tls = shared.tls.as_ref().map(|tls| (tls.server(), HANDSHAKE_TIMEOUT));
    let mut stream = match (Admission { tls, ..Admission::default() }).admit(stream).await {
        Ok(stream) => stream,
        Err(AdmitError::Closed) => return None,
        Err(error) => {
            refuse(&error.to_string());
            return None;
        }
    };
    let Some(nonce) = shared.nonce() else {
        refuse("the system gives no random numbers");
        return None;
    };
    let mut acceptor = Acceptor::new(Arc::clone(local), clock_ms(), &nonce);
    let mut accepting = AcceptorShake { acceptor: &mut acceptor, shared };
    match timeout(HANDSHAKE_TIMEOUT, shake(&mut stream, &mut accepting, &mut Vec::new())).await {
        Ok(Ok(agreement)) => return Some((stream, agreement)),
        // Probes of the port do that, and peers that end; a peer notices itself what it does not get.
        Ok(Err(ShakeError::Io(_))) => {}
        Ok(Err(ShakeError::Handshake(error))) => {
            let who = acceptor.dialler().map_or(remote.clone(), |name| format!("{name} ({remote})"));
            let sentence = error.sentence(name, &who);
            match acceptor.dialler().and_then(|name| shared.peer(name)) {
                Some(peer) => peer.counters.count_failure(&sentence),
                None => shared.strangers.count_failure(&sentence),
            }
            match error {
                // It may ask, as those do that are about to be members; what it is answered then is for the operator.
                HandshakeError::Refused { refusal: Refusal::NoPeer { .. }, .. } => tracing::debug!("{sentence}"),
                // Each has bytes of its own, and says no more than the first.
                HandshakeError::Foreign(ForeignProtocol::Unknown(_)) | HandshakeError::Garbled(_) => {
                    shared.log_once_as(&format!("{remote} is no node"), &sentence);
                }
                _ => shared.log_once(&sentence),
            }
        }
        Err(_) => refuse("it says nothing"),
    }
    None
}

/// Until the connection ends: why, unless it is another's now.
async fn serve_lane(
    shared: &Shared,
    local: &Local,
    peer: Option<&PeerState>,
    lane: Lane,
    identity: Identity,
    mut stream: Stream,
) -> Option<String> {
    let counters = peer.map_or(&shared.strangers, |peer: &PeerState| &peer.counters as &PeerCounters).lane(lane);
    let queue = Arc::new(LaneQueue::open_unbounded());
    match lane {
        Lane::Votes | Lane::Commits => {
            let mut messages = MessageReceiver { shared, lane, from: identity, here: local.identity.member };
            Some(Pump::new(&mut stream, lane, &queue, counters).run(&mut messages).await)
        }
        Lane::Calls => {
            let unanswered = Arc::new(AtomicUsize::new(0));
            let mut questions = Questions { shared, from: identity, queue: Arc::clone(&queue), unanswered };
            debug_assert!(questions.is_willing(), "there is room for {CALLS_COUNT_MAX}");
            let ended = Pump::new(&mut stream, lane, &queue, counters).run(&mut questions).await;
            // Answers that are given from now on are for no connection.
            queue.close();
            Some(ended)
        }
        Lane::Files => Some(files::serve(shared, &identity, FrameStream::new(stream, lane), counters).await),
        Lane::Forward => {
            let header = timeout(HANDSHAKE_TIMEOUT, read_one(&mut stream, lane, counters, ForwardHeader::decode));
            let header = match header.await {
                Ok(Ok(Ok(header))) => header,
                Ok(Ok(Err(error))) => return Some(format!("it sends {error}")),
                Ok(Err(reason)) => return Some(reason),
                Err(_) => return Some("it does not say whose connection it passes on".to_owned()),
            };
            match stream.detach() {
                Ok(stream) => {
                    let client = ForwardedClient { header, by: identity.name.clone(), stream };
                    shared.handle(|handler| handler.forwarded(&identity, client));
                    None
                }
                Err(error) => Some(error.to_string()),
            }
        }
    }
}

/// What members say.
struct MessageReceiver<'a> {
    shared: &'a Shared,
    lane: Lane,
    from: Identity,
    here: Option<MemberId>,
}

impl Receive for MessageReceiver<'_> {
    fn frame(&mut self, body: &[u8]) -> Result<(), String> {
        let (group, message, entries) = replicated(self.lane, body).map_err(|error| format!("it sends {error}"))?;
        if self.from.member != Some(message.from) {
            return Err(format!("it speaks for member {}, which it is not", message.from.get()));
        }
        // Meant for what this node was before its directory was replaced.
        if self.here.is_none_or(|here| here == message.to) {
            self.shared.handle(|handler| handler.message(&self.from, group, message, entries));
        }
        Ok(())
    }
}
