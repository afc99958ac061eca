//! One policy: the names and the kinds of things that it is for, and what it sets.

use super::apply_to::{ApplyTo, Target};
use super::definition::{PolicyDefinition, PolicyError};
use super::kind::{POLICY_NAME_LEN_MAX, PolicyKind};
use crate::name::VhostName;
use crate::pattern::{Pattern, PatternError};

/// A policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Where.
    pub vhost: VhostName,
    /// Its name, among policies of its kind.
    pub name: Box<str>,
    /// Whose it is.
    pub kind: PolicyKind,
    /// Names that it is for.
    pub pattern: Pattern,
    /// Things that it is for.
    pub apply_to: ApplyTo,
    /// Of several that match, the one with the highest counts.
    pub priority: i64,
    /// What it sets.
    pub definition: PolicyDefinition,
}

impl Eq for Policy {}

impl Policy {
    /// Whether it is for what bears the name.
    #[must_use]
    pub fn matches(&self, target: Target, name: &str) -> bool {
        let suits = match target {
            Target::Exchange => true,
            Target::Queue(queue_type) => self.definition.suits(queue_type),
        };
        suits && self.apply_to.covers(target) && self.pattern.is_match(name)
    }

    /// Reads the name of a policy.
    pub fn parse_name(name: &str) -> Result<Box<str>, PolicyError> {
        if name.is_empty() || name.len() > POLICY_NAME_LEN_MAX {
            return Err(PolicyError::Name { len: name.len() });
        }
        Ok(Box::from(name))
    }

    /// Reads the pattern of a policy.
    pub fn parse_pattern(pattern: &str) -> Result<Pattern, PatternError> {
        // Policies have no special case of the empty pattern, which permissions have: it matches every name.
        if pattern.is_empty() { Ok(Pattern::all_by("")) } else { Pattern::parse(pattern) }
    }
}
