//! The policies that hold for a queue or an exchange: a user's, an operator's, or both merged.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::apply_to::Target;
use super::keys;
use super::kind::PolicyKind;
use super::ranking::compare;
use super::rule::Policy;

/// Which policies hold for a queue or an exchange, and what they come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EffectivePolicy {
    /// The user's.
    pub user: Option<Arc<Policy>>,
    /// The operator's.
    pub operator: Option<Arc<Policy>>,
}

impl EffectivePolicy {
    /// The policies that hold for what bears the name.
    #[must_use]
    pub fn of(policies: &[Arc<Policy>], target: Target, name: &str) -> EffectivePolicy {
        let best = |kind| {
            let matching = policies.iter().filter(|policy| policy.kind == kind && policy.matches(target, name));
            matching.min_by(|a, b| compare(a, b)).cloned()
        };
        EffectivePolicy { user: best(PolicyKind::User), operator: best(PolicyKind::Operator) }
    }

    /// Both merged: `effective_policy_definition`. None when neither holds.
    #[must_use]
    pub fn definition(&self) -> Option<Map<String, Value>> {
        match (&self.user, &self.operator) {
            (None, None) => None,
            (Some(only), None) | (None, Some(only)) => Some(only.definition.settings().clone()),
            (Some(user), Some(operator)) => Some(keys::merge(&user.definition, &operator.definition)),
        }
    }

    /// What a key is set to.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Value> {
        let of = |policy: &Option<Arc<Policy>>| policy.as_ref()?.definition.settings().get(key).cloned();
        match (of(&self.user), of(&self.operator)) {
            (Some(user), Some(operator)) => Some(keys::merge_value(key, &user, &operator)),
            (one, other) => one.or(other),
        }
    }
}
