//! What a node is at the moment.
//!
//! ```text
//!   a member's directory ─────────────────────────────────────────────┐
//!                                                                     ▼
//!   any other ─────────► Forming ── founds a cluster, or joins one ─► Member
//!                         │  ▲ ▲                                      │
//!            stays alone  │  │ └────────────── reset ─────────────────┘
//!                         ▼  │
//!                        Alone    founds, joins or is reset: what it serves is stopped first
//!
//!   any ── cannot go on, or the process ends ─► Failed
//! ```

use std::sync::Arc;

use consensus::Members;
use store::{RecoveredStore, Store};

use crate::driver::Driver;

/// A store that was opened and is not served yet, with what was found in it.
pub(super) type OpenedStore = (Arc<Store>, RecoveredStore);

/// See the module.
pub(super) enum Phase {
    /// On its way into a cluster. The store of its directory, if that may stay alone.
    Forming(Option<OpenedStore>),
    /// It serves on its own.
    Alone,
    /// It belongs to a cluster.
    Member(Driver),
    /// It has failed, or has ended.
    Failed,
}

/// How far a member's log reaches. All zeros for a node that is no member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogExtent {
    /// No members have ever been reported to it.
    pub(super) is_new: bool,
    /// Up to there it has all that is committed, on its disk.
    pub(super) applied: u64,
    /// Where it ends.
    pub(super) last: u64,
    /// The same in bytes.
    pub(super) end: u64,
}

impl LogExtent {
    /// Of a directory without a log.
    pub(super) const NONE: LogExtent = LogExtent { is_new: true, applied: 0, last: 0, end: 0 };
}

impl Phase {
    pub(super) fn is_member(&self) -> bool {
        matches!(self, Phase::Member(_))
    }

    /// The member, if there is one.
    pub(super) fn driver(&self) -> Option<&Driver> {
        match self {
            Phase::Member(driver) => Some(driver),
            _ => None,
        }
    }

    /// The member, if it leads and serves.
    pub(super) fn leading(&self) -> Option<&Driver> {
        self.driver().filter(|driver| driver.is_serving())
    }

    pub(super) fn is_leading(&self) -> bool {
        self.leading().is_some()
    }

    /// The members as far as this node knows; none where it is new, or no member.
    pub(super) fn members(&self) -> Members {
        self.driver().map(|driver| driver.status().members).unwrap_or_default()
    }

    /// How far the log of this directory reaches.
    pub(super) fn log_extent(&self) -> LogExtent {
        self.driver().map_or(LogExtent::NONE, |driver| {
            let status = driver.status();
            LogExtent {
                is_new: status.members.voters.is_empty(),
                applied: status.applied.0,
                last: status.last.index.0,
                end: driver.end(),
            }
        })
    }
}
