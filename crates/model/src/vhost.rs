//! Virtual hosts: a name and what an operator says about it.

use crate::name::VhostName;

/// A vhost as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vhost {
    /// The name, `/` for the default one.
    pub name: VhostName,
    /// What an operator wrote about it.
    pub metadata: VhostMetadata,
}

/// An operator's words about a vhost, and the type of queues declared without one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VhostMetadata {
    /// Free text.
    pub description: String,
    /// Free labels.
    pub tags: Vec<String>,
    /// The type that is written into the arguments of a durable, non-exclusive queue declared without `x-queue-type`.
    pub default_queue_type: Option<String>,
}

impl Vhost {
    /// A vhost without metadata.
    #[must_use]
    pub fn new(name: VhostName) -> Vhost {
        Vhost { name, metadata: VhostMetadata::default() }
    }
}
