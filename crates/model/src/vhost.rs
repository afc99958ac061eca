//! Virtual hosts: a name, what an operator says about it, and how much it may have.

use std::fmt;

use crate::name::{UserName, VhostName};
use crate::pattern::Pattern;
use crate::policy::ApplyTo;
use crate::user::{LimitError, Permission, Tags};

/// A vhost as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vhost {
    /// The name, `/` for the default one.
    pub name: VhostName,
    /// What an operator wrote about it.
    pub metadata: VhostMetadata,
    /// Whether it must not be deleted.
    pub is_protected: bool,
    /// How much it may have at once.
    pub limits: VhostLimits,
}

/// An operator's words about a vhost, and the type of queues declared without one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VhostMetadata {
    /// Free text.
    pub description: String,
    /// Free labels.
    pub tags: Vec<String>,
    /// The type of queues that are declared without `x-queue-type`, if they can be of it; None: the broker's.
    pub default_queue_type: Option<String>,
}

impl Vhost {
    /// A vhost without metadata and limits.
    #[must_use]
    pub fn new(name: VhostName) -> Vhost {
        let (metadata, limits) = (VhostMetadata::default(), VhostLimits::default());
        Vhost { name, metadata, is_protected: false, limits }
    }
}

/// A vhost's limits. None: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VhostLimits {
    /// Most connections.
    pub connection_max: Option<u64>,
    /// Most queues.
    pub queue_max: Option<u64>,
    /// Most messages that are published in a second; faster publishers are slowed down.
    pub publish_rate_max_per_s: Option<u64>,
    /// Most bytes of bodies that are published in a second; faster publishers are slowed down.
    pub publish_bytes_max_per_s: Option<u64>,
}

/// A limit that was said to be none: more than there can be of anything.
const UNLIMITED: u64 = u64::MAX;
/// Those that RabbitMQ knows.
const RABBITMQS: [&str; 2] = ["max-connections", "max-queues"];

/// What each limit is called, and where it is kept.
type LimitRow = (&'static str, fn(&mut VhostLimits) -> &mut Option<u64>);

const LIMITS: [LimitRow; 4] = [
    ("max-connections", |limits| &mut limits.connection_max),
    ("max-queues", |limits| &mut limits.queue_max),
    ("max-publish-rate", |limits| &mut limits.publish_rate_max_per_s),
    ("max-publish-bytes-rate", |limits| &mut limits.publish_bytes_max_per_s),
];

impl VhostLimits {
    /// Names of all limits; the first two are RabbitMQ's.
    pub fn names() -> impl Iterator<Item = &'static str> {
        LIMITS.iter().map(|(name, _)| *name)
    }

    /// Sets the limit of this name. A negative number is no limit: RabbitMQ's limits are shown so then, others removed.
    pub fn set(&mut self, name: &str, value: i64) -> Result<(), LimitError> {
        let slot = slot_of(name).ok_or_else(|| LimitError::Unknown(name.to_owned(), value))?;
        let no_limit = Some(UNLIMITED).filter(|_| RABBITMQS.contains(&name));
        *slot(self) = u64::try_from(value).ok().or(no_limit);
        Ok(())
    }

    /// Removes the limit of this name. False when there is none of this name.
    pub fn clear(&mut self, name: &str) -> bool {
        slot_of(name).map(|slot| *slot(self) = None).is_some()
    }

    /// The limits that are set, by name; -1 is one that is no limit.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, i64)> {
        let mut limits = *self;
        LIMITS.iter().filter_map(move |(name, slot)| Some((*name, i64::try_from((*slot(&mut limits))?).unwrap_or(-1))))
    }
}

fn slot_of(name: &str) -> Option<fn(&mut VhostLimits) -> &mut Option<u64>> {
    LIMITS.iter().find(|(known, _)| *known == name).map(|(_, slot)| *slot)
}

/// What a vhost gets when it is made.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VhostDefaults {
    /// Limits; the first that are for the vhost count.
    pub limits: Vec<VhostLimitDefault>,
    /// Users, each with a permission.
    pub users: Vec<VhostUserDefault>,
    /// Policies of operators.
    pub policies: Vec<VhostPolicyDefault>,
}

/// An operator's policy in vhosts whose names match.
#[derive(Debug, Clone, PartialEq)]
pub struct VhostPolicyDefault {
    /// The policy's name.
    pub name: String,
    /// The vhosts' names.
    pub vhosts: Pattern,
    /// The names that it is for there.
    pub pattern: String,
    /// What it is for.
    pub apply_to: ApplyTo,
    /// What it sets, checked.
    pub definition: serde_json::Map<String, serde_json::Value>,
}

/// Limits of vhosts whose names match.
#[derive(Debug, Clone, PartialEq)]
pub struct VhostLimitDefault {
    /// The names.
    pub pattern: Pattern,
    /// The limits.
    pub limits: VhostLimits,
}

/// A user of vhosts whose names match.
#[derive(Clone, PartialEq)]
pub struct VhostUserDefault {
    /// The user's name.
    pub name: UserName,
    /// The vhosts' names.
    pub vhosts: Pattern,
    /// Its password, in plain, if there is no such user yet; None: it cannot log in by password.
    pub password: Option<String>,
    /// Its roles, if there is no such user yet.
    pub tags: Tags,
    /// What it may do in the vhost.
    pub permission: Permission,
}

impl VhostDefaults {
    /// The limits of a vhost.
    #[must_use]
    pub fn limits_of(&self, vhost: &VhostName) -> Option<VhostLimits> {
        self.limits.iter().find(|default| default.pattern.is_match(vhost.as_str())).map(|default| default.limits)
    }

    /// The users of a vhost.
    pub fn users_of(&self, vhost: &VhostName) -> impl Iterator<Item = &VhostUserDefault> {
        self.users.iter().filter(|user| user.vhosts.is_match(vhost.as_str()))
    }

    /// The operators' policies of a vhost.
    pub fn policies_of(&self, vhost: &VhostName) -> impl Iterator<Item = &VhostPolicyDefault> {
        self.policies.iter().filter(|policy| policy.vhosts.is_match(vhost.as_str()))
    }
}

impl Default for VhostLimitDefault {
    fn default() -> Self {
        Self { pattern: Pattern::all(), limits: VhostLimits::default() }
    }
}

impl fmt::Debug for VhostUserDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let VhostUserDefault { name, vhosts, tags, permission, password: _ } = self; // the password is not for logs
        f.debug_struct("VhostUserDefault")
            .field("name", name)
            .field("vhosts", vhosts)
            .field("tags", tags)
            .field("permission", permission)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_set_and_cleared_by_name() {
        let mut limits = VhostLimits::default();
        for (number, name) in (0..).zip(VhostLimits::names()) {
            limits.set(name, number).unwrap();
        }
        let expected =
            [("max-connections", 0), ("max-queues", 1), ("max-publish-rate", 2), ("max-publish-bytes-rate", 3)];
        assert_eq!(limits.iter().collect::<Vec<_>>(), expected);
        limits.set("max-queues", -1).unwrap();
        limits.set("max-publish-rate", -1).unwrap();
        let expected = [("max-connections", 0), ("max-queues", -1), ("max-publish-bytes-rate", 3)];
        assert_eq!(limits.iter().collect::<Vec<_>>(), expected);
        assert!(limits.clear("max-connections") && !limits.clear("max-channels"));
        assert!(limits.set("max-channels", 1).is_err());
    }
}
