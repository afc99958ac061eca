//! The client's identity, and what it may do in its vhost.

use std::sync::Arc;

use amqp::table::TableBuf;

use crate::identity::Identity;
use crate::login::LoginRefused;
use crate::vhost_access::VhostAccess;

/// A connection's user, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Principal {
    login: Option<Box<Login>>,
    access: Option<Arc<VhostAccess>>,
    /// Whether others than the broker say what the user may do. Set when the connection is open.
    asks_back_ends: bool,
    /// The answer about the client's identity.
    answer: Option<Box<Result<Identity, LoginRefused>>>,
    /// What a new secret allows is being found out.
    is_renewing: bool,
}

/// The client's login.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) identity: Arc<Identity>,
    pub(super) mechanism: Box<str>,
    /// Until the connection is open: its handle has them then.
    pub(super) client_properties: TableBuf,
    /// By the broker's time, when what it logged in with holds no longer, if it does not for ever.
    pub(super) expires_at_ms: Option<u64>,
}

impl Principal {
    /// The client's login. Requests of an open connection come after that.
    #[inline]
    pub(super) fn login(&self) -> &Login {
        self.login.as_deref().expect("requests come after the login")
    }

    /// The client's login, if the connection has come so far.
    pub(super) fn known_login(&self) -> Option<&Login> {
        self.login.as_deref()
    }

    pub(super) fn log_in(&mut self, login: Login) {
        self.login = Some(Box::new(login));
    }

    /// The user of an open connection in its vhost.
    #[inline]
    pub(super) fn access(&self) -> &Arc<VhostAccess> {
        self.access.as_ref().expect("requests come after the vhost is entered")
    }

    /// The user in its vhost, if the connection has come so far.
    #[inline]
    pub(super) fn known_access(&self) -> Option<&Arc<VhostAccess>> {
        self.access.as_ref()
    }

    pub(super) fn enter(&mut self, access: Arc<VhostAccess>) {
        self.access = Some(access);
    }

    /// What the client said of itself, for the connection's handle.
    pub(super) fn take_client_properties(&mut self) -> TableBuf {
        self.login.as_deref_mut().map(|login| std::mem::take(&mut login.client_properties)).unwrap_or_default()
    }

    /// The connection is open.
    pub(super) fn opened(&mut self) {
        self.asks_back_ends = !self.login().identity.is_stored();
    }

    /// Whether others than the broker say what the user of an open connection may do.
    #[inline]
    pub(super) fn asks_back_ends(&self) -> bool {
        self.asks_back_ends
    }

    /// The user has changed: what it may do is asked anew.
    pub(super) fn change_identity(&mut self, identity: Arc<Identity>) {
        self.access = Some(Arc::new(self.access().renewed(identity)));
    }

    /// The user has changed between its login and its vhost.
    pub(super) fn change_login(&mut self, identity: Arc<Identity>) {
        if let Some(login) = &mut self.login {
            login.identity = identity.clone();
        }
        self.change_identity(identity);
    }

    /// A back end has answered about the client's identity.
    pub(super) fn answer(&mut self, answer: Result<Identity, LoginRefused>) {
        self.answer = Some(Box::new(answer));
    }

    pub(super) fn take_answer(&mut self) -> Option<Result<Identity, LoginRefused>> {
        self.answer.take().map(|answer| *answer)
    }

    /// The same user with another secret, which may allow less: what it allows is being found out from now on.
    pub(super) fn begin_renewal(&mut self, renewed: Arc<Identity>, expires_at_ms: Option<u64>) {
        if let Some(login) = &mut self.login {
            login.expires_at_ms = expires_at_ms;
        }
        self.change_login(renewed);
        self.is_renewing = true;
    }

    pub(super) fn is_renewing(&self) -> bool {
        self.is_renewing
    }

    pub(super) fn end_renewal(&mut self) {
        self.is_renewing = false;
    }
}
