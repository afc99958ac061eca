//! How long a publisher has to pause, for consumers and for its vhost's limit of rates.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Front, Protocol};
use crate::limits::{PUBLISHER_PAUSE_LEN, PUBLISHER_PAUSES_MAX};

impl<P: Protocol> Front<P> {
    /// For how many times [`PUBLISHER_PAUSE_LEN`] the connection has published more than consumers could take, and should pause once: as
    /// many as one read brings, at most.
    pub(crate) fn take_pause(&mut self) -> u32 {
        let pauses = self.batch.take_pauses(PUBLISHER_PAUSE_LEN, PUBLISHER_PAUSES_MAX.into());
        pauses as u32
    }

    /// The connection has to wait: it is shown in flow for a while.
    pub(super) fn note_flow(&self) {
        self.handle.flow_at_ms.store(self.broker.engine.clock.now_ms(), Ordering::Relaxed);
    }

    /// Whether nothing is received for the sake of the vhost's limit of rates.
    pub(crate) fn is_throttled(&self) -> bool {
        self.flow.is_throttled()
    }

    /// The time has passed that it was to wait for the vhost's limit of rates. Says whether that is all.
    pub(crate) fn end_throttling(&mut self) -> bool {
        let left = match self.principal.known_access() {
            Some(access) => access.vhost.throttle.charge(0, 0, Instant::now()),
            None => Duration::ZERO,
        };
        self.flow.throttle_for(left);
        !self.is_throttled()
    }

    /// How long nothing is received for the sake of the vhost's limit of rates.
    pub(crate) fn throttled_for(&self) -> Duration {
        self.flow.throttled_for()
    }
}
