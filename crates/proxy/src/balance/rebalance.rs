//! Which upstream connections are to be left, though nothing is wrong with them that they know of.

use super::upstream::Upstream;
use super::{Balance, State, UpstreamId};

impl Balance {
    /// Whether an upstream connection of this vhost is where no other one of it would be dialled, whatever happens: its upstream drains, is
    /// no longer in the options, or leaves the vhost to others now. `None` for an upstream connection whose vhost is not known yet.
    #[must_use]
    pub(crate) fn should_drain(&self, id: UpstreamId, vhost: Option<&str>) -> bool {
        if self.state_of(id).is_none_or(|state| state == State::Draining) {
            return true;
        }
        let serving = self.serving(vhost);
        !serving.is_empty() && serving.iter().all(|upstream| upstream.id != id)
    }

    /// Whether an upstream connection of this vhost that is open would better be elsewhere: its upstream is down, or a reserve, and another
    /// one is up that is not, and lets clients into the vhost as far as is known. Not asked of upstream connections that are being opened:
    /// these are where they are because the others failed just now, or to see whether one is back.
    #[must_use]
    pub(crate) fn has_better_upstream(&self, id: UpstreamId, vhost: Option<&str>) -> bool {
        let Some(own) = self.get(id) else { return true };
        let (is_down, is_spare) = (own.state() == State::Down, own.options.weight == 0);
        let is_better = |other: &Upstream| is_down || (is_spare && other.options.weight > 0);
        let is_open = |other: &Upstream| other.state() == State::Up && other.refusals.text(vhost).is_none();
        let mut others = self.serving(vhost).into_iter().filter(|other| other.id != id && is_open(other));
        others.any(is_better)
    }
}
