//! The handshake with a client (AMQP 0-9-1, 2.2.4): upstreams judge the login, unless one has done so lately.

use std::rc::Rc;

use amqp::handshake::ClientRequest;
use amqp::limits::FRAME_LEN_MAX_INITIAL;
use amqp::method::{Method, connection};
use amqp::sasl;
use amqp::server::Violation;

use super::client::Phase;
use super::frame_outcome::FrameOutcome;
use super::ids::{LoginId, PoolId};
use super::lane::Kind;
use super::upstream_connection::{ConnectionUse, UpstreamConnection};
use super::wait::Waits;
use super::{ClientId, Notice, Refusal, Switchboard};
use crate::limits::REFUSED_LOGIN_DELAY_MS;

const MECHANISMS: &[u8] = b"AMQPLAIN PLAIN";

impl Switchboard {
    pub(super) fn start_client(&mut self, id: ClientId) {
        let properties = self.server.properties();
        self.clients[id].start(properties.as_table(), MECHANISMS);
    }

    /// A method of channel 0 before the connection is open.
    pub(super) fn handshake_method(&mut self, id: ClientId, method: &Method<'_>) -> FrameOutcome {
        match self.clients[id].request(method) {
            Ok(ClientRequest::LogIn(start_ok)) => self.start_ok(id, &start_ok),
            Ok(ClientRequest::Tune(tune_ok)) => self.tune_ok(id, tune_ok),
            Ok(ClientRequest::Open(open)) => self.open(id, &open),
            Ok(ClientRequest::Close | ClientRequest::CloseOk) => {
                self.client_leaves(id);
                FrameOutcome::Done(0)
            }
            Err(violation) => FrameOutcome::Refused(Refusal::from(violation).of_method(method)),
        }
    }

    fn start_ok(&mut self, id: ClientId, start_ok: &connection::StartOk<'_>) -> FrameOutcome {
        // It comes again when the upstream has said what it thinks of the login.
        if self.clients[id].login().is_none() {
            let (mechanism, credentials) = match start_ok.mechanism {
                b"PLAIN" => ("PLAIN", sasl::plain(start_ok.response)),
                b"AMQPLAIN" => ("AMQPLAIN", sasl::amqplain(start_ok.response)),
                other => {
                    return FrameOutcome::refused(Violation::unknown_mechanism(&String::from_utf8_lossy(other)));
                }
            };
            self.clients[id].introduce(mechanism, &start_ok.client_properties);
            let Some((user, secret)) = credentials else {
                self.refuse_login(id, &Violation::login_refused("PLAIN").into());
                return FrameOutcome::Done(0);
            };
            self.clients[id].set_login(self.pools.use_login(&user, &secret));
        }
        let is_vouched = self.clients[id].take_vouched();
        if self.options.checks_login_first && !is_vouched && !self.is_login_fresh(id) {
            return self.wait_for(id, Waits::Login);
        }
        self.stop_waiting(id);
        let tune = self.tune();
        self.clients[id].tune(tune);
        FrameOutcome::Done(0)
    }

    /// What is offered to every client.
    fn tune(&self) -> connection::Tune {
        let options = &self.options;
        connection::Tune {
            channel_max: options.channel_max,
            frame_max: options.frame_len_max,
            heartbeat: options.client_heartbeat_s,
        }
    }

    /// Whether the client's login was accepted lately. If not, an upstream is asked.
    fn is_login_fresh(&mut self, id: ClientId) -> bool {
        let Some(login_id) = self.clients[id].login() else { return false };
        let (now_ms, fresh_ms) = (self.now_ms, self.options.login_fresh_ms);
        let login = self.pools.login(login_id);
        if is_fresh(login.check().accepted_ms(), fresh_ms, now_ms) {
            self.counters.logins_remembered += 1;
            return true;
        }
        if login.is_away() && self.is_believed(login_id, None) {
            self.counters.logins_remembered += 1;
            return true;
        }
        self.pools.login(login_id).check_mut().add_waiter(id);
        self.check_login(login_id);
        false
    }

    /// Has an upstream say what it thinks of a login, unless one is being asked.
    pub(super) fn check_login(&mut self, login_id: LoginId) {
        if let Some(connection) = self.pools.login(login_id).check().connection() {
            // One that has said so, and waits for a vhost that may never come, says no more.
            if !self.connections[connection].waits_for_vhost() {
                return;
            }
            self.connections[connection].disown();
            self.end_connection(connection, None);
        }
        let connection =
            self.dial(UpstreamConnection::new(ConnectionUse::Login(login_id), login_id, None, self.now_ms));
        self.pools.login(login_id).check_mut().start(connection);
    }

    fn tune_ok(&mut self, id: ClientId, tune_ok: connection::TuneOk) -> FrameOutcome {
        let floor = FRAME_LEN_MAX_INITIAL.min(self.options.frame_len_max);
        match self.clients[id].agree(tune_ok, floor) {
            Ok(()) => FrameOutcome::Done(0),
            Err(violation) => FrameOutcome::refused(violation),
        }
    }

    fn open(&mut self, id: ClientId, open: &connection::Open<'_>) -> FrameOutcome {
        let Some(login) = self.clients[id].login() else { return self.wait_for(id, Waits::Login) };
        let vhost: Rc<str> = String::from_utf8_lossy(open.virtual_host).into();
        if self.clients[id].pool().is_none() {
            self.join_pool(id, login, &vhost);
        }
        if !self.is_let_in(id) {
            return self.wait_for(id, Waits::Login);
        }
        if self.options.asks_for_clients && !self.clients[id].is_admitted() {
            let user = self.pools.login(login).user().clone();
            self.effects.push(super::Effect::Admit { client: id, user });
            return self.wait_for(id, Waits::Login);
        }
        self.stop_waiting(id);
        let client = &mut self.clients[id];
        client.run(vhost);
        FrameOutcome::Done(0)
    }

    /// Whether a client is let into its pool's vhost, as far as is known. If not, an upstream is asked.
    pub(super) fn is_let_in(&mut self, id: ClientId) -> bool {
        let client = &self.clients[id];
        let (Some(pool_id), is_vouched) = (client.pool(), client.is_vouched()) else { return false };
        let (now_ms, fresh_ms) = (self.now_ms, self.options.login_fresh_ms);
        let pool = self.pools.pool(pool_id);
        let (login, vhost, accepted_ms, is_away) =
            (pool.login(), pool.vhost().clone(), pool.check().accepted_ms(), pool.is_away());
        let is_known = is_vouched || is_fresh(accepted_ms, fresh_ms, now_ms);
        if !(is_known || is_away && self.is_believed(login, Some(&vhost))) {
            self.pools.pool(pool_id).check_mut().add_waiter(id);
            self.ask_for_pool(pool_id);
            return false;
        }
        if accepted_ms.is_some_and(|accepted_ms| accepted_ms + fresh_ms / 2 < now_ms) {
            // Clients that come later need not wait for it.
            self.want_check(pool_id);
        }
        true
    }

    pub(super) fn join_pool(&mut self, id: ClientId, login: LoginId, vhost: &Rc<str>) {
        let pool_id = self.pools.pool_of(login, vhost, self.now_ms);
        self.pools.pool(pool_id).join();
        self.clients[id].set_pool(pool_id);
    }

    /// Has an upstream say whether a login is let into a vhost: over the pool's first upstream connection, or one that does nothing else.
    pub(super) fn ask_for_pool(&mut self, pool_id: PoolId) {
        let pool = self.pools.pool(pool_id);
        if pool.check().connection().is_some() || pool.opening().next().is_some() {
            return;
        }
        let (login, has_connections) = (pool.login(), pool.has_connections());
        let usage = if has_connections {
            ConnectionUse::Check(pool_id)
        } else {
            ConnectionUse::Shared(pool_id, Kind::Publishes)
        };
        if self.adopt_connection(login, pool_id, usage) {
            return;
        }
        match has_connections {
            true => self.want_check(pool_id),
            false => self.request_connection(pool_id, Kind::Publishes),
        }
    }

    /// An upstream connection that has checked a login and waits for a vhost is opened for a pool.
    fn adopt_connection(&mut self, login: LoginId, pool_id: PoolId, usage: ConnectionUse) -> bool {
        let Some(connection_id) = self.pools.login(login).check().connection() else { return false };
        let vhost = self.pools.pool(pool_id).vhost().clone();
        let connection = &mut self.connections[connection_id];
        if !connection.waits_for_vhost() {
            return false;
        }
        connection.assign(usage, vhost);
        self.pools.login(login).check_mut().end();
        let pool = self.pools.pool(pool_id);
        match usage {
            ConnectionUse::Check(_) => pool.check_mut().start(connection_id),
            _ => pool.lane(Kind::Publishes).set_opening(connection_id),
        }
        self.open_connection(connection_id);
        true
    }

    /// A client has what it waited for. The timeout of its handshake has not run meanwhile.
    pub(super) fn stop_waiting(&mut self, id: ClientId) {
        let now_ms = self.now_ms;
        self.clients[id].stop_waiting_in_handshake(now_ms);
    }

    /// The upstream does not let this client in. What it says of `PLAIN`, by which it was asked, holds for what the client came with.
    pub(super) fn refuse_login(&mut self, id: ClientId, refusal: &Refusal) {
        let text = refusal.text().replace("mechanism PLAIN.", &format!("mechanism {}.", self.clients[id].mechanism()));
        let refusal = &Refusal { text: text.into_bytes(), ..refusal.clone() };
        self.counters.logins_refused += 1;
        let user = match self.clients[id].login() {
            Some(login) => self.pools.login(login).user().to_string(),
            None => String::new(),
        };
        self.effects.log(Notice::LoginRefused { user, text: refusal.text() });
        if self.clients[id].capabilities().authentication_failure_close {
            self.close_client(id, refusal);
            return;
        }
        let until_ms = self.now_ms + REFUSED_LOGIN_DELAY_MS;
        self.clients[id].enter(Phase::Refused { until_ms });
        self.effects.client_changed(id);
    }

    /// A client has nothing more to do with its login, nor with its pool.
    pub(super) fn leave_login(&mut self, id: ClientId) {
        let now_ms = self.now_ms;
        let (login, pool) = self.clients[id].leave_login();
        if let Some(login) = login {
            self.pools.drop_login(login);
        }
        if let Some(pool) = pool {
            self.pools.pool(pool).leave(now_ms);
        }
    }
}

/// Whether what an upstream has accepted then is believed still.
pub(super) fn is_fresh(accepted_ms: Option<u64>, fresh_ms: u64, now_ms: u64) -> bool {
    accepted_ms.is_some_and(|accepted_ms| now_ms < accepted_ms + fresh_ms)
}
