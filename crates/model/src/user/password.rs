//! Password hashes, as RabbitMQ exports them: base64 of salt (4 bytes) ++ hash(salt ++ password).
//!
//! New ones are SHA-256. The two others that RabbitMQ has are understood, because its definitions may hold them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use sha2::{Digest, Sha256, Sha512};
use subtle::ConstantTimeEq as _;

/// Bytes of salt in front of a hash.
pub const SALT_LEN: usize = 4;

/// How passwords are hashed, by RabbitMQ's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum HashingAlgorithm {
    /// `rabbit_password_hashing_sha256`, the default.
    #[default]
    Sha256 = 0,
    /// `rabbit_password_hashing_sha512`.
    Sha512 = 1,
    /// `rabbit_password_hashing_md5`: for hashes of old brokers only.
    Md5 = 2,
}

impl HashingAlgorithm {
    const ALL: [HashingAlgorithm; 3] = [HashingAlgorithm::Sha256, HashingAlgorithm::Sha512, HashingAlgorithm::Md5];

    /// The algorithm of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<HashingAlgorithm> {
        HashingAlgorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// RabbitMQ's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            HashingAlgorithm::Sha256 => "rabbit_password_hashing_sha256",
            HashingAlgorithm::Sha512 => "rabbit_password_hashing_sha512",
            HashingAlgorithm::Md5 => "rabbit_password_hashing_md5",
        }
    }

    pub(crate) fn from_byte(byte: u8) -> Option<HashingAlgorithm> {
        HashingAlgorithm::ALL.into_iter().find(|algorithm| *algorithm as u8 == byte)
    }

    /// The algorithm whose hashes have so many bytes, salt included.
    #[must_use]
    pub fn of_len(len: usize) -> Option<HashingAlgorithm> {
        HashingAlgorithm::ALL.into_iter().find(|algorithm| algorithm.len() == len)
    }

    /// Bytes of a hash, salt included.
    fn len(self) -> usize {
        SALT_LEN
            + match self {
                HashingAlgorithm::Sha256 => 32,
                HashingAlgorithm::Sha512 => 64,
                HashingAlgorithm::Md5 => 16,
            }
    }

    fn hash(self, salt: [u8; SALT_LEN], password: &[u8]) -> Vec<u8> {
        fn salted<D: Digest>(salt: [u8; SALT_LEN], password: &[u8]) -> Vec<u8> {
            D::new().chain_update(salt).chain_update(password).finalize().to_vec()
        }
        match self {
            HashingAlgorithm::Sha256 => salted::<Sha256>(salt, password),
            HashingAlgorithm::Sha512 => salted::<Sha512>(salt, password),
            HashingAlgorithm::Md5 => salted::<Md5>(salt, password),
        }
    }
}

/// A salted hash of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    algorithm: HashingAlgorithm,
    /// Salt, then hash.
    bytes: Box<[u8]>,
}

/// A text that is not a password hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("password_hash is not the base64 of a 4 byte salt and a hash of the length of {}", .0.name())]
pub struct PasswordHashError(pub HashingAlgorithm);

impl PasswordHash {
    /// Hashes a password.
    #[must_use]
    pub fn new(password: &[u8], salt: [u8; SALT_LEN]) -> PasswordHash {
        let algorithm = HashingAlgorithm::default();
        let bytes = [&salt[..], &algorithm.hash(salt, password)].concat();
        PasswordHash { algorithm, bytes: bytes.into() }
    }

    /// Reads RabbitMQ's `password_hash`; the empty one means no login by password.
    pub fn parse(text: &str, algorithm: HashingAlgorithm) -> Result<Option<PasswordHash>, PasswordHashError> {
        if text.is_empty() {
            return Ok(None);
        }
        let bytes = STANDARD.decode(text).map_err(|_| PasswordHashError(algorithm))?;
        PasswordHash::from_bytes(&bytes, algorithm).map(Some)
    }

    /// Takes salt and hash as stored.
    pub(crate) fn from_bytes(bytes: &[u8], algorithm: HashingAlgorithm) -> Result<PasswordHash, PasswordHashError> {
        if bytes.len() != algorithm.len() {
            return Err(PasswordHashError(algorithm));
        }
        Ok(PasswordHash { algorithm, bytes: bytes.into() })
    }

    /// Salt and hash, to store.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How it was made.
    #[must_use]
    pub fn algorithm(&self) -> HashingAlgorithm {
        self.algorithm
    }

    /// Whether this is the password's hash. The blank password never is one.
    #[must_use]
    pub fn verify(&self, password: &[u8]) -> bool {
        let Some((salt, hash)) = self.bytes.split_first_chunk() else { return false };
        let is_same = self.algorithm.hash(*salt, password).ct_eq(hash);
        bool::from(is_same) && !password.is_empty()
    }
}

impl fmt::Display for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(&self.bytes))
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)") // not for logs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_salt_and_sha256_of_salt_and_password() {
        // RabbitMQ's documentation computes this one for the password test12 and the salt 908D C60A.
        let hash = PasswordHash::new(b"test12", [0x90, 0x8d, 0xc6, 0x0a]);
        assert_eq!(hash.to_string(), "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR");
    }

    #[track_caller]
    fn check_imported(algorithm: HashingAlgorithm, text: &str, password: &str) {
        let hash = PasswordHash::parse(text, algorithm).unwrap().unwrap();
        assert!(hash.verify(password.as_bytes()));
        assert!(!hash.verify(b"other"));
        assert_eq!((hash.to_string(), hash.algorithm()), (text.to_owned(), algorithm));
    }

    #[test]
    fn hashes_of_each_algorithm_are_understood() {
        let made = |algorithm: HashingAlgorithm| {
            let salt = [1, 2, 3, 4];
            STANDARD.encode([&salt[..], &algorithm.hash(salt, b"secret")].concat())
        };
        for algorithm in HashingAlgorithm::ALL {
            check_imported(algorithm, &made(algorithm), "secret");
            assert_eq!(HashingAlgorithm::parse(algorithm.name()), Some(algorithm));
            assert_eq!(HashingAlgorithm::from_byte(algorithm as u8), Some(algorithm));
        }
        assert_eq!(HashingAlgorithm::parse("rabbit_password_hashing_rot13"), None);
    }

    #[test]
    fn the_blank_password_never_verifies() {
        assert!(!PasswordHash::new(b"", [0; 4]).verify(b""));
    }

    #[test]
    fn the_empty_text_is_no_hash_at_all() {
        assert_eq!(PasswordHash::parse("", HashingAlgorithm::Sha256), Ok(None));
    }

    #[test]
    fn texts_that_are_no_hash_are_refused() {
        for text in ["AAAA", "not base64!", "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2PO="] {
            assert_eq!(
                PasswordHash::parse(text, HashingAlgorithm::Sha256).unwrap_err().to_string(),
                "password_hash is not the base64 of a 4 byte salt and a hash of the length of \
                 rabbit_password_hashing_sha256"
            );
        }
    }

    #[test]
    fn a_hash_does_not_print_itself_into_logs() {
        assert_eq!(format!("{:?}", PasswordHash::new(b"p", [0; 4])), "PasswordHash(…)");
    }
}
