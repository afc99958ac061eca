//! When a peer was last heard, and when something was last said to it: what heartbeats go by.

#[derive(Debug, Clone, Copy)]
pub(super) struct Liveness {
    heard_ms: u64,
    said_ms: u64,
}

impl Liveness {
    pub(super) fn new(now_ms: u64) -> Self {
        Liveness { heard_ms: now_ms, said_ms: now_ms }
    }

    #[inline]
    pub(super) fn heard(&mut self, now_ms: u64) {
        self.heard_ms = now_ms;
    }

    #[inline]
    pub(super) fn said(&mut self, now_ms: u64) {
        self.said_ms = now_ms;
    }

    /// Whether nothing was heard for so long.
    pub(super) fn is_silent_for(&self, silence_ms: u64, now_ms: u64) -> bool {
        now_ms >= self.heard_ms + silence_ms
    }

    /// Whether a peer that expects something every `beat_ms` is to get something now.
    pub(super) fn is_beat_due(&self, beat_ms: u64, now_ms: u64) -> bool {
        now_ms >= self.said_ms + beat_ms / 2
    }
}
