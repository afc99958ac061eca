//! Who has failed to log in too often is refused for a while, whatever the password: the user from anywhere that is not
//! known to be its own, and the address for any user.
//!
//! A user is not locked out of addresses from which it has logged in lately: or else anybody could lock out anybody. No name is no
//! user: who comes with a token often gives none, and a stranger's bad tokens must not lock out all of them.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// When logins are refused for their failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockoutOptions {
    /// So many failures in a row lock a user out; None: never.
    pub user_failure_max: Option<u32>,
    /// So many failures in a row lock an address out; None: never.
    pub address_failure_max: Option<u32>,
    /// How long.
    pub duration: Duration,
}

impl Default for LockoutOptions {
    fn default() -> Self {
        Self { user_failure_max: Some(20), address_failure_max: Some(100), duration: Duration::from_secs(60) }
    }
}

/// Names and addresses that are remembered: more than this, and the oldest are forgotten.
const REMEMBERED_COUNT: usize = 10_000;

/// Failures of logins.
#[derive(Debug)]
pub(crate) struct Lockout {
    options: LockoutOptions,
    failures: Mutex<Failures>,
}

#[derive(Debug, Default)]
struct Failures {
    users: HashMap<Box<str>, Streak>,
    addresses: HashMap<IpAddr, Streak>,
    /// Where users have logged in from lately.
    known: HashMap<(Box<str>, IpAddr), Instant>,
}

/// Failures in a row.
#[derive(Debug, Clone, Copy)]
struct Streak {
    count: u32,
    last_at: Instant,
}

/// What a login is refused for, before its password is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockedOut {
    User,
    Address,
}

impl Lockout {
    pub(crate) fn new(options: LockoutOptions) -> Self {
        Self { options, failures: Mutex::default() }
    }

    /// Whether a login is refused without being looked at.
    pub(crate) fn check(&self, user: &str, address: IpAddr, now: Instant) -> Result<(), LockedOut> {
        let failures = self.failures.lock();
        if self.is_over(failures.addresses.get(&address), self.options.address_failure_max, now) {
            return Err(LockedOut::Address);
        }
        let is_known = || failures.known.contains_key(&(Box::from(user), address));
        if self.is_over(failures.users.get(user), self.options.user_failure_max, now) && !is_known() {
            return Err(LockedOut::User);
        }
        Ok(())
    }

    fn is_over(&self, streak: Option<&Streak>, failure_max: Option<u32>, now: Instant) -> bool {
        let (Some(streak), Some(failure_max)) = (streak, failure_max) else { return false };
        streak.count >= failure_max && now < streak.last_at + self.options.duration
    }

    /// A login has failed.
    pub(crate) fn note_failure(&self, user: &str, address: IpAddr, now: Instant) {
        let mut failures = self.failures.lock();
        let duration = self.options.duration;
        if self.options.user_failure_max.is_some() && !user.is_empty() {
            count(&mut failures.users, Box::from(user), now, duration);
        }
        if self.options.address_failure_max.is_some() {
            count(&mut failures.addresses, address, now, duration);
        }
    }

    /// A login has succeeded.
    pub(crate) fn note_success(&self, user: &str, address: IpAddr, now: Instant) {
        if self.options.user_failure_max.is_none() && self.options.address_failure_max.is_none() {
            return;
        }
        let mut failures = self.failures.lock();
        failures.addresses.remove(&address);
        failures.users.remove(user);
        if self.options.user_failure_max.is_some() && !user.is_empty() {
            make_room(&mut failures.known, |at| *at);
            failures.known.insert((Box::from(user), address), now);
        }
    }
}

fn count<K: Hash + Eq + Clone>(streaks: &mut HashMap<K, Streak>, key: K, now: Instant, duration: Duration) {
    make_room(streaks, |streak| streak.last_at);
    let streak = streaks.entry(key).or_insert(Streak { count: 0, last_at: now });
    // What is long past does not count any more.
    let is_past = now >= streak.last_at + duration;
    *streak = Streak { count: if is_past { 1 } else { streak.count.saturating_add(1) }, last_at: now };
}

/// Forgets the older half when there are too many.
fn make_room<K: Hash + Eq + Clone, V>(map: &mut HashMap<K, V>, at: impl Fn(&V) -> Instant) {
    if map.len() < REMEMBERED_COUNT {
        return;
    }
    let mut times: Vec<Instant> = map.values().map(&at).collect();
    let middle = times.len() / 2;
    let (_, median, _) = times.select_nth_unstable(middle);
    let median = *median;
    map.retain(|_, value| at(value) > median);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn lockout() -> (Lockout, Instant) {
        let options = LockoutOptions {
            user_failure_max: Some(3),
            address_failure_max: Some(5),
            duration: Duration::from_secs(60),
        };
        (Lockout::new(options), Instant::now())
    }

    #[test]
    fn a_user_is_locked_out_after_failures_in_a_row() {
        let (lockout, now) = lockout();
        for _ in 0..3 {
            assert_eq!(lockout.check("ann", HERE, now), Ok(()));
            lockout.note_failure("ann", HERE, now);
        }
        assert_eq!(lockout.check("ann", HERE, now), Err(LockedOut::User));
        assert_eq!(lockout.check("ann", THERE, now), Err(LockedOut::User));
        assert_eq!(lockout.check("bob", HERE, now), Ok(()));
        assert_eq!(lockout.check("ann", HERE, now + Duration::from_secs(60)), Ok(()));
    }

    #[test]
    fn an_address_is_locked_out_for_every_user() {
        let (lockout, now) = lockout();
        for number in 0..5 {
            lockout.note_failure(&format!("user{number}"), HERE, now);
        }
        assert_eq!(lockout.check("somebody", HERE, now), Err(LockedOut::Address));
        assert_eq!(lockout.check("somebody", THERE, now), Ok(()));
    }

    #[test]
    fn who_gives_no_name_is_not_locked_out_by_others_of_none() {
        let (lockout, now) = lockout();
        for _ in 0..5 {
            lockout.note_failure("", HERE, now);
        }
        assert_eq!(lockout.check("", THERE, now), Ok(()));
        assert_eq!(lockout.check("", HERE, now), Err(LockedOut::Address));
    }

    #[test]
    fn nobody_is_locked_out_of_where_it_has_been() {
        let (lockout, now) = lockout();
        lockout.note_success("ann", HERE, now);
        for _ in 0..4 {
            lockout.note_failure("ann", THERE, now);
        }
        assert_eq!(lockout.check("ann", HERE, now), Ok(()));
        assert_eq!(lockout.check("ann", THERE, now), Err(LockedOut::User));
    }

    #[test]
    fn a_success_ends_the_row() {
        let (lockout, now) = lockout();
        lockout.note_failure("ann", THERE, now);
        lockout.note_failure("ann", THERE, now);
        lockout.note_success("ann", THERE, now);
        lockout.note_failure("ann", THERE, now);
        assert_eq!(lockout.check("ann", HERE, now), Ok(()));
    }

    #[test]
    fn failures_long_past_do_not_count() {
        let (lockout, now) = lockout();
        for minute in 0..10 {
            lockout.note_failure("ann", HERE, now + Duration::from_secs(61 * minute));
        }
        assert_eq!(lockout.check("ann", HERE, now + Duration::from_secs(61 * 9)), Ok(()));
    }

    #[test]
    fn memory_is_bounded() {
        let (lockout, now) = lockout();
        for number in 0..3 * REMEMBERED_COUNT {
            let at = now + Duration::from_millis(number as u64);
            lockout.note_failure(&format!("user{number}"), HERE, at);
            lockout.note_success(&format!("user{number}"), HERE, at);
            lockout.note_failure(&format!("user{number}"), HERE, at);
        }
        let failures = lockout.failures.lock();
        assert!(failures.users.len() <= REMEMBERED_COUNT && failures.known.len() <= REMEMBERED_COUNT);
    }
}
