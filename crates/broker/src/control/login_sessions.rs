//! Sessions of users that have logged in once for many requests: opened, found, ended.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::Positions;
use engine::clock::wall_ms;
use model::definition::Definition;
use model::login_session::{SessionDigest, StoredSession};
use store::RecordBatch;

use crate::backend::AuthStep;
use crate::broker::Broker;
use crate::identity::{Identity, Origin};
use crate::login;
use crate::login_sessions::LoginSession;
use crate::random::RandomError;

/// A session that has been opened.
#[derive(Debug, Clone)]
pub struct OpenedSession {
    /// What the client shows from now on, in base64url. It is kept nowhere else.
    pub token: String,
    /// Until when it lasts, in milliseconds since 1970.
    pub expires_at_ms: u64,
    /// When that is durable; None where it is only in memory.
    pub position: Positions,
}

impl Broker {
    /// Opens a session for a user that has just logged in with this password or token. None: the password is no longer the user's.
    pub fn open_login_session(
        &self,
        identity: &Identity,
        password: &[u8],
        origin: &Origin,
        lifetime: Duration,
        now_ms: u64,
    ) -> Result<Option<OpenedSession>, RandomError> {
        let known = self.users.get(identity.name());
        let fingerprint = known.and_then(|user| user.fingerprint(password));
        if identity.is_stored() && fingerprint.is_none() {
            return Ok(None);
        }
        let (first, second) = (self.random()?, self.random()?);
        let token = URL_SAFE_NO_PAD.encode([first, second].concat());
        let lifetime_ms = u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX);
        let session = LoginSession {
            user: identity.user.name.clone(),
            password: fingerprint,
            identity: (!identity.is_stored()).then(|| Arc::new(identity.clone())),
            opened_at_ms: now_ms,
            expires_at_ms: now_ms.saturating_add(lifetime_ms).min(expiry_ms(identity)),
        };
        self.sweep_login_sessions(now_ms);
        let (digest, expires_at_ms) = (SessionDigest::of(&token), session.expires_at_ms);
        let stored = session.stored(digest);
        let position = self.login_sessions.insert(digest, session, |ended| self.record_sessions(stored, ended));
        self.emit(login::event_of(identity.name(), origin, None));
        Ok(Some(OpenedSession { token, expires_at_ms, position }))
    }

    /// Which user has the session of this token, with the rights that it has now, and until when in milliseconds since 1970. None: there is
    /// no such session, or no longer.
    #[must_use]
    pub fn login_session(&self, token: &str, origin: &Origin, now_ms: u64) -> Option<(Identity, u64)> {
        let (identity, expires_at_ms) = self.identity_of_session(SessionDigest::of(token), now_ms)?;
        let identity = self.check_loopback(identity, origin).ok()?;
        Some((identity, expires_at_ms))
    }

    /// The same of a session that is known by its digest.
    pub(crate) fn identity_of_session(&self, digest: SessionDigest, now_ms: u64) -> Option<(Identity, u64)> {
        let session = self.login_sessions.get(digest)?;
        let identity = self.identity_in(&session, now_ms)?;
        let expires_at = Some(UNIX_EPOCH + Duration::from_millis(session.expires_at_ms));
        Some((Identity { session: Some(digest), expires_at, ..identity }, session.expires_at_ms))
    }

    fn identity_in(&self, session: &LoginSession, now_ms: u64) -> Option<Identity> {
        if session.expires_at_ms <= now_ms {
            return None;
        }
        let user = self.users.get(session.user.as_str());
        if let Some(password) = &session.password
            && !user.as_ref().is_some_and(|user| user.has_fingerprint(password))
        {
            return None;
        }
        match &session.identity {
            Some(identity) => Some(Identity::clone(identity)).filter(|identity| expiry_ms(identity) > now_ms),
            // The configuration may say by now that the broker's own users do not count.
            None if !self.options.auth_steps.iter().any(AuthStep::is_internal) => None,
            None => user.map(Identity::stored),
        }
    }

    /// Ends the session of a token, if there is one.
    pub fn close_login_session(&self, token: &str) {
        let digest = SessionDigest::of(token);
        self.login_sessions.retain(|other, _| other != digest, |ended| self.record_sessions(None, ended));
    }

    /// Gives the session of a user that a token identifies another token's rights and end, at most until `until_ms`. Returns when it ends
    /// now; None: there is no longer such a session, or it is another user's.
    pub fn renew_login_session(&self, token: &str, identity: &Identity, until_ms: u64) -> Option<u64> {
        self.login_sessions.change(SessionDigest::of(token), |session| {
            let is_same = session.user == identity.user.name && session.identity.is_some();
            is_same.then(|| {
                session.expires_at_ms = until_ms.min(expiry_ms(identity));
                session.identity = Some(Arc::new(identity.clone()));
                session.expires_at_ms
            })
        })
    }

    /// Ends all sessions of a user.
    pub(super) fn end_login_sessions_of(&self, user: &str) {
        let is_other = |_, session: &LoginSession| session.user.as_str() != user;
        self.login_sessions.retain(is_other, |ended| self.record_sessions(None, ended));
    }

    /// Forgets sessions that have ended.
    pub(crate) fn sweep_login_sessions(&self, now_ms: u64) {
        let is_open = |_, session: &LoginSession| self.identity_in(session, now_ms).is_some();
        self.login_sessions.retain(is_open, |ended| self.record_sessions(None, ended));
    }

    /// The same, of the sessions that have ended by now.
    pub(crate) fn sweep_ended_login_sessions(&self) {
        self.sweep_login_sessions(wall_ms());
    }

    fn record_sessions(&self, new: Option<StoredSession>, ended: &[(SessionDigest, LoginSession)]) -> Positions {
        let mut records = RecordBatch::new();
        let definition = |session: StoredSession| Definition::GlobalParameter(session.to_parameter());
        for session in ended.iter().filter_map(|(digest, session)| session.stored(*digest)) {
            records.delete(&definition(session).key());
        }
        if let Some(definition) = new.map(definition) {
            records.put(&definition.key(), &definition.encode());
        }
        self.engine.append(&mut records)
    }
}

fn expiry_ms(identity: &Identity) -> u64 {
    let since = identity.expires_at.map(|at| at.duration_since(UNIX_EPOCH).unwrap_or_default());
    since.map_or(u64::MAX, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
