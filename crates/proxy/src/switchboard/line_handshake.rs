//! The handshake with an upstream: in the client's name, or in the pool's.

use std::rc::Rc;

use amqp::frame::{FRAME_OVERHEAD, PROTOCOL_HEADER};
use amqp::method::{Method, connection};
use amqp::negotiation::lesser;
use amqp::{TableBuf, Value};

use super::client::{Client, Phase, Waits};
use super::line::{LinePhase, Use};
use super::pool::{Kind, PoolId};
use super::{ClientId, LineId, Refusal, Switchboard, says_no_access, says_not_here, says_vhost_not_here};
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
        let line = &mut self.lines[id.0];
        if line.phase != LinePhase::Dialling {
            return;
        }
        line.output.end().extend_from_slice(&PROTOCOL_HEADER);
        line.phase = LinePhase::Start;
        (line.heard_ms, line.said_ms) = (now_ms, now_ms);
        self.line_changed(id);
    }

    /// A method of channel 0 before the line is open. An error is the upstream's mistake.
    pub(super) fn line_handshake_method(&mut self, id: LineId, method: &Method<'_>) -> Result<(), String> {
        match (self.lines[id.0].phase, method) {
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
        if !self.knows_server || self.server_properties.as_table() != start.server_properties {
            self.set_server(&start.server_properties.to_owned());
        }
        let line = &mut self.lines[id.0];
        let properties = match line.owner() {
            // The upstream sees whose it is, and does what the client says that it can.
            Some(client) => self.clients[client.0].properties.clone(),
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
        let login = self.pools.login(line.login);
        let mut response = vec![0];
        response.extend_from_slice(login.user.as_bytes());
        response.push(0);
        response.extend_from_slice(&login.secret);
        line.send(
            0,
            &connection::StartOk {
                client_properties: properties.as_table(),
                mechanism: b"PLAIN",
                response: &response,
                locale: b"en_US",
            },
        );
        line.phase = LinePhase::Tune;
        self.line_changed(id);
        Ok(())
    }

    fn tune_line(&mut self, id: LineId, offered: connection::Tune) {
        let (now_ms, options) = (self.now_ms, &self.options);
        let line = &mut self.lines[id.0];
        let wanted = line.owner().map_or(options.frame_len_max, |client| self.clients[client.0].frame_len_max);
        line.channel_max = match offered.channel_max {
            0 => u16::MAX,
            max => max,
        };
        line.frame_len_max = lesser(wanted, offered.frame_max).max(FRAME_OVERHEAD + 1);
        line.heartbeat_s =
            lesser(options.line_heartbeat_s.into(), offered.heartbeat.into()).try_into().unwrap_or(u16::MAX);
        let login = self.pools.login(line.login);
        login.accepted_ms = Some(now_ms);
        login.is_away = false;
        login.trouble = None;
        let waiters = std::mem::take(&mut login.waiters);
        let login_id = line.login;
        line.phase = LinePhase::LoggedIn { until_ms: now_ms + LOGIN_LINE_PATIENCE_MS };
        let has_vhost = line.vhost.is_some();
        for client in waiters {
            // One that waits for a vhost has been let in already, and is to be let in there.
            self.vouch(client, |client| client.login == Some(login_id) && client.phase == Phase::StartOk);
        }
        if has_vhost {
            self.open_line(id);
        }
    }

    /// The rest of the handshake, once it is known where to.
    pub(super) fn open_line(&mut self, id: LineId) {
        let line = &mut self.lines[id.0];
        let Some(vhost) = line.vhost.clone() else { return };
        let tune_ok = connection::TuneOk {
            channel_max: line.channel_max,
            frame_max: line.frame_len_max,
            heartbeat: line.heartbeat_s,
        };
        line.send(0, &tune_ok);
        line.send(0, &connection::Open { virtual_host: vhost.as_bytes(), ..Default::default() });
        line.phase = LinePhase::OpenOk;
        self.line_changed(id);
    }

    fn line_is_open(&mut self, id: LineId) {
        let now_ms = self.now_ms;
        let line = &mut self.lines[id.0];
        line.phase = LinePhase::Running;
        line.has_opened = true;
        line.idle_since_ms = now_ms;
        match line.usage {
            Use::Own(client) => {
                if let Some(pool) = self.clients[client.0].pool {
                    self.pools.pool(pool).trouble = None;
                }
                self.wake(client);
            }
            Use::Shared(pool_id, kind) => {
                let lane = self.pools.pool(pool_id).lane(kind);
                lane.opening = None;
                lane.lines.push(id);
                let waiters = std::mem::take(&mut lane.waiters);
                // The one who waits longest comes first.
                self.woken.extend(waiters.into_iter().rev());
                if kind == Kind::Publishes {
                    self.pools.pool(pool_id).is_away = false;
                    self.wake_spool_waiters();
                }
                self.tell_accepted(pool_id);
                self.pool_accepted(pool_id, now_ms);
            }
            Use::Check(pool_id) => {
                self.lines[id.0].usage = Use::None;
                self.pools.pool(pool_id).checking = None;
                self.tell_accepted(pool_id);
                self.pool_accepted(pool_id, now_ms);
                self.close_line(id);
            }
            Use::Login(_) | Use::None => self.close_line(id),
        }
    }

    /// A pool's login is let in.
    fn pool_accepted(&mut self, pool_id: PoolId, accepted_ms: u64) {
        let pool = self.pools.pool(pool_id);
        pool.accepted_ms = Some(accepted_ms);
        pool.trouble = None;
        for client in std::mem::take(&mut pool.entering) {
            self.vouch(client, |client| client.pool == Some(pool_id));
        }
    }

    /// A client that waits for an upstream's word on it has it. `is_meant` tells it from one that waits for something else by now.
    fn vouch(&mut self, id: ClientId, is_meant: impl Fn(&Client) -> bool) {
        if let Some(client) = self.clients.get_mut(id.0)
            && client.waits == Waits::Login
            && is_meant(client)
        {
            client.is_vouched = true;
            self.wake(id);
        }
    }

    /// The upstream closes a line before it is open: it does not let this login in, or not there, or nobody now.
    fn line_refused(&mut self, id: LineId, refusal: &Refusal) {
        let line = &mut self.lines[id.0];
        let has_logged_in = matches!(line.phase, LinePhase::OpenOk | LinePhase::LoggedIn { .. });
        line.is_vhost_refused = line.phase == LinePhase::OpenOk && says_vhost_not_here(refusal.code, &refusal.text());
        line.send(0, &connection::CloseOk);
        line.phase = LinePhase::Over;
        let (usage, login_id) = (line.usage, line.login);
        self.line_changed(id);
        if says_not_here(refusal.code, &refusal.text()) {
            self.lines[id.0].fault = Some(refusal.text().into());
            let has_lines = match usage {
                Use::Shared(pool, _) | Use::Check(pool) => self.pools.pool(pool).lines().next().is_some(),
                Use::Login(_) | Use::Own(_) | Use::None => false,
            };
            if !has_lines {
                // As if it could not be reached: whoever waits goes on waiting, for another one.
                return;
            }
        }
        self.lines[id.0].closed_with = Some(refusal.clone());
        let is_login_bad = !has_logged_in && refusal.code == amqp::ReplyCode::AccessRefused.code();
        if is_login_bad {
            let login = self.pools.login(login_id);
            login.accepted_ms = None;
            login.is_away = false;
            self.tell_refused(login_id, None);
        }
        if is_login_bad || matches!(usage, Use::Login(_)) {
            for client in std::mem::take(&mut self.pools.login(login_id).waiters) {
                self.refuse_waiter(client, refusal);
            }
        }
        match usage {
            Use::Shared(pool, kind) => {
                self.lines[id.0].usage = Use::None;
                self.pools.pool(pool).lane(kind).opening = None;
                self.pool_refused(pool, kind, refusal);
            }
            Use::Check(pool) => {
                self.lines[id.0].usage = Use::None;
                self.pools.pool(pool).checking = None;
                self.pool_refused(pool, Kind::Publishes, refusal);
            }
            Use::Own(client) => self.own_line_lost(client, refusal),
            Use::Login(_) | Use::None => {}
        }
    }

    /// The vhost into which the upstream lets nobody for now, if a line was refused for that.
    #[must_use]
    pub fn line_refused_vhost(&self, id: LineId) -> Option<Rc<str>> {
        self.lines.get(id.0).filter(|line| line.is_vhost_refused)?.vhost.clone()
    }

    /// A pool's line was refused. Who has been let in already goes on with the lines that there are.
    fn pool_refused(&mut self, pool_id: PoolId, kind: Kind, refusal: &Refusal) {
        let (now_ms, fresh_ms) = (self.now_ms, self.options.login_fresh_ms);
        let pool = self.pools.pool(pool_id);
        pool.refused_ms = Some(now_ms);
        let has_lines = pool.lines().next().is_some();
        if has_lines && !is_about_access(refusal) {
            // It says nothing of the login: there are as many connections as there may be, or the node is going down.
            self.pool_accepted(pool_id, now_ms.saturating_sub(fresh_ms / 2));
            self.pools.pool(pool_id).trouble = Some(refusal.text());
            return;
        }
        pool.trouble = Some(refusal.text());
        pool.accepted_ms = None;
        if is_about_access(refusal) {
            pool.is_away = false;
            let (login, vhost) = (pool.login, pool.vhost.clone());
            self.tell_refused(login, Some(&vhost));
        }
        let pool = self.pools.pool(pool_id);
        let mut refused = std::mem::take(&mut pool.entering);
        if !has_lines {
            refused.extend(std::mem::take(&mut pool.lane(kind).waiters));
        }
        for client in refused {
            self.refuse_waiter(client, refusal);
        }
    }

    fn refuse_waiter(&mut self, id: ClientId, refusal: &Refusal) {
        let Some(client) = self.clients.get(id.0) else { return };
        if client.waits == Waits::Nothing {
            return;
        }
        match client.phase {
            Phase::StartOk => self.refuse_login(id, refusal),
            Phase::Running if client.waits == Waits::Login => self.refuse_token(id, refusal),
            _ => self.close_client(id, refusal),
        }
    }
}

/// Whether a refusal is of this user or this vhost, and not of one connection more.
fn is_about_access(refusal: &Refusal) -> bool {
    says_no_access(refusal.code, &refusal.text())
}
