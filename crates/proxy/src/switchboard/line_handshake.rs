//! The handshake with an upstream: in the client's name, or in the pool's.

use std::rc::Rc;

use amqp::frame::FRAME_OVERHEAD;
use amqp::method::{Method, connection};
use amqp::negotiation::lesser;
use amqp::{TableBuf, Value};

use super::client::{Client, Phase};
use super::ids::PoolId;
use super::lane::Kind;
use super::line::{LinePhase, Use};
use super::refusal::{says_no_access, says_not_here, says_vhost_not_here};
use super::wait::Waits;
use super::{ClientId, LineId, Refusal, Switchboard};
use crate::limits::LOGIN_LINE_PATIENCE_MS;

/// What the proxy can do as a client.
const CAPABILITIES: [&str; 6] = [
    "publisher_confirms",
    "exchange_exchange_bindings",
    "basic.nack",
    "consumer_cancel_notify",
    "connection.blocked",
    "authentication_failure_close",
];

impl Switchboard {
    pub(super) fn begin_line(&mut self, id: LineId) {
        let now_ms = self.now_ms;
        let line = &mut self.lines[id];
        if line.phase() != LinePhase::Dialling {
            return;
        }
        line.begin(now_ms);
        self.effects.line_changed(id);
    }

    /// A method of channel 0 before the line is open. An error is the upstream's mistake.
    pub(super) fn line_handshake_method(&mut self, id: LineId, method: &Method<'_>) -> Result<(), String> {
        match (self.lines[id].phase(), method) {
            (LinePhase::Start, Method::ConnectionStart(start)) => self.start_line(id, start),
            (LinePhase::Tune, Method::ConnectionTune(tune)) => {
                self.tune_line(id, *tune);
                Ok(())
            }
            (LinePhase::OpenOk, Method::ConnectionOpenOk(_)) => {
                self.line_is_open(id);
                Ok(())
            }
            (_, Method::ConnectionClose(close)) => {
                let refusal = Refusal::of_connection(close);
                self.line_refused(id, &refusal);
                Ok(())
            }
            (_, Method::ConnectionSecure(_)) => Err("it asks for a challenge to be answered".to_owned()),
            (_, other) => Err(format!("it sends {} where the handshake has another step", other.name())),
        }
    }

    fn start_line(&mut self, id: LineId, start: &connection::Start<'_>) -> Result<(), String> {
        if !start.mechanisms.split(|byte| *byte == b' ').any(|offered| offered == b"PLAIN") {
            return Err(format!("it offers {}, not PLAIN", String::from_utf8_lossy(start.mechanisms)));
        }
        self.server.learn(start.server_properties);
        let line = &mut self.lines[id];
        let properties = match line.owner() {
            // The upstream sees whose it is, and does what the client says that it can.
            Some(client) => self.clients[client].properties().clone(),
            None => {
                let capabilities =
                    CAPABILITIES.iter().fold(TableBuf::new(), |table, name| table.with(name, Value::Bool(true)));
                TableBuf::new()
                    .with("product", Value::LongStr(b"Warren proxy"))
                    .with("version", Value::LongStr(env!("CARGO_PKG_VERSION").as_bytes()))
                    .with("platform", Value::LongStr(b"Rust"))
                    .with("connection_name", Value::LongStr(b"warren proxy, shared"))
                    .with("capabilities", Value::Table(capabilities.as_table()))
            }
        };
        let login = self.pools.login(line.login());
        let mut response = vec![0];
        response.extend_from_slice(login.user().as_bytes());
        response.push(0);
        response.extend_from_slice(login.secret());
        line.send(
            0,
            &connection::StartOk {
                client_properties: properties.as_table(),
                mechanism: b"PLAIN",
                response: &response,
                locale: b"en_US",
            },
        );
        line.enter(LinePhase::Tune);
        self.effects.line_changed(id);
        Ok(())
    }

    fn tune_line(&mut self, id: LineId, offered: connection::Tune) {
        let (now_ms, options) = (self.now_ms, &self.options);
        let line = &mut self.lines[id];
        let wanted = line.owner().map_or(options.frame_len_max, |client| self.clients[client].frame_len_max());
        let agreed = connection::TuneOk {
            channel_max: if offered.channel_max == 0 { u16::MAX } else { offered.channel_max },
            frame_max: lesser(wanted, offered.frame_max).max(FRAME_OVERHEAD + 1),
            heartbeat: lesser(options.line_heartbeat_s.into(), offered.heartbeat.into()).try_into().unwrap_or(u16::MAX),
        };
        line.agree(agreed, now_ms + LOGIN_LINE_PATIENCE_MS);
        let login_id = line.login();
        let waiters = self.pools.login(login_id).accept(now_ms);
        let has_vhost = line.vhost().is_some();
        for client in waiters {
            // One that waits for a vhost has been let in already, and is to be let in there.
            self.vouch(client, |client| client.login() == Some(login_id) && client.phase() == Phase::StartOk);
        }
        if has_vhost {
            self.open_line(id);
        }
    }

    /// The rest of the handshake, once it is known where to.
    pub(super) fn open_line(&mut self, id: LineId) {
        if self.lines[id].open_vhost() {
            self.effects.line_changed(id);
        }
    }

    fn line_is_open(&mut self, id: LineId) {
        let now_ms = self.now_ms;
        let line = &mut self.lines[id];
        line.run(now_ms);
        match line.usage() {
            Use::Own(client) => {
                if let Some(pool) = self.clients[client].pool() {
                    self.pools.pool(pool).clear_trouble();
                }
                self.wake_queue.push(client);
            }
            Use::Shared(pool_id, kind) => {
                let lane = self.pools.pool(pool_id).lane(kind);
                lane.add(id);
                let waiters = lane.take_waiters();
                self.wake_queue.extend(waiters);
                if kind == Kind::Publishes {
                    self.pools.pool(pool_id).set_away(false);
                    self.wake_spool_waiters();
                }
                self.tell_accepted(pool_id);
                self.pool_accepted(pool_id, now_ms);
            }
            Use::Check(pool_id) => {
                self.lines[id].disown();
                self.pools.pool(pool_id).end_check();
                self.tell_accepted(pool_id);
                self.pool_accepted(pool_id, now_ms);
                self.close_line(id);
            }
            Use::Login(_) | Use::None => self.close_line(id),
        }
    }

    /// A pool's login is let in.
    fn pool_accepted(&mut self, pool_id: PoolId, accepted_ms: u64) {
        for client in self.pools.pool(pool_id).accept(accepted_ms) {
            self.vouch(client, |client| client.pool() == Some(pool_id));
        }
    }

    /// A client that waits for an upstream's word on it has it. `is_meant` tells it from one that waits for something else by now.
    fn vouch(&mut self, id: ClientId, is_meant: impl Fn(&Client) -> bool) {
        if let Some(client) = self.clients.get_mut(id)
            && client.waits() == Waits::Login
            && is_meant(client)
        {
            client.vouch();
            self.wake_queue.push(id);
        }
    }

    /// The upstream closes a line before it is open: it does not let this login in, or not there, or nobody now.
    fn line_refused(&mut self, id: LineId, refusal: &Refusal) {
        let line = &mut self.lines[id];
        let has_logged_in = matches!(line.phase(), LinePhase::OpenOk | LinePhase::LoggedIn { .. });
        line.set_vhost_refused(line.phase() == LinePhase::OpenOk && says_vhost_not_here(refusal.code, &refusal.text()));
        line.send(0, &connection::CloseOk);
        line.enter(LinePhase::Over);
        let (usage, login_id) = (line.usage(), line.login());
        self.effects.line_changed(id);
        if says_not_here(refusal.code, &refusal.text()) {
            self.lines[id].note_fault(refusal.text());
            let has_lines = match usage {
                Use::Shared(pool, _) | Use::Check(pool) => self.pools.pool(pool).has_lines(),
                Use::Login(_) | Use::Own(_) | Use::None => false,
            };
            if !has_lines {
                // As if it could not be reached: whoever waits goes on waiting, for another one.
                return;
            }
        }
        self.lines[id].close_with(refusal.clone());
        let is_login_bad = !has_logged_in && refusal.code == amqp::ReplyCode::AccessRefused.code();
        if is_login_bad {
            self.pools.login(login_id).refuse();
            self.tell_refused(login_id, None);
        }
        if is_login_bad || matches!(usage, Use::Login(_)) {
            for client in self.pools.login(login_id).take_waiters() {
                self.refuse_waiter(client, refusal);
            }
        }
        match usage {
            Use::Shared(pool, kind) => {
                self.lines[id].disown();
                self.pools.pool(pool).lane(kind).drop_opening();
                self.pool_refused(pool, kind, refusal);
            }
            Use::Check(pool) => {
                self.lines[id].disown();
                self.pools.pool(pool).end_check();
                self.pool_refused(pool, Kind::Publishes, refusal);
            }
            Use::Own(client) => self.own_line_lost(client, refusal),
            Use::Login(_) | Use::None => {}
        }
    }

    /// The vhost into which the upstream lets nobody for now, if a line was refused for that.
    #[must_use]
    pub fn line_refused_vhost(&self, id: LineId) -> Option<Rc<str>> {
        self.lines.get(id).filter(|line| line.is_vhost_refused())?.vhost().cloned()
    }

    /// A pool's line was refused. Who has been let in already goes on with the lines that there are.
    fn pool_refused(&mut self, pool_id: PoolId, kind: Kind, refusal: &Refusal) {
        let (now_ms, fresh_ms) = (self.now_ms, self.options.login_fresh_ms);
        let pool = self.pools.pool(pool_id);
        pool.note_refused(now_ms);
        let has_lines = pool.has_lines();
        if has_lines && !is_about_access(refusal) {
            // It says nothing of the login: there are as many connections as there may be, or the node is going down.
            self.pool_accepted(pool_id, now_ms.saturating_sub(fresh_ms / 2));
            self.pools.pool(pool_id).set_trouble(&refusal.text());
            return;
        }
        pool.set_trouble(&refusal.text());
        pool.revoke();
        if is_about_access(refusal) {
            pool.set_away(false);
            let (login, vhost) = (pool.login(), pool.vhost().clone());
            self.tell_refused(login, Some(&vhost));
        }
        let pool = self.pools.pool(pool_id);
        let mut refused = pool.take_entering();
        if !has_lines {
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
            Phase::StartOk => self.refuse_login(id, refusal),
            Phase::Running if client.waits() == Waits::Login => self.refuse_token(id, refusal),
            _ => self.close_client(id, refusal),
        }
    }
}

/// Whether a refusal is of this user or this vhost, and not of one connection more.
fn is_about_access(refusal: &Refusal) -> bool {
    says_no_access(refusal.code, &refusal.text())
}
