//! What somebody may do in a vhost, remembered for the names that were asked about last.
//!
//! An answer is remembered only as long as no user and no permission changes: what is revoked is revoked at once.

use std::collections::VecDeque;
use std::sync::Arc;

use model::name::{DEFAULT_EXCHANGE_ALIAS, VhostName};
use model::user::{Access, TopicAccess, TopicVariables};
use parking_lot::Mutex;

use crate::identity::{Identity, Rights};
use crate::refusal::{self, Outcome};
use crate::users::{Granted, Users};

/// As many as RabbitMQ remembers per channel.
const REMEMBERED_COUNT: usize = 12;

/// Somebody's permissions in a vhost.
#[derive(Debug)]
pub(crate) struct Permissions {
    identity: Arc<Identity>,
    vhost: VhostName,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// [`Users::version`] when the rest was true; 0 before anything was asked.
    version: u64,
    granted: Granted,
    /// Names that were allowed, newest first.
    allowed: VecDeque<(Access, Box<str>)>,
}

/// What kind of thing a permission is asked for: the word in the text of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    Exchange,
    Queue,
}

impl Permissions {
    pub(crate) fn new(identity: Arc<Identity>, vhost: VhostName) -> Self {
        Self { identity, vhost, known: Mutex::default() }
    }

    pub(crate) fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// Runs `ask` on what is true now.
    fn ask<T>(&self, users: &Users, ask: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.known.lock();
        // Read before the permissions are: a change in between makes them be read again.
        let version = users.version() + 1;
        if known.version != version {
            let granted = users.granted(self.identity.name(), self.vhost.as_str());
            *known = Known { version, granted, allowed: VecDeque::new() };
        }
        ask(&mut known)
    }

    /// Whether it may be in the vhost at all.
    pub(crate) fn may_enter(&self, users: &Users) -> bool {
        match self.identity.rights {
            Rights::All => true,
            Rights::Stored => self.ask(users, |known| known.granted.permission.is_some()),
        }
    }

    pub(crate) fn allows(&self, users: &Users, access: Access, name: &str) -> bool {
        if self.identity.rights == Rights::All {
            return true;
        }
        self.ask(users, |known| {
            if known.allowed.iter().any(|(of, known_name)| *of == access && **known_name == *name) {
                return true;
            }
            let is_allowed =
                known.granted.permission.as_ref().is_some_and(|permission| permission.allows(access, name));
            if is_allowed {
                known.allowed.truncate(REMEMBERED_COUNT - 1);
                known.allowed.push_front((access, name.into()));
            }
            is_allowed
        })
    }

    /// Whether there are rules about routing keys on this exchange.
    pub(crate) fn has_topic_rules(&self, users: &Users, exchange: &str) -> bool {
        let is_about = |known: &mut Known| known.granted.topics.iter().any(|rule| rule.exchange.as_str() == exchange);
        self.identity.rights == Rights::Stored && self.ask(users, is_about)
    }

    /// Whether a routing key may be used on a topic exchange. Without a rule it may.
    pub(crate) fn allows_topic(&self, users: &Users, access: TopicAccess, exchange: &str, routing_key: &str) -> bool {
        if self.identity.rights == Rights::All {
            return true;
        }
        let vhost = self.vhost.as_str();
        let variables = TopicVariables { username: self.identity.name(), vhost, client_id: None };
        self.ask(users, |known| {
            let mut rules = known.granted.topics.iter().filter(|rule| rule.exchange.as_str() == exchange);
            rules.all(|rule| rule.pattern(access, variables).is_some_and(|pattern| pattern.is_match(routing_key)))
        })
    }

    /// Refuses with 403 what it may not do.
    pub(crate) fn check(&self, users: &Users, access: Access, resource: Resource, name: &str) -> Outcome<()> {
        // The default exchange goes by another name here.
        let asked = if name.is_empty() { DEFAULT_EXCHANGE_ALIAS } else { name };
        if self.allows(users, access, asked) {
            return Ok(());
        }
        let word = match access {
            Access::Configure => "configure",
            Access::Write => "write",
            Access::Read => "read",
        };
        let kind = match resource {
            Resource::Exchange => "exchange",
            Resource::Queue => "queue",
        };
        let user = self.identity.name();
        refusal::access_refused(format!(
            "{word} access to {kind} '{asked}' in vhost '{}' refused for user '{user}'",
            self.vhost
        ))
    }

    /// Passive declares need any one permission (since RabbitMQ 4.3.1).
    pub(crate) fn check_any(&self, users: &Users, resource: Resource, name: &str) -> Outcome<()> {
        let refused = self.check(users, Access::Configure, resource, name);
        let is_allowed = |access| self.check(users, access, resource, name).is_ok();
        if refused.is_err() && [Access::Write, Access::Read].into_iter().any(is_allowed) { Ok(()) } else { refused }
    }

    /// Refuses with 403 a routing key that it may not use.
    pub(crate) fn check_topic(
        &self,
        users: &Users,
        access: TopicAccess,
        exchange: &str,
        routing_key: &[u8],
    ) -> Outcome<()> {
        let key = String::from_utf8_lossy(routing_key);
        if self.allows_topic(users, access, exchange, &key) {
            return Ok(());
        }
        let word = match access {
            TopicAccess::Write => "write",
            TopicAccess::Read => "read",
        };
        let user = self.identity.name();
        refusal::access_refused(format!(
            "{word} access to topic '{key}' in exchange '{exchange}' in vhost '{}' refused for user '{user}'",
            self.vhost
        ))
    }
}
