//! Salted hashes of passwords, as RabbitMQ keeps them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256, Sha512};

use crate::failure::Failure;

const SALT_LEN: usize = 4;

/// A password's salt and hash in base64; nothing if there is no such algorithm or no randomness.
pub(crate) fn hashed(password: &str, algorithm: &str) -> Option<String> {
    let mut salt = [0; SALT_LEN];
    getrandom::fill(&mut salt).ok()?;
    salted(password, algorithm, salt)
}

/// An algorithm's name as the server has it.
pub(crate) fn module(algorithm: &str) -> String {
    let name = algorithm.to_ascii_lowercase();
    if name.starts_with("rabbit_password_hashing_") { name } else { format!("rabbit_password_hashing_{name}") }
}

/// There is no such algorithm, or no randomness to salt with.
pub(crate) fn unknown_algorithm(algorithm: &str) -> Failure {
    Failure::usage(format!("unknown hashing algorithm '{algorithm}': one of SHA256, SHA512"))
}

fn salted(password: &str, algorithm: &str, salt: [u8; SALT_LEN]) -> Option<String> {
    let hash = match module(algorithm).as_str() {
        "rabbit_password_hashing_sha256" => Sha256::new().chain_update(salt).chain_update(password).finalize().to_vec(),
        "rabbit_password_hashing_sha512" => Sha512::new().chain_update(salt).chain_update(password).finalize().to_vec(),
        _ => return None,
    };
    Some(STANDARD.encode([&salt[..], &hash].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_rabbitmqs() {
        // The example of RabbitMQ's own guide on passwords.
        let hash = salted("test12", "SHA256", [0x90, 0x8d, 0xc6, 0x0a]).unwrap();
        assert_eq!(hash, "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR");
        assert_eq!(salted("x", "rabbit_password_hashing_sha512", [0; 4]).unwrap().len(), 92);
        assert!(hashed("x", "MD4").is_none());
    }

    #[test]
    fn the_same_password_has_another_hash_each_time() {
        assert_ne!(hashed("x", "SHA256"), hashed("x", "SHA256"));
    }
}
