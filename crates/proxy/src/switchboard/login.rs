//! A login that was seen: a user's name and secret, and what upstreams last said of it.

use std::rc::Rc;

use super::ids::{ClientId, UpstreamConnectionId};

pub(super) struct Login {
    user: Rc<str>,
    secret: Rc<[u8]>,
    /// When an upstream accepted it last.
    accepted_ms: Option<u64>,
    /// The upstream connection that checks it, or has and waits for a vhost.
    checking: Option<UpstreamConnectionId>,
    /// Clients that wait for that.
    waiters: Vec<ClientId>,
    /// Whether no upstream could be asked.
    is_away: bool,
    /// Why it could not be checked last.
    last_error: Option<String>,
    /// Clients, upstream connections and pools of it.
    use_count: usize,
}

/// Debugging output has no secrets.
impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login")
            .field("user", &self.user)
            .field("accepted_ms", &self.accepted_ms)
            .finish_non_exhaustive()
    }
}

impl Login {
    /// With one use.
    pub(super) fn new(user: Rc<str>, secret: Rc<[u8]>) -> Self {
        Login {
            user,
            secret,
            accepted_ms: None,
            checking: None,
            waiters: Vec::new(),
            is_away: false,
            last_error: None,
            use_count: 1,
        }
    }

    pub(super) fn user(&self) -> &Rc<str> {
        &self.user
    }

    pub(super) fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// Whether its secret is a token (RFC 7519, 3.1): the user's name does not say then who it is, so what is published with one is not to
    /// lie among what others publish under that name.
    pub(super) fn has_token(&self) -> bool {
        is_token(&self.secret)
    }

    /// When an upstream accepted it last.
    pub(super) fn accepted_ms(&self) -> Option<u64> {
        self.accepted_ms
    }

    /// An upstream has accepted it. Gives the clients that waited for that.
    pub(super) fn accept(&mut self, now_ms: u64) -> Vec<ClientId> {
        self.accepted_ms = Some(now_ms);
        self.is_away = false;
        self.last_error = None;
        self.take_waiters()
    }

    /// An upstream has refused it.
    pub(super) fn refuse(&mut self) {
        self.accepted_ms = None;
        self.is_away = false;
    }

    /// The upstream connection that checks it, or has and waits for a vhost.
    pub(super) fn checking(&self) -> Option<UpstreamConnectionId> {
        self.checking
    }

    pub(super) fn set_checking(&mut self, connection: UpstreamConnectionId) {
        self.checking = Some(connection);
    }

    /// The upstream connection that has checked it does something else now.
    pub(super) fn end_check(&mut self) {
        self.checking = None;
    }

    /// The upstream connection that was to check it is lost.
    pub(super) fn fail_check(&mut self, connection: UpstreamConnectionId, why: &str) {
        if self.checking.take_if(|checking| *checking == connection).is_some() {
            self.set_last_error(why);
        }
    }

    pub(super) fn add_waiter(&mut self, client: ClientId) {
        self.waiters.push(client);
    }

    pub(super) fn has_waiters(&self) -> bool {
        !self.waiters.is_empty()
    }

    pub(super) fn take_waiters(&mut self) -> Vec<ClientId> {
        std::mem::take(&mut self.waiters)
    }

    /// Forgets clients that wait no more.
    pub(super) fn retain_waiters(&mut self, is_there: impl Fn(&ClientId) -> bool) {
        self.waiters.retain(is_there);
    }

    /// Whether no upstream could be asked.
    pub(super) fn is_away(&self) -> bool {
        self.is_away
    }

    pub(super) fn note_away(&mut self) {
        self.is_away = true;
    }

    /// Why it could not be checked last.
    pub(super) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    pub(super) fn set_last_error(&mut self, why: &str) {
        self.last_error = Some(why.to_owned());
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
        self.use_count > 0 || self.checking.is_some()
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
