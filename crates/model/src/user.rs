//! Users: name, password hash, tags; and permissions, one for each user in each vhost.
//!
//! A hash is what RabbitMQ exports, so that its definitions can be imported: salt (4 bytes) ++ SHA-256(salt ++ password),
//! written as base64. A user without one cannot log in with a password.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::name::UserName;
use crate::pattern::{Pattern, PatternError};

/// Bytes of salt in front of a hash.
pub const SALT_LEN: usize = 4;
/// Bytes of a hash, salt included.
pub const HASH_LEN: usize = SALT_LEN + 32;

/// Someone who may log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: UserName,
    /// None: no login by password.
    pub password_hash: Option<PasswordHash>,
    /// Roles, such as `administrator`.
    pub tags: Tags,
}

impl User {
    /// Whether this is the user's password. Takes the same time wherever the two differ.
    #[must_use]
    pub fn verify(&self, password: &[u8]) -> bool {
        self.password_hash.as_ref().is_some_and(|hash| hash.verify(password))
    }
}

/// A salted SHA-256 of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash([u8; HASH_LEN]);

/// A text that is not a password hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("password_hash is not the base64 of a 4 byte salt and a 32 byte SHA-256")]
pub struct PasswordHashError;

impl PasswordHash {
    /// Hashes a password.
    #[must_use]
    pub fn new(password: &[u8], salt: [u8; SALT_LEN]) -> PasswordHash {
        let mut bytes = [0; HASH_LEN];
        let (head, tail) = bytes.split_at_mut(SALT_LEN);
        head.copy_from_slice(&salt);
        tail.copy_from_slice(&Sha256::new().chain_update(salt).chain_update(password).finalize());
        PasswordHash(bytes)
    }

    /// Reads RabbitMQ's `password_hash`; the empty one means no login by password.
    pub fn parse(text: &str) -> Result<Option<PasswordHash>, PasswordHashError> {
        if text.is_empty() {
            return Ok(None);
        }
        let bytes = STANDARD.decode(text).map_err(|_| PasswordHashError)?;
        PasswordHash::from_bytes(&bytes).map(Some)
    }

    /// Takes the 36 bytes of a stored hash.
    pub fn from_bytes(bytes: &[u8]) -> Result<PasswordHash, PasswordHashError> {
        bytes.try_into().map(PasswordHash).map_err(|_| PasswordHashError)
    }

    /// The 36 bytes to store.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; HASH_LEN] {
        &self.0
    }

    /// Whether this is the password's hash. The blank password never is one.
    #[must_use]
    pub fn verify(&self, password: &[u8]) -> bool {
        let mut salt = [0; SALT_LEN];
        salt.copy_from_slice(&self.0[..SALT_LEN]);
        let is_same = PasswordHash::new(password, salt).0.ct_eq(&self.0);
        bool::from(is_same) && !password.is_empty()
    }
}

impl fmt::Display for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)") // not for logs
    }
}

/// A user's roles, in the order given, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tags(Vec<Box<str>>);

impl Tags {
    /// May do everything in the management API.
    pub const ADMINISTRATOR: &'static str = "administrator";
    /// May see everything in the management API.
    pub const MONITORING: &'static str = "monitoring";
    /// May manage policies and parameters of its own vhosts.
    pub const POLICYMAKER: &'static str = "policymaker";
    /// May use the management API for its own vhosts.
    pub const MANAGEMENT: &'static str = "management";
    /// May publish with another user's name in `user_id`.
    pub const IMPERSONATOR: &'static str = "impersonator";

    /// Reads a list such as `monitoring, policymaker`.
    #[must_use]
    pub fn parse(text: &str) -> Tags {
        text.split(',').collect()
    }

    /// Whether the user has this role.
    #[must_use]
    pub fn has(&self, tag: &str) -> bool {
        self.0.iter().any(|own| &**own == tag)
    }

    /// All roles.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|tag| &**tag)
    }
}

impl<'a> FromIterator<&'a str> for Tags {
    /// Blank tags and repetitions are dropped.
    fn from_iter<I: IntoIterator<Item = &'a str>>(tags: I) -> Tags {
        let mut own = Tags::default();
        for tag in tags.into_iter().map(str::trim) {
            if !tag.is_empty() && !own.has(tag) {
                own.0.push(Box::from(tag));
            }
        }
        own
    }
}

/// What a user may do in a vhost: three patterns over names of exchanges and queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// Names that it may declare and delete.
    pub configure: Pattern,
    /// Names that it may publish to, and bind as a destination.
    pub write: Pattern,
    /// Names that it may consume from, and bind as a source.
    pub read: Pattern,
}

/// Which of the three patterns an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Declare, delete.
    Configure,
    /// Publish, be a binding's destination.
    Write,
    /// Consume, get, purge, be a binding's source.
    Read,
}

impl Permission {
    /// Compiles the three patterns.
    pub fn parse(configure: &str, write: &str, read: &str) -> Result<Permission, PatternError> {
        let [configure, write, read] = [configure, write, read].map(Pattern::parse);
        Ok(Permission { configure: configure?, write: write?, read: read? })
    }

    /// Everything, as the default user has.
    #[must_use]
    pub fn all() -> Permission {
        Permission { configure: Pattern::all(), write: Pattern::all(), read: Pattern::all() }
    }

    /// Whether the user may do this to what bears the name. Ask for the default exchange by
    /// [`ExchangeName::permission_name`](crate::name::ExchangeName::permission_name).
    #[must_use]
    pub fn allows(&self, access: Access, name: &str) -> bool {
        match access {
            Access::Configure => self.configure.is_match(name),
            Access::Write => self.write.is_match(name),
            Access::Read => self.read.is_match(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(password_hash: Option<PasswordHash>) -> User {
        User { name: UserName::parse(b"ann").unwrap(), password_hash, tags: Tags::default() }
    }

    #[test]
    fn a_hash_is_salt_and_sha256_of_salt_and_password() {
        // RabbitMQ's documentation computes this one for the password test12 and the salt 908D C60A.
        let hash = PasswordHash::new(b"test12", [0x90, 0x8d, 0xc6, 0x0a]);
        assert_eq!(hash.to_string(), "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR");
    }

    #[test]
    fn only_the_password_verifies() {
        let ann = user(Some(PasswordHash::new(b"secret", [1, 2, 3, 4])));
        assert!(ann.verify(b"secret"));
        assert!(!ann.verify(b"Secret"));
        assert!(!ann.verify(b""));
    }

    #[test]
    fn no_hash_means_no_login() {
        assert_eq!(PasswordHash::parse(""), Ok(None));
        assert!(!user(None).verify(b""));
        assert!(!user(None).verify(b"x"));
    }

    #[test]
    fn the_blank_password_never_verifies() {
        assert!(!PasswordHash::new(b"", [0; 4]).verify(b""));
    }

    #[test]
    fn hashes_survive_their_text() {
        let hash = PasswordHash::new(b"pass", [9; 4]);
        assert_eq!(PasswordHash::parse(&hash.to_string()), Ok(Some(hash)));
    }

    #[test]
    fn texts_that_are_no_hash_are_refused() {
        for text in ["AAAA", "not base64!", "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2PO="] {
            assert_eq!(
                PasswordHash::parse(text).unwrap_err().to_string(),
                "password_hash is not the base64 of a 4 byte salt and a 32 byte SHA-256"
            );
        }
    }

    #[test]
    fn a_hash_does_not_print_itself_into_logs() {
        assert_eq!(format!("{:?}", PasswordHash::new(b"p", [0; 4])), "PasswordHash(…)");
    }

    #[test]
    fn tags_are_read_from_a_comma_separated_list() {
        let tags = Tags::parse("administrator, monitoring,,administrator");
        assert_eq!(tags.iter().collect::<Vec<_>>(), ["administrator", "monitoring"]);
        assert!(tags.has(Tags::ADMINISTRATOR));
        assert!(!tags.has(Tags::MANAGEMENT));
        assert_eq!(Tags::parse("").iter().len(), 0);
    }

    #[test]
    fn each_access_has_its_own_pattern() {
        let permission = Permission::parse("^own\\.", "", ".*").unwrap();
        assert!(permission.allows(Access::Configure, "own.q"));
        assert!(!permission.allows(Access::Configure, "q"));
        assert!(!permission.allows(Access::Write, "own.q"));
        assert!(permission.allows(Access::Read, "q"));
        assert!(Permission::all().allows(Access::Write, ""));
    }
}
