//! Clients that come, log in, send and go, at random, beside a model that keeps all that was ever let through and looks for a stretch of
//! time with too much in it.

use std::collections::BTreeSet;
use std::net::IpAddr;

use proptest::prelude::*;

use super::{Guard, Limit, Options, Rate, Spending};

const USERS: [&str; 3] = ["u", "v", "w"];
/// Each beside the number of the one it belongs to.
const ADDRESSES: [(&str, usize); 5] =
    [("10.0.0.1", 0), ("::ffff:10.0.0.1", 0), ("10.0.0.2", 1), ("2001:db8::1", 2), ("2001:db8::ffff", 2)];

#[derive(Debug, Clone)]
enum Step {
    /// From no address if there is none of this number.
    Arrive {
        address: usize,
    },
    LogIn {
        client: usize,
        user: usize,
    },
    Spend {
        client: usize,
        len: u64,
    },
    Leave {
        client: usize,
    },
    Pass {
        ms: u64,
    },
    Tick,
    TakeAlarms,
    /// Rates stay: a stretch of time has one.
    Reload {
        maxima: (u64, u64, u64),
    },
}

fn rate() -> impl Strategy<Value = Rate> {
    let some = (1..20u64, 0..8u64).prop_map(|(per_s, burst)| Rate { per_s, burst });
    prop_oneof![1 => Just(Rate::default()), 2 => some]
}

fn options() -> impl Strategy<Value = Options> {
    let maxima = (0..12u64, 0..5u64, 0..5u64);
    (prop::bool::weighted(0.2), maxima, rate(), rate(), rate(), rate()).prop_map(
        |(is_alarm_only, (all, user, address), connections, of_address, bytes, of_user)| Options {
            is_alarm_only,
            connection_max: all,
            user_connection_max: user,
            address_connection_max: address,
            ipv6_prefix_len: 64,
            connection_rate: connections,
            address_connection_rate: of_address,
            byte_rate: bytes,
            user_byte_rate: of_user,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (0..=ADDRESSES.len()).prop_map(|address| Step::Arrive { address }),
        8 => (0..20usize, 0..USERS.len()).prop_map(|(client, user)| Step::LogIn { client, user }),
        8 => (0..20usize, 0..10u64).prop_map(|(client, len)| Step::Spend { client, len }),
        6 => (0..20usize).prop_map(|client| Step::Leave { client }),
        6 => (0..500u64).prop_map(|ms| Step::Pass { ms }),
        1 => (2000..5000u64).prop_map(|ms| Step::Pass { ms }),
        3 => Just(Step::Tick),
        2 => Just(Step::TakeAlarms),
        1 => (0..12u64, 0..5u64, 0..5u64).prop_map(|maxima| Step::Reload { maxima }),
    ]
}

#[derive(Debug, Default)]
struct Client {
    address: Option<usize>,
    user: Option<usize>,
}

/// All that was taken at a rate: when, and how many thousandths.
#[derive(Debug, Default, Clone)]
struct FrameOutcome(Vec<(u64, u64)>);

impl FrameOutcome {
    /// By how many thousandths the worst stretch of time that ends now has more than its burst and what the rate allows in it.
    fn excess(&self, rate: Rate, now_ms: u64) -> u64 {
        let burst = if rate.burst == 0 { rate.per_s } else { rate.burst };
        let of_stretch = |at: usize| {
            let sum: u64 = self.0[at..].iter().map(|(_, parts)| parts).sum();
            let allowed = burst * 1000 + rate.per_s * (now_ms - self.0[at].0);
            sum.saturating_sub(allowed)
        };
        if rate.per_s == 0 { 0 } else { (0..self.0.len()).map(of_stretch).max().unwrap_or(0) }
    }

    fn with(&self, count: u64, now_ms: u64) -> FrameOutcome {
        let mut taken = self.clone();
        taken.0.push((now_ms, count * 1000));
        taken
    }

    /// Takes it, or of it what keeps the limit.
    fn take(&mut self, count: u64, rate: Rate, is_alarm_only: bool, now_ms: u64) {
        let excess = if is_alarm_only { self.with(count, now_ms).excess(rate, now_ms) } else { 0 };
        self.0.push((now_ms, count * 1000 - excess));
    }

    /// Whether it can be forgotten.
    fn is_over(&self, rate: Rate, now_ms: u64) -> bool {
        let of_stretch = |at: usize| {
            let sum: u64 = self.0[at..].iter().map(|(_, parts)| parts).sum();
            sum <= rate.per_s * (now_ms - self.0[at].0)
        };
        rate.per_s == 0 || (0..self.0.len()).all(of_stretch)
    }
}

#[derive(Debug)]
struct World {
    guard: Guard,
    options: Options,
    clients: Vec<Client>,
    arrivals: FrameOutcome,
    arrivals_of: [FrameOutcome; 3],
    bytes: FrameOutcome,
    bytes_of: [FrameOutcome; 3],
    /// When each limit was reached.
    reached: Vec<(Limit, u64)>,
    told_count: u64,
    alarm_times: Vec<(Limit, u64)>,
    now_ms: u64,
}

impl World {
    fn new(options: Options) -> Self {
        World {
            guard: Guard::new(options.clone()),
            options,
            clients: Vec::new(),
            arrivals: FrameOutcome::default(),
            arrivals_of: Default::default(),
            bytes: FrameOutcome::default(),
            bytes_of: Default::default(),
            reached: Vec::new(),
            told_count: 0,
            alarm_times: Vec::new(),
            now_ms: 0,
        }
    }

    fn count(&self, is_counted: impl Fn(&Client) -> bool) -> u64 {
        self.clients.iter().filter(|client| is_counted(client)).count() as u64
    }

    fn arrive(&mut self, number: usize) {
        let address: Option<IpAddr> = ADDRESSES.get(number).map(|(text, _)| text.parse().unwrap());
        let owner = ADDRESSES.get(number).map(|(_, owner)| *owner);
        let options = &self.options;
        let now_ms = self.now_ms;
        let is_over = |taken: &FrameOutcome, rate| taken.with(1, now_ms).excess(rate, now_ms) > 0;
        let is_full = |count, max| max > 0 && count >= max;
        let of_owner = self.count(|client| owner.is_some() && client.address == owner);
        let expected = if is_full(of_owner, options.address_connection_max) {
            Some(Limit::AddressConnections)
        } else if owner.is_some_and(|owner| is_over(&self.arrivals_of[owner], options.address_connection_rate)) {
            Some(Limit::AddressConnectionRate)
        } else if is_full(self.clients.len() as u64, options.connection_max) {
            Some(Limit::Connections)
        } else if is_over(&self.arrivals, options.connection_rate) {
            Some(Limit::ConnectionRate)
        } else {
            None
        };
        let result = self.guard.arrive(address, now_ms);
        self.reached.extend(expected.map(|limit| (limit, now_ms)));
        let refused = expected.filter(|_| !options.is_alarm_only);
        assert_eq!(result.err().map(|refusal| refusal.limit), refused);
        if refused.is_some() {
            return;
        }
        self.arrivals.take(1, options.connection_rate, options.is_alarm_only, now_ms);
        if let Some(owner) = owner {
            self.arrivals_of[owner].take(1, options.address_connection_rate, options.is_alarm_only, now_ms);
        }
        self.clients.push(Client { address: owner, user: None });
    }

    fn log_in(&mut self, client: usize, user: usize) {
        if self.clients[client].user.is_some() {
            return;
        }
        let max = self.options.user_connection_max;
        let is_reached = max > 0 && self.count(|client| client.user == Some(user)) >= max;
        let result = self.guard.log_in(USERS[user], self.now_ms);
        if is_reached {
            self.reached.push((Limit::UserConnections, self.now_ms));
        }
        assert_eq!(result.is_err(), is_reached && !self.options.is_alarm_only);
        if result.is_ok() {
            self.clients[client].user = Some(user);
        }
    }

    fn spend(&mut self, client: usize, len: u64) {
        let Some(user) = self.clients[client].user else { return };
        let Options { byte_rate, user_byte_rate, is_alarm_only, .. } = self.options;
        let now_ms = self.now_ms;
        let wait_ms =
            |taken: &FrameOutcome, rate: Rate| taken.with(len, now_ms).excess(rate, now_ms).div_ceil(rate.per_s.max(1));
        let all_ms = wait_ms(&self.bytes, byte_rate);
        let own_ms = wait_ms(&self.bytes_of[user], user_byte_rate);
        let ms = all_ms.max(own_ms).min(1000);
        let expected = if ms == 0 || is_alarm_only { Spending::Allowed } else { Spending::Wait { ms } };
        assert_eq!(self.guard.spend(USERS[user], len, now_ms), expected);
        if ms > 0 && len > 0 {
            let limit = if own_ms >= all_ms { Limit::UserByteRate } else { Limit::ByteRate };
            self.reached.push((limit, now_ms));
        }
        self.bytes.take(len, byte_rate, is_alarm_only, now_ms);
        self.bytes_of[user].take(len, user_byte_rate, is_alarm_only, now_ms);
    }

    fn leave(&mut self, client: usize) {
        let client = self.clients.remove(client);
        // Another of the same addresses than the one that came is as good.
        let address = client.address.map(|owner| ADDRESSES.iter().rfind(|(_, of)| *of == owner).unwrap().0);
        let user = client.user.map(|user| USERS[user]);
        self.guard.leave(address.map(|address| address.parse().unwrap()), user, self.now_ms);
    }

    fn take_alarms(&mut self) {
        for alarm in self.guard.take_alarms() {
            self.told_count += 1 + alarm.untold_count;
            let before = self.alarm_times.iter().rfind(|(limit, _)| *limit == alarm.refusal.limit);
            assert!(before.is_none_or(|(_, at_ms)| alarm.at_ms >= at_ms + 1000), "two in a second");
            assert!(self.reached.contains(&(alarm.refusal.limit, alarm.at_ms)));
            self.alarm_times.push((alarm.refusal.limit, alarm.at_ms));
        }
    }

    fn run(&mut self, step: Step) {
        let client_count = self.clients.len();
        match step {
            Step::Arrive { address } => self.arrive(address),
            Step::LogIn { client, user } if client_count > 0 => self.log_in(client % client_count, user),
            Step::Spend { client, len } if client_count > 0 => self.spend(client % client_count, len),
            Step::Leave { client } if client_count > 0 => self.leave(client % client_count),
            Step::LogIn { .. } | Step::Spend { .. } | Step::Leave { .. } => {}
            Step::Pass { ms } => self.now_ms += ms,
            Step::Tick => {
                self.guard.tick(self.now_ms);
                self.check_idle();
            }
            Step::TakeAlarms => self.take_alarms(),
            Step::Reload { maxima: (all, user, address) } => {
                self.options.connection_max = all;
                self.options.user_connection_max = user;
                self.options.address_connection_max = address;
                self.guard.set_options(self.options.clone());
            }
        }
        self.compare();
    }

    /// Remembered are those, and only those, whose past still matters.
    fn check_idle(&self) {
        let Options { address_connection_rate, user_byte_rate, .. } = self.options;
        let networks = (0..self.arrivals_of.len()).filter(|owner| {
            let is_idle = self.count(|client| client.address == Some(*owner)) == 0;
            is_idle && !self.arrivals_of[*owner].is_over(address_connection_rate, self.now_ms)
        });
        let users = (0..USERS.len()).filter(|user| {
            let is_idle = self.count(|client| client.user == Some(*user)) == 0;
            is_idle && !self.bytes_of[*user].is_over(user_byte_rate, self.now_ms)
        });
        assert_eq!(self.guard.snapshot().idle_count, networks.count() + users.count());
    }

    fn compare(&self) {
        let shown = self.guard.snapshot();
        assert_eq!(shown.connection_count, self.clients.len() as u64);
        let users: BTreeSet<usize> = self.clients.iter().filter_map(|client| client.user).collect();
        assert_eq!(shown.user_count, users.len());
        for (name, count) in self.guard.users() {
            assert_eq!(count, self.count(|client| client.user.is_some_and(|user| USERS[user] == name)));
        }
        let addresses: BTreeSet<usize> = self.clients.iter().filter_map(|client| client.address).collect();
        assert_eq!(shown.network_count, addresses.len());
        let of_networks: u64 = self.guard.networks().map(|(_, count)| count).sum();
        assert_eq!(of_networks, self.count(|client| client.address.is_some()));
        for limit in shown.limits {
            let reached = self.reached.iter().filter(|(reached, _)| *reached == limit.limit).count() as u64;
            assert_eq!(limit.counts.reached, reached, "{:?}", limit.limit);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lets_in_whom_the_model_does(given in options(), steps in proptest::collection::vec(step(), 1..150)) {
        let mut world = World::new(given);
        for step in steps {
            world.run(step);
        }
        world.take_alarms();
        // A limit that is not reported yet was reached within a second after its last alarm.
        let is_fresh = |(limit, at_ms): &&(Limit, u64)| {
            let last = world.alarm_times.iter().rfind(|(of, _)| of == limit);
            let (_, last_ms) = last.expect("a limit that was reached was told");
            assert!(*at_ms < last_ms + 1000, "{limit:?} was reached again and not told");
            at_ms >= last_ms
        };
        let fresh_count = world.reached.iter().filter(is_fresh).count() as u64;
        let untold_count = world.reached.len() as u64 - world.told_count;
        prop_assert!(untold_count <= fresh_count, "{untold_count} of {fresh_count} fresh ones were not told");
    }
}
