//! What must hold of a group, whichever member says it: looked at after every step.

use std::collections::{BTreeMap, HashMap, HashSet};

use consensus::{Base, Body, Entry, Index, Kind, LogId, MemberId, Members, Message, Round, Term};

/// An entry as all members must have it.
type Fixed = (Kind, u32, u64);

/// All that was ever seen of one group.
#[derive(Default)]
pub(super) struct Facts {
    leaders: HashMap<Term, MemberId>,
    votes: HashMap<(MemberId, Term), MemberId>,
    /// Contents of each entry that was ever in a log.
    written: HashMap<LogId, Fixed>,
    /// What was committed, for ever.
    pub(super) committed: BTreeMap<Index, Term>,
    /// Up to where a leader has called entries committed, so that clients may have been answered.
    pub(super) promised: Index,
    /// The members as of each base.
    members: HashMap<Index, Members>,
    /// Members that were removed and whose directories were replaced: what they had acknowledged counts.
    pub(super) gone: HashSet<MemberId>,
}

impl Facts {
    /// Rule of Raft: at most one leader a term.
    pub(super) fn leads(&mut self, member: MemberId, term: Term) {
        let leader = *self.leaders.entry(term).or_insert(member);
        assert_eq!(leader, member, "two leaders in term {}", term.0);
    }

    /// No member votes for two in a term. Looked at when the vote leaves.
    pub(super) fn says(&mut self, message: &Message) {
        let candidate = match message.body {
            Body::Vote { round: Round::Election, is_granted: true, .. } => message.to,
            Body::Ask { round: Round::Election, .. } => message.from,
            _ => return,
        };
        let vote = *self.votes.entry((message.from, message.term)).or_insert(candidate);
        assert_eq!(vote, candidate, "{:?} votes twice in term {}", message.from, message.term.0);
    }

    /// Two entries of one id are the same, once one was sent or has outlived a restart: of what a leader has only begun to write, a power
    /// cut may leave nothing.
    pub(super) fn writes(&mut self, entry: &Entry, contents: u64) {
        let fixed = (entry.kind.clone(), entry.len, contents);
        let first = self.written.entry(entry.id).or_insert_with(|| fixed.clone());
        assert_eq!(*first, fixed, "entry {} has two contents", entry.id);
    }

    /// What is committed stays so for ever, and everywhere. True if this is the first report of it.
    pub(super) fn commits(&mut self, id: LogId) -> bool {
        let is_first = !self.committed.contains_key(&id.index);
        let term = *self.committed.entry(id.index).or_insert(id.term);
        assert_eq!(term, id.term, "entry {} was committed with another term", id.index.0);
        is_first
    }

    /// A leader calls all entries up to there committed.
    pub(super) fn promises(&mut self, upto: Index) {
        self.promised = self.promised.max(upto);
    }

    /// Where a log begins, all was committed, and the members are the same everywhere.
    pub(super) fn begins(&mut self, base: &Base) {
        if base.id.index.0 > 1 {
            let term = self.committed.get(&base.id.index);
            assert_eq!(term, Some(&base.id.term), "a log begins at {}, which is not committed", base.id);
        }
        let members = self.members.entry(base.id.index).or_insert_with(|| base.members.clone());
        assert_eq!(*members, base.members, "two sets of members as of {}", base.id);
    }

    /// The end of what was ever committed.
    pub(super) fn end(&self) -> Index {
        self.committed.last_key_value().map_or(Index(1), |(index, _)| *index)
    }
}
