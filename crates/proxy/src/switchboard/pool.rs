//! Logins that have been seen, and for each of their vhosts the lines that its clients share.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use slab::Slab;

use super::line::Line;
use super::pace::Pace;
use super::slots::Slots;
use super::suspects::Suspects;
use super::{ClientId, LineId};
use crate::limits::REFUSED_PAUSE_MS;

/// A user's name and secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LoginId(pub(super) usize);

/// A login and a vhost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PoolId(pub(super) usize);

pub(super) struct Login {
    pub(super) user: Rc<str>,
    pub(super) secret: Rc<[u8]>,
    /// When an upstream accepted it last.
    pub(super) accepted_ms: Option<u64>,
    /// The line that checks it, or has and waits for a vhost.
    pub(super) checking: Option<LineId>,
    /// Clients that wait for that.
    pub(super) waiters: Vec<ClientId>,
    /// Whether no upstream could be asked.
    pub(super) is_away: bool,
    /// Why it could not be checked last.
    pub(super) trouble: Option<String>,
    /// Clients, lines and pools of it.
    pub(super) use_count: usize,
}

/// Debugging output has no secrets.
impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login")
            .field("user", &self.user)
            .field("accepted_ms", &self.accepted_ms)
            .finish_non_exhaustive()
    }
}

/// What is said over a line. What fails or is held up on one kind of lines does not harm those on the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing but publishes.
    Publishes,
    /// Declarations, gets and the like, and what their clients publish: where a queue was declared it is known, on another of an upstream's
    /// nodes perhaps not yet.
    Calls,
}

/// Lines of a pool of one kind.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// The line that is being opened.
    pub(super) opening: Option<LineId>,
    /// Lines that are open.
    pub(super) lines: Vec<LineId>,
    /// How many channels are to wait for the confirms of clients that have gone.
    pub(super) pace: Pace,
    /// Channels that the next client may have as they are: the last one that was used first.
    pub(super) free: Vec<(LineId, u16)>,
    /// Clients that wait for a line or a channel.
    pub(super) waiters: VecDeque<ClientId>,
}

impl Lane {
    /// Channels whose clients have gone, and that wait for their confirms.
    pub(super) fn parked_count(&self, lines: &Slots<Line>) -> usize {
        self.lines.iter().map(|id| lines[id.0].parked_count).sum()
    }
}

#[derive(Debug)]
pub(super) struct Pool {
    pub(super) login: LoginId,
    pub(super) vhost: Rc<str>,
    /// When an upstream let this login into this vhost last.
    pub(super) accepted_ms: Option<u64>,
    /// The line that only sees whether the login is let in still.
    pub(super) checking: Option<LineId>,
    /// Clients that wait for that.
    pub(super) entering: Vec<ClientId>,
    lanes: [Lane; 2],
    /// Channels that a line may have, as far as the upstream has shown: a user may be limited.
    pub(super) channel_limit: usize,
    pub(super) client_count: usize,
    /// Since when it has had no client.
    pub(super) idle_since_ms: u64,
    /// Why the last line could not be had.
    pub(super) trouble: Option<String>,
    /// When the upstream refused a line last.
    pub(super) refused_ms: Option<u64>,
    /// Whether there is no line for those who publish, and has not been for a moment. Only where that is of account.
    pub(super) is_away: bool,
    /// Queues for which an upstream has closed a line.
    pub(super) suspects: Suspects,
    /// The spool's [count](crate::spool::Spool::filled_count) when nothing of it was there: while it is the same, nothing is. So its lock is
    /// not taken for each publish while something of somebody else is kept.
    pub(super) unheld_at: Option<u64>,
}

impl Pool {
    pub(super) fn lane(&mut self, kind: Kind) -> &mut Lane {
        &mut self.lanes[kind as usize]
    }

    pub(super) fn lane_of(&self, kind: Kind) -> &Lane {
        &self.lanes[kind as usize]
    }

    /// All its open lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = LineId> {
        self.lanes.iter().flat_map(|lane| lane.lines.iter().copied())
    }

    /// Lines that are being opened for it.
    pub(super) fn opening(&self) -> impl Iterator<Item = LineId> {
        self.lanes.iter().filter_map(|lane| lane.opening)
    }

    /// Whether an upstream has refused a line just now, and is not to be asked again at once.
    pub(super) fn is_refused(&self, now_ms: u64) -> bool {
        self.refused_ms.is_some_and(|refused_ms| now_ms < refused_ms + REFUSED_PAUSE_MS)
    }

    /// Clients that wait for anything.
    pub(super) fn waiting_count(&self) -> usize {
        self.entering.len() + self.lanes.iter().map(|lane| lane.waiters.len()).sum::<usize>()
    }

    /// Forgets who waits no more.
    pub(super) fn retain_waiters(&mut self, is_there: impl Fn(&ClientId) -> bool) {
        self.entering.retain(&is_there);
        for lane in &mut self.lanes {
            lane.waiters.retain(&is_there);
        }
    }

    fn is_used(&self) -> bool {
        let has_lines = self.lines().chain(self.opening()).next().is_some();
        self.client_count > 0 || self.checking.is_some() || has_lines || self.is_away
    }
}

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
            self.logins[id.0].use_count += 1;
            return *id;
        }
        let (user, secret) = key.clone();
        let login = Login {
            user,
            secret,
            accepted_ms: None,
            checking: None,
            waiters: Vec::new(),
            is_away: false,
            trouble: None,
            use_count: 1,
        };
        let id = LoginId(self.logins.insert(login));
        self.login_ids.insert(key, id);
        id
    }

    /// One of those who use it does so no more. It is forgotten by [`forget_idle`](Self::forget_idle).
    pub(super) fn drop_login(&mut self, id: LoginId) {
        self.logins[id.0].use_count -= 1;
    }

    pub(super) fn retain_login(&mut self, id: LoginId) {
        self.logins[id.0].use_count += 1;
    }

    /// The pool of this login and vhost.
    pub(super) fn pool_of(&mut self, login: LoginId, vhost: &Rc<str>, now_ms: u64) -> PoolId {
        if let Some(id) = self.pool_ids.get(&(login, vhost.clone())) {
            return *id;
        }
        let pool = Pool {
            login,
            vhost: vhost.clone(),
            accepted_ms: None,
            checking: None,
            entering: Vec::new(),
            lanes: <[Lane; 2]>::default(),
            channel_limit: usize::MAX,
            client_count: 0,
            idle_since_ms: now_ms,
            trouble: None,
            refused_ms: None,
            is_away: false,
            suspects: Suspects::default(),
            unheld_at: None,
        };
        let id = PoolId(self.pools.insert(pool));
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
        (pool, &self.logins[pool.login.0])
    }

    pub(super) fn pool_ids(&self) -> Vec<PoolId> {
        self.pools.iter().map(|(key, _)| PoolId(key)).collect()
    }

    pub(super) fn login_ids(&self) -> Vec<LoginId> {
        self.logins.iter().map(|(key, _)| LoginId(key)).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Pool, &Login)> {
        self.pools.iter().map(|(_, pool)| (pool, &self.logins[pool.login.0]))
    }

    /// Forgets pools that have neither clients nor lines and whose acceptance is no longer fresh, and logins that nobody uses.
    pub(super) fn forget_idle(&mut self, is_fresh: impl Fn(Option<u64>) -> bool) {
        let pools = &mut self.pools;
        let logins = &mut self.logins;
        self.pool_ids.retain(|_, id| {
            let pool = &pools[id.0];
            if pool.is_used() || is_fresh(pool.accepted_ms) {
                return true;
            }
            logins[pool.login.0].use_count -= 1;
            pools.remove(id.0);
            false
        });
        self.login_ids.retain(|_, id| {
            let login = &logins[id.0];
            let stays = login.use_count > 0 || login.checking.is_some() || is_fresh(login.accepted_ms);
            if !stays {
                logins.remove(id.0);
            }
            stays
        });
    }
}

/// Whether a secret is a token (RFC 7519, 3.1): the user's name does not say then who it is, so what is published with one is not to lie among
/// what others publish under that name.
pub(super) fn is_token(secret: &[u8]) -> bool {
    let is_part =
        |part: &[u8]| part.len() >= 4 && part.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte));
    secret.starts_with(b"eyJ")
        && secret.split(|byte| *byte == b'.').count() == 3
        && secret.split(|byte| *byte == b'.').all(is_part)
}
