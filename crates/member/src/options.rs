//! How a member is opened.

/// How a member is opened.
pub struct Options {
    /// About its directory and its journal; the same as for a store.
    pub store: store::Options,
    /// How long it waits for a leader.
    pub timing: consensus::Timing,
    /// Where its random numbers begin.
    pub seed: u64,
    /// Whether its journal is written step by step: see [`Member::step_journal`](crate::Member::step_journal).
    pub is_stepped: bool,
}
