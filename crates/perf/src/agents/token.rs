//! What a coordinator must know to command an agent: its token. The token itself is never sent, only the proof that it is known,
//! over random numbers of both sides.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

/// A side's random number, in hexadecimal.
pub(crate) type Nonce = String;

/// Whose proof it is: one side's is of no use to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Coordinator,
    Agent,
}

/// A new random number.
pub(crate) fn nonce() -> std::io::Result<Nonce> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(hex(&bytes))
}

/// Proves that a side knows the token; one that has none has the empty one.
pub(crate) fn proof(token: &str, side: Side, agent: &str, coordinator: &str) -> String {
    let key = Sha256::digest(token.as_bytes());
    let side = match side {
        Side::Coordinator => b"coordinator",
        Side::Agent => b"agent------",
    };
    let mut inner = Sha256::new_with_prefix(key);
    for part in [side.as_slice(), agent.as_bytes(), coordinator.as_bytes()] {
        inner.update((part.len() as u64).to_be_bytes());
        inner.update(part);
    }
    // Hashed with the key once more: nothing can be appended.
    let outer = Sha256::new_with_prefix(key).chain_update(inner.finalize());
    hex(&outer.finalize())
}

/// Whether a proof is the one that it is to be. How long that takes says nothing about it.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proof_is_of_one_token_one_side_and_one_conversation() {
        let ours = proof("secret", Side::Coordinator, "a", "b");
        assert!(is_same(&ours, &proof("secret", Side::Coordinator, "a", "b")));
        for other in [
            proof("other", Side::Coordinator, "a", "b"),
            proof("", Side::Coordinator, "a", "b"),
            proof("secret", Side::Agent, "a", "b"),
            proof("secret", Side::Coordinator, "a", "c"),
            proof("secret", Side::Coordinator, "c", "b"),
            proof("secret", Side::Coordinator, "ab", ""),
        ] {
            assert!(!is_same(&ours, &other));
        }
        assert_ne!(nonce().unwrap(), nonce().unwrap());
    }
}
