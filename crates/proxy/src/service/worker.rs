//! One thread of the proxy: its own clients, upstream connections and pools. It shares with the others only which upstreams are well, and
//! which clients may come in.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use net::{Admission, AdmitError, Listener, SharedListener, Stream};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinSet, LocalSet, spawn_local};
use tokio::time::MissedTickBehavior;

use super::command::Command;
use super::files::{FileInUse, Files};
use super::gate::{Gate, Permit};
use super::log;
use super::sockets::{Party, carry};
use super::upstreams::{DialedConnection, Upstreams};
use crate::balance::UpstreamId;
use crate::spool::Spool;
use crate::switchboard::{ClientId, Effect, Options, Refusal, Switchboard, UpstreamConnectionId};

/// How often the switchboard gets the time.
const TICK: Duration = Duration::from_millis(500);

/// What one read takes at most. All sockets of a thread are read into the same place.
const READ_LEN: usize = 256 * 1024;

/// A listening socket, and what its connections go through.
#[derive(Debug)]
pub(crate) struct Acceptor {
    pub(crate) listener: SharedListener,
    pub(crate) admission: Admission,
}

pub(crate) struct Worker {
    pub(crate) board: RefCell<Switchboard>,
    pub(crate) scratch: RefCell<Box<[u8]>>,
    /// Tasks that wait for what the switchboard has for a socket.
    watchers: RefCell<HashMap<Party, Waker>>,
    clients: RefCell<HashMap<ClientId, Guest>>,
    connections: RefCell<HashMap<UpstreamConnectionId, Lead>>,
    upstreams: Arc<Upstreams>,
    gate: Arc<Gate>,
    files: Arc<Files>,
    /// How long upstreams are dialled, as operators said last.
    dial_timeout: Cell<Duration>,
    /// How long a client may take to say what comes before TLS.
    handshake_timeout: Cell<Duration>,
    spool: Option<Arc<Spool>>,
    /// Whether clients have been asked to close because all ends: one that comes now comes too late.
    has_closed: Cell<bool>,
}

/// A switchboard in which a task panicked no longer knows anything for sure: the process ends, as a broker's does.
struct Whole;

impl Drop for Whole {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// A client, as the shell knows it.
struct Guest {
    peer: SocketAddr,
    lease: Permit,
}

/// Where an upstream connection leads.
struct Lead {
    upstream: UpstreamId,
    name: String,
    local: Option<SocketAddr>,
    is_open: bool,
    /// How often something about upstreams had changed when this one was chosen.
    change_count: u64,
}

/// Runs until it is ordered to stop.
pub(crate) fn run(
    options: Options,
    acceptors: Vec<Acceptor>,
    upstreams: Arc<Upstreams>,
    gate: Arc<Gate>,
    files: Arc<Files>,
    spool: Option<Arc<Spool>>,
    commands: mpsc::UnboundedReceiver<Command>,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut board = Switchboard::new(options.clone());
    if let Some(spool) = &spool {
        board.set_spool(spool.clone());
    }
    let worker = Rc::new(Worker {
        dial_timeout: Cell::default(),
        handshake_timeout: Cell::default(),
        board: RefCell::new(board),
        scratch: RefCell::new(vec![0; READ_LEN].into_boxed_slice()),
        watchers: RefCell::default(),
        clients: RefCell::default(),
        connections: RefCell::default(),
        upstreams,
        gate,
        files,
        spool: spool.clone(),
        has_closed: Cell::new(false),
    });
    worker.configure(options);
    let _whole = Whole;
    LocalSet::new().block_on(&runtime, worker.work(acceptors, commands))
}

impl Worker {
    async fn work(
        self: Rc<Self>,
        acceptors: Vec<Acceptor>,
        mut commands: mpsc::UnboundedReceiver<Command>,
    ) -> std::io::Result<()> {
        let mut accepting = JoinSet::new();
        for acceptor in acceptors {
            accepting.spawn_local(self.clone().accept(acceptor.listener.listen()?, acceptor.admission));
        }
        let mut spool_changes = self.spool.as_ref().map(|spool| spool.changes());
        let mut upstream_changes = self.upstreams.changes();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => self.with_board(|board, now_ms| board.tick(now_ms)),
                () = changed(&mut spool_changes) => self.with_board(Switchboard::spool_changed),
                Ok(()) = upstream_changes.changed() => self.leave_connections(),
                command = commands.recv() => match command {
                    None | Some(Command::Stop) => return Ok(()),
                    Some(Command::StopListening) => accepting.abort_all(),
                    Some(Command::CloseClients(refusal)) => {
                        self.with_board(|board, now_ms| board.close_clients(&refusal, now_ms));
                        self.has_closed.set(true);
                    }
                    Some(Command::CloseUpstreamConnections) => self.with_board(|board, now_ms| {
                        board.close_connections(now_ms);
                    }),
                    Some(Command::Configure(options)) => self.configure(*options),
                    // The client that asked may have disconnected.
                    Some(Command::Report(answer)) => drop(answer.send(self.report())),
                },
            }
        }
    }

    /// Uses these options from now on.
    fn configure(&self, options: Options) {
        self.dial_timeout.set(Duration::from_millis(options.upstream_wait_ms));
        self.handshake_timeout.set(Duration::from_millis(options.handshake_timeout_ms));
        self.board.borrow_mut().set_options(options);
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.upstreams.now_ms()
    }

    fn with_board(self: &Rc<Self>, act: impl FnOnce(&mut Switchboard, u64)) {
        act(&mut self.board.borrow_mut(), self.now_ms());
        self.apply(None);
    }

    async fn accept(self: Rc<Self>, mut listener: Listener, admission: Admission) {
        loop {
            let (stream, peer) = listener.accept(log::out_of_files).await;
            match self.files.take_for_client() {
                Some(file) => drop(spawn_local(self.clone().serve(stream, peer, admission.clone(), file))),
                None => log::no_file_for_client(),
            }
        }
    }

    /// A client, from its first byte to its last.
    async fn serve(self: Rc<Self>, stream: Stream, peer: SocketAddr, admission: Admission, _file: FileInUse) {
        let address = |peer: SocketAddr, stream: &Stream| (!matches!(stream, Stream::Unix(_))).then_some(peer.ip());
        // Where a proxy in front names the client, the client is counted.
        let is_known = admission.proxy_protocol.is_none();
        let header_timeout = admission.proxy_protocol.map(|_| self.handshake_timeout.get());
        let admission = Admission { proxy_protocol: header_timeout, ..admission };
        let early = is_known.then(|| self.gate.arrive(address(peer, &stream))).transpose();
        let admitted = match early {
            Ok(lease) => admission.admit(stream).await.map(|stream| (stream, lease)),
            Err(refusal) => return tracing::debug!(%peer, %refusal, "connection was refused"),
        };
        let (mut stream, lease) = match admitted {
            Ok(admitted) => admitted,
            Err(error @ AdmitError::Closed) => return tracing::debug!(%peer, %error, "connection was closed"),
            Err(error) => return tracing::warn!(%peer, %error, "connection was closed"),
        };
        let peer = stream.peer_addr().unwrap_or(peer);
        let lease = match lease.map_or_else(|| self.gate.arrive(address(peer, &stream)), Ok) {
            Ok(lease) => lease,
            Err(refusal) => return tracing::debug!(%peer, %refusal, "connection was refused"),
        };
        let _whole = Whole;
        if self.has_closed.get() {
            return;
        }
        if !self.board.borrow().knows_server()
            && let Some(server) = self.upstreams.server().await
        {
            self.board.borrow_mut().set_server(&server);
        }
        if self.has_closed.get() {
            return;
        }
        let id = self.board.borrow_mut().client_joined(self.now_ms());
        self.board.borrow_mut().name_client(id, peer);
        self.clients.borrow_mut().insert(id, Guest { peer, lease });
        if let Err(error) = carry(&self, Party::Client(id), &mut stream).await {
            tracing::debug!(%peer, %error, "client disconnected");
        }
        self.clients.borrow_mut().remove(&id);
        self.with_board(|board, now_ms| board.client_gone(id, now_ms));
    }

    /// An upstream connection, from the wish to have it to its last byte.
    async fn lead(self: Rc<Self>, id: UpstreamConnectionId, vhost: Option<Rc<str>>, client: Option<ClientId>) {
        let _whole = Whole;
        let _file = self.files.take();
        let client = client.and_then(|client| self.peer_of(client));
        let on_failure = |why: &str| self.with_board(|board, _| board.dial_failed(id, why));
        let DialedConnection { upstream, name, mut stream, change_count } =
            match self.upstreams.dial(vhost.as_deref(), client, self.dial_timeout.get(), on_failure).await {
                Ok(dialled) => dialled,
                Err(error) => return self.with_board(|board, now_ms| board.upstream_lost(id, &error, now_ms)),
            };
        let local = stream.local_addr().ok();
        self.connections.borrow_mut().insert(id, Lead { upstream, name, local, is_open: false, change_count });
        self.with_board(|board, now_ms| board.upstream_connected(id, now_ms));
        if self.upstreams.should_drain(upstream, vhost.as_deref()) {
            // It was decided while this upstream connection was being dialled.
            self.with_board(|board, now_ms| board.drain_connection(id, now_ms));
        }
        let carried = carry(&self, Party::UpstreamConnection(id), &mut stream).await;
        let why = carried.as_ref().map_or_else(ToString::to_string, |()| "it was closed".to_owned());
        let has_opened = self.connections.borrow_mut().remove(&id).is_some_and(|lead| lead.is_open);
        let fault = self.board.borrow().upstream_fault(id).filter(|_| !has_opened);
        let (is_failed, why) = (carried.is_err() || fault.is_some(), fault.map_or(why, Cow::into_owned));
        let (vhost, refused_vhost) =
            (self.board.borrow().upstream_vhost(id), self.board.borrow().upstream_refused_vhost(id));
        match (has_opened, refused_vhost) {
            (true, _) => self.upstreams.lost(upstream),
            (false, Some(vhost)) => self.upstreams.refused(upstream, &vhost, &why),
            (false, None) if is_failed => self.upstreams.failed(upstream, vhost.as_deref(), &why),
            (false, None) => self.upstreams.abandoned(upstream, vhost.as_deref()),
        }
        self.with_board(|board, now_ms| board.upstream_lost(id, &why, now_ms));
    }

    /// Does what the switchboard wants done. `own` is the client that asks, and looks for itself.
    pub(crate) fn apply(self: &Rc<Self>, own: Option<Party>) {
        let effects = self.board.borrow_mut().take_effects();
        for effect in effects {
            match effect {
                Effect::ClientChanged(id) => self.nudge(Party::Client(id), own),
                Effect::UpstreamChanged(id) => {
                    if self.note_open(id) {
                        self.with_board(|board, now_ms| board.drain_connection(id, now_ms));
                    }
                    self.nudge(Party::UpstreamConnection(id), own);
                }
                Effect::Dial { connection, vhost, client } => {
                    drop(spawn_local(self.clone().lead(connection, vhost, client)))
                }
                Effect::Admit { client, user } => {
                    let admitted = self.admit(client, &user);
                    self.board.borrow_mut().client_admitted(client, admitted, self.now_ms());
                    self.apply(own);
                }
                Effect::Log(notice) => log::notice(&notice, |client| self.peer_of(client)),
            }
        }
    }

    fn admit(&self, id: ClientId, user: &str) -> Result<(), Refusal> {
        let mut clients = self.clients.borrow_mut();
        let Some(guest) = clients.get_mut(&id) else { return Ok(()) };
        guest.lease.log_in(user).map_err(|refusal| Refusal::new(amqp::ReplyCode::NotAllowed, &refusal.to_string()))
    }

    pub(crate) fn peer_of(&self, id: ClientId) -> Option<SocketAddr> {
        self.clients.borrow().get(&id).map(|guest| guest.peer)
    }

    /// A party has sent so many bytes: how long nothing more is to be read from it.
    pub(crate) fn spend(&self, party: Party, len: usize) -> Option<Duration> {
        let Party::Client(id) = party else { return None };
        self.clients.borrow().get(&id)?.lease.spend(len)
    }

    fn nudge(&self, party: Party, own: Option<Party>) {
        if own != Some(party)
            && let Some(waker) = self.watchers.borrow().get(&party)
        {
            waker.wake_by_ref();
        }
    }

    /// An upstream is well when an upstream connection's handshake is done. Whether the upstream connection is to be left at once: what it
    /// was chosen for has changed since.
    fn note_open(&self, id: UpstreamConnectionId) -> bool {
        let mut connections = self.connections.borrow_mut();
        let Some(lead) = connections.get_mut(&id) else { return false };
        if lead.is_open || !self.board.borrow().has_connection_opened(id) {
            return false;
        }
        lead.is_open = true;
        self.upstreams.opened(lead.upstream, self.board.borrow().upstream_vhost(id).as_deref());
        lead.change_count != self.upstreams.change_count() && self.is_left(id, lead)
    }

    pub(crate) fn watch(&self, party: Party, waker: &Waker) {
        let mut watchers = self.watchers.borrow_mut();
        match watchers.get_mut(&party) {
            Some(watcher) => watcher.clone_from(waker),
            None => drop(watchers.insert(party, waker.clone())),
        }
    }

    pub(crate) fn unwatch(&self, party: Party) {
        self.watchers.borrow_mut().remove(&party);
    }

    /// Leaves upstream connections that are to be left now.
    fn leave_connections(self: &Rc<Self>) {
        let connections: Vec<UpstreamConnectionId> =
            self.connections.borrow().iter().filter(|(id, lead)| self.is_left(**id, lead)).map(|(id, _)| *id).collect();
        for id in connections {
            self.with_board(|board, now_ms| board.drain_connection(id, now_ms));
        }
    }

    fn is_left(&self, id: UpstreamConnectionId, lead: &Lead) -> bool {
        let vhost = self.board.borrow().upstream_vhost(id);
        match lead.is_open {
            true => self.upstreams.is_better_elsewhere(lead.upstream, vhost.as_deref()),
            false => self.upstreams.should_drain(lead.upstream, vhost.as_deref()),
        }
    }

    fn report(&self) -> crate::switchboard::Report {
        let connections = self.connections.borrow();
        self.board.borrow().report(|id| match connections.get(&id) {
            Some(lead) => (lead.name.clone(), lead.local),
            None => (String::new(), None),
        })
    }
}

/// Something is different about the spool, if there is one.
async fn changed(changes: &mut Option<watch::Receiver<()>>) {
    if let Some(changes) = changes
        && changes.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
