//! How far a leader may call entries committed: rule 8.
//!
//! ```text
//!   log   … records │ change │ records   records │ mark │ records …
//!                            └ called committed only with the mark ┘
//! ```
//!
//! Members act by the last change that they know to be committed, and what they know after a restart is in their logs: all changes but
//! the last are (rule 7). So behind each change that makes a difference its leader appends another one that makes none, its **mark**.
//! When that is committed, a majority of the new members has on disk that the change is, and any majority of them can elect a leader
//! alone. Until then nothing behind the change is called committed: it would be lost to a majority that does not know itself as one.

use crate::ids::Index;

/// What is known of the last change of members.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    /// A mark has been applied since the last change that made a difference.
    is_there: bool,
    /// The last change that made a difference, until its mark is applied.
    unmarked: Option<Index>,
    /// Up to where entries were called committed.
    announced: Index,
}

impl Mark {
    /// Of a member that begins with what its checkpoint has. Whether the last change before that was marked is not known.
    pub(crate) fn new(checkpoint: Index) -> Self {
        Mark { announced: checkpoint, ..Mark::default() }
    }

    /// The member begins anew, with files that reach up to there.
    pub(crate) fn restored(&mut self, to: Index) {
        *self = Mark::new(to.max(self.announced));
    }

    /// A change of members has been applied. One that makes no difference is a mark.
    pub(crate) fn applied(&mut self, index: Index, is_different: bool) {
        self.is_there = !is_different;
        self.unmarked = is_different.then_some(index);
    }

    /// Whether a leader has to append a mark.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.is_there
    }

    /// Whether nothing is known of a change without a mark; of a leader: whether it knows the mark.
    pub(crate) fn is_settled(&self, is_leader: bool) -> bool {
        if is_leader { self.is_there } else { self.unmarked.is_none() }
    }

    /// Up to where a leader calls entries committed which knows them to be on a majority's disks up to `committed`. `unapplied`: the last
    /// change of members up to there that is not applied yet. It says that those before it are committed, and stands for nothing itself.
    pub(crate) fn limit(&mut self, committed: Index, unapplied: Option<Index>) -> Index {
        let limit = unapplied.or(self.unmarked).unwrap_or(if self.is_there { committed } else { self.announced });
        self.announced = self.announced.max(limit.min(committed));
        self.announced
    }

    /// Clients never hear what a follower calls committed.
    pub(crate) fn announce(&mut self, committed: Index) -> Index {
        self.announced = self.announced.max(committed);
        self.announced
    }
}
