//! Which lines are to be left, though nothing is wrong with them.

use super::{Balance, State, UpstreamId};

impl Balance {
    /// Whether a line of this vhost is where no other one of it would be dialled, whatever happens: its upstream drains, is gone from the
    /// options, or leaves the vhost to others now. `None` for a line whose vhost is not known yet.
    #[must_use]
    pub fn is_misplaced(&self, id: UpstreamId, vhost: Option<&str>) -> bool {
        if self.state_of(id).is_none_or(|state| state == State::Draining) {
            return true;
        }
        let serving = self.serving(vhost);
        !serving.is_empty() && serving.iter().all(|upstream| upstream.id != id)
    }
}
