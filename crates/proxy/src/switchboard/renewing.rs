//! A newer token for a client on shared lines (`connection.update-secret`).
//!
//! The client goes on in the pool of the newer one, as if it had come with it: what is asked of upstreams from now on is asked with that, and
//! a token that is over concerns nobody any more. What RabbitMQ says where it does not take the newer one is said here, too.

use amqp::ReplyCode;
use amqp::method::connection;

use super::client::Waits;
use super::pool::is_token;
use super::publish::Taken;
use super::{ClientId, Notice, Refusal, Switchboard};
use crate::limits::LOGIN_TOKEN_LEN_MAX;

/// Whether a secret is a token by which a client could have come.
pub(super) fn is_login_token(secret: &[u8]) -> bool {
    secret.len() <= LOGIN_TOKEN_LEN_MAX && is_token(secret)
}

impl Switchboard {
    /// A client that has no line of its own has a newer token. When nothing is under way for it, it changes its pool; an upstream has the last
    /// word on whether it is let in there.
    pub(super) fn renew_token(&mut self, id: ClientId, token: &[u8]) -> Taken {
        let client = &self.clients[id.0];
        let (Some(login), Some(vhost)) = (client.login, client.vhost.clone()) else { return Taken::Done(0) };
        if *self.pools.login(login).secret != *token {
            if self.is_client_held_back(id) {
                return self.wait_for_spool(id, Waits::SpoolEnd);
            }
            if !self.is_client_quiet(id) {
                self.wait_for_quiet(id);
                return Taken::NotYet;
            }
            self.leave_quiet_seats(id);
            // One that was wanted before would be the older token's.
            if let Some(line) = self.clients[id.0].own {
                self.part_from_line(id);
                self.close_line(line);
            }
            let user = self.pools.login(login).user.clone();
            let renewed = self.pools.use_login(&user, token);
            self.leave_login(id);
            self.clients[id.0].login = Some(renewed);
            self.join_pool(id, renewed, &vhost);
        }
        if !self.is_let_in(id) {
            return self.wait_for(id, Waits::Login);
        }
        self.stop_waiting(id);
        let client = &mut self.clients[id.0];
        client.is_vouched = false;
        client.send(0, &connection::UpdateSecretOk);
        Taken::Done(0)
    }

    /// The upstream does not take a client's newer token.
    pub(super) fn refuse_token(&mut self, id: ClientId, refusal: &Refusal) {
        self.counters.logins_refused += 1;
        let Some(login) = self.clients[id.0].login else { return };
        let user = self.pools.login(login).user.to_string();
        self.effects.push(super::Effect::Log(Notice::LoginRefused { user: user.clone(), text: refusal.text() }));
        let told = if refusal.code == ReplyCode::AccessRefused.code() {
            let text = format!("New secret was refused by one of the backends for user '{user}'");
            Refusal::new(ReplyCode::NotAllowed, &text)
        } else {
            refusal.clone()
        };
        self.close_client(id, &Refusal { class_id: 10, method_id: 70, ..told });
    }
}
