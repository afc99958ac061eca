//! Logins that upstreams have accepted, in memory only: which users are believed while no upstream can be asked, and in whose name messages
//! are sent on.

use std::collections::BTreeMap;
use std::sync::Arc;

struct AcceptedLogin {
    secret: Arc<[u8]>,
    at_ms: u64,
}

/// Of each user and vhost, the secrets that were accepted, the latest at the end.
#[derive(Default)]
pub(super) struct Logins(BTreeMap<Arc<str>, BTreeMap<Arc<str>, Vec<AcceptedLogin>>>);

impl Logins {
    pub(super) fn accepted(&mut self, user: &str, secret: &[u8], vhost: &str, now_ms: u64) {
        let vhosts = self.0.entry(user.into()).or_default();
        let accepted = vhosts.entry(vhost.into()).or_default();
        let known = accepted.iter().position(|known| *known.secret == *secret).map(|at| accepted.remove(at).secret);
        accepted.push(AcceptedLogin { secret: known.unwrap_or_else(|| secret.into()), at_ms: now_ms });
    }

    pub(super) fn refused(&mut self, user: &str, secret: &[u8], vhost: Option<&str>) {
        let Some(vhosts) = self.0.get_mut(user) else { return };
        for (_, accepted) in vhosts.iter_mut().filter(|(name, _)| vhost.is_none_or(|vhost| ***name == *vhost)) {
            accepted.retain(|known| *known.secret != *secret);
        }
        self.tidy();
    }

    /// Whether it was accepted at `since_ms` or later.
    pub(super) fn has_accepted(&self, user: &str, secret: &[u8], vhost: Option<&str>, since_ms: u64) -> bool {
        let Some(vhosts) = self.0.get(user) else { return false };
        let meant = vhosts.iter().filter(|(name, _)| vhost.is_none_or(|vhost| ***name == *vhost));
        meant.flat_map(|(_, accepted)| accepted).any(|known| *known.secret == *secret && known.at_ms >= since_ms)
    }

    /// The secret that was accepted last.
    pub(super) fn latest(&self, user: &str, vhost: &str) -> Option<Arc<[u8]>> {
        self.0.get(user)?.get(vhost)?.last().map(|known| known.secret.clone())
    }

    /// Forgets what was accepted before `since_ms`, but for the last one of those that are needed still.
    pub(super) fn forget(&mut self, since_ms: u64, is_needed: impl Fn(&str, &str) -> bool) {
        for (user, vhosts) in &mut self.0 {
            for (vhost, accepted) in vhosts {
                let old_count = accepted.iter().take_while(|known| known.at_ms < since_ms).count();
                let is_kept = old_count > 0 && old_count == accepted.len() && is_needed(user, vhost);
                accepted.drain(..old_count - usize::from(is_kept));
            }
        }
        self.tidy();
    }

    fn tidy(&mut self) {
        for vhosts in self.0.values_mut() {
            vhosts.retain(|_, accepted| !accepted.is_empty());
        }
        self.0.retain(|_, vhosts| !vhosts.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_believed_for_a_time() {
        let mut logins = Logins::default();
        logins.accepted("u", b"one", "/", 100);
        assert!(logins.has_accepted("u", b"one", Some("/"), 100));
        assert!(logins.has_accepted("u", b"one", None, 50));
        assert!(!logins.has_accepted("u", b"one", Some("/"), 101));
        assert!(!logins.has_accepted("u", b"two", Some("/"), 0));
        assert!(!logins.has_accepted("u", b"one", Some("other"), 0));
        assert!(!logins.has_accepted("v", b"one", None, 0));
    }

    #[test]
    fn what_was_accepted_last_is_used() {
        let mut logins = Logins::default();
        logins.accepted("u", b"one", "/", 100);
        logins.accepted("u", b"two", "/", 200);
        assert_eq!(logins.latest("u", "/").as_deref(), Some(&b"two"[..]));
        logins.accepted("u", b"one", "/", 300);
        assert_eq!(logins.latest("u", "/").as_deref(), Some(&b"one"[..]));
        logins.refused("u", b"one", None);
        assert_eq!(logins.latest("u", "/").as_deref(), Some(&b"two"[..]));
        logins.refused("u", b"two", Some("elsewhere"));
        assert!(logins.latest("u", "/").is_some());
        logins.refused("u", b"two", Some("/"));
        assert!(logins.latest("u", "/").is_none() && logins.0.is_empty());
    }

    #[test]
    fn the_last_one_stays_while_something_is_kept() {
        let mut logins = Logins::default();
        for (at_ms, secret) in [(100, b"one"), (200, b"two")] {
            logins.accepted("u", secret, "/", at_ms);
            logins.accepted("u", secret, "idle", at_ms);
        }
        logins.forget(150, |_, vhost| vhost == "/");
        assert!(!logins.has_accepted("u", b"one", None, 0));
        logins.forget(300, |_, vhost| vhost == "/");
        assert_eq!(logins.latest("u", "/").as_deref(), Some(&b"two"[..]));
        assert!(logins.latest("u", "idle").is_none());
        logins.forget(300, |_, _| false);
        assert!(logins.0.is_empty());
    }
}
