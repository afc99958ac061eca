//! Names, ids and secrets for tests.

use std::sync::Arc;

use cluster::wire::{ClusterId, Identity, Local, NodeName, Secret};
use consensus::MemberId;

pub(crate) fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

pub(crate) fn member(number: u64) -> Option<MemberId> {
    Some(MemberId::new(number).unwrap())
}

/// `rabbit@a` is member 1, `rabbit@b` member 2, and so on.
pub(crate) fn identity(letter: char) -> Identity {
    let number = u64::from(u32::from(letter) - u32::from('a')) + 1;
    Identity {
        cluster: ClusterId::new(7),
        name: name(&format!("rabbit@{letter}")),
        member: member(number),
        incarnation: 100 + number,
        level: 1,
    }
}

pub(crate) fn secret(text: &str) -> Secret {
    Secret::new(text.as_bytes()).unwrap()
}

pub(crate) fn local(letter: char) -> Local {
    Local::new(identity(letter), secret("what all know"))
}

pub(crate) fn shared(local: Local) -> Arc<Local> {
    Arc::new(local)
}
