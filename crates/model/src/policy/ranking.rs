//! Policies in the order in which they count, for callers that look up many names: the first that matches applies.

use std::cmp::Ordering;
use std::sync::Arc;

use super::apply_to::Target;
use super::effective::EffectivePolicy;
use super::kind::PolicyKind;
use super::rule::Policy;

/// Policies of one vhost, those that count first in front.
#[derive(Debug)]
pub struct PolicyRanking<'a> {
    users: Vec<&'a Arc<Policy>>,
    operators: Vec<&'a Arc<Policy>>,
}

impl<'a> PolicyRanking<'a> {
    /// Sorts policies of both kinds.
    #[must_use]
    pub fn of(policies: &'a [Arc<Policy>]) -> PolicyRanking<'a> {
        Self::of_some(policies.iter())
    }

    pub(super) fn of_some(policies: impl Iterator<Item = &'a Arc<Policy>>) -> PolicyRanking<'a> {
        let (mut users, mut operators): (Vec<_>, Vec<_>) = policies.partition(|policy| policy.kind == PolicyKind::User);
        users.sort_by(|a, b| compare(a, b));
        operators.sort_by(|a, b| compare(a, b));
        PolicyRanking { users, operators }
    }

    /// The policy of a kind that holds for what bears the name.
    pub(super) fn first(&self, kind: PolicyKind, target: Target, name: &str) -> Option<Arc<Policy>> {
        let ranked = match kind {
            PolicyKind::User => &self.users,
            PolicyKind::Operator => &self.operators,
        };
        ranked.iter().find(|policy| policy.matches(target, name)).map(|policy| Arc::clone(policy))
    }

    /// The policies that hold for what bears the name, as [`EffectivePolicy::of`] finds them.
    #[must_use]
    pub fn effective(&self, target: Target, name: &str) -> EffectivePolicy {
        let first = |kind| self.first(kind, target, name);
        EffectivePolicy { user: first(PolicyKind::User), operator: first(PolicyKind::Operator) }
    }

    /// All policies that match, users' before operators', the one that counts first.
    #[must_use]
    pub fn matching(&self, target: Target, name: &str) -> Vec<Arc<Policy>> {
        let all = self.users.iter().chain(&self.operators);
        all.filter(|policy| policy.matches(target, name)).map(|policy| Arc::clone(policy)).collect()
    }
}

/// The lesser one counts. RabbitMQ leaves open which of two with the same priority does; here it is the first by name.
pub(super) fn compare(a: &Policy, b: &Policy) -> Ordering {
    b.priority.cmp(&a.priority).then_with(|| a.name.cmp(&b.name))
}
