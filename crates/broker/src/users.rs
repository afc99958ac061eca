//! Users and their permissions, as definitions have them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::definition::UserPermission;
use model::name::{UserName, VhostName};
use model::user::{Permission, TopicPermission, User};
use parking_lot::RwLock;

#[derive(Debug, Default)]
struct Known {
    users: BTreeMap<UserName, Arc<User>>,
    /// By user, then by vhost.
    permissions: BTreeMap<UserName, BTreeMap<VhostName, Arc<Permission>>>,
    /// By user, then by vhost and exchange.
    topics: HashMap<UserName, Vec<Arc<TopicPermission>>>,
}

/// All users.
#[derive(Debug, Default)]
pub(crate) struct Users {
    known: RwLock<Known>,
    /// Rises with every change, so that a cache of answers knows when to ask again.
    version: AtomicU64,
}

/// What a user may do in a vhost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Granted {
    /// None: the user may not enter the vhost.
    pub(crate) permission: Option<Arc<Permission>>,
    pub(crate) topics: Vec<Arc<TopicPermission>>,
}

/// A user before and after a change.
pub(crate) struct Updated {
    pub(crate) before: Option<Arc<User>>,
    pub(crate) after: Arc<User>,
}

/// What a user takes, with its name, password hashes and tags.
const USER_LEN: usize = 512;
/// What a permission takes, with its patterns.
const PERMISSION_LEN: usize = 384;

impl Users {
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    fn change<T>(&self, act: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.known.write();
        let result = act(&mut known);
        self.version.fetch_add(1, Ordering::AcqRel);
        result
    }

    /// Bytes that users and their permissions take, about.
    pub(crate) fn memory_len(&self) -> usize {
        let known = self.known.read();
        let permissions = known.permissions.values().map(BTreeMap::len).sum::<usize>();
        let topics = known.topics.values().map(Vec::len).sum::<usize>();
        known.users.len() * USER_LEN + permissions * PERMISSION_LEN + topics * PERMISSION_LEN
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<User>> {
        self.known.read().users.get(name).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<User>> {
        self.known.read().users.values().cloned().collect()
    }

    /// What the user may do in the vhost.
    pub(crate) fn granted(&self, user: &str, vhost: &str) -> Granted {
        let known = self.known.read();
        let permission = known.permissions.get(user).and_then(|of_user| of_user.get(vhost)).cloned();
        let topics = known.topics.get(user).map_or(&[][..], Vec::as_slice);
        let topics = topics.iter().filter(|topic| topic.vhost.as_str() == vhost).cloned().collect();
        Granted { permission, topics }
    }

    pub(crate) fn permissions(&self) -> Vec<UserPermission> {
        let known = self.known.read();
        let of_user = |(user, of_user): (&UserName, &BTreeMap<VhostName, Arc<Permission>>)| {
            let entry = |(vhost, permission): (&VhostName, &Arc<Permission>)| UserPermission {
                vhost: vhost.clone(),
                user: user.clone(),
                permission: Permission::clone(permission),
            };
            of_user.iter().map(entry).collect::<Vec<_>>()
        };
        known.permissions.iter().flat_map(of_user).collect()
    }

    pub(crate) fn topic_permissions(&self) -> Vec<Arc<TopicPermission>> {
        let mut all: Vec<_> = self.known.read().topics.values().flatten().cloned().collect();
        all.sort_by(|a, b| (&a.user, &a.vhost, &a.exchange).cmp(&(&b.user, &b.vhost, &b.exchange)));
        all
    }

    /// Puts a user in or changes it; `record` is called before it is seen. Says whether it is new.
    pub(crate) fn put(&self, user: User, record: impl FnOnce(&User)) -> bool {
        self.change(|known| {
            record(&user);
            known.users.insert(user.name.clone(), Arc::new(user)).is_none()
        })
    }

    /// Changes a user as it is now, or makes one where `change` does so of nothing; `record` is called before it is seen. None
    /// when `change` gives none.
    pub(crate) fn update(
        &self,
        name: &str,
        change: impl FnOnce(Option<&User>) -> Option<User>,
        record: impl FnOnce(&User),
    ) -> Option<Updated> {
        self.change(|known| {
            let before = known.users.get(name).cloned();
            let after = Arc::new(change(before.as_deref())?);
            record(&after);
            known.users.insert(after.name.clone(), after.clone());
            Some(Updated { before, after })
        })
    }

    /// Takes a user out, with its permissions, which it gives to `record`. None when there is no such user.
    pub(crate) fn remove<T>(
        &self,
        name: &str,
        record: impl FnOnce(&User, &[UserPermission], &[Arc<TopicPermission>]) -> T,
    ) -> Option<T> {
        self.change(|known| {
            let user = known.users.remove(name)?;
            let permissions = known.permissions.remove(name).unwrap_or_default();
            let topics = known.topics.remove(name).unwrap_or_default();
            let entry = |(vhost, permission): (VhostName, Arc<Permission>)| UserPermission {
                vhost,
                user: user.name.clone(),
                permission: Permission::clone(&permission),
            };
            let permissions: Vec<_> = permissions.into_iter().map(entry).collect();
            Some(record(&user, &permissions, &topics))
        })
    }

    /// Grants a permission. Says whether the user had none in the vhost.
    pub(crate) fn permit(&self, given: UserPermission, record: impl FnOnce(&UserPermission)) -> bool {
        self.change(|known| {
            record(&given);
            let of_user = known.permissions.entry(given.user).or_default();
            of_user.insert(given.vhost, Arc::new(given.permission)).is_none()
        })
    }

    /// Takes a permission away. None when there is none.
    pub(crate) fn forbid<T>(&self, user: &str, vhost: &str, record: impl FnOnce(UserPermission) -> T) -> Option<T> {
        self.change(|known| {
            let (user, of_user) = known.permissions.remove_entry(user)?;
            let mut of_user = of_user;
            let taken = of_user.remove_entry(vhost);
            let taken = taken.map(|(vhost, permission)| {
                record(UserPermission { vhost, user: user.clone(), permission: Permission::clone(&permission) })
            });
            if !of_user.is_empty() {
                known.permissions.insert(user, of_user);
            }
            taken
        })
    }

    /// Sets a topic permission. Says whether there was none for the exchange.
    pub(crate) fn permit_topic(&self, given: TopicPermission, record: impl FnOnce(&TopicPermission)) -> bool {
        self.change(|known| {
            record(&given);
            let of_user = known.topics.entry(given.user.clone()).or_default();
            let is_same =
                |other: &Arc<TopicPermission>| (&other.vhost, &other.exchange) == (&given.vhost, &given.exchange);
            let position = of_user.iter().position(is_same);
            let given = Arc::new(given);
            match position {
                Some(position) => of_user[position] = given,
                None => of_user.push(given),
            }
            position.is_none()
        })
    }

    /// Takes away the topic permissions that `matches` says, and gives each to `record`. Says how many there were.
    pub(crate) fn forbid_topics(
        &self,
        matches: impl Fn(&TopicPermission) -> bool,
        mut record: impl FnMut(&TopicPermission),
    ) -> usize {
        self.change(|known| {
            let mut count = 0;
            for of_user in known.topics.values_mut() {
                of_user.retain(|topic| {
                    let is_taken = matches(topic);
                    if is_taken {
                        record(topic);
                        count += 1;
                    }
                    !is_taken
                });
            }
            known.topics.retain(|_, of_user| !of_user.is_empty());
            count
        })
    }

    /// Takes away all permissions in a vhost, and gives each to the records.
    pub(crate) fn forget_vhost(
        &self,
        vhost: &VhostName,
        mut record: impl FnMut(&UserPermission),
        record_topic: impl FnMut(&TopicPermission),
    ) {
        self.change(|known| {
            for (user, of_user) in &mut known.permissions {
                if let Some(permission) = of_user.remove(vhost) {
                    let permission = Permission::clone(&permission);
                    record(&UserPermission { vhost: vhost.clone(), user: user.clone(), permission });
                }
            }
            known.permissions.retain(|_, of_user| !of_user.is_empty());
        });
        self.forbid_topics(|topic| topic.vhost == *vhost, record_topic);
    }
}
