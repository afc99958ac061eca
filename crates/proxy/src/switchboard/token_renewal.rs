//! A newer token for a client on shared upstream connections (`connection.update-secret`).
//!
//! The client moves to the pool of the newer one, as if it had come with it: what is asked of upstreams from now on is asked with that, and
//! an expired token no longer concerns a client. What RabbitMQ says where it does not take the newer one is said here, too.

use amqp::ReplyCode;
use amqp::method::connection;
use amqp::server::Violation;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::frame_outcome::FrameOutcome;
use super::ids::PoolId;
use super::login::is_token;
use super::wait::Waits;
use super::{ClientId, Notice, Refusal, Switchboard};
use crate::limits::LOGIN_TOKEN_LEN_MAX;

/// Claims that say whose a token is (RFC 7519, 4.1.2; RFC 9068, 2.2; OpenID Connect Core, 5.1).
const HOLDER_CLAIMS: [&str; 4] = ["sub", "client_id", "preferred_username", "user_name"];

/// Whether both are tokens of the same holder, by their own words. RabbitMQ refuses another one's.
fn have_same_holder(token: &[u8], newer: &[u8]) -> bool {
    let Some((claims, of_newer)) = claims(token).zip(claims(newer)) else { return false };
    HOLDER_CLAIMS.iter().all(|name| claims.get(name) == of_newer.get(name))
}

/// What a token says: its second part.
fn claims(token: &[u8]) -> Option<Value> {
    if !is_token(token) {
        return None;
    }
    let claims = URL_SAFE_NO_PAD.decode(token.split(|byte| *byte == b'.').nth(1)?).ok()?;
    serde_json::from_slice(&claims).ok().filter(Value::is_object)
}

impl Switchboard {
    /// Whether a secret is a newer token of a client that came with one and shares upstream connections, and could have come with this.
    pub(super) fn renews_token(&self, id: ClientId, secret: &[u8]) -> bool {
        let client = &self.clients[id];
        let Some(pool) = client.pool().filter(|_| !client.has_moved()) else { return false };
        let (_, login) = self.pools.with_login(pool);
        secret.len() <= LOGIN_TOKEN_LEN_MAX && have_same_holder(login.secret(), secret)
    }

    /// A client that has no upstream connection of its own has a newer token. When nothing is under way for it, it changes its pool; an
    /// upstream has the last word on whether it is let in there.
    pub(super) fn renew_token(&mut self, id: ClientId, token: &[u8]) -> FrameOutcome {
        let client = &self.clients[id];
        let (Some(login), Some(vhost), Some(pool)) = (client.login(), client.vhost().cloned(), client.pool()) else {
            return FrameOutcome::Done(0);
        };
        if *self.pools.login(login).secret() != *token {
            if !self.is_client_quiet(id) {
                return self.wait_for(id, Waits::Quiet);
            }
            self.return_quiet_leases(id);
            // One that was wanted before would be the older token's.
            if let Some(connection) = self.clients[id].own() {
                self.part_from_connection(id);
                self.close_connection(connection);
            }
            let user = self.pools.login(login).user().clone();
            let renewed = self.pools.use_login(&user, token);
            self.leave_login(id);
            self.clients[id].set_login(renewed);
            self.join_pool(id, renewed, &vhost);
            self.follow_pool(pool, id);
        }
        if !self.is_let_in(id) {
            return self.wait_for(id, Waits::Login);
        }
        self.stop_waiting(id);
        let client = &mut self.clients[id];
        client.take_vouched();
        client.send(0, &connection::UpdateSecretOk);
        FrameOutcome::Done(0)
    }

    /// A client has changed its pool: what was learnt there holds here, and the upstream connections there are not kept for others.
    fn follow_pool(&mut self, before: PoolId, id: ClientId) {
        let Some(after) = self.clients[id].pool() else { return };
        let pool = self.pools.pool(before);
        pool.retire();
        let (channel_limit, poisoned_queues) = (pool.channel_limit(), pool.poisoned_queues().clone());
        let pool = self.pools.pool(after);
        pool.limit_channels(channel_limit);
        pool.poisoned_queues_mut().learn(poisoned_queues);
    }

    /// The upstream does not take a client's newer token.
    pub(super) fn refuse_token(&mut self, id: ClientId, refusal: &Refusal) {
        self.counters.logins_refused += 1;
        let Some(login) = self.clients[id].login() else { return };
        let user = self.pools.login(login).user().to_string();
        self.effects.log(Notice::LoginRefused { user, text: refusal.text() });
        let shown = if refusal.code == ReplyCode::AccessRefused.code() {
            Violation::secret_refused().into()
        } else {
            refusal.clone()
        };
        self.close_client(id, &Refusal { class_id: 10, method_id: 70, ..shown });
    }
}
