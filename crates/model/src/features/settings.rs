//! Arguments and policies side by side, asked by one name: `max-length` is the argument `x-max-length` and the policy key
//! `max-length`.

use amqp::table::{Table, Value};

use crate::policy::EffectivePolicy;

/// Both sources of what is set.
#[derive(Clone, Copy)]
pub(super) struct Settings<'a> {
    arguments: Table<'a>,
    policy: &'a EffectivePolicy,
}

impl<'a> Settings<'a> {
    pub(super) fn new(arguments: Table<'a>, policy: &'a EffectivePolicy) -> Settings<'a> {
        Settings { arguments, policy }
    }

    /// The smaller of both numbers. Negative ones do not count.
    pub(super) fn number(self, argument: &str) -> Option<u64> {
        let ours =
            self.argument(argument).and_then(|value| value.as_i64()).and_then(|number| u64::try_from(number).ok());
        let theirs = self.policy(argument).and_then(|value| value.as_u64());
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => Some(ours.min(theirs)),
            (one, other) => one.or(other),
        }
    }

    /// The argument's text, or else the policy's.
    pub(super) fn text(self, argument: &str) -> Option<Box<[u8]>> {
        self.argument_text(argument).or_else(|| self.policy_text(argument))
    }

    /// The policy's text, or else the argument's.
    pub(super) fn text_of_policy_first(self, argument: &str) -> Option<Box<[u8]>> {
        self.policy_text(argument).or_else(|| self.argument_text(argument))
    }

    /// The argument's flag, or else the policy's.
    pub(super) fn is_set(self, argument: &str) -> bool {
        let ours = self.argument(argument).and_then(|value| value.as_bool());
        ours.or_else(|| self.policy(argument)?.as_bool()).unwrap_or_default()
    }

    /// What the arguments say alone.
    pub(super) fn argument(self, argument: &str) -> Option<Value<'a>> {
        if self.arguments.is_empty() { None } else { self.arguments.get(argument) }
    }

    /// What the policies say alone. Plugins name some of their keys as their arguments, so that is looked for as well.
    pub(super) fn policy(self, argument: &str) -> Option<serde_json::Value> {
        if self.policy.user.is_none() && self.policy.operator.is_none() {
            return None;
        }
        let key = argument.strip_prefix("x-").unwrap_or(argument);
        self.policy.get(key).or_else(|| self.policy.get(argument))
    }

    fn argument_text(self, argument: &str) -> Option<Box<[u8]>> {
        self.argument(argument)?.as_bytes().map(Box::from)
    }

    fn policy_text(self, argument: &str) -> Option<Box<[u8]>> {
        self.policy(argument)?.as_str().map(|text| Box::from(text.as_bytes()))
    }
}
