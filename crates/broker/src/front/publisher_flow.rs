//! What holds a publisher back: alarms, the store, the vhost's limit of rates; and, whatever a client does, a broker that is about to stop.

use std::time::Duration;

/// How things stand with that.
#[derive(Debug, Default)]
pub(super) struct PublisherFlow {
    /// An alarm was on, the store behind, or a trace there, when this read began.
    checks_publishes: bool,
    /// Why nothing is received: looked at for every frame, so all in one.
    stops: u8,
    /// The frame that was read last was not taken, because the store is behind.
    is_put_back: bool,
    /// How long nothing is received, because the vhost's limit of rates asks for it.
    throttled_for: Duration,
}

/// Publishes are refused by silence: an alarm is on, and this connection publishes.
const BLOCKED: u8 = 1;
/// The store asked publishers to wait.
const CONGESTED: u8 = 2;
/// The broker is about to stop.
const PAUSED: u8 = 4;

impl PublisherFlow {
    fn set(&mut self, stop: u8, is_set: bool) {
        if is_set {
            self.stops |= stop;
        } else {
            self.stops &= !stop;
        }
    }

    /// Whether nothing is received.
    pub(super) fn is_stopped(&self) -> bool {
        self.stops != 0 || self.is_throttled()
    }

    /// Nothing holds the client back any longer: the connection ends.
    pub(super) fn forget(&mut self) {
        (self.stops, self.throttled_for) = (0, Duration::ZERO);
    }

    /// Nothing is received until the connection ends.
    pub(super) fn pause(&mut self) {
        self.set(PAUSED, true);
    }

    /// A read begins; whether each of its publishes has to be checked, because an alarm is on, the store is behind, or calls
    /// are traced.
    #[inline]
    pub(super) fn begin_read(&mut self, checks_publishes: bool) {
        self.checks_publishes = checks_publishes;
    }

    /// Whether the publishes of this read have to be checked.
    #[inline(always)]
    pub(super) fn checks_publishes(&self) -> bool {
        self.checks_publishes
    }

    pub(super) fn set_blocked(&mut self, is_blocked: bool) {
        self.set(BLOCKED, is_blocked);
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.stops & BLOCKED != 0
    }

    pub(super) fn set_congested(&mut self, is_congested: bool) {
        self.set(CONGESTED, is_congested);
    }

    pub(super) fn is_congested(&self) -> bool {
        self.stops & CONGESTED != 0
    }

    /// The frame that was read last comes again if the store is behind.
    pub(super) fn put_back_if_congested(&mut self) {
        self.is_put_back = self.is_congested();
    }

    pub(super) fn is_put_back(&self) -> bool {
        self.is_put_back
    }

    /// Whether the frame that was read last comes again; asked once a read.
    pub(super) fn take_put_back(&mut self) -> bool {
        self.is_blocked() || std::mem::take(&mut self.is_put_back)
    }

    pub(super) fn throttle_for(&mut self, time: Duration) {
        self.throttled_for = time;
    }

    pub(super) fn throttled_for(&self) -> Duration {
        self.throttled_for
    }

    pub(super) fn is_throttled(&self) -> bool {
        !self.throttled_for.is_zero()
    }
}
