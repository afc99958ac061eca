//! Users and their permissions, as definitions have them.

use std::collections::HashMap;
use std::sync::Arc;

use model::definition::UserPermission;
use model::user::{Permission, User};
use parking_lot::RwLock;

#[derive(Debug, Default)]
struct Known {
    users: HashMap<String, Arc<User>>,
    /// By user, then by vhost.
    permissions: HashMap<String, HashMap<String, Arc<Permission>>>,
}

/// All users.
#[derive(Debug, Default)]
pub(crate) struct Users(RwLock<Known>);

impl Users {
    pub(crate) fn get(&self, name: &str) -> Option<Arc<User>> {
        self.0.read().users.get(name).cloned()
    }

    /// What the user may do in the vhost; `None` when nothing at all.
    pub(crate) fn permission(&self, user: &str, vhost: &str) -> Option<Arc<Permission>> {
        self.0.read().permissions.get(user)?.get(vhost).cloned()
    }

    pub(crate) fn put(&self, user: User) {
        self.0.write().users.insert(user.name.to_string(), Arc::new(user));
    }

    pub(crate) fn permit(&self, given: UserPermission) {
        let mut known = self.0.write();
        let of_user = known.permissions.entry(given.user.to_string()).or_default();
        of_user.insert(given.vhost.to_string(), Arc::new(given.permission));
    }
}
