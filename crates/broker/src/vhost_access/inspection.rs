//! What a user may do, and why: for operators who are asked why something was refused. Nothing is done.

use model::name::{ExchangeName, QueueName};
use model::user::{Access, TopicAccess, TopicVariables};

use super::VhostAccess;
use crate::identity::Rights;
use crate::permissions::{Resource, permission_name};
use crate::users::Granted;

/// A right that something needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeededRight {
    /// To be in the vhost.
    Enter,
    /// To do something with an exchange or a queue.
    Resource {
        /// With what kind of thing.
        resource: Resource,
        /// Which.
        name: String,
        /// What.
        access: Access,
    },
    /// To use a routing key, where there are rules about them.
    Topic {
        /// Of which exchange.
        exchange: String,
        /// Which.
        routing_key: String,
        /// What for.
        access: TopicAccess,
    },
}

/// Whether a user has a right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedRight {
    /// Whether it has.
    pub is_allowed: bool,
    /// The pattern that decides it, if the broker's own permissions have a say.
    pub pattern: Option<String>,
    /// Whether what it is about is there; None where that is no question.
    pub exists: Option<bool>,
    /// Why it has not.
    pub reason: Option<String>,
}

/// Queues that a message would go to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WouldRoute {
    /// The names of the first ones, in order.
    pub queues: Vec<String>,
    /// How many there are.
    pub count: usize,
}

impl VhostAccess {
    /// Whether the user has a right. None: nothing decides about it, as about routing keys where there are no rules. Where a back end
    /// has to be asked, the answer means nothing before [`VhostAccess::await_authorization`] has waited for that.
    #[must_use]
    pub fn inspect(&self, right: &NeededRight) -> Option<CheckedRight> {
        let users = &self.broker.users;
        let identity = self.identity();
        let is_stored = identity.is_internal() && !matches!(identity.rights, Rights::All);
        let vhost = self.vhost.name().as_str();
        let granted = is_stored.then(|| users.granted(identity.name(), vhost));
        let is_allowed = match right {
            NeededRight::Enter => self.permissions.may_enter(users),
            NeededRight::Resource { resource, name, access } => self.check(*access, *resource, name).is_ok(),
            NeededRight::Topic { exchange, routing_key, access } => {
                if !self.permissions.has_topic_rules(users, exchange) || !self.vhost.is_topic(exchange) {
                    return None;
                }
                self.permissions.check_topic(users, *access, exchange, routing_key.as_bytes()).is_ok()
            }
        };
        let pattern = granted.as_ref().and_then(|granted| pattern_of(granted, right));
        let reason = (!is_allowed).then(|| match (&granted, &pattern) {
            (Some(Granted { permission: None, .. }), _) => {
                format!("user '{}' has no permissions in vhost '{vhost}'", identity.name())
            }
            (Some(_), Some(_)) if !self.matches(right) => "the pattern does not match the name".to_owned(),
            _ => "a back end refuses it".to_owned(),
        });
        Some(CheckedRight { is_allowed, pattern, exists: self.exists(right), reason })
    }

    /// Whether a pattern of the broker's own permissions matches.
    fn matches(&self, right: &NeededRight) -> bool {
        let (name, vhost) = (self.identity().name(), self.vhost.name().as_str());
        let granted = self.broker.users.granted(name, vhost);
        match right {
            NeededRight::Enter => granted.permission.is_some(),
            NeededRight::Resource { name, access, .. } => {
                let name = permission_name(name);
                granted.permission.is_some_and(|permission| permission.allows(*access, name))
            }
            NeededRight::Topic { exchange, routing_key, access } => {
                let variables = TopicVariables { username: name, vhost, client_id: None };
                let mut rules = granted.topics.iter().filter(|rule| rule.exchange.as_str() == *exchange);
                rules.all(|rule| rule.pattern(*access, variables).is_some_and(|pattern| pattern.is_match(routing_key)))
            }
        }
    }

    fn exists(&self, right: &NeededRight) -> Option<bool> {
        match right {
            NeededRight::Resource { resource: Resource::Queue, name, .. } => {
                let name = QueueName::parse(name.as_bytes()).ok();
                Some(name.is_some_and(|name| self.vhost.queue(name.as_bytes()).is_some()))
            }
            NeededRight::Resource { resource: Resource::Exchange, name, .. } => {
                let name = ExchangeName::parse(name.as_bytes()).ok();
                Some(name.is_some_and(|name| name.is_default() || self.vhost.exchange(name.as_str()).is_some()))
            }
            _ => None,
        }
    }

    /// Where a message without headers would go, and the names of no more than `count_max` queues. None: there is no such exchange.
    #[must_use]
    pub fn would_route(&self, exchange: &str, routing_key: &str, count_max: usize) -> Option<WouldRoute> {
        self.vhost.queues_for(exchange.as_bytes(), routing_key.as_bytes()).map(|queues| {
            let mut names: Vec<&str> = queues.iter().map(|queue| queue.name()).collect();
            names.sort_unstable();
            let queues = names.iter().take(count_max).map(|name| (*name).to_owned()).collect();
            WouldRoute { queues, count: names.len() }
        })
    }
}

fn pattern_of(granted: &Granted, right: &NeededRight) -> Option<String> {
    match right {
        NeededRight::Enter => None,
        NeededRight::Resource { access, .. } => {
            let permission = granted.permission.as_ref()?;
            let pattern = match access {
                Access::Configure => &permission.configure,
                Access::Write => &permission.write,
                Access::Read => &permission.read,
            };
            Some(pattern.as_str().to_owned())
        }
        NeededRight::Topic { exchange, access, .. } => {
            let rule = granted.topics.iter().find(|rule| rule.exchange.as_str() == *exchange)?;
            let pattern = match access {
                TopicAccess::Write => rule.write(),
                TopicAccess::Read => rule.read(),
            };
            Some(pattern.to_owned())
        }
    }
}
