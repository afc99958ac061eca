//! Users: name, passwords, tags, limits; and permissions, one for each user in each vhost.

mod credential_validator;
mod limits;
mod password;
mod permission;
mod tags;
mod topic;

use crate::name::UserName;

pub use credential_validator::{CredentialError, CredentialValidator};
pub use limits::{LimitError, UserLimits};
pub use password::{HashingAlgorithm, PasswordHash, PasswordHashError, SALT_LEN};
pub use permission::{Access, Permission};
pub use tags::Tags;
pub use topic::{TopicAccess, TopicPermission, TopicVariables};

/// A user that may log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: UserName,
    /// None: no login by password.
    pub password_hash: Option<PasswordHash>,
    /// A second password that is valid as well, so that clients can move from one to the other without a gap.
    pub second_password_hash: Option<PasswordHash>,
    /// Roles, such as `administrator`.
    pub tags: Tags,
    /// How much it may have at once.
    pub limits: UserLimits,
}

impl User {
    /// A user with these passwords and roles, and without limits.
    #[must_use]
    pub fn new(name: UserName, password_hash: Option<PasswordHash>, tags: Tags) -> User {
        User { name, password_hash, second_password_hash: None, tags, limits: UserLimits::default() }
    }

    /// Whether this is one of the user's passwords. Takes the same time wherever the two differ.
    #[must_use]
    pub fn verify(&self, password: &[u8]) -> bool {
        let is_first = self.password_hash.as_ref().is_some_and(|hash| hash.verify(password));
        let is_second = self.second_password_hash.as_ref().is_some_and(|hash| hash.verify(password));
        is_first | is_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(password_hash: Option<PasswordHash>) -> User {
        User::new(UserName::parse(b"ann").unwrap(), password_hash, Tags::default())
    }

    #[test]
    fn only_the_password_verifies() {
        let ann = user(Some(PasswordHash::new(b"secret", [1, 2, 3, 4])));
        assert!(ann.verify(b"secret"));
        assert!(!ann.verify(b"Secret"));
        assert!(!ann.verify(b""));
    }

    #[test]
    fn a_second_password_is_as_good_as_the_first() {
        let mut ann = user(Some(PasswordHash::new(b"new", [1, 2, 3, 4])));
        ann.second_password_hash = Some(PasswordHash::new(b"old", [4, 3, 2, 1]));
        assert!(ann.verify(b"new") && ann.verify(b"old"));
        assert!(!ann.verify(b"other"));
    }

    #[test]
    fn no_hash_means_no_login() {
        assert!(!user(None).verify(b""));
        assert!(!user(None).verify(b"x"));
    }
}
