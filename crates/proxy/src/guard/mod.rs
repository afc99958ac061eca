//! Which clients may come in, and how much they may send, without I/O and clock.
//!
//! ```text
//!  arrive ─► log_in ─► spend … ─► leave
//!    │         │         └ bytes of the user, of all              wait: nothing is read for a while
//!    │         └ connections of the user                          refused: a close with code 530
//!    └ connections of the address, of all; how fast they come     refused: the socket is closed
//! ```
//!
//! - **Counts are exact.** One guard is for all threads; it does little, so that a lock around it is short. A client that was refused is
//!   not counted and does not leave; one that was not, does so once.
//! - **A refusal costs those that behave nothing.** A client that is refused for what it did itself takes none of the others' tokens.
//! - **Bytes are a debt.** They have been read when they are counted, so they are let through, and nothing more is read until the debt is
//!   paid. So a message may be longer than a burst.
//! - **Alarm-only** lets everything through, counts what would have been refused, and reports it.
//! - **Nothing is remembered in vain:** a user or an address without a connection is forgotten as soon as that makes no difference.
//!
//! Not here: connections to upstreams, which pools count, and what is refused for other reasons than too much.

mod accounts;
mod bucket;
mod limit;
mod network;
mod options;
mod watch;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use self::accounts::Accounts;
use self::bucket::Bucket;
pub use self::limit::{Alarm, Limit, Refusal, Subject};
pub use self::network::Network;
pub use self::options::{Options, Rate};
pub use self::watch::Counts;
use self::watch::Watches;
use crate::limits::BYTE_WAIT_MAX_MS;

/// What becomes of bytes that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spending {
    /// Read on.
    Allowed,
    /// These are let through; read nothing more for so long, then [`spend`](Guard::spend) 0 bytes to see whether that is enough.
    Wait {
        /// At least 1, at most a second.
        ms: u64,
    },
}

/// The guard's counts, for those that look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Whether nothing is refused.
    pub is_alarm_only: bool,
    /// Connections that are there.
    pub connection_count: u64,
    /// Users that have one that is logged in.
    pub user_count: usize,
    /// Addresses, or networks that count as one, that have one.
    pub network_count: usize,
    /// Users and networks without one that are remembered.
    pub idle_count: usize,
    /// Connections that came in so far.
    pub arrived: u64,
    /// Logins that were let in so far.
    pub logged_in: u64,
    /// All limits, those that are not set, too.
    pub limits: [LimitSnapshot; Limit::ALL.len()],
}

/// A limit, for those that look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitSnapshot {
    /// Which.
    pub limit: Limit,
    /// What is set for it; 0 for none.
    pub max: u64,
    /// How often it was reached.
    pub counts: Counts,
}

/// The clients that are counted, and what is allowed.
#[derive(Debug)]
pub struct Guard {
    options: Options,
    connection_count: u64,
    networks: Accounts<Network>,
    users: Accounts<String>,
    /// Connections that come.
    arrivals: Bucket,
    bytes: Bucket,
    arrived: u64,
    logged_in: u64,
    watches: Watches,
}

impl Guard {
    /// Without any client.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Guard {
            options,
            connection_count: 0,
            networks: Accounts::new(),
            users: Accounts::new(),
            arrivals: Bucket::default(),
            bytes: Bucket::default(),
            arrived: 0,
            logged_in: 0,
            watches: Watches::default(),
        }
    }

    /// Sets what operators have changed. Clients that are there stay, even if they are more than are allowed now. The length of IPv6
    /// prefixes stays as it was: those that are there are counted by it.
    pub fn set_options(&mut self, options: Options) {
        self.options = Options { ipv6_prefix_len: self.options.ipv6_prefix_len, ..options };
    }

    /// A connection was accepted; from no address if it came through a Unix socket. One that is not refused [leaves](Self::leave) later.
    pub fn arrive(&mut self, address: Option<IpAddr>, now_ms: u64) -> Result<(), Refusal> {
        let network = address.map(|address| self.network_of(address));
        if let Some(limit) = self.limit_of_arrival(network, now_ms) {
            let subject = match limit {
                Limit::AddressConnections | Limit::AddressConnectionRate => network.map(Subject::Network),
                _ => None,
            };
            self.reach(limit, now_ms, || subject.clone().unwrap_or(Subject::All))?;
        }
        self.connection_count += 1;
        self.arrived += 1;
        take_one(&mut self.arrivals, self.options.connection_rate, now_ms);
        if let Some(network) = network {
            take_one(self.networks.join(&network), self.options.address_connection_rate, now_ms);
        }
        Ok(())
    }

    /// A connection that has arrived is to be this user's. If it is refused it still has to [leave](Self::leave), as no user's.
    pub fn log_in(&mut self, user: &str, now_ms: u64) -> Result<(), Refusal> {
        if is_reached(self.users.connection_count(user), self.options.user_connection_max) {
            self.reach(Limit::UserConnections, now_ms, || Subject::user(user))?;
        }
        self.users.join(user);
        self.logged_in += 1;
        Ok(())
    }

    /// A connection that had arrived is closed; of this user, if one had logged in.
    pub fn leave(&mut self, address: Option<IpAddr>, user: Option<&str>, now_ms: u64) {
        debug_assert!(self.connection_count > 0, "a client left that was not there");
        self.connection_count = self.connection_count.saturating_sub(1);
        if let Some(address) = address {
            let network = self.network_of(address);
            self.networks.part(&network, self.options.address_connection_rate, now_ms);
        }
        if let Some(user) = user {
            self.users.part(user, self.options.user_byte_rate, now_ms);
        }
    }

    /// So many bytes were read from a user that has logged in.
    pub(crate) fn spend(&mut self, user: &str, len: u64, now_ms: u64) -> Spending {
        let Options { byte_rate, user_byte_rate, is_alarm_only, .. } = self.options;
        if byte_rate.per_s == 0 && user_byte_rate.per_s == 0 {
            return Spending::Allowed;
        }
        let all_ms = owe(&mut self.bytes, len, byte_rate, is_alarm_only, now_ms);
        let own_ms = match self.users.bucket(user) {
            Some(bucket) => owe(bucket, len, user_byte_rate, is_alarm_only, now_ms),
            None => 0,
        };
        let ms = all_ms.max(own_ms).min(BYTE_WAIT_MAX_MS);
        if ms == 0 {
            return Spending::Allowed;
        }
        // A client that only asks whether it has waited long enough has not reached it again.
        if len > 0 {
            let is_own = own_ms >= all_ms;
            let limit = if is_own { Limit::UserByteRate } else { Limit::ByteRate };
            let max = limit.max_in(&self.options);
            let subject = || if is_own { Subject::user(user) } else { Subject::All };
            self.watches.reach(is_alarm_only, now_ms, limit, || Refusal { limit, max, subject: subject() });
        }
        if is_alarm_only { Spending::Allowed } else { Spending::Wait { ms } }
    }

    /// To be said about once a second: forgets those that need not be remembered.
    pub fn tick(&mut self, now_ms: u64) {
        self.networks.forget_full(self.options.address_connection_rate, now_ms);
        self.users.forget_full(self.options.user_byte_rate, now_ms);
    }

    /// What is to be logged: at most one alarm a second for each limit.
    pub(crate) fn take_alarms(&mut self) -> Vec<Alarm> {
        self.watches.take_alarms()
    }

    /// The guard's counts.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            is_alarm_only: self.options.is_alarm_only,
            connection_count: self.connection_count,
            user_count: self.users.busy_count(),
            network_count: self.networks.busy_count(),
            idle_count: self.users.idle_count() + self.networks.idle_count(),
            arrived: self.arrived,
            logged_in: self.logged_in,
            limits: Limit::ALL.map(|limit| LimitSnapshot {
                limit,
                max: limit.max_in(&self.options),
                counts: self.watches.counts(limit),
            }),
        }
    }

    /// Users who have logged in, and how many connections each has; in no order.
    pub fn users(&self) -> impl Iterator<Item = (&str, u64)> {
        self.users.busy().map(|(user, count)| (user.as_str(), count))
    }

    /// Addresses, or networks that count as one, and how many connections each has; in no order.
    pub fn networks(&self) -> impl Iterator<Item = (Network, u64)> {
        self.networks.busy().map(|(network, count)| (*network, count))
    }

    fn network_of(&self, address: IpAddr) -> Network {
        Network::of(address, self.options.ipv6_prefix_len)
    }

    /// What keeps a connection from coming in: what is its address's own first.
    fn limit_of_arrival(&mut self, network: Option<Network>, now_ms: u64) -> Option<Limit> {
        let options = &self.options;
        let own_count = network.map_or(0, |network| self.networks.connection_count(&network));
        let own_bucket = network.and_then(|network| self.networks.bucket(&network));
        if is_reached(own_count, options.address_connection_max) {
            return Some(Limit::AddressConnections);
        }
        if own_bucket.is_some_and(|bucket| !bucket.has(1, options.address_connection_rate, now_ms)) {
            return Some(Limit::AddressConnectionRate);
        }
        if is_reached(self.connection_count, options.connection_max) {
            return Some(Limit::Connections);
        }
        (!self.arrivals.has(1, options.connection_rate, now_ms)).then_some(Limit::ConnectionRate)
    }

    /// A limit is reached: counts it, and refuses if it is not only for alarm.
    fn reach(&mut self, limit: Limit, now_ms: u64, subject: impl Fn() -> Subject) -> Result<(), Refusal> {
        let is_alarm_only = self.options.is_alarm_only;
        let max = limit.max_in(&self.options);
        let refusal = || Refusal { limit, max, subject: subject() };
        self.watches.reach(is_alarm_only, now_ms, limit, refusal);
        if is_alarm_only { Ok(()) } else { Err(refusal()) }
    }
}

fn is_reached(count: u64, max: u64) -> bool {
    max > 0 && count >= max
}

/// A client that comes in although there is no token, since it is only for alarm, has no debt.
fn take_one(bucket: &mut Bucket, rate: Rate, now_ms: u64) {
    bucket.take(1, rate, now_ms);
    bucket.forgive(rate);
}

/// Takes bytes, and says how long it takes to pay for them. Where it is only for alarm nothing is owed.
fn owe(bucket: &mut Bucket, len: u64, rate: Rate, is_alarm_only: bool, now_ms: u64) -> u64 {
    bucket.take(len, rate, now_ms);
    let ms = bucket.debt_ms(rate, now_ms);
    if is_alarm_only {
        bucket.forgive(rate);
    }
    ms
}
