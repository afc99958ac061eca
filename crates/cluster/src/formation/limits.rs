//! Every number a reviewer would ask about.

/// How long a peer may take to answer before it counts as missing.
pub const ANSWER_WAIT_MS: u64 = 3_000;
/// How long empty nodes wait for the rest once a majority can be reached: one of the rest might have data, which is to be the cluster's.
pub const REST_WAIT_MS: u64 = 30_000;
/// How long looking up names may take.
pub const DISCOVERY_WAIT_MS: u64 = 10_000;
