//! The handshake with an upstream: in the client's name, or in the pool's.

use std::rc::Rc;

use amqp::handshake::{
    ClientHandshake, ServerHandshake, ServerReply, choose_limits, client_capabilities, offers_mechanism,
};
use amqp::method::{Method, connection};
use amqp::server::ON_BEHALF_OF;
use amqp::{TableBuf, Value};

use super::client::{Client, Phase};
use super::ids::PoolId;
use super::lane::Kind;
use super::refusal::{says_no_access, says_not_here, says_vhost_not_here};
use super::upstream_connection::{ConnectionUse, UpstreamPhase};
use super::wait::Waits;
use super::{ClientId, Refusal, Switchboard, UpstreamConnectionId};
use crate::limits::LOGIN_CONNECTION_TIMEOUT_MS;

impl Switchboard {
    pub(super) fn begin_connection(&mut self, id: UpstreamConnectionId) {
        let now_ms = self.now_ms;
        let connection = &mut self.connections[id];
        if connection.phase() != UpstreamPhase::Dialling {
            return;
        }
        connection.begin(now_ms);
        self.effects.upstream_changed(id);
    }

    /// A method of channel 0 before the upstream connection is open. An error is the upstream's mistake.
    pub(super) fn upstream_handshake_method(
        &mut self,
        id: UpstreamConnectionId,
        method: &Method<'_>,
    ) -> Result<(), String> {
        match self.connections[id].receive(method).map_err(|error| error.to_string())? {
            ServerReply::Started(start) => self.start_connection(id, &start)?,
            ServerReply::Tuned(tune) => self.tune_connection(id, tune),
            ServerReply::Opened => self.upstream_is_open(id),
            ServerReply::Closed { close, expected } => {
                self.upstream_refused(id, &Refusal::of_connection(&close), expected);
            }
        }
        Ok(())
    }

    fn start_connection(&mut self, id: UpstreamConnectionId, start: &connection::Start<'_>) -> Result<(), String> {
        if !offers_mechanism(start, b"PLAIN") {
            return Err(format!("it offers {}, not PLAIN", String::from_utf8_lossy(start.mechanisms)));
        }
        self.server.learn(start.server_properties);
        let connection = &mut self.connections[id];
        connection.learn_capabilities(start.server_properties);
        let properties = match connection.owner() {
            // The upstream sees whose it is, and does what the client says that it can.
            Some(client) if connection.takes_names() => {
                let client = &self.clients[client];
                client.properties().clone().with(ON_BEHALF_OF, Value::LongStr(client.name().as_bytes()))
            }
            Some(client) => self.clients[client].properties().clone(),
            None => {
                let capabilities = client_capabilities();
                TableBuf::new()
                    .with("product", Value::LongStr(b"Warren proxy"))
                    .with("version", Value::LongStr(env!("CARGO_PKG_VERSION").as_bytes()))
                    .with("platform", Value::LongStr(b"Rust"))
                    .with("connection_name", Value::LongStr(b"warren proxy, shared"))
                    .with("capabilities", Value::Table(capabilities.as_table()))
            }
        };
        let login = self.pools.login(connection.login());
        connection.log_in(properties.as_table(), login.user(), login.secret());
        self.effects.upstream_changed(id);
        Ok(())
    }

    fn tune_connection(&mut self, id: UpstreamConnectionId, offered: connection::Tune) {
        let (now_ms, options) = (self.now_ms, &self.options);
        let connection = &mut self.connections[id];
        let wanted = connection.owner().map_or(options.frame_len_max, |client| self.clients[client].frame_len_max());
        let own = connection::TuneOk { channel_max: 0, frame_max: wanted, heartbeat: options.upstream_heartbeat_s };
        let agreed = choose_limits(own, offered);
        connection.agree(agreed, now_ms + LOGIN_CONNECTION_TIMEOUT_MS);
        let login_id = connection.login();
        let waiters = self.pools.login(login_id).accept(now_ms);
        let has_vhost = connection.vhost().is_some();
        for client in waiters {
            // One that waits for a vhost has been let in already, and is to be let in there.
            self.vouch(client, |client| client.login() == Some(login_id) && client.is_logging_in());
        }
        if has_vhost {
            self.open_connection(id);
        }
    }

    /// The rest of the handshake, once it is known where to.
    pub(super) fn open_connection(&mut self, id: UpstreamConnectionId) {
        if self.connections[id].open_vhost() {
            self.effects.upstream_changed(id);
        }
    }

    fn upstream_is_open(&mut self, id: UpstreamConnectionId) {
        let now_ms = self.now_ms;
        let connection = &mut self.connections[id];
        connection.run(now_ms);
        match connection.usage() {
            ConnectionUse::Own(client) => {
                if let Some(pool) = self.clients[client].pool() {
                    self.pools.pool(pool).check_mut().clear_last_error();
                }
                self.wake_queue.push(client);
            }
            ConnectionUse::Shared(pool_id, kind) => {
                let lane = self.pools.pool(pool_id).lane(kind);
                lane.add(id);
                let waiters = lane.take_waiters();
                self.wake_queue.extend(waiters);
                if kind == Kind::Publishes {
                    self.pools.pool(pool_id).set_away(false);
                    self.wake_spool_waiters();
                }
                self.report_accepted(pool_id);
                self.pool_accepted(pool_id, now_ms);
            }
            ConnectionUse::Check(pool_id) => {
                self.connections[id].disown();
                self.pools.pool(pool_id).check_mut().end();
                self.report_accepted(pool_id);
                self.pool_accepted(pool_id, now_ms);
                self.close_connection(id);
            }
            ConnectionUse::Login(_) | ConnectionUse::None => self.close_connection(id),
        }
    }

    /// A pool's login is let in.
    fn pool_accepted(&mut self, pool_id: PoolId, accepted_ms: u64) {
        for client in self.pools.pool(pool_id).check_mut().accept(accepted_ms) {
            self.vouch(client, |client| client.pool() == Some(pool_id));
        }
    }

    /// A client that waits for an upstream's word on it has it. `is_meant` distinguishes it from one that waits for something else by now.
    fn vouch(&mut self, id: ClientId, is_meant: impl Fn(&Client) -> bool) {
        if let Some(client) = self.clients.get_mut(id)
            && client.waits() == Waits::Login
            && is_meant(client)
        {
            client.vouch();
            self.wake_queue.push(id);
        }
    }

    /// The upstream closes an upstream connection before it is open: it does not let this login in, or not there, or no login now.
    fn upstream_refused(&mut self, id: UpstreamConnectionId, refusal: &Refusal, expected: ClientHandshake) {
        let connection = &mut self.connections[id];
        let opens_vhost = expected == ClientHandshake::OpenOk;
        let has_logged_in = opens_vhost || expected == ClientHandshake::LoggedIn;
        connection.set_vhost_refused(opens_vhost && says_vhost_not_here(refusal.code, &refusal.text()));
        connection.enter(UpstreamPhase::Over);
        let (usage, login_id) = (connection.usage(), connection.login());
        self.effects.upstream_changed(id);
        if says_not_here(refusal.code, &refusal.text()) {
            self.connections[id].note_fault(refusal.text());
            let has_connections = match usage {
                ConnectionUse::Shared(pool, _) | ConnectionUse::Check(pool) => self.pools.pool(pool).has_connections(),
                ConnectionUse::Login(_) | ConnectionUse::Own(_) | ConnectionUse::None => false,
            };
            if !has_connections {
                // As if it could not be reached: clients that wait keep waiting, for another one.
                return;
            }
        }
        self.connections[id].close_with(refusal.clone());
        let is_login_bad = !has_logged_in && refusal.code == amqp::ReplyCode::AccessRefused.code();
        if is_login_bad {
            self.pools.login(login_id).refuse();
            self.report_refused(login_id, None);
        }
        if is_login_bad || matches!(usage, ConnectionUse::Login(_)) {
            for client in self.pools.login(login_id).check_mut().take_waiters() {
                self.refuse_waiter(client, refusal);
            }
        }
        match usage {
            ConnectionUse::Shared(pool, kind) => {
                self.connections[id].disown();
                self.pools.pool(pool).lane(kind).drop_opening();
                self.pool_refused(pool, kind, refusal);
            }
            ConnectionUse::Check(pool) => {
                self.connections[id].disown();
                self.pools.pool(pool).check_mut().end();
                self.pool_refused(pool, Kind::Publishes, refusal);
            }
            ConnectionUse::Own(client) => self.own_connection_lost(client, refusal),
            ConnectionUse::Login(_) | ConnectionUse::None => {}
        }
    }

    /// The vhost that the upstream refuses for now, if an upstream connection was refused for that.
    #[must_use]
    pub(crate) fn upstream_refused_vhost(&self, id: UpstreamConnectionId) -> Option<Rc<str>> {
        self.connections.get(id).filter(|connection| connection.is_vhost_refused())?.vhost().cloned()
    }

    /// A pool's upstream connection was refused. Clients that have been let in already continue with the existing upstream connections.
    fn pool_refused(&mut self, pool_id: PoolId, kind: Kind, refusal: &Refusal) {
        let (now_ms, fresh_ms) = (self.now_ms, self.options.login_fresh_ms);
        let pool = self.pools.pool(pool_id);
        pool.note_refused(now_ms);
        let has_connections = pool.has_connections();
        if has_connections && !is_about_access(refusal) {
            // It says nothing of the login: there are as many connections as there may be, or the node is going down.
            self.pool_accepted(pool_id, now_ms.saturating_sub(fresh_ms / 2));
            self.pools.pool(pool_id).check_mut().set_last_error(&refusal.text());
            return;
        }
        pool.check_mut().set_last_error(&refusal.text());
        pool.check_mut().revoke();
        if is_about_access(refusal) {
            pool.set_away(false);
            let (login, vhost) = (pool.login(), pool.vhost().clone());
            self.report_refused(login, Some(&vhost));
        }
        let pool = self.pools.pool(pool_id);
        let mut refused = pool.check_mut().take_waiters();
        if !has_connections {
            refused.extend(pool.lane(kind).take_waiters());
        }
        for client in refused {
            self.refuse_waiter(client, refusal);
        }
    }

    fn refuse_waiter(&mut self, id: ClientId, refusal: &Refusal) {
        let Some(client) = self.clients.get(id) else { return };
        if client.waits() == Waits::Nothing {
            return;
        }
        match client.phase() {
            Phase::Handshake(ServerHandshake::StartOk) => self.refuse_login(id, refusal),
            Phase::Running if client.waits() == Waits::Login => self.refuse_token(id, refusal),
            _ => self.close_client(id, refusal),
        }
    }
}

/// Whether a refusal is of this user or this vhost, and not of one connection more.
fn is_about_access(refusal: &Refusal) -> bool {
    says_no_access(refusal.code, &refusal.text())
}
