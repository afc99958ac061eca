//! Logins that last longer than a request: what a browser's cookie stands for.
//!
//! A session has 256 random bits that only the client keeps; here is their SHA-256. Sessions of the broker's own users are written down
//! ([`model::login_session`]), so that they outlive the process and, in a cluster, the leader. Those of users that a back end or a token
//! knows are in memory only.
//!
//! The oldest make room for new ones. Whether a session still counts is for [`crate::control`] to say, which knows the users.

use std::collections::HashMap;
use std::sync::Arc;

use model::login_session::{PasswordFingerprint, SessionDigest, StoredSession};
use model::name::UserName;
use parking_lot::Mutex;

use crate::identity::Identity;
use crate::limits::{LOGIN_SESSION_COUNT_MAX, LOGIN_SESSION_OF_USER_COUNT_MAX};

/// A session.
#[derive(Debug, Clone)]
pub(crate) struct LoginSession {
    pub(crate) user: UserName,
    /// The password that it was opened with, if it is one of the broker's.
    pub(crate) password: Option<PasswordFingerprint>,
    /// The identity. None: one of the broker's own users, and then the session is written down.
    pub(crate) identity: Option<Arc<Identity>>,
    pub(crate) opened_at_ms: u64,
    pub(crate) expires_at_ms: u64,
}

impl LoginSession {
    /// What of it is written down.
    pub(crate) fn stored(&self, digest: SessionDigest) -> Option<StoredSession> {
        let password = self.password.filter(|_| self.identity.is_none())?;
        let (user, opened_at_ms, expires_at_ms) = (self.user.clone(), self.opened_at_ms, self.expires_at_ms);
        Some(StoredSession { digest, user, password, opened_at_ms, expires_at_ms })
    }
}

/// All sessions, by their digests.
#[derive(Debug, Default)]
pub(crate) struct LoginSessions(Mutex<HashMap<SessionDigest, LoginSession>>);

impl LoginSessions {
    /// A session that was written down.
    pub(crate) fn restore(&self, stored: StoredSession) {
        let StoredSession { digest, user, password, opened_at_ms, expires_at_ms } = stored;
        let session = LoginSession { user, password: Some(password), identity: None, opened_at_ms, expires_at_ms };
        self.0.lock().insert(digest, session);
    }

    pub(crate) fn get(&self, digest: SessionDigest) -> Option<LoginSession> {
        self.0.lock().get(&digest).cloned()
    }

    /// Puts one in. Those that make room, and it, are given to `record` before others see it.
    pub(crate) fn insert<T>(
        &self,
        digest: SessionDigest,
        session: LoginSession,
        record: impl FnOnce(&[(SessionDigest, LoginSession)]) -> T,
    ) -> T {
        let mut open = self.0.lock();
        let mut ended = Vec::new();
        let of_user = open.values().filter(|other| other.user == session.user).count();
        if of_user >= LOGIN_SESSION_OF_USER_COUNT_MAX {
            ended.extend(take_oldest(&mut open, |other| other.user == session.user));
        }
        if open.len() >= LOGIN_SESSION_COUNT_MAX {
            ended.extend(take_oldest(&mut open, |_| true));
        }
        let recorded = record(&ended);
        open.insert(digest, session);
        recorded
    }

    /// Changes a session, if it still exists.
    pub(crate) fn change<T>(
        &self,
        digest: SessionDigest,
        change: impl FnOnce(&mut LoginSession) -> Option<T>,
    ) -> Option<T> {
        self.0.lock().get_mut(&digest).and_then(change)
    }

    /// Takes out what is not to be kept, and gives it to `record`.
    pub(crate) fn retain<T>(
        &self,
        keeps: impl Fn(SessionDigest, &LoginSession) -> bool,
        record: impl FnOnce(&[(SessionDigest, LoginSession)]) -> T,
    ) -> T {
        let mut open = self.0.lock();
        let ended: Vec<_> = open.extract_if(|digest, session| !keeps(*digest, session)).collect();
        record(&ended)
    }
}

fn take_oldest(
    open: &mut HashMap<SessionDigest, LoginSession>,
    is_meant: impl Fn(&LoginSession) -> bool,
) -> Option<(SessionDigest, LoginSession)> {
    let meant = open.iter().filter(|(_, session)| is_meant(session));
    let (digest, _) = meant.min_by_key(|(_, session)| session.opened_at_ms)?;
    let digest = *digest;
    open.remove_entry(&digest)
}
