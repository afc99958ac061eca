//! A login that was seen: a user's name and secret, and what upstreams last said of it.

use std::rc::Rc;

use super::ids::ClientId;
use super::login_check::LoginCheck;

pub(super) struct Login {
    user: Rc<str>,
    secret: Rc<[u8]>,
    /// Whether upstreams accept it.
    check: LoginCheck,
    /// Whether no upstream could be asked.
    is_away: bool,
    /// Clients, upstream connections and pools of it.
    use_count: usize,
}

/// Debugging output has no secrets.
impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login")
            .field("user", &self.user)
            .field("accepted_ms", &self.check.accepted_ms())
            .finish_non_exhaustive()
    }
}

impl Login {
    /// With one use.
    pub(super) fn new(user: Rc<str>, secret: Rc<[u8]>) -> Self {
        Login { user, secret, check: LoginCheck::default(), is_away: false, use_count: 1 }
    }

    pub(super) fn user(&self) -> &Rc<str> {
        &self.user
    }

    pub(super) fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// Whether its secret is a token (RFC 7519, 3.1): the user's name does not identify the user then, so what is published with one is not
    /// to lie among what others publish under that name.
    pub(super) fn has_token(&self) -> bool {
        is_token(&self.secret)
    }

    /// Whether upstreams accept it.
    pub(super) fn check(&self) -> &LoginCheck {
        &self.check
    }

    pub(super) fn check_mut(&mut self) -> &mut LoginCheck {
        &mut self.check
    }

    /// An upstream has accepted it. Gives the clients that waited for that.
    pub(super) fn accept(&mut self, now_ms: u64) -> Vec<ClientId> {
        self.is_away = false;
        self.check.accept(now_ms)
    }

    /// An upstream has refused it.
    pub(super) fn refuse(&mut self) {
        self.is_away = false;
        self.check.revoke();
    }

    /// Whether no upstream could be asked.
    pub(super) fn is_away(&self) -> bool {
        self.is_away
    }

    pub(super) fn note_away(&mut self) {
        self.is_away = true;
    }

    /// A client, an upstream connection or a pool more uses it.
    pub(super) fn retain(&mut self) {
        self.use_count += 1;
    }

    /// One of those that use it does so no more.
    pub(super) fn release(&mut self) {
        self.use_count -= 1;
    }

    pub(super) fn is_used(&self) -> bool {
        self.use_count > 0 || self.check.connection().is_some()
    }
}

/// Whether a secret is a token (RFC 7519, 3.1).
pub(super) fn is_token(secret: &[u8]) -> bool {
    let is_part =
        |part: &[u8]| part.len() >= 4 && part.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte));
    secret.starts_with(b"eyJ")
        && secret.split(|byte| *byte == b'.').count() == 3
        && secret.split(|byte| *byte == b'.').all(is_part)
}
