//! Users: made, changed, deleted.

use std::sync::Arc;

use model::definition::Definition;
use model::name::UserName;
use model::parameter::VHOST_LIMITS_NAME;
use model::user::{PasswordHash, Tags, User, UserLimits};
use store::RecordBatch;

use super::{ControlError, not_found};
use crate::broker::Broker;
use crate::events::Event;
use crate::identity::Actor;
use crate::inside::Changed;
use crate::outbox::News;

/// A user that an operator wants to be so.
#[derive(Debug, Clone)]
pub struct UserRequest {
    /// Its name.
    pub name: UserName,
    /// Its password.
    pub password: PasswordChange,
    /// Its second password.
    pub second_password: PasswordChange,
    /// Whether the first password so far goes on being valid as the second one.
    pub keeps_old_password: bool,
    /// Its tags; None leaves them as they are.
    pub tags: Option<Tags>,
    /// Its limits; None leaves them as they are.
    pub limits: Option<UserLimits>,
}

/// What becomes of a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasswordChange {
    /// It stays.
    Keep,
    /// There is none any more.
    Clear,
    /// It is this one.
    Plain(String),
    /// It is the one with this hash.
    Hash(PasswordHash),
}

impl Broker {
    /// All users, by name.
    #[must_use]
    pub fn users(&self) -> Vec<Arc<User>> {
        self.users.all()
    }

    /// The user of this name.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<Arc<User>> {
        self.users.get(name)
    }

    /// Makes a user, or changes it.
    pub fn put_user(&self, actor: &Actor, request: UserRequest) -> Result<Changed, ControlError> {
        let existing = self.users.get(request.name.as_str());
        let mut user = match &existing {
            Some(existing) => User::clone(existing),
            None => User::new(request.name, None, Tags::default()),
        };
        let old_hash = user.password_hash.clone();
        let (password, second_password) = (request.password, request.second_password);
        let is_password_changed = password != PasswordChange::Keep || second_password != PasswordChange::Keep;
        self.apply(password, &mut user.password_hash);
        self.apply(second_password, &mut user.second_password_hash);
        if request.keeps_old_password && old_hash.is_some() {
            user.second_password_hash = old_hash;
        }
        let are_tags_changed = request.tags.as_ref().is_some_and(|tags| *tags != user.tags);
        user.tags = request.tags.unwrap_or(user.tags);
        user.limits = request.limits.unwrap_or(user.limits);
        let (name, tags) = (user.name.clone(), user.tags.clone());
        let has_password = user.password_hash.is_some() || user.second_password_hash.is_some();
        let mut position = None;
        let is_new = self.users.put(user, |user| {
            position = Some(self.put_definition(&Definition::User(user.clone())));
        });
        if is_new {
            self.emit_by(actor, Event::new("user.created").with_text("name", name.as_str()));
        } else if is_password_changed {
            let event = if has_password { "user.password.changed" } else { "user.password.cleared" };
            self.emit_by(actor, Event::new(event).with_text("name", name.as_str()));
        }
        if is_new || are_tags_changed {
            let event = Event::new("user.tags.set").with_text("name", name.as_str());
            self.emit_by(actor, event.with_list("tags", tags.iter()));
        }
        self.access_changed(name.as_str());
        Ok(Changed { is_new, position })
    }

    fn apply(&self, change: PasswordChange, hash: &mut Option<PasswordHash>) {
        match change {
            PasswordChange::Keep => {}
            PasswordChange::Clear => *hash = None,
            PasswordChange::Hash(new) => *hash = Some(new),
            PasswordChange::Plain(password) => *hash = Some(self.hash_password(&password)),
        }
    }

    /// A password's hash, with a salt of its own.
    #[must_use]
    pub fn hash_password(&self, password: &str) -> PasswordHash {
        let [a, b, c, d, ..] = self.random();
        PasswordHash::new(password.as_bytes(), [a, b, c, d])
    }

    /// Sets how much a user may have at once.
    pub fn set_user_limits(
        &self,
        actor: &Actor,
        name: &str,
        change: impl FnOnce(&mut UserLimits),
    ) -> Result<Changed, ControlError> {
        let Some(existing) = self.users.get(name) else { return no_user(name) };
        let mut user = User::clone(&existing);
        change(&mut user.limits);
        let event = match user.limits == UserLimits::default() {
            true => Event::new("user.limits.cleared"),
            false => user
                .limits
                .iter()
                .fold(Event::new("user.limits.set"), |event, (name, limit)| event.with_number(name, limit)),
        };
        let mut position = None;
        self.users.put(user, |user| {
            position = Some(self.put_definition(&Definition::User(user.clone())));
        });
        self.emit_by(actor, event.with_text("name", VHOST_LIMITS_NAME).with_text("username", name));
        Ok(Changed { is_new: false, position })
    }

    /// Deletes a user with its permissions, and closes its connections.
    pub fn delete_user(&self, actor: &Actor, name: &str) -> Result<Changed, ControlError> {
        let position = self.users.remove(name, |user, permissions, topics| {
            let mut records = RecordBatch::new();
            records.delete(&Definition::User(user.clone()).key());
            for permission in permissions {
                records.delete(&Definition::Permission(permission.clone()).key());
            }
            for topic in topics {
                records.delete(&Definition::TopicPermission((**topic).clone()).key());
            }
            self.append(&mut records)
        });
        let Some(position) = position else { return no_user(name) };
        self.emit_by(actor, Event::new("user.deleted").with_text("name", name));
        let reason = format!("user '{name}' is deleted");
        self.connections.tell(|connection| connection.is_of(name), || News::Close { reason: reason.clone() });
        self.access_changed(name);
        Ok(Changed { is_new: false, position })
    }

    /// What a user may do has changed: it holds from now on, for routes that are remembered and for consumers, too.
    pub(crate) fn access_changed(&self, user: &str) {
        for vhost in self.vhosts.all() {
            vhost.forget_routes();
        }
        self.connections.tell(|connection| connection.is_of(user), || News::AccessChanged);
    }
}

pub(crate) fn no_user<T>(name: &str) -> Result<T, ControlError> {
    not_found(format!("no user '{name}'"))
}
