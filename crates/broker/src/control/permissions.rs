//! Permissions and topic permissions: granted, taken away.

use std::sync::Arc;

use engine::Positions;
use model::definition::{Definition, UserPermission};
use model::user::TopicPermission;
use store::RecordBatch;

use super::users::no_user;
use super::vhosts::no_vhost;
use super::{ControlError, not_found};
use crate::broker::Broker;
use crate::changed::Changed;
use crate::events::Event;
use crate::identity::Actor;
use crate::vhost_access::VhostAccess;

impl Broker {
    /// All permissions, by user and vhost.
    #[must_use]
    pub fn permissions(&self) -> Vec<UserPermission> {
        self.users.permissions()
    }

    /// All topic permissions, by user, vhost and exchange.
    #[must_use]
    pub fn topic_permissions(&self) -> Vec<Arc<TopicPermission>> {
        self.users.topic_permissions()
    }

    /// A user in a vhost, whether or not it may be there ([`VhostAccess::still_allowed`]). None when there is no such vhost.
    #[must_use]
    pub fn open_vhost(self: &Arc<Self>, actor: &Actor, vhost: &str) -> Option<VhostAccess> {
        Some(VhostAccess::new(self.clone(), self.vhosts.get(vhost)?, actor, None))
    }

    /// A user inside a vhost. None when there is no such vhost, or when it may not be there.
    pub async fn enter(self: &Arc<Self>, actor: &Actor, vhost: &str) -> Option<VhostAccess> {
        let access = self.open_vhost(actor, vhost)?;
        let still_allowed = access.retry_until_authorized(|access| Ok(access.still_allowed())).await;
        still_allowed.is_ok_and(|still_allowed| still_allowed).then_some(access)
    }

    /// Grants a user a permission in a vhost, in place of the one it has.
    pub fn put_permission(&self, actor: &Actor, given: UserPermission) -> Result<Changed, ControlError> {
        self.check_user_and_vhost(given.user.as_str(), given.vhost.as_str())?;
        let (user, vhost) = (given.user.clone(), given.vhost.clone());
        let permission = given.permission.clone();
        let mut position = Positions::NONE;
        let is_new = self.users.permit(given, |given| {
            position = self.put_definition(&Definition::Permission(given.clone()));
        });
        let event = Event::new("permission.created")
            .with_text("user", user.as_str())
            .with_text("vhost", vhost.as_str())
            .with_text("configure", permission.configure.as_str())
            .with_text("write", permission.write.as_str())
            .with_text("read", permission.read.as_str());
        self.emit_by(actor, event);
        self.access_changed(user.as_str());
        Ok(Changed { is_new, position })
    }

    /// Takes a user's permission in a vhost away.
    pub fn delete_permission(&self, actor: &Actor, user: &str, vhost: &str) -> Result<Changed, ControlError> {
        self.check_user_and_vhost(user, vhost)?;
        let position = self.users.forbid(user, vhost, |taken| self.delete(&Definition::Permission(taken)));
        let Some(position) = position else {
            return not_found(format!("no permission of user '{user}' in vhost '{vhost}'"));
        };
        self.emit_by(actor, Event::new("permission.deleted").with_text("user", user).with_text("vhost", vhost));
        self.access_changed(user);
        Ok(Changed { is_new: false, position })
    }

    /// Sets which routing keys a user may use on a topic exchange.
    pub fn put_topic_permission(&self, actor: &Actor, given: TopicPermission) -> Result<Changed, ControlError> {
        self.check_user_and_vhost(given.user.as_str(), given.vhost.as_str())?;
        let event = Event::new("topic.permission.created")
            .with_text("user", given.user.as_str())
            .with_text("vhost", given.vhost.as_str())
            .with_text("exchange", given.exchange.as_str())
            .with_text("write", given.write())
            .with_text("read", given.read());
        let user = given.user.clone();
        let mut position = Positions::NONE;
        let is_new = self.users.permit_topic(given, |given| {
            position = self.put_definition(&Definition::TopicPermission(given.clone()));
        });
        self.emit_by(actor, event);
        self.access_changed(user.as_str());
        Ok(Changed { is_new, position })
    }

    /// Takes a user's topic permissions in a vhost away: on one exchange, or on all.
    pub fn delete_topic_permissions(
        &self,
        actor: &Actor,
        user: &str,
        vhost: &str,
        exchange: Option<&str>,
    ) -> Result<Changed, ControlError> {
        self.check_user_and_vhost(user, vhost)?;
        let is_meant = |topic: &TopicPermission| {
            topic.user.as_str() == user
                && topic.vhost.as_str() == vhost
                && exchange.is_none_or(|exchange| topic.exchange.as_str() == exchange)
        };
        let mut records = RecordBatch::new();
        let mut position = Positions::NONE;
        let count = self.users.forbid_topics(is_meant, |topic| {
            records.delete(&Definition::TopicPermission(topic.clone()).key());
            position = self.engine.append(&mut records);
        });
        if count == 0 {
            return not_found(format!("no topic permission of user '{user}' in vhost '{vhost}'"));
        }
        let event = Event::new("topic.permission.deleted").with_text("user", user).with_text("vhost", vhost);
        let event = exchange.map_or(event.clone(), |exchange| event.with_text("exchange", exchange));
        self.emit_by(actor, event);
        self.access_changed(user);
        Ok(Changed { is_new: false, position })
    }

    fn check_user_and_vhost(&self, user: &str, vhost: &str) -> Result<(), ControlError> {
        if self.vhosts.get(vhost).is_none() {
            return no_vhost(vhost);
        }
        if self.users.get(user).is_none() {
            return no_user(user);
        }
        Ok(())
    }

    /// Takes a definition out of the journal's.
    pub(crate) fn delete(&self, definition: &Definition) -> Positions {
        self.engine.delete(&definition.key()).into()
    }
}
