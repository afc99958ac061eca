//! Clients, upstream connections and pools of one thread, without I/O: the proxy's rules.
//!
//! ```text
//!  client ──► handshake ──► frames ──► judge: may this run on an upstream connection that others use, too?
//!                                        │ yes: publishes, declarations, gets without acks      │ no: consume, tx, exclusive queues …
//!                                        ▼                                                      ▼
//!                           pool ─► a channel of a shared upstream connection ◄──── moving ────►  an upstream connection of the client's
//!                           own: frames pass as they are
//! ```
//!
//! - **A frame that has to wait stays where it is.** A client's frames are looked at one after the other. Where one needs what is not
//!   there yet (an upstream connection, a channel, room, quiet), it is left in the input, the client [waits](client::Waits), and whatever
//!   brings what it waits for looks at the same frame again. So nothing has to be undone.
//! - **Every channel of a shared upstream connection confirms.** The switchboard selects confirms itself, whether the client wants them or
//!   not. A channel that has only published returns to the pool when all is confirmed: whatever could still come of it has come. One that
//!   did anything else is closed first.
//! - **Nothing is half sent.** A publish is written to a shared upstream connection when its last frame has come.
//! - **What could close a shared upstream connection is answered here**, or sent over an upstream connection of the client's own and closes
//!   only that.

mod alarms;
mod buffer;
mod calls;
mod channel;
mod channel_leases;
mod client;
mod client_frames;
mod client_handshake;
mod close;
mod counters;
mod dedicate;
mod dial;
mod drain;
mod effect;
mod effects;
mod frame_outcome;
mod frames;
mod ids;
mod lane;
mod liveness;
mod login;
mod login_check;
mod options;
mod pace;
mod poisoned_queues;
mod pool;
mod pools;
mod publish;
mod queue_names;
mod refusal;
mod report;
mod server_identity;
mod slots;
mod spool_access;
mod spooling;
mod tick;
mod token_renewal;
mod upstream_channels;
mod upstream_connection;
mod upstream_connections;
mod upstream_frames;
mod upstream_handshake;
mod wait;
mod wake_queue;

use std::net::SocketAddr;

use amqp::TableBuf;

use self::client::Client;
pub use self::counters::Counters;
pub use self::effect::{Effect, Notice};
use self::effects::Effects;
pub(crate) use self::frames::{put_frames, uncuttable_len};
pub use self::ids::{ClientId, UpstreamConnectionId};
pub use self::options::Options;
use self::pools::Pools;
pub use self::refusal::Refusal;
pub(crate) use self::refusal::{says_no_access, says_not_here, says_vhost_not_here};
pub use self::report::{PoolReport, Report, UpstreamConnectionReport};
use self::server_identity::ServerIdentity;
use self::slots::Slots;
use self::spool_access::SpoolAccess;
use self::upstream_connection::ConnectionUse;
use self::upstream_connections::UpstreamConnections;
use self::wait::Waits;
use self::wake_queue::WakeQueue;

/// What a socket is to be used for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wants {
    /// Whether what comes is to be read.
    pub read: bool,
    /// Whether it is to be closed as soon as everything is written.
    pub close: bool,
    /// Whether there is something to be written.
    pub write: bool,
}

/// Clients, upstream connections and pools of one thread.
#[derive(Debug)]
pub struct Switchboard {
    options: Options,
    clients: Slots<ClientId, Client>,
    connections: UpstreamConnections,
    pools: Pools,
    server: ServerIdentity,
    spool: SpoolAccess,
    /// Clients whose frames are to be looked at again.
    wake_queue: WakeQueue,
    effects: Effects,
    counters: Counters,
    now_ms: u64,
}

impl Switchboard {
    /// Without clients and upstream connections.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Switchboard {
            options,
            clients: Slots::new(),
            connections: UpstreamConnections::new(),
            pools: Pools::default(),
            server: ServerIdentity::unknown(),
            spool: SpoolAccess::default(),
            wake_queue: WakeQueue::default(),
            effects: Effects::default(),
            counters: Counters::default(),
            now_ms: 0,
        }
    }

    /// Whether an upstream has described itself.
    #[must_use]
    pub(crate) fn knows_server(&self) -> bool {
        self.server.is_known()
    }

    /// What an upstream says of itself, and clients get from now on: libraries depend on it.
    pub(crate) fn set_server(&mut self, properties: &TableBuf) {
        self.server.learn(properties.as_table());
    }

    /// A client has connected.
    pub fn client_joined(&mut self, now_ms: u64) -> ClientId {
        self.now_ms = now_ms;
        self.counters.clients += 1;
        self.clients.insert(Client::new(now_ms))
    }

    /// Where a client connects from, for upstreams that want to know.
    pub fn name_client(&mut self, id: ClientId, peer: SocketAddr) {
        self.clients[id].set_peer(peer.to_string());
    }

    /// This came from a client.
    pub fn client_received(&mut self, id: ClientId, bytes: &[u8], now_ms: u64) {
        self.now_ms = now_ms;
        // Usually nothing waits from before, and it is looked at where it lies.
        let taken = if self.clients[id].heard(now_ms) { self.client_frames(id, bytes) } else { 0 };
        self.clients[id].keep_input(&bytes[taken..]);
        if taken == 0 {
            self.run_client(id);
        }
        self.effects.client_changed(id);
        self.run_woken();
    }

    /// What is to be written to a client.
    #[must_use]
    pub fn client_output(&self, id: ClientId) -> &[u8] {
        self.clients[id].output().rest()
    }

    /// So much of it was written.
    pub fn client_sent(&mut self, id: ClientId, len: usize, now_ms: u64) {
        self.now_ms = now_ms;
        let client = &mut self.clients[id];
        if client.sent(len, now_ms) {
            if let Some(connection) = client.own() {
                self.effects.push(Effect::UpstreamChanged(connection));
            }
            self.wake_queue.push(id);
            self.run_woken();
        }
    }

    /// What a client's socket is to be used for.
    #[must_use]
    pub fn client_wants(&self, id: ClientId) -> Wants {
        let client = &self.clients[id];
        Wants { read: client.may_read(), close: client.is_over(), write: !client.output().is_empty() }
    }

    /// A client will say nothing more. What it said while it had to wait is done first.
    pub fn client_ended(&mut self, id: ClientId, now_ms: u64) {
        self.now_ms = now_ms;
        let client = &mut self.clients[id];
        client.end_input(now_ms);
        if !client.is_running() || client.has_said_all() {
            self.end_client(id);
        }
        self.run_woken();
    }

    /// A client's socket is broken. Whether it had said something that is yet to be done: then what would be said to it is not said. Not
    /// where messages would come for it meanwhile, by its consumers or for its next gets: no client would have them.
    pub fn client_broke(&mut self, id: ClientId, now_ms: u64) -> bool {
        let client = &mut self.clients[id];
        if !client.has_ended() {
            client.end_input(now_ms);
        }
        let is_given_messages = client.has_moved() || client.waits() == Waits::Answer;
        let is_busy = client.is_running() && !is_given_messages && !client.has_said_all();
        let len = client.output().len();
        if is_busy {
            self.client_sent(id, len, now_ms);
        }
        is_busy
    }

    /// A client has sent so much that nothing more is read from it for a while, or that while is over.
    pub fn client_paused(&mut self, id: ClientId, is_paused: bool, now_ms: u64) {
        self.clients[id].pause(is_paused, now_ms);
    }

    /// A client's socket is closed, for whatever reason. Its id may be another's from here on.
    pub fn client_gone(&mut self, id: ClientId, now_ms: u64) {
        self.now_ms = now_ms;
        self.forget_client(id);
        self.clients.remove(id);
        self.run_woken();
    }

    /// Whether a user that [wants in](Effect::Admit) may come.
    pub fn client_admitted(&mut self, id: ClientId, admitted: Result<(), Refusal>, now_ms: u64) {
        self.now_ms = now_ms;
        let Some(client) = self.clients.get_mut(id) else { return };
        match admitted {
            Ok(()) => {
                client.admit();
                self.wake_queue.push(id);
            }
            Err(refusal) => self.close_client(id, &refusal),
        }
        self.run_woken();
    }

    /// An upstream connection that was [wanted](Effect::Dial) is connected: from here on it is spoken over.
    pub fn upstream_connected(&mut self, id: UpstreamConnectionId, now_ms: u64) {
        self.now_ms = now_ms;
        self.begin_connection(id);
        self.run_woken();
    }

    /// This came over an upstream connection.
    pub fn upstream_received(&mut self, id: UpstreamConnectionId, bytes: &[u8], now_ms: u64) {
        self.now_ms = now_ms;
        let connection = &mut self.connections[id];
        connection.heard(now_ms);
        let mut input = connection.take_input();
        if input.is_empty() {
            let taken = self.upstream_frames(id, bytes);
            input.end().extend_from_slice(&bytes[taken..]);
        } else {
            input.end().extend_from_slice(bytes);
            let taken = self.upstream_frames(id, input.rest());
            input.take(taken);
        }
        self.connections[id].put_input(input);
        self.effects.upstream_changed(id);
        self.run_woken();
    }

    /// What is to be written to an upstream connection.
    #[must_use]
    pub fn upstream_output(&self, id: UpstreamConnectionId) -> &[u8] {
        self.connections[id].output().rest()
    }

    /// So much of it was written.
    pub fn upstream_sent(&mut self, id: UpstreamConnectionId, len: usize, now_ms: u64) {
        self.now_ms = now_ms;
        let waiters = self.connections[id].sent(len, now_ms);
        if !waiters.is_empty() {
            // The client that waits longest comes first.
            self.wake_queue.extend(waiters);
            self.run_woken();
        }
    }

    /// What an upstream connection's socket is to be used for.
    #[must_use]
    pub fn upstream_wants(&self, id: UpstreamConnectionId) -> Wants {
        let connection = &self.connections[id];
        let is_read = match connection.owner() {
            Some(client) => self.clients.get(client).is_none_or(|client| !client.is_full()),
            None => true,
        };
        Wants {
            read: is_read && !connection.is_over(),
            close: connection.is_over(),
            write: !connection.output().is_empty(),
        }
    }

    /// An upstream connection could not be dialled at one upstream, and another one, or the same once more, is tried.
    pub fn dial_failed(&mut self, id: UpstreamConnectionId, why: &str) {
        let connection = &self.connections[id];
        let pool = match connection.usage() {
            ConnectionUse::Login(login) => {
                self.pools.login(login).check_mut().set_last_error(why);
                None
            }
            ConnectionUse::Check(pool) | ConnectionUse::Shared(pool, _) => Some(pool),
            ConnectionUse::Own(client) => self.clients[client].pool(),
            ConnectionUse::None => None,
        };
        if let Some(pool) = pool {
            self.pools.pool(pool).check_mut().set_last_error(why);
        }
    }

    /// An upstream connection could not be dialled, or its socket is closed; the clients concerned get `why`. Its id may be another's from
    /// here on.
    pub fn upstream_lost(&mut self, id: UpstreamConnectionId, why: &str, now_ms: u64) {
        self.now_ms = now_ms;
        self.forget_connection(id, why);
        self.connections.remove(id);
        self.run_woken();
    }

    /// What is to be done, in its order.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        self.effects.take()
    }

    /// What has happened so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Sets what operators have changed. Clients and upstream connections keep what was agreed on with them.
    pub fn set_options(&mut self, options: Options) {
        self.options = options;
    }

    /// How many clients there are.
    #[must_use]
    pub fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// How many upstream connections there are, those that are being dialled included.
    #[must_use]
    pub fn upstream_connection_count(&self) -> usize {
        self.connections.len()
    }

    /// Looks again at the frames of those that have been woken.
    fn run_woken(&mut self) {
        while let Some(id) = self.wake_queue.pop() {
            if let Some(client) = self.clients.get_mut(id) {
                client.wake();
                self.run_client(id);
            }
        }
    }
}
