//! What a definition defines, and why bytes are not valid.

/// What a definition defines; the first byte of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A vhost.
    Vhost = 1,
    /// A user.
    User = 2,
    /// What a user may do in a vhost.
    Permission = 3,
    /// An exchange.
    Exchange = 4,
    /// A queue.
    Queue = 5,
    /// A binding.
    Binding = 6,
    /// Which routing keys a user may use on a topic exchange.
    TopicPermission = 7,
    /// A user's or an operator's policy.
    Policy = 8,
    /// A parameter of the whole cluster.
    GlobalParameter = 9,
    /// A parameter of a vhost.
    Parameter = 10,
}

impl Kind {
    const ALL: [Kind; 10] = [
        Kind::Vhost,
        Kind::User,
        Kind::Permission,
        Kind::Exchange,
        Kind::Queue,
        Kind::Binding,
        Kind::TopicPermission,
        Kind::Policy,
        Kind::GlobalParameter,
        Kind::Parameter,
    ];

    /// The version that this program writes into values. It reads older ones, too.
    pub(super) fn version(self) -> u8 {
        match self {
            // Limits and a second password came with 2.
            Kind::Vhost | Kind::User => 2,
            _ => 1,
        }
    }
}

/// Why a stored key and value are no definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A newer program wrote it.
    #[error("definition of unknown kind {0}")]
    UnknownKind(u8),
    /// A newer program wrote it.
    #[error("{kind:?} definition of unknown version {version}")]
    UnknownVersion {
        /// What it defines.
        kind: Kind,
        /// Its version.
        version: u8,
    },
    /// The bytes are not what this program writes.
    #[error("{kind:?} definition is damaged: {what}")]
    Corrupt {
        /// What it defines.
        kind: Kind,
        /// What is wrong.
        what: &'static str,
    },
}

/// What all keys of one kind begin with.
#[must_use]
pub fn prefix(kind: Kind) -> Vec<u8> {
    vec![kind as u8]
}

pub(super) fn kind_of(key: &[u8]) -> Result<(Kind, &[u8]), DecodeError> {
    let (&byte, names) = key.split_first().ok_or(DecodeError::UnknownKind(0))?;
    let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == byte).ok_or(DecodeError::UnknownKind(byte))?;
    Ok((kind, names))
}
