//! Users: made, changed, deleted.

use std::sync::Arc;
use std::time::SystemTime;

use definitions::{PasswordChange, UserRequest};
use engine::Positions;
use model::definition::Definition;
use model::parameter::VHOST_LIMITS_NAME;
use model::user::{PasswordHash, Tags, User, UserLimits};
use store::RecordBatch;

use super::{ControlError, not_found};
use crate::broker::Broker;
use crate::changed::Changed;
use crate::events::Event;
use crate::identity::{Actor, Identity};
use crate::users::Updated;
use engine::clock::wall_ms;
use engine::outbox::ConnectionEvent;

/// What becomes of a hash: None leaves it as it is.
struct HashChange(Option<Option<PasswordHash>>);

impl HashChange {
    fn apply(self, hash: &mut Option<PasswordHash>) {
        if let Some(new) = self.0 {
            *hash = new;
        }
    }
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

    /// A user as it is now, with the tags that it has now. None: the user is deleted, or its login or its session has ended.
    #[must_use]
    pub fn renewed(&self, identity: &Identity) -> Option<Identity> {
        if identity.expires_at.is_some_and(|expires_at| expires_at <= SystemTime::now()) {
            return None;
        }
        if let Some(session) = identity.session {
            return Some(self.identity_of_session(session, wall_ms())?.0);
        }
        let user = if identity.is_stored() { self.users.get(identity.name())? } else { identity.user.clone() };
        Some(Identity { user, ..identity.clone() })
    }

    /// Makes a user, or changes it.
    pub fn put_user(&self, actor: &Actor, request: UserRequest) -> Result<Changed, ControlError> {
        self.check_user(&request)?;
        let UserRequest { name, password, second_password, keeps_old_password, tags, limits } = request;
        let is_password_changed = password != PasswordChange::Keep || second_password != PasswordChange::Keep;
        self.check_unprotected(actor, name.as_str())?;
        // Hashed before anything is locked.
        let (password, second_password) = (self.hashed(password)?, self.hashed(second_password)?);
        let mut position = Positions::NONE;
        // A connection that is about to open has the user as it is from here on, or as it was and is notified below.
        let opening = self.opening.lock();
        let updated = self.users.update(
            name.as_str(),
            |existing| {
                let mut user = existing.cloned().unwrap_or_else(|| User::new(name.clone(), None, Tags::default()));
                let old_hash = user.password_hash.clone();
                password.apply(&mut user.password_hash);
                second_password.apply(&mut user.second_password_hash);
                if keeps_old_password && old_hash.is_some() {
                    user.second_password_hash = old_hash;
                }
                user.tags = tags.unwrap_or(user.tags);
                user.limits = limits.unwrap_or(user.limits);
                Some(user)
            },
            |user| position = self.put_definition(&Definition::User(user.clone())),
        );
        drop(opening);
        let Some(Updated { before, after }) = updated else { return no_user(name.as_str()) };
        let event = |event: &'static str| Event::new(event).with_text("name", name.as_str());
        let has_password = after.password_hash.is_some() || after.second_password_hash.is_some();
        if before.is_none() {
            self.emit_by(actor, event("user.created"));
        } else if is_password_changed {
            let changed = if has_password { "user.password.changed" } else { "user.password.cleared" };
            self.emit_by(actor, event(changed));
        }
        if before.as_ref().is_none_or(|before| before.tags != after.tags) {
            self.emit_by(actor, event("user.tags.set").with_list("tags", after.tags.iter()));
        }
        self.access_changed(name.as_str());
        if is_password_changed {
            self.sweep_ended_login_sessions();
        }
        Ok(Changed { is_new: before.is_none(), position })
    }

    /// Whether a user may be so.
    pub fn check_user(&self, request: &UserRequest) -> Result<(), ControlError> {
        for change in [&request.password, &request.second_password] {
            if let PasswordChange::Plain(password) = change {
                let checked = self.options.credential_validator.check(password);
                checked.map_err(|error| ControlError::Invalid(error.to_string()))?;
            }
        }
        Ok(())
    }

    fn hashed(&self, change: PasswordChange) -> Result<HashChange, ControlError> {
        Ok(match change {
            PasswordChange::Keep => HashChange(None),
            PasswordChange::Clear => HashChange(Some(None)),
            PasswordChange::Hash(hash) => HashChange(Some(Some(hash))),
            PasswordChange::Plain(password) => HashChange(Some(Some(self.hash_password(&password)?))),
        })
    }

    /// A password's hash, with a salt of its own.
    pub fn hash_password(&self, password: &str) -> Result<PasswordHash, ControlError> {
        let [a, b, c, d, ..] = self.random()?;
        Ok(PasswordHash::new(password.as_bytes(), [a, b, c, d]))
    }

    /// Sets how much a user may have at once.
    pub fn set_user_limits(
        &self,
        actor: &Actor,
        name: &str,
        change: impl FnOnce(&mut UserLimits),
    ) -> Result<Changed, ControlError> {
        let mut position = Positions::NONE;
        let updated = self.users.update(
            name,
            |existing| {
                let mut user = existing?.clone();
                change(&mut user.limits);
                Some(user)
            },
            |user| position = self.put_definition(&Definition::User(user.clone())),
        );
        let Some(Updated { after, .. }) = updated else { return no_user(name) };
        let event = match after.limits == UserLimits::default() {
            true => Event::new("user.limits.cleared"),
            false => after
                .limits
                .iter()
                .fold(Event::new("user.limits.set"), |event, (name, limit)| event.with_number(name, limit)),
        };
        self.emit_by(actor, event.with_text("name", VHOST_LIMITS_NAME).with_text("username", name));
        Ok(Changed { is_new: false, position })
    }

    /// Protected users are changed by operators on the host itself only. RabbitMQ lets its command line do so, and no HTTP.
    pub fn check_unprotected(&self, actor: &Actor, name: &str) -> Result<(), ControlError> {
        let is_protected = self.users.get(name).is_some_and(|user| user.tags.has(Tags::PROTECTED));
        if is_protected && !actor.origin.interface.is_of_host() {
            return Err(ControlError::Invalid("Protected users cannot be modified via the HTTP API".to_owned()));
        }
        Ok(())
    }

    /// Deletes a user with its permissions, and closes its connections.
    pub fn delete_user(&self, actor: &Actor, name: &str) -> Result<Changed, ControlError> {
        self.check_unprotected(actor, name)?;
        // No client can log in as this user from here on, and the connections of those that have are notified below.
        let opening = self.opening.lock();
        let position = self.users.remove(name, |user, permissions, topics| {
            let mut records = RecordBatch::new();
            records.delete(&Definition::User(user.clone()).key());
            for permission in permissions {
                records.delete(&Definition::Permission(permission.clone()).key());
            }
            for topic in topics {
                records.delete(&Definition::TopicPermission((**topic).clone()).key());
            }
            self.engine.append(&mut records)
        });
        drop(opening);
        let Some(position) = position else { return no_user(name) };
        self.emit_by(actor, Event::new("user.deleted").with_text("name", name));
        let reason = format!("user '{name}' is deleted");
        self.connections
            .notify(|connection| connection.is_of(name), || ConnectionEvent::Close { reason: reason.clone() });
        self.access_changed(name);
        self.end_login_sessions_of(name);
        Ok(Changed { is_new: false, position })
    }

    /// What a user may do has changed: it holds from now on, for routes that are remembered and for consumers, too.
    pub(crate) fn access_changed(&self, user: &str) {
        for vhost in self.vhosts.all() {
            vhost.forget_routes();
        }
        self.connections.notify(|connection| connection.is_of(user), || ConnectionEvent::AccessChanged);
    }
}

pub(crate) fn no_user<T>(name: &str) -> Result<T, ControlError> {
    not_found(format!("no user '{name}'"))
}
