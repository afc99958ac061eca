//! Policies in the order in which they count, for who asks of many names: the first that matches is it.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{EffectivePolicy, Policy, PolicyKind, Target};

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
        let ranked = |kind| {
            let mut ranked: Vec<_> = policies.iter().filter(|policy| policy.kind == kind).collect();
            ranked.sort_by(|a, b| compare(a, b));
            ranked
        };
        PolicyRanking { users: ranked(PolicyKind::User), operators: ranked(PolicyKind::Operator) }
    }

    /// The policies that hold for what bears the name, as [`EffectivePolicy::of`] finds them.
    #[must_use]
    pub fn effective(&self, target: Target, name: &str) -> EffectivePolicy {
        let first = |ranked: &[&Arc<Policy>]| {
            let mut matching = ranked.iter().filter(|policy| policy.matches(target, name));
            matching.next().map(|policy| Arc::clone(policy))
        };
        EffectivePolicy { user: first(&self.users), operator: first(&self.operators) }
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
