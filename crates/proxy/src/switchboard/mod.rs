//! Clients, lines and pools of one thread, without I/O: the proxy's rules.
//!
//! ```text
//!  client ──► handshake ──► frames ──► judge: may this run on a line that others use, too?
//!                                        │ yes: publishes, declarations, gets without acks      │ no: consume, tx, exclusive queues …
//!                                        ▼                                                      ▼
//!                           pool ─► a channel of a shared line ◄──── moving ────►  a line of the client's own: frames pass as they are
//! ```
//!
//! - **A frame that has to wait stays where it is.** A client's frames are looked at one after the other. Where one needs what is not
//!   there yet (a line, a channel, room, quiet), it is left in the input, the client [waits](client::Waits), and whatever brings
//!   what it waits for looks at the same frame again. So nothing has to be undone.
//! - **Every channel of a shared line confirms.** The switchboard selects confirms itself, whether the client wants them or not. A channel
//!   that has only published goes back to the pool when all is confirmed: whatever could still come of it has come. One that did
//!   anything else is closed first.
//! - **Nothing is half sent.** A publish is written to a shared line when its last frame has come.
//! - **What could close a shared line is answered here**, or goes over a line of the client's own and closes only that.

mod buffer;
mod calls;
mod client;
mod client_frames;
mod client_handshake;
mod closing;
mod draining;
mod line;
mod line_frames;
mod line_handshake;
mod moving;
mod pool;
mod publish;
mod refusal;
mod report;
mod seats;
mod slots;
mod tick;

use std::mem;
use std::rc::Rc;

use amqp::TableBuf;

use self::client::Client;
use self::line::Line;
use self::pool::Pools;
pub use self::refusal::Refusal;
pub use self::report::{LineReport, PoolReport, Report};
use self::slots::Slots;

/// A client, as long as it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(u64);

/// A line, from the wish to have it until it is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineId(u64);

/// What is asked of the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A line is wanted: say [`Switchboard::line_connected`] or [`Switchboard::line_lost`].
    Dial {
        /// Which.
        line: LineId,
        /// To where this vhost is; `None` while only the login is to be checked.
        vhost: Option<Rc<str>>,
        /// Whose own it is to be; `None` for one that is shared.
        client: Option<ClientId>,
    },
    /// A user wants in whose login is good: say [`Switchboard::client_admitted`]. Only where [`Options::asks_for_clients`].
    Admit {
        /// Which client.
        client: ClientId,
        /// Who has logged in.
        user: Rc<str>,
    },
    /// Look at what this client [wants](Switchboard::client_wants): there is something new.
    ClientChanged(ClientId),
    /// Look at what this line [wants](Switchboard::line_wants): there is something new.
    LineChanged(LineId),
    /// Something for the log.
    Log(Notice),
}

/// What an operator may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A publish failed after its client had gone, or had its channel closed.
    LateError {
        /// Who had logged in.
        user: String,
        /// Where.
        vhost: String,
        /// The reply code.
        code: u16,
        /// The upstream's words.
        text: String,
    },
    /// A mandatory message came back after its client had gone.
    LateReturn {
        /// Who had logged in.
        user: String,
        /// Where.
        vhost: String,
        /// The upstream's words.
        text: String,
    },
    /// A connection to an upstream was lost with publishes that were not confirmed, of clients who had gone.
    LateLoss {
        /// Who had logged in.
        user: String,
        /// Where.
        vhost: String,
        /// How many.
        count: usize,
    },
    /// Publishes of clients who had gone were not confirmed for so long that nobody waits for it any more.
    Unconfirmed {
        /// Who had logged in.
        user: String,
        /// Where.
        vhost: String,
        /// How many.
        count: usize,
    },
    /// A login was refused by the upstream.
    LoginRefused {
        /// Who.
        user: String,
        /// The upstream's words.
        text: String,
    },
    /// A client does not read what it asked for, and was let go.
    SlowClient(ClientId),
    /// An upstream does not speak as agreed.
    Garbled {
        /// Which line.
        line: LineId,
        /// What it did.
        text: String,
    },
}

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

/// What operators set.
#[derive(Debug, Clone)]
pub struct Options {
    /// Channels that a client may open.
    pub channel_max: u16,
    /// The longest frame, in bytes.
    pub frame_len_max: u32,
    /// What is offered to clients, in seconds; 0 for none.
    pub client_heartbeat_s: u16,
    /// What is asked of upstreams, in seconds; 0 leaves it to them.
    pub line_heartbeat_s: u16,
    /// How long a handshake may take.
    pub handshake_timeout_ms: u64,
    /// For how long a login that an upstream has accepted is believed.
    pub login_fresh_ms: u64,
    /// How long a client waits for a line before it is closed.
    pub line_wait_ms: u64,
    /// Channels that are open on a shared line at most.
    pub line_channel_max: u16,
    /// Shared lines for one login and vhost at most, of each kind (for publishes, for everything else); clients beyond wait for a channel.
    pub pool_line_max: usize,
    /// Lines in all, own ones too; 0 for no limit.
    pub line_max: usize,
    /// After what time without a client a shared line is closed; one of each pool stays longer.
    pub line_idle_ms: u64,
    /// After what time without a client the last line of a pool is closed.
    pub pool_idle_ms: u64,
    /// Whether logins are checked before the vhost is known. Not where vhosts lead to different upstreams.
    pub checks_login_first: bool,
    /// How long an upstream's handshake may pause.
    pub line_handshake_timeout_ms: u64,
    /// Whether it is asked for each client if there is room for its user.
    pub asks_for_clients: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            channel_max: 2047,
            frame_len_max: amqp::limits::FRAME_LEN_MAX,
            client_heartbeat_s: 60,
            line_heartbeat_s: 60,
            handshake_timeout_ms: 10_000,
            login_fresh_ms: 60_000,
            line_wait_ms: 15_000,
            line_channel_max: 1024,
            pool_line_max: 64,
            line_max: 0,
            line_idle_ms: 5_000,
            pool_idle_ms: 600_000,
            checks_login_first: true,
            line_handshake_timeout_ms: 4_000,
            asks_for_clients: false,
        }
    }
}

/// What has happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Clients that came.
    pub clients: u64,
    /// Messages published by clients, and sent on over shared lines.
    pub published: u64,
    /// Channels opened upstream for the pool.
    pub channels_opened: u64,
    /// Channels given to a client that another one had before.
    pub channels_reused: u64,
    /// Lines dialled.
    pub lines_dialled: u64,
    /// Lines that could not be opened, or were lost.
    pub lines_lost: u64,
    /// Clients that got a line of their own.
    pub moved: u64,
    /// Errors of publishes whose client had gone.
    pub late_errors: u64,
    /// Mandatory messages that came back to nobody.
    pub late_returns: u64,
    /// Publishes refused by the upstream (`basic.nack`) whose client had gone.
    pub late_nacks: u64,
    /// Publishes that were not confirmed when their connection was lost, or for very long, and whose client had gone.
    pub late_losses: u64,
    /// Logins that upstreams refused.
    pub logins_refused: u64,
    /// Logins that were believed because they had been accepted lately.
    pub logins_remembered: u64,
    /// Clients let go because they did not read.
    pub slow_clients: u64,
}

impl Counters {
    /// Adds another thread's.
    pub(crate) fn add(&mut self, other: &Counters) {
        let Counters {
            clients,
            published,
            channels_opened,
            channels_reused,
            lines_dialled,
            lines_lost,
            moved,
            late_errors,
            late_returns,
            late_nacks,
            late_losses,
            logins_refused,
            logins_remembered,
            slow_clients,
        } = other;
        self.clients += clients;
        self.published += published;
        self.channels_opened += channels_opened;
        self.channels_reused += channels_reused;
        self.lines_dialled += lines_dialled;
        self.lines_lost += lines_lost;
        self.moved += moved;
        self.late_errors += late_errors;
        self.late_returns += late_returns;
        self.late_nacks += late_nacks;
        self.late_losses += late_losses;
        self.logins_refused += logins_refused;
        self.logins_remembered += logins_remembered;
        self.slow_clients += slow_clients;
    }
}

/// Clients, lines and pools of one thread.
#[derive(Debug)]
pub struct Switchboard {
    options: Options,
    clients: Slots<Client>,
    lines: Slots<Line>,
    pools: Pools,
    /// As the upstream last said who it is.
    server_properties: Rc<TableBuf>,
    knows_server: bool,
    now_ms: u64,
    /// Clients whose frames are to be looked at again.
    woken: Vec<ClientId>,
    effects: Vec<Effect>,
    counters: Counters,
}

impl Switchboard {
    /// Without clients and lines.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Switchboard {
            options,
            clients: Slots::new(),
            lines: Slots::new(),
            pools: Pools::default(),
            server_properties: Rc::new(client_handshake::unknown_server()),
            knows_server: false,
            now_ms: 0,
            woken: Vec::new(),
            effects: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// Whether an upstream has said who it is.
    #[must_use]
    pub fn knows_server(&self) -> bool {
        self.knows_server
    }

    /// What an upstream says of itself, and clients are told from now on: libraries go by it.
    pub fn set_server(&mut self, properties: &TableBuf) {
        self.server_properties = Rc::new(properties.clone());
        self.knows_server = true;
    }

    /// Somebody has connected.
    pub fn client_joined(&mut self, now_ms: u64) -> ClientId {
        self.now_ms = now_ms;
        self.counters.clients += 1;
        ClientId(self.clients.insert(Client::new(now_ms)))
    }

    /// This came from a client.
    pub fn client_received(&mut self, id: ClientId, bytes: &[u8], now_ms: u64) {
        self.now_ms = now_ms;
        let client = &mut self.clients[id.0];
        client.heard_ms = now_ms;
        // Usually nothing waits from before, and it is looked at where it lies.
        let taken = if client.input.is_empty() { self.client_frames(id, bytes) } else { 0 };
        self.clients[id.0].input.end().extend_from_slice(&bytes[taken..]);
        if taken == 0 {
            self.run_client(id);
        }
        self.client_changed(id);
        self.run_woken();
    }

    /// What is to be written to a client.
    #[must_use]
    pub fn client_output(&self, id: ClientId) -> &[u8] {
        self.clients[id.0].output.rest()
    }

    /// So much of it was written.
    pub fn client_sent(&mut self, id: ClientId, len: usize, now_ms: u64) {
        self.now_ms = now_ms;
        let client = &mut self.clients[id.0];
        let was_full = client.is_full();
        client.said_ms = now_ms;
        client.output.take(len);
        if was_full && !client.is_full() {
            if let Some(line) = client.own {
                self.effects.push(Effect::LineChanged(line));
            }
            self.wake(id);
            self.run_woken();
        }
    }

    /// What a client's socket is to be used for.
    #[must_use]
    pub fn client_wants(&self, id: ClientId) -> Wants {
        let client = &self.clients[id.0];
        Wants { read: client.may_read(), close: client.is_over(), write: !client.output.is_empty() }
    }

    /// A client's socket is closed, for whatever reason. Its id may be another's from here on.
    pub fn client_gone(&mut self, id: ClientId, now_ms: u64) {
        self.now_ms = now_ms;
        self.forget_client(id);
        self.clients.remove(id.0);
        self.run_woken();
    }

    /// Whether a user who [wants in](Effect::Admit) may come.
    pub fn client_admitted(&mut self, id: ClientId, admitted: Result<(), Refusal>, now_ms: u64) {
        self.now_ms = now_ms;
        let Some(client) = self.clients.get_mut(id.0) else { return };
        match admitted {
            Ok(()) => {
                client.is_admitted = true;
                self.wake(id);
            }
            Err(refusal) => self.close_client(id, &refusal),
        }
        self.run_woken();
    }

    /// A line that was [wanted](Effect::Dial) is connected: from here on it is spoken over.
    pub fn line_connected(&mut self, id: LineId, now_ms: u64) {
        self.now_ms = now_ms;
        self.begin_line(id);
        self.run_woken();
    }

    /// This came over a line.
    pub fn line_received(&mut self, id: LineId, bytes: &[u8], now_ms: u64) {
        self.now_ms = now_ms;
        let line = &mut self.lines[id.0];
        line.heard_ms = now_ms;
        let mut input = mem::take(&mut line.input);
        if input.is_empty() {
            let taken = self.line_frames(id, bytes);
            input.end().extend_from_slice(&bytes[taken..]);
        } else {
            input.end().extend_from_slice(bytes);
            let taken = self.line_frames(id, input.rest());
            input.take(taken);
        }
        input.release();
        self.lines[id.0].input = input;
        self.line_changed(id);
        self.run_woken();
    }

    /// What is to be written to a line.
    #[must_use]
    pub fn line_output(&self, id: LineId) -> &[u8] {
        self.lines[id.0].output.rest()
    }

    /// So much of it was written.
    pub fn line_sent(&mut self, id: LineId, len: usize, now_ms: u64) {
        self.now_ms = now_ms;
        let line = &mut self.lines[id.0];
        line.said_ms = now_ms;
        line.output.take(len);
        if !line.waiters.is_empty() && line.has_much_room() {
            let waiters = mem::take(&mut line.waiters);
            // The one who waits longest comes first.
            self.woken.extend(waiters.into_iter().rev());
            self.run_woken();
        }
    }

    /// What a line's socket is to be used for.
    #[must_use]
    pub fn line_wants(&self, id: LineId) -> Wants {
        let line = &self.lines[id.0];
        let is_read = match line.owner() {
            Some(client) => self.clients.get(client.0).is_none_or(|client| !client.is_full()),
            None => true,
        };
        Wants { read: is_read && !line.is_over(), close: line.is_over(), write: !line.output.is_empty() }
    }

    /// A line could not be dialled, or its socket is closed; `why` is told to those whom it concerns. Its id may be another's from here on.
    pub fn line_lost(&mut self, id: LineId, why: &str, now_ms: u64) {
        self.now_ms = now_ms;
        self.forget_line(id, why);
        self.lines.remove(id.0);
        self.run_woken();
    }

    /// What is to be done, in its order.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        mem::take(&mut self.effects)
    }

    /// What has happened so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Sets what operators have changed. Clients and lines keep what was agreed on with them.
    pub fn set_options(&mut self, options: Options) {
        self.options = options;
    }

    /// How many clients there are.
    #[must_use]
    pub fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// How many lines there are, those that are being dialled included.
    #[must_use]
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    fn wake(&mut self, id: ClientId) {
        self.woken.push(id);
    }

    /// Looks again at the frames of those who have been woken.
    fn run_woken(&mut self) {
        while let Some(id) = self.woken.pop() {
            if let Some(client) = self.clients.get_mut(id.0) {
                client.waits = client::Waits::Nothing;
                self.run_client(id);
            }
        }
    }

    fn client_changed(&mut self, id: ClientId) {
        let effect = Effect::ClientChanged(id);
        if self.effects.last() != Some(&effect) {
            self.effects.push(effect);
        }
    }

    fn line_changed(&mut self, id: LineId) {
        let effect = Effect::LineChanged(id);
        if self.effects.last() != Some(&effect) {
            self.effects.push(effect);
        }
    }
}
