//! What policies hold after some of them have changed, found from what held before: of most queues only the changed ones are looked at.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::apply_to::Target;
use super::effective::EffectivePolicy;
use super::kind::PolicyKind;
use super::ranking::{PolicyRanking, compare};
use super::rule::Policy;

/// The names of policies that were set or deleted.
#[derive(Debug, Clone, Default)]
pub struct ChangedPolicies {
    users: BTreeSet<Box<str>>,
    operators: BTreeSet<Box<str>>,
}

impl ChangedPolicies {
    /// Whether a policy of this kind and name is among them.
    #[must_use]
    pub fn has(&self, policy: &Policy) -> bool {
        match policy.kind {
            PolicyKind::User => self.users.contains(&policy.name),
            PolicyKind::Operator => self.operators.contains(&policy.name),
        }
    }
}

impl<'a> FromIterator<&'a Arc<Policy>> for ChangedPolicies {
    fn from_iter<I: IntoIterator<Item = &'a Arc<Policy>>>(policies: I) -> Self {
        let mut changed = ChangedPolicies::default();
        for policy in policies {
            match policy.kind {
                PolicyKind::User => changed.users.insert(policy.name.clone()),
                PolicyKind::Operator => changed.operators.insert(policy.name.clone()),
            };
        }
        changed
    }
}

/// Policies as they are after a change.
#[derive(Debug)]
pub struct PolicyChange<'a> {
    all: PolicyRanking<'a>,
    /// Those of the changed ones that are there.
    set: PolicyRanking<'a>,
    names: &'a ChangedPolicies,
}

impl<'a> PolicyChange<'a> {
    /// The policies of a vhost, some of which have changed.
    #[must_use]
    pub fn new(policies: &'a [Arc<Policy>], names: &'a ChangedPolicies) -> PolicyChange<'a> {
        let set = PolicyRanking::of_some(policies.iter().filter(|policy| names.has(policy)));
        PolicyChange { all: PolicyRanking::of(policies), set, names }
    }

    /// The policies that hold for what bears the name, if these held before the change.
    #[must_use]
    pub fn effective(&self, before: &EffectivePolicy, target: Target, name: &str) -> EffectivePolicy {
        let after = |kind, before: &Option<Arc<Policy>>| {
            if before.as_ref().is_some_and(|before| self.names.has(before)) {
                return self.all.first(kind, target, name);
            }
            match (before, self.set.first(kind, target, name)) {
                (before, None) => before.clone(),
                (Some(before), Some(set)) if compare(before, &set).is_le() => Some(before.clone()),
                (_, Some(set)) => Some(set),
            }
        };
        EffectivePolicy {
            user: after(PolicyKind::User, &before.user),
            operator: after(PolicyKind::Operator, &before.operator),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::arguments::QueueType;
    use crate::name::VhostName;
    use crate::policy::{ApplyTo, PolicyDefinition};

    const CLASSIC: Target = Target::Queue(QueueType::Classic);

    fn policies() -> impl Strategy<Value = Vec<Arc<Policy>>> {
        let one = ("[a-d]", any::<bool>(), "[xy]?", -1..2_i64);
        let made = one.prop_map(|(name, is_users, pattern, priority)| {
            Arc::new(Policy {
                vhost: VhostName::parse(b"/").unwrap(),
                name: name.into(),
                kind: if is_users { PolicyKind::User } else { PolicyKind::Operator },
                pattern: Policy::parse_pattern(&pattern).unwrap(),
                apply_to: ApplyTo::All,
                priority,
                definition: PolicyDefinition::from_stored(json!({"max-length": 1}).as_object().unwrap().clone()),
            })
        });
        prop::collection::vec(made, 0..8).prop_map(|mut all| {
            all.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
            all.dedup_by(|a, b| (a.kind, &a.name) == (b.kind, &b.name));
            all
        })
    }

    proptest! {
        #[test]
        fn a_change_is_followed_as_if_all_were_looked_at(before in policies(), after in policies(), name in "[xyz]{1,2}") {
            let differs = |policy: &&Arc<Policy>| before.contains(policy) != after.contains(policy);
            let changed = before.iter().chain(&after).filter(differs);
            let names: ChangedPolicies = changed.collect();
            let held = EffectivePolicy::of(&before, CLASSIC, &name);
            let found = PolicyChange::new(&after, &names).effective(&held, CLASSIC, &name);
            prop_assert_eq!(found, EffectivePolicy::of(&after, CLASSIC, &name));
        }
    }
}
