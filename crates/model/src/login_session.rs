//! A login that outlives the request and the process, as it is stored: like a global parameter, under a name that no parameter can have.
//!
//! ```text
//!  name   warren-session.DIGEST                     base64url of the SHA-256 of the token, which only the client has
//!  value  {"user", "password", "opened", "expires"} base64url of the SHA-256 of the password's hash; milliseconds since 1970
//! ```
//!
//! Older programs take it for a global parameter that they know nothing of, so that nodes of two versions can be in one cluster.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::name::UserName;
use crate::parameter::GlobalParameter;
use crate::user::User;

/// What a session is known by: the SHA-256 of its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionDigest([u8; 32]);

impl SessionDigest {
    /// The digest of a token.
    #[must_use]
    pub fn of(token: &str) -> SessionDigest {
        SessionDigest(Sha256::digest(token.as_bytes()).into())
    }
}

/// What distinguishes a user's password from its next one, without saying anything about either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordFingerprint([u8; 32]);

impl User {
    /// The fingerprint of one of the user's passwords. None: it matches none of them.
    #[must_use]
    pub fn fingerprint(&self, password: &[u8]) -> Option<PasswordFingerprint> {
        let hashes = [&self.password_hash, &self.second_password_hash];
        let hash = hashes.into_iter().flatten().find(|hash| hash.verify(password))?;
        Some(PasswordFingerprint(Sha256::digest(hash.as_bytes()).into()))
    }

    /// Whether the fingerprint is that of one of the user's passwords.
    #[must_use]
    pub fn has_fingerprint(&self, fingerprint: &PasswordFingerprint) -> bool {
        let hashes = [&self.password_hash, &self.second_password_hash];
        hashes.into_iter().flatten().any(|hash| Sha256::digest(hash.as_bytes())[..] == fingerprint.0)
    }
}

/// A session that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// What it is known by.
    pub digest: SessionDigest,
    /// Whose it is.
    pub user: UserName,
    /// The password that it was opened with.
    pub password: PasswordFingerprint,
    /// When, in milliseconds since 1970.
    pub opened_at_ms: u64,
    /// Until when it lasts, in milliseconds since 1970.
    pub expires_at_ms: u64,
}

impl StoredSession {
    /// Whether a parameter of this name is a session.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        name.starts_with(GlobalParameter::SESSIONS)
    }

    /// The parameter as which it is stored.
    #[must_use]
    pub fn to_parameter(&self) -> GlobalParameter {
        let value = json!({
            "user": self.user.as_str(),
            "password": URL_SAFE_NO_PAD.encode(self.password.0),
            "opened": self.opened_at_ms,
            "expires": self.expires_at_ms,
        });
        let digest = URL_SAFE_NO_PAD.encode(self.digest.0);
        GlobalParameter { name: format!("{}{digest}", GlobalParameter::SESSIONS).into(), value }
    }

    /// The session that was stored as this parameter. None: this program does not understand it.
    #[must_use]
    pub fn of_parameter(parameter: &GlobalParameter) -> Option<StoredSession> {
        let text = |name: &str| parameter.value.get(name).and_then(Value::as_str);
        let time = |name: &str| parameter.value.get(name).and_then(Value::as_u64);
        Some(StoredSession {
            digest: SessionDigest(bytes(parameter.name.strip_prefix(GlobalParameter::SESSIONS)?)?),
            user: UserName::parse(text("user")?.as_bytes()).ok()?,
            password: PasswordFingerprint(bytes(text("password")?)?),
            opened_at_ms: time("opened")?,
            expires_at_ms: time("expires")?,
        })
    }
}

fn bytes(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::{PasswordHash, Tags};

    fn ann() -> User {
        let mut ann = User::new(UserName::parse(b"ann").unwrap(), None, Tags::default());
        ann.password_hash = Some(PasswordHash::new(b"first", [1, 2, 3, 4]));
        ann
    }

    #[test]
    fn a_session_is_read_as_it_was_written() {
        let session = StoredSession {
            digest: SessionDigest::of("a token"),
            user: ann().name,
            password: ann().fingerprint(b"first").unwrap(),
            opened_at_ms: 1,
            expires_at_ms: u64::MAX,
        };
        let parameter = session.to_parameter();
        assert!(StoredSession::is_name(&parameter.name) && parameter.name.len() < 64, "{}", parameter.name);
        assert_eq!(StoredSession::of_parameter(&parameter), Some(session));
        let damaged = GlobalParameter { value: json!({"user": "ann"}), ..parameter.clone() };
        assert_eq!(StoredSession::of_parameter(&damaged), None);
        let renamed = GlobalParameter { name: "warren-session.x".into(), ..parameter };
        assert_eq!(StoredSession::of_parameter(&renamed), None);
    }

    #[test]
    fn a_fingerprint_is_of_one_password_as_long_as_the_user_has_it() {
        let mut ann = ann();
        assert_eq!(ann.fingerprint(b"other"), None);
        let first = ann.fingerprint(b"first").unwrap();
        ann.second_password_hash = ann.password_hash.replace(PasswordHash::new(b"next", [1, 2, 3, 4]));
        assert!(ann.has_fingerprint(&first), "it is the second one now");
        ann.second_password_hash = Some(PasswordHash::new(b"first", [4, 3, 2, 1]));
        assert!(!ann.has_fingerprint(&first), "the same password anew is another");
    }
}
