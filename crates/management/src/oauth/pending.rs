//! Logins that have begun, and have not come back from the provider.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a user may take at the provider.
pub(crate) const LOGIN_TIME_MAX: Duration = Duration::from_secs(600);
/// Logins that may be under way: the oldest make room.
const COUNT_MAX: usize = 1000;

/// A login that has begun.
#[derive(Clone)]
pub(crate) struct PendingLogin {
    /// A secret that only the beginner of the login knows, and of which the provider has the hash.
    pub(super) verifier: String,
    pub(super) nonce: String,
    pub(super) redirect_uri: String,
    pub(crate) return_to: String,
    /// The value of the browser's cookie.
    pub(super) cookie: String,
    pub(super) begun_at: Instant,
}

/// All of them, by state.
#[derive(Default)]
pub(super) struct PendingLogins(Mutex<HashMap<String, PendingLogin>>);

impl std::fmt::Debug for PendingLogins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingLogins").field("count", &self.0.lock().len()).finish()
    }
}

impl PendingLogins {
    pub(super) fn insert(&self, state: String, login: PendingLogin) {
        let mut all = self.0.lock();
        let now = login.begun_at;
        all.retain(|_, other| now.saturating_duration_since(other.begun_at) < LOGIN_TIME_MAX);
        if all.len() >= COUNT_MAX {
            let oldest = all.iter().min_by_key(|(_, other)| other.begun_at).map(|(state, _)| state.clone());
            oldest.into_iter().for_each(|state| drop(all.remove(&state)));
        }
        all.insert(state, login);
    }

    /// Takes one out: a state is good for one answer. None: the state is unknown, used or too old.
    pub(super) fn take(&self, state: &str, now: Instant) -> Option<PendingLogin> {
        let login = self.0.lock().remove(state)?;
        (now.saturating_duration_since(login.begun_at) < LOGIN_TIME_MAX).then_some(login)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(at: Instant) -> PendingLogin {
        let text = String::new;
        PendingLogin {
            verifier: text(),
            nonce: text(),
            redirect_uri: text(),
            return_to: text(),
            cookie: text(),
            begun_at: at,
        }
    }

    #[test]
    fn a_login_is_good_once_and_for_ten_minutes() {
        let (logins, now) = (PendingLogins::default(), Instant::now());
        logins.insert("a".to_owned(), begun(now));
        logins.insert("b".to_owned(), begun(now));
        assert!(logins.take("a", now).is_some() && logins.take("a", now).is_none());
        assert!(logins.take("b", now + LOGIN_TIME_MAX).is_none());
        assert!(logins.take("nosuch", now).is_none());
    }

    #[test]
    fn the_oldest_make_room() {
        let (logins, now) = (PendingLogins::default(), Instant::now());
        for number in 0..=COUNT_MAX {
            logins.insert(number.to_string(), begun(now + Duration::from_millis(number as u64)));
        }
        assert!(logins.take("0", now).is_none() && logins.take("1", now).is_some());
    }
}
