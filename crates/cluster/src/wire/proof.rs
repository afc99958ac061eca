//! The secret of a cluster, and proofs of having it: HMAC-SHA-256 over both preambles, and so over both nonces, and all that was said after
//! them. Each proof begins with what it is for, so none can be used as another.

use std::fmt;

use ring::hmac;

/// Bytes of a proof.
pub(crate) const PROOF_LEN: usize = 32;

/// What all nodes of a cluster know and no other does. It is nowhere shown.
#[derive(Clone)]
pub struct Secret {
    key: hmac::Key,
    is_absent: bool,
}

impl Secret {
    /// Of what the operator has given. `None`: it is empty.
    #[must_use]
    pub fn new(text: &[u8]) -> Option<Self> {
        (!text.is_empty()).then(|| Secret { key: hmac::Key::new(hmac::HMAC_SHA256, text), is_absent: false })
    }

    /// None: certificates decide which nodes may connect. Proofs are checksums then.
    #[must_use]
    pub fn absent() -> Self {
        Secret { key: hmac::Key::new(hmac::HMAC_SHA256, &[]), is_absent: true }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.is_absent
    }

    pub(crate) fn prove(&self, parts: &[&[u8]]) -> [u8; PROOF_LEN] {
        let mut proof = [0; PROOF_LEN];
        proof.copy_from_slice(hmac::sign(&self.key, &joined(parts)).as_ref());
        proof
    }

    /// Takes the same time wherever two proofs differ.
    pub(crate) fn is_proved_by(&self, parts: &[&[u8]], proof: &[u8]) -> bool {
        hmac::verify(&self.key, &joined(parts), proof).is_ok()
    }
}

/// Each part with its length before it: no two lists of parts are the same bytes.
fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let mut joined = Vec::new();
    for part in parts {
        joined.extend_from_slice(&(part.len() as u64).to_le_bytes());
        joined.extend_from_slice(part);
    }
    joined
}

impl fmt::Debug for Secret {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_are_of_one_secret_and_of_one_list_of_parts() {
        let secret = Secret::new(b"what all know").unwrap();
        let proof = secret.prove(&[b"one", b"two"]);
        assert!(secret.is_proved_by(&[b"one", b"two"], &proof));
        assert!(!secret.is_proved_by(&[b"on", b"etwo"], &proof));
        assert!(!secret.is_proved_by(&[b"one", b"two"], &proof[1..]));
        assert!(!Secret::new(b"another").unwrap().is_proved_by(&[b"one", b"two"], &proof));
        assert!(!Secret::absent().is_proved_by(&[b"one", b"two"], &proof));
        assert!(Secret::new(b"").is_none());
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", Secret::new(b"what all know").unwrap()), "Secret");
    }
}
