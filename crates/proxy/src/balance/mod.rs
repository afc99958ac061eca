//! Which upstream an upstream connection is dialled to, without I/O, clock or dice: all come in as arguments.
//!
//! ```text
//!  choose ─► dialled ─┬─► opened ──────► lost        counted for each upstream
//!                     ├─► failed                     too many in a row open its circuit
//!                     ├─► refused                    it is well, and refuses one vhost
//!                     └─► abandoned                  says nothing about it
//!  next_check ─► checked                             passed: the circuit is closed; failed: as above
//! ```
//!
//! - **A vhost is where it is named.** One that some upstream names is only on those that do; any other is on those that name none.
//! - **An upstream that fails is left alone, but not for ever.** An upstream that failed several times in a row gets no upstream
//!   connections for a while; then one attempt is let through, and what becomes of it decides. A check that passes decides, too.
//! - **An upstream that refuses one vhost is well.** It gets no upstream connections of that vhost for a while, as if it had failed for
//!   that vhost alone; the others' upstream connections stay.
//! - **An upstream that drains gets no new upstream connection.** The old ones stay, counted; an operator that restarts brokers drains one,
//!   waits until it has none, and restarts it.
//! - **Options change under way.** Upstreams are known by their names, their addresses and the way they are spoken to; one that the options
//!   no longer have drains and is then forgotten. A name that has another address, or way, is another upstream, and only what operators
//!   said of the name holds for it.
//!
//! Not here: names of hosts and their addresses, and what a check consists of.

mod breaker;
mod checks;
mod choice;
mod options;
mod rebalance;
mod refusals;
mod upstream;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::mem;

pub use self::breaker::Circuit;
pub use self::options::{Options, OptionsError, Strategy, Transport, UpstreamOptions};
pub use self::refusals::RefusedVhost;
use self::upstream::Upstream;
pub use self::upstream::{Counters, LastError, Snapshot};

/// An upstream, as long as it is in the options or has upstream connections. No other one ever has the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpstreamId(u64);

/// Where an upstream connection is to be dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// There.
    Upstream(UpstreamId),
    /// All that serve the vhost are broken, draining or excepted: nowhere before this time.
    Later {
        /// When to ask again.
        at_ms: u64,
    },
    /// No upstream serves the vhost, whatever happens.
    Nowhere,
}

/// Whether an upstream gets new upstream connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It does.
    Up,
    /// Its circuit is not closed: one now and then, to see.
    Down,
    /// None, as operators wish.
    Draining,
}

/// All upstreams.
#[derive(Debug)]
pub struct Balance {
    /// Without their upstreams: these are below.
    options: Options,
    /// In the order of the options; then those that were removed and still have upstream connections.
    upstreams: Vec<Upstream>,
    next_id: u64,
}

impl Balance {
    /// All upstreams are taken for up until they fail.
    pub fn new(options: Options) -> Result<Self, OptionsError> {
        let mut balance = Balance { options: Options::default(), upstreams: Vec::new(), next_id: 0 };
        balance.set_options(options, 0)?;
        Ok(balance)
    }

    /// Sets what operators have changed, or nothing if it cannot be taken. Upstreams that keep their name, address and way keep all that is
    /// known of them; those that are no longer there drain, and are forgotten after their last upstream connection.
    pub fn set_options(&mut self, mut options: Options, now_ms: u64) -> Result<(), OptionsError> {
        options.check()?;
        let mut before = mem::take(&mut self.upstreams);
        for given in mem::take(&mut options.upstreams) {
            let is_named_so = |upstream: &Upstream| upstream.options.name == given.name;
            // The first of them is the one that was set.
            let is_draining = before.iter().find(|upstream| is_named_so(upstream)).is_some_and(|was| was.is_draining);
            let leads_there = |of: &UpstreamOptions| of.address == given.address && of.transport == given.transport;
            let is_same = |upstream: &Upstream| is_named_so(upstream) && leads_there(&upstream.options);
            let mut upstream = match before.iter().position(is_same) {
                Some(at) => before.remove(at),
                None => {
                    let id = UpstreamId(self.next_id);
                    self.next_id += 1;
                    Upstream::new(id, given.clone())
                }
            };
            upstream.set_options(given, is_draining);
            self.upstreams.push(upstream);
        }
        for upstream in &mut self.upstreams {
            upstream.check_at_ms = upstream.check_at_ms.min(now_ms.saturating_add(options.check_interval_ms));
        }
        before.iter_mut().for_each(|upstream| upstream.is_removed = true);
        self.upstreams.append(&mut before);
        self.options = options;
        self.forget_removed();
        Ok(())
    }

    /// An upstream connection is being dialled. Say then one of [`opened`](Self::opened), [`failed`](Self::failed),
    /// [`refused`](Self::refused) and [`abandoned`](Self::abandoned), and of which vhost it is, if that is known by then.
    pub fn dialled(&mut self, id: UpstreamId, vhost: Option<&str>, now_ms: u64) {
        self.change(id, |upstream, options| {
            upstream.counters.dialled += 1;
            upstream.dialling_count += 1;
            upstream.breaker.tried(options, now_ms);
            upstream.refusals.tried(vhost, options, now_ms);
        });
    }

    /// An upstream connection is open: the upstream speaks, even if only to refuse a login. Returns its state if it is another one than
    /// before.
    pub fn opened(&mut self, id: UpstreamId, vhost: Option<&str>) -> Option<State> {
        self.change(id, |upstream, _| {
            upstream.counters.opened += 1;
            upstream.end_dialling();
            upstream.connection_count += 1;
            upstream.breaker.succeeded();
            upstream.refusals.succeeded(vhost);
        })
    }

    /// An upstream connection could not be opened. Returns the upstream's state if it is another one than before.
    pub fn failed(
        &mut self,
        id: UpstreamId,
        vhost: Option<&str>,
        now_ms: u64,
        random: u64,
        why: &str,
    ) -> Option<State> {
        self.change(id, |upstream, options| {
            upstream.counters.failed += 1;
            upstream.end_dialling();
            upstream.remember(why, now_ms);
            upstream.breaker.failed(options, now_ms, random);
            upstream.refusals.left_untried(vhost, now_ms);
        })
    }

    /// An upstream connection could not be opened: the upstream has let its user in, but refuses this vhost to every user for now. Returns
    /// the upstream's state if it is another one than before: it speaks, and so it is well.
    pub fn refused(&mut self, id: UpstreamId, vhost: &str, now_ms: u64, random: u64, why: &str) -> Option<State> {
        self.change(id, |upstream, options| {
            upstream.counters.failed += 1;
            upstream.end_dialling();
            upstream.remember(why, now_ms);
            upstream.breaker.succeeded();
            upstream.refusals.refused(vhost, why, options, now_ms, random);
        })
    }

    /// The connection that is being dialled is no longer wanted. This says nothing about the upstream.
    pub fn abandoned(&mut self, id: UpstreamId, vhost: Option<&str>, now_ms: u64) {
        self.change(id, |upstream, _| {
            upstream.counters.abandoned += 1;
            upstream.end_dialling();
            upstream.refusals.left_untried(vhost, now_ms);
            if upstream.dialling_count == 0 {
                upstream.breaker.left_untried(now_ms);
            }
        });
    }

    /// An open upstream connection has ended, for whatever reason.
    pub fn lost(&mut self, id: UpstreamId) {
        self.change(id, |upstream, _| {
            debug_assert!(upstream.connection_count > 0, "a connection ended that was not open: {upstream:?}");
            upstream.counters.lost += 1;
            upstream.connection_count = upstream.connection_count.saturating_sub(1);
        });
    }

    /// No new upstream connections there. Returns the upstream's state if it is another one than before.
    pub fn drain(&mut self, id: UpstreamId) -> Option<State> {
        self.change(id, |upstream, _| upstream.is_draining = true)
    }

    /// New upstream connections there again. Returns the upstream's state if it is another one than before.
    pub fn undrain(&mut self, id: UpstreamId) -> Option<State> {
        self.change(id, |upstream, _| upstream.is_draining = false)
    }

    /// The upstream that operators call so.
    #[must_use]
    pub fn id_of(&self, name: &str) -> Option<UpstreamId> {
        self.upstreams.iter().find(|upstream| upstream.options.name == name).map(|upstream| upstream.id)
    }

    /// What is set for an upstream that is not forgotten.
    #[must_use]
    pub(crate) fn options_of(&self, id: UpstreamId) -> Option<&UpstreamOptions> {
        self.get(id).map(|upstream| &upstream.options)
    }

    /// The state of an upstream that is not forgotten.
    #[must_use]
    pub(crate) fn state_of(&self, id: UpstreamId) -> Option<State> {
        self.get(id).map(Upstream::state)
    }

    /// Whether an upstream is known to refuse this vhost to every user.
    #[must_use]
    pub(crate) fn is_refusing(&self, id: UpstreamId, vhost: Option<&str>) -> bool {
        self.get(id).is_some_and(|upstream| upstream.refusals.text(vhost).is_some())
    }

    /// The words of one that is up, serves this vhost and refuses it to every user.
    #[must_use]
    pub(crate) fn refusal_of(&self, vhost: Option<&str>) -> Option<&str> {
        let mut up = self.serving(vhost).into_iter().filter(|upstream| upstream.state() == State::Up);
        up.find_map(|upstream| upstream.refusals.text(vhost))
    }

    /// Forgets vhosts that upstreams refuse, and that no client has asked for for long. Whether there were any: say it now and then.
    pub(crate) fn forget_refusals(&mut self, now_ms: u64) -> bool {
        let mut is_any = false;
        for upstream in &mut self.upstreams {
            is_any |= upstream.refusals.forget(now_ms);
        }
        is_any
    }

    /// Whether an upstream was neither checked nor dialled yet.
    #[must_use]
    pub fn is_unseen(&self, id: UpstreamId) -> bool {
        self.get(id).is_some_and(|upstream| upstream.counters == Counters::default())
    }

    /// Upstream connections there, those that are being dialled included: how much is left of one that drains.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn connection_count_of(&self, id: UpstreamId) -> usize {
        self.get(id).map_or(0, Upstream::use_count)
    }

    /// All upstreams, in their order, those that were removed last.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Snapshot> {
        self.upstreams.iter().map(Upstream::snapshot).collect()
    }

    fn get(&self, id: UpstreamId) -> Option<&Upstream> {
        self.upstreams.iter().find(|upstream| upstream.id == id)
    }

    /// Checks may end after their upstream was forgotten: what is said about it then is said about nothing.
    fn change(&mut self, id: UpstreamId, change: impl FnOnce(&mut Upstream, &Options)) -> Option<State> {
        let upstream = self.upstreams.iter_mut().find(|upstream| upstream.id == id)?;
        let before = upstream.state();
        change(upstream, &self.options);
        let after = upstream.state();
        if upstream.is_removed {
            self.forget_removed();
        }
        (before != after).then_some(after)
    }

    fn forget_removed(&mut self) {
        self.upstreams.retain(|upstream| !upstream.is_removed || upstream.use_count() > 0);
    }
}
