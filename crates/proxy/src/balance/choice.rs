//! Which upstream gets a new upstream connection.

use std::cmp::Ordering;

use super::upstream::Upstream;
use super::{Balance, Choice, Strategy, UpstreamId};

impl Balance {
    /// Where an upstream connection for this vhost is to be dialled; `None` for an upstream connection that is only to check a login, which
    /// any upstream can. Not where it has failed already: at `except`.
    ///
    /// Say [`dialled`](Self::dialled) when it is: until then the next one may be sent there, too, even if only one should be.
    #[must_use]
    pub fn choose(&self, vhost: Option<&str>, except: &[UpstreamId], now_ms: u64, random: u64) -> Choice {
        let serving = self.serving(vhost);
        if serving.is_empty() {
            return Choice::Nowhere;
        }
        let is_usable = |upstream: &&Upstream| upstream.is_usable(vhost, now_ms) && !except.contains(&upstream.id);
        let usable: Vec<&Upstream> = serving.iter().copied().filter(is_usable).collect();
        let (spare, ordinary): (Vec<&Upstream>, Vec<&Upstream>) =
            usable.into_iter().partition(|upstream| upstream.options.weight == 0);
        let among = if ordinary.is_empty() { spare } else { ordinary };
        let chosen = match self.options.strategy {
            Strategy::Weighted => by_weight(&among, random),
            Strategy::LeastConnections => by_connections(&among, random),
        };
        match chosen {
            Some(upstream) => Choice::Upstream(upstream.id),
            None => Choice::Later { at_ms: look_again_ms(&serving, vhost, now_ms) },
        }
    }

    /// Those that a vhost is on, whether or not they can be used now.
    pub(super) fn serving(&self, vhost: Option<&str>) -> Vec<&Upstream> {
        let there = || self.upstreams.iter().filter(|upstream| !upstream.is_removed);
        match vhost {
            None => there().collect(),
            Some(vhost) if there().any(|upstream| upstream.names(vhost)) => {
                there().filter(|upstream| upstream.names(vhost)).collect()
            }
            Some(_) => there().filter(|upstream| upstream.options.vhosts.is_empty()).collect(),
        }
    }
}

/// Among those of weight 0 each has the same share.
fn share(upstream: &Upstream) -> u64 {
    u64::from(upstream.options.weight.max(1))
}

/// A whole number below `end`, each as likely.
fn below(end: u64, random: u64) -> u64 {
    let product = u128::from(random) * u128::from(end);
    (product >> 64) as u64
}

fn by_weight<'a>(among: &[&'a Upstream], random: u64) -> Option<&'a Upstream> {
    let mut point = below(among.iter().map(|upstream| share(upstream)).sum(), random);
    among.iter().copied().find(|upstream| {
        let is_it = point < share(upstream);
        point = point.saturating_sub(share(upstream));
        is_it
    })
}

/// The one whose upstream connections would be the fewest for its weight with the new one.
fn by_connections<'a>(among: &[&'a Upstream], random: u64) -> Option<&'a Upstream> {
    let compare = |one: &&Upstream, other: &&Upstream| -> Ordering {
        let load_by = |this: &Upstream, that: &Upstream| (this.use_count() as u128 + 1) * u128::from(share(that));
        load_by(one, other).cmp(&load_by(other, one))
    };
    let least = among.iter().min_by(|one, other| compare(one, other))?;
    let equals: Vec<&Upstream> =
        among.iter().copied().filter(|upstream| compare(upstream, least) == Ordering::Equal).collect();
    by_weight(&equals, random)
}

/// When one of these may be usable that is not so now.
fn look_again_ms(serving: &[&Upstream], vhost: Option<&str>, now_ms: u64) -> u64 {
    serving.iter().map(|upstream| upstream.look_again_ms(vhost, now_ms)).min().unwrap_or(now_ms)
}
