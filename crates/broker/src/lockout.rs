//! A user that has failed to log in too often is refused for a while, whatever the password.
//!
//! Failures are counted for each user at each address, so that a stranger locks out only himself; for each address, whichever user it
//! claims to be; and for each user wherever they come from, with a limit that only many addresses together reach. The last two do
//! not hold for a user at an address from which it has logged in lately. A success ends the row of its own user and address, and no
//! other: the owner of one account is not helped in guessing another's.
//!
//! Names that can be no user's are not kept, which includes no name: clients that log in by a token often give none. An address of IPv6 is
//! its network of 64 bits, for that is what one host can choose from.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use model::name::UserName;
use parking_lot::Mutex;
use telemetry::Counter;

/// When logins are refused for their failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockoutOptions {
    /// So many failures in a row lock a user out of the address they come from; None: never.
    pub user_failure_max: Option<u32>,
    /// So many failures within [`LockoutOptions::duration`] lock an address out; None: never.
    pub address_failure_max: Option<u32>,
    /// How long.
    pub duration: Duration,
}

impl Default for LockoutOptions {
    fn default() -> Self {
        Self { user_failure_max: Some(20), address_failure_max: Some(100), duration: Duration::from_secs(60) }
    }
}

/// So many times as many failures as lock a user out of one address lock it out of all where it has never been.
const EVERYWHERE_FACTOR: u32 = 50;

/// Users, addresses, and users at addresses that are remembered: more than this, and the older half is forgotten.
const REMEMBERED_COUNT: usize = 10_000;

/// Failures of logins.
#[derive(Debug)]
pub(crate) struct Lockout {
    options: LockoutOptions,
    failures: Mutex<Failures>,
    /// How often a user or an address was locked out that was not before.
    pub(crate) begun: Counter,
}

#[derive(Debug, Default)]
struct Failures {
    pairs: HashMap<Pair, Streak>,
    users: HashMap<UserName, Streak>,
    addresses: HashMap<IpAddr, Streak>,
    /// Where users have logged in from lately.
    known: HashMap<Pair, Instant>,
}

/// A user at an address.
type Pair = (UserName, IpAddr);

/// Failures one after the other.
#[derive(Debug, Clone, Copy)]
struct Streak {
    count: u32,
    begun_at: Instant,
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
        Self { options, failures: Mutex::default(), begun: Counter::new() }
    }

    /// Whether a login is refused without being looked at.
    pub(crate) fn check(&self, user: &str, address: IpAddr, now: Instant) -> Result<(), LockedOut> {
        let LockoutOptions { user_failure_max, address_failure_max, .. } = self.options;
        let address = place_of(address);
        let pair = pair_of(user, address);
        let failures = self.failures.lock();
        let is_known = pair.as_ref().is_some_and(|pair| failures.known.contains_key(pair));
        if !is_known && self.is_over(failures.addresses.get(&address), address_failure_max, now) {
            return Err(LockedOut::Address);
        }
        let Some(pair) = pair else { return Ok(()) };
        let everywhere_max = user_failure_max.map(|max| max.saturating_mul(EVERYWHERE_FACTOR));
        if self.is_over(failures.pairs.get(&pair), user_failure_max, now)
            || (!is_known && self.is_over(failures.users.get(&pair.0), everywhere_max, now))
        {
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
        let LockoutOptions { user_failure_max, address_failure_max, duration } = self.options;
        let address = place_of(address);
        let mut failures = self.failures.lock();
        // A row ends by a success, or when nothing has happened for long; what no success ends is counted for a while.
        let has_rested = |streak: &Streak| now >= streak.last_at + duration;
        let is_past = |streak: &Streak| now >= streak.begun_at + duration;
        if user_failure_max.is_some()
            && let Some(pair) = pair_of(user, address)
        {
            let everywhere_max = user_failure_max.map(|max| max.saturating_mul(EVERYWHERE_FACTOR));
            self.note_count(count(&mut failures.users, pair.0.clone(), now, is_past), everywhere_max);
            self.note_count(count(&mut failures.pairs, pair, now, has_rested), user_failure_max);
        }
        if address_failure_max.is_some() {
            self.note_count(count(&mut failures.addresses, address, now, is_past), address_failure_max);
        }
    }

    /// A failure of so many in a row. The one that reaches the limit locks out.
    fn note_count(&self, failure_count: u32, failure_max: Option<u32>) {
        if Some(failure_count) == failure_max {
            self.begun.add(1);
        }
    }

    /// A login has succeeded.
    pub(crate) fn note_success(&self, user: &str, address: IpAddr, now: Instant) {
        let LockoutOptions { user_failure_max, address_failure_max, .. } = self.options;
        if user_failure_max.is_none() && address_failure_max.is_none() {
            return;
        }
        let Some(pair) = pair_of(user, place_of(address)) else { return };
        let mut failures = self.failures.lock();
        failures.pairs.remove(&pair);
        make_room(&mut failures.known, |at| *at);
        failures.known.insert(pair, now);
    }
}

/// What an address is counted as.
fn place_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

/// None: no user can have this name.
fn pair_of(user: &str, address: IpAddr) -> Option<Pair> {
    Some((UserName::parse(user.as_bytes()).ok()?, address))
}

/// Counts a failure, the first again where what was before `is_over`. How many there are.
fn count<K: Hash + Eq>(
    streaks: &mut HashMap<K, Streak>,
    key: K,
    now: Instant,
    is_over: impl Fn(&Streak) -> bool,
) -> u32 {
    make_room(streaks, |streak| streak.last_at);
    let new = Streak { count: 0, begun_at: now, last_at: now };
    let streak = streaks.entry(key).or_insert(new);
    if is_over(streak) {
        *streak = new;
    }
    streak.count = streak.count.saturating_add(1);
    streak.last_at = now;
    streak.count
}

/// Forgets the older half when there are too many.
fn make_room<K: Hash + Eq, V>(map: &mut HashMap<K, V>, at: impl Fn(&V) -> Instant) {
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
    fn a_user_is_locked_out_of_an_address_after_failures_in_a_row() {
        let (lockout, now) = lockout();
        for _ in 0..3 {
            assert_eq!(lockout.check("ann", HERE, now), Ok(()));
            lockout.note_failure("ann", HERE, now);
        }
        assert_eq!(lockout.check("ann", HERE, now), Err(LockedOut::User));
        assert_eq!(lockout.check("ann", THERE, now), Ok(()), "a stranger locks out no user");
        assert_eq!(lockout.check("bob", HERE, now), Ok(()));
        assert_eq!(lockout.check("ann", HERE, now + Duration::from_secs(60)), Ok(()));
    }

    #[test]
    fn each_lock_out_is_counted_once() {
        let (lockout, now) = lockout();
        for expected in [0, 0, 1, 1, 2, 2] {
            lockout.note_failure("ann", HERE, now);
            assert_eq!(lockout.begun.get(), expected, "the user with the third failure, the address with the fifth");
        }
        let later = now + Duration::from_secs(61);
        for _ in 0..3 {
            lockout.note_failure("ann", HERE, later);
        }
        assert_eq!(lockout.begun.get(), 3);
    }

    #[test]
    fn an_address_is_locked_out_for_every_user() {
        let (lockout, now) = lockout();
        for number in 0..5 {
            lockout.note_failure(&format!("user{number}"), HERE, now);
        }
        assert_eq!(lockout.check("stranger", HERE, now), Err(LockedOut::Address));
        assert_eq!(lockout.check("stranger", THERE, now), Ok(()));
    }

    #[test]
    fn an_address_is_not_locked_out_for_who_has_been_there() {
        let (lockout, now) = lockout();
        lockout.note_success("ann", HERE, now);
        for number in 0..5 {
            lockout.note_failure(&format!("user{number}"), HERE, now);
        }
        assert_eq!(lockout.check("ann", HERE, now), Ok(()));
        assert_eq!(lockout.check("bob", HERE, now), Err(LockedOut::Address));
    }

    #[test]
    fn who_has_been_somewhere_may_not_guess_there_without_end() {
        let (lockout, now) = lockout();
        lockout.note_success("ann", HERE, now);
        for _ in 0..3 {
            lockout.note_failure("ann", HERE, now);
        }
        assert_eq!(lockout.check("ann", HERE, now), Err(LockedOut::User));
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
    fn guesses_from_everywhere_lock_a_user_out_of_where_it_has_never_been() {
        let (lockout, now) = lockout();
        lockout.note_success("ann", HERE, now);
        for number in 0..3 * 50 {
            assert_eq!(lockout.check("ann", THERE, now), Ok(()));
            lockout.note_failure("ann", IpAddr::from([10, 0, 0, number]), now);
        }
        assert_eq!(lockout.check("ann", THERE, now), Err(LockedOut::User));
        assert_eq!(lockout.check("ann", HERE, now), Ok(()));
        assert_eq!(lockout.check("ann", THERE, now + Duration::from_secs(60)), Ok(()));
    }

    #[test]
    fn an_account_of_ones_own_is_no_help_in_guessing_others() {
        let (lockout, now) = lockout();
        for _ in 0..2 {
            lockout.note_failure("ann", HERE, now);
            lockout.note_failure("bob", HERE, now);
            lockout.note_success("mallory", HERE, now);
        }
        lockout.note_failure("carl", HERE, now);
        assert_eq!(lockout.check("dora", HERE, now), Err(LockedOut::Address));
    }

    #[test]
    fn a_success_ends_the_row() {
        let (lockout, now) = lockout();
        lockout.note_failure("ann", HERE, now);
        lockout.note_failure("ann", HERE, now);
        lockout.note_success("ann", HERE, now);
        lockout.note_failure("ann", HERE, now);
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
    fn a_few_failures_a_minute_never_lock_out_an_address() {
        let (lockout, now) = lockout();
        for number in 0..100 {
            let at = now + Duration::from_secs(20 * number);
            lockout.note_failure(&format!("user{number}"), HERE, at);
            assert_eq!(lockout.check("stranger", HERE, at), Ok(()));
        }
    }

    #[test]
    fn who_has_a_network_of_addresses_has_one() {
        let (lockout, now) = lockout();
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for number in 0..3 {
            lockout.note_failure("ann", address(&format!("2001:db8:0:1::{number}")), now);
        }
        assert_eq!(lockout.check("ann", address("2001:db8:0:1:ffff::1"), now), Err(LockedOut::User));
        assert_eq!(lockout.check("ann", address("2001:db8:0:2::1"), now), Ok(()));
    }

    #[test]
    fn names_that_can_be_nobodys_are_not_kept() {
        let (lockout, now) = lockout();
        for name in [String::new(), "x".repeat(10_000)] {
            lockout.note_failure(&name, HERE, now);
            lockout.note_success(&name, HERE, now);
        }
        let failures = lockout.failures.lock();
        assert!(failures.users.is_empty() && failures.pairs.is_empty() && failures.known.is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let (lockout, now) = lockout();
        for number in 0..3 * REMEMBERED_COUNT {
            let at = now + Duration::from_millis(number as u64);
            let address = IpAddr::from(std::net::Ipv4Addr::from_bits(number as u32));
            lockout.note_success(&format!("user{number}"), address, at);
            lockout.note_failure(&format!("user{number}"), address, at);
        }
        let failures = lockout.failures.lock();
        let lens = [failures.users.len(), failures.pairs.len(), failures.known.len(), failures.addresses.len()];
        assert!(lens.iter().all(|&len| len <= REMEMBERED_COUNT), "{lens:?}");
    }
}
