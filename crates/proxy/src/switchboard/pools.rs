//! Logins that have been seen, and the pools of each of their vhosts.

use std::collections::HashMap;
use std::rc::Rc;

use slab::Slab;

use super::ids::{LoginId, PoolId};
use super::login::Login;
use super::pool::Pool;

/// All logins and pools.
#[derive(Debug, Default)]
pub(super) struct Pools {
    logins: Slab<Login>,
    pools: Slab<Pool>,
    login_ids: HashMap<(Rc<str>, Rc<[u8]>), LoginId>,
    pool_ids: HashMap<(LoginId, Rc<str>), PoolId>,
}

impl Pools {
    /// The login of this user with this secret, used once more.
    pub(super) fn use_login(&mut self, user: &str, secret: &[u8]) -> LoginId {
        let key = (Rc::from(user), Rc::from(secret));
        if let Some(id) = self.login_ids.get(&key) {
            self.logins[id.0].retain();
            return *id;
        }
        let (user, secret) = key.clone();
        let id = LoginId(self.logins.insert(Login::new(user, secret)));
        self.login_ids.insert(key, id);
        id
    }

    /// One of those that use it does so no more. It is forgotten by [`forget_idle`](Self::forget_idle).
    pub(super) fn drop_login(&mut self, id: LoginId) {
        self.logins[id.0].release();
    }

    pub(super) fn retain_login(&mut self, id: LoginId) {
        self.logins[id.0].retain();
    }

    /// The pool of this login and vhost.
    pub(super) fn pool_of(&mut self, login: LoginId, vhost: &Rc<str>, now_ms: u64) -> PoolId {
        if let Some(id) = self.pool_ids.get(&(login, vhost.clone())) {
            return *id;
        }
        let id = PoolId(self.pools.insert(Pool::new(login, vhost.clone(), now_ms)));
        self.retain_login(login);
        self.pool_ids.insert((login, vhost.clone()), id);
        id
    }

    pub(super) fn login(&mut self, id: LoginId) -> &mut Login {
        &mut self.logins[id.0]
    }

    pub(super) fn pool(&mut self, id: PoolId) -> &mut Pool {
        &mut self.pools[id.0]
    }

    /// A pool, and whose it is.
    pub(super) fn with_login(&self, id: PoolId) -> (&Pool, &Login) {
        let pool = &self.pools[id.0];
        (pool, &self.logins[pool.login().0])
    }

    pub(super) fn pool_ids(&self) -> Vec<PoolId> {
        self.pools.iter().map(|(key, _)| PoolId(key)).collect()
    }

    pub(super) fn login_ids(&self) -> Vec<LoginId> {
        self.logins.iter().map(|(key, _)| LoginId(key)).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Pool, &Login)> {
        self.pools.iter().map(|(_, pool)| (pool, &self.logins[pool.login().0]))
    }

    /// Forgets pools that have neither clients nor upstream connections and whose acceptance is no longer fresh, and logins that are not
    /// used.
    pub(super) fn forget_idle(&mut self, is_fresh: impl Fn(Option<u64>) -> bool) {
        let pools = &mut self.pools;
        let logins = &mut self.logins;
        self.pool_ids.retain(|_, id| {
            let pool = &pools[id.0];
            if pool.is_used() || is_fresh(pool.check().accepted_ms()) {
                return true;
            }
            logins[pool.login().0].release();
            pools.remove(id.0);
            false
        });
        self.login_ids.retain(|_, id| {
            let login = &logins[id.0];
            let stays = login.is_used() || is_fresh(login.check().accepted_ms());
            if !stays {
                logins.remove(id.0);
            }
            stays
        });
    }
}
