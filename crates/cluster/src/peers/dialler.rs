//! Connections to peers: dialled, kept, and dialled again.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use net::{DialError, DialOptions, Liveness, Stream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::calls::AnswerReceiver;
use super::handler::PeerEvent;
use super::limits::{BACK_OFF_MAX, BACK_OFF_MIN, DIAL_TIMEOUT, HANDSHAKE_TIMEOUT, IDLE, SHORT_LIFE, UNACKNOWLEDGED};
use super::peer::{PeerAddress, PeerState};
use super::pump::{Pump, Silence};
use super::shared::{Shared, clock_ms};
use crate::address::Address;
use crate::wire::{
    Agreement, Dialler, ExpectedPeer, HANDSHAKE_FRAME_LEN_MAX, HandshakeError, Lane, Local, NodeName, Refusal,
};

/// There is no connection.
#[derive(Debug)]
pub(super) struct ConnectError {
    pub(super) sentence: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// No process listens there.
    Refused,
    /// It cannot be reached.
    Unreachable,
    /// It can, and there is no agreement.
    Rejected(Option<Refusal>),
}

/// Why it is not known which node is at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameError {
    /// For the operator.
    pub sentence: String,
    /// The node there refuses this one, and would refuse each further attempt.
    pub is_final: bool,
    /// A node is at the address.
    pub is_reached: bool,
}

impl From<ConnectError> for NameError {
    fn from(error: ConnectError) -> Self {
        let is_reached = matches!(error.kind, Kind::Rejected(_));
        let is_final = matches!(error.kind, Kind::Rejected(Some(refusal)) if refusal != Refusal::NotReady);
        NameError { sentence: error.sentence, is_final, is_reached }
    }
}

/// Dials a peer and shakes hands, in whatever runtime this is called.
pub(super) async fn connect(
    shared: &Shared,
    local: Arc<Local>,
    peer: &PeerState,
    lane: Lane,
) -> Result<(Stream, Agreement), ConnectError> {
    let address = peer.address.lock().clone();
    let remote = address.to_string();
    let PeerAddress { node, host, port } = address;
    dial(shared, local, (&host, port), &remote, Some(node), lane).await
}

/// Shakes hands with the node at an address, to learn its name.
pub(super) async fn name_at(shared: &Shared, address: &Address) -> Result<NodeName, NameError> {
    let place = (address.host(), address.port());
    let (_, agreement) = dial(shared, shared.local(), place, &address.to_string(), None, Lane::Calls).await?;
    Ok(agreement.theirs.identity.name)
}

async fn dial(
    shared: &Shared,
    local: Arc<Local>,
    (host, port): (&str, u16),
    remote: &str,
    expected: Option<ExpectedPeer>,
    lane: Lane,
) -> Result<(Stream, Agreement), ConnectError> {
    let tls = shared.tls.as_ref().map(|tls| tls.client());
    let options = DialOptions { timeout: DIAL_TIMEOUT, ..DialOptions::default() };
    let mut stream = net::dial(host, port, tls.as_ref(), &options).await.map_err(|error| {
        let kind = match &error {
            DialError::Unreachable { source, .. } if source.kind() == io::ErrorKind::ConnectionRefused => Kind::Refused,
            DialError::Tls { .. } => Kind::Rejected(None),
            _ => Kind::Unreachable,
        };
        ConnectError { sentence: format!("{remote} cannot be linked with {}: {error}", local.identity.name), kind }
    })?;
    let is_bounded = matches!(lane, Lane::Votes | Lane::Commits | Lane::Calls);
    stream.keep_alive(Liveness { idle: IDLE, unacknowledged: is_bounded.then_some(UNACKNOWLEDGED) });
    let name = local.identity.name.clone();
    let rejected = |reason: &str| ConnectError {
        sentence: format!("{remote} cannot be linked with {name}: {reason}"),
        kind: Kind::Rejected(None),
    };
    let nonce = shared.nonce().ok_or_else(|| rejected("the system gives no random numbers"))?;
    let mut output = Vec::new();
    let mut dialler = Dialler::new(local, lane, clock_ms(), expected, &nonce, &mut output);
    let shaking = shake(&mut stream, &mut dialler, &mut output);
    match timeout(HANDSHAKE_TIMEOUT, shaking).await {
        Ok(Ok(agreement)) => {
            shared.compare_clocks(&agreement);
            Ok((stream, agreement))
        }
        Ok(Err(ShakeError::Io(error))) => Err(rejected(&error.to_string())),
        Ok(Err(ShakeError::Handshake(error))) => {
            let sentence = error.sentence(&name, remote);
            let HandshakeError::Refused { refusal, .. } = error else {
                return Err(ConnectError { sentence, kind: Kind::Rejected(None) });
            };
            Err(ConnectError { sentence, kind: Kind::Rejected(Some(refusal)) })
        }
        Err(_) => Err(rejected("the handshake takes too long")),
    }
}

/// Why a handshake did not come to its end.
pub(super) enum ShakeError {
    Io(io::Error),
    Handshake(HandshakeError),
}

/// Either side of a handshake.
pub(super) trait Shake {
    fn wanted(&self) -> usize;
    fn feed(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> Result<Option<Agreement>, HandshakeError>;
}

impl Shake for Dialler {
    fn wanted(&self) -> usize {
        Dialler::wanted(self)
    }

    fn feed(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> Result<Option<Agreement>, HandshakeError> {
        Dialler::feed(self, bytes, output).map(|fed| fed.agreement)
    }
}

/// Reads no more than belongs to the handshake, and writes what it wants said, a refusal too.
pub(super) async fn shake(
    stream: &mut Stream,
    side: &mut impl Shake,
    output: &mut Vec<u8>,
) -> Result<Agreement, ShakeError> {
    let mut input = [0; HANDSHAKE_FRAME_LEN_MAX];
    loop {
        stream.write_all(output).await.map_err(ShakeError::Io)?;
        stream.flush().await.map_err(ShakeError::Io)?;
        output.clear();
        let len = side.wanted().min(input.len());
        let count = stream.read(&mut input[..len]).await.map_err(ShakeError::Io)?;
        if count == 0 {
            let text = "it closed the connection during the handshake";
            return Err(ShakeError::Io(io::Error::new(io::ErrorKind::UnexpectedEof, text)));
        }
        let fed = side.feed(&input[..count], output);
        if !matches!(fed, Ok(None)) {
            let written = stream.write_all(output).await;
            let _ = stream.flush().await;
            return match fed {
                Ok(Some(agreement)) => written.map(|()| agreement).map_err(ShakeError::Io),
                Ok(None) => unreachable!("checked above"),
                Err(error) => {
                    let _ = stream.shutdown().await;
                    Err(ShakeError::Handshake(error))
                }
            };
        }
    }
}

/// Doubling waits, after one attempt at once.
struct BackOff(Duration);

impl BackOff {
    fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = (wait * 2).clamp(BACK_OFF_MIN, BACK_OFF_MAX);
        wait
    }
}

/// Has a connection to the peer whenever there can be one.
pub(super) async fn keep_connected(shared: Arc<Shared>, peer: Arc<PeerState>, lane: Lane) {
    let mut back_off = BackOff(Duration::ZERO);
    let mut local = shared.local.subscribe();
    loop {
        if local.wait_for(|local| local.is_ready).await.is_err() {
            return;
        }
        let ours = Arc::clone(&local.borrow_and_update());
        match connect(&shared, ours, &peer, lane).await {
            Ok((mut stream, agreement)) => {
                let begun = Instant::now();
                serve(&shared, &peer, lane, &mut stream, agreement, &mut local).await;
                if begun.elapsed() >= SHORT_LIFE {
                    back_off = BackOff(Duration::ZERO);
                }
            }
            Err(error) => report_failure(&shared, &peer, lane, error),
        }
        tokio::select! {
            () = sleep(back_off.next()) => {}
            () = peer.poke.notified() => {}
            changed = local.changed() => if changed.is_err() { return },
        }
    }
}

/// All three lanes fail for the same reason, if not in the same words: one report to the operator and the handler is enough.
fn report_failure(shared: &Shared, peer: &PeerState, lane: Lane, error: ConnectError) {
    let ConnectError { sentence, kind } = error;
    peer.counters.count_failure(&sentence);
    if lane != Lane::Votes {
        return;
    }
    if peer.is_news(&sentence) {
        match kind {
            Kind::Rejected(Some(Refusal::NoPeer { .. })) => tracing::debug!("{sentence}"),
            Kind::Rejected(_) => tracing::warn!("{sentence}"),
            Kind::Refused | Kind::Unreachable => tracing::info!("{sentence}"),
        }
    }
    match kind {
        Kind::Refused => shared.handle(|handler| handler.peer_changed(&peer.name, PeerEvent::Refused)),
        Kind::Unreachable => {}
        Kind::Rejected(refusal) => {
            let event = PeerEvent::Rejected { sentence, refusal };
            shared.handle(|handler| handler.peer_changed(&peer.name, event));
        }
    }
}

/// A connection is there; dropped, it is not.
struct ConnectionGuard<'a> {
    peer: &'a PeerState,
    lane: Lane,
}

impl<'a> ConnectionGuard<'a> {
    fn new(peer: &'a PeerState, lane: Lane) -> Self {
        let counters = peer.counters.lane(lane);
        counters.connects.add(1);
        counters.set_connected(true);
        peer.queue(lane).open();
        if lane == Lane::Calls {
            peer.calls.connected();
        }
        ConnectionGuard { peer, lane }
    }
}

impl Drop for ConnectionGuard<'_> {
    fn drop(&mut self) {
        self.peer.counters.lane(self.lane).set_connected(false);
        self.peer.queue(self.lane).close();
        if self.lane == Lane::Calls {
            self.peer.calls.lost();
        }
    }
}

async fn serve(
    shared: &Shared,
    peer: &PeerState,
    lane: Lane,
    stream: &mut Stream,
    agreement: Agreement,
    local: &mut watch::Receiver<Arc<Local>>,
) {
    *peer.identity.lock() = Some(agreement.theirs.identity.clone());
    let connected = ConnectionGuard::new(peer, lane);
    if lane == Lane::Votes {
        peer.forget_logged();
        tracing::info!("{} is linked with {}", agreement.ours.identity.name, peer.name);
    }
    let event = PeerEvent::Connected { lane, identity: agreement.theirs.identity };
    shared.handle(|handler| handler.peer_changed(&peer.name, event));
    let pump = Pump::new(stream, lane, peer.queue(lane), peer.counters.lane(lane));
    let running = async {
        match lane {
            Lane::Calls => pump.run(&mut AnswerReceiver(&peer.calls)).await,
            _ => pump.run(&mut Silence).await,
        }
    };
    let reason = tokio::select! {
        biased;
        _ = local.changed() => "this node has got another identity".to_owned(),
        reason = running => reason,
    };
    drop(connected);
    if lane == Lane::Votes {
        tracing::info!("{} is no longer linked with {}: {reason}", agreement.ours.identity.name, peer.name);
    }
    shared.handle(|handler| handler.peer_changed(&peer.name, PeerEvent::Lost { lane, reason }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_dialled_again_at_once_and_then_ever_more_rarely() {
        let mut back_off = BackOff(Duration::ZERO);
        let waits: Vec<_> = (0..8).map(|_| back_off.next().as_millis()).collect();
        assert_eq!(waits, [0, 50, 100, 200, 400, 800, 1000, 1000]);
    }
}
