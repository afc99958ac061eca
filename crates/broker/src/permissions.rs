//! What the user of a connection may do, remembered for the names it asked about last.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use model::user::{Access, Permission};

use crate::refusal::{self, Outcome};
use crate::session::Session;

/// As many as RabbitMQ remembers per channel.
const REMEMBERED_COUNT: usize = 12;

/// A user's permissions in a vhost.
#[derive(Debug, Default)]
pub(crate) struct Permissions {
    permission: Option<Arc<Permission>>,
    /// Names that were allowed, newest first.
    allowed: RefCell<VecDeque<(Access, Box<str>)>>,
}

/// What kind of thing a permission is asked for: the word in the text of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    Exchange,
    Queue,
}

impl Permissions {
    pub(crate) fn new(permission: Arc<Permission>) -> Self {
        Self { permission: Some(permission), allowed: RefCell::default() }
    }

    fn allows(&self, access: Access, name: &str) -> bool {
        let mut allowed = self.allowed.borrow_mut();
        if allowed.iter().any(|(known, known_name)| *known == access && **known_name == *name) {
            return true;
        }
        let is_allowed = self.permission.as_ref().is_some_and(|permission| permission.allows(access, name));
        if is_allowed {
            allowed.truncate(REMEMBERED_COUNT - 1);
            allowed.push_front((access, name.into()));
        }
        is_allowed
    }
}

impl Session {
    /// Refuses with 403 what the user may not do.
    pub(crate) fn check_access(&self, access: Access, resource: Resource, name: &str) -> Outcome<()> {
        // The default exchange goes by another name here.
        let asked = if name.is_empty() { model::name::DEFAULT_EXCHANGE_ALIAS } else { name };
        if self.login().permissions.allows(access, asked) {
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
        refusal::access_refused(format!(
            "{word} access to {kind} '{asked}' in vhost '{}' refused for user '{}'",
            self.vhost().name(),
            self.user_name()
        ))
    }

    /// Passive declares need any one permission (since RabbitMQ 4.3.1).
    pub(crate) fn check_any_access(&self, resource: Resource, name: &str) -> Outcome<()> {
        [Access::Configure, Access::Write]
            .into_iter()
            .find_map(|access| self.check_access(access, resource, name).ok())
            .map_or_else(|| self.check_access(Access::Read, resource, name), Ok)
    }
}
