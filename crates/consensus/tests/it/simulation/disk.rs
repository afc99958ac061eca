//! One member's disk: what is durable, what was written and not synced, and what a power cut leaves of that.

use std::collections::VecDeque;

use consensus::{
    Ballot, BallotFile, Base, Entry, Index, Log, LogId, MemberId, NumberedBallot, ReadyNumber, SECTOR_LEN, Sector,
};

use super::random::Random;

/// An entry with its contents, which are a number here.
pub(super) type Commit = (Entry, u64);

/// Something to be made durable.
#[derive(Debug, Clone)]
pub(super) enum Write {
    Ballot(NumberedBallot),
    Restore(Base),
    Append(Vec<Commit>),
    /// A checkpoint that reaches up to there, and where the journal now begins.
    Checkpoint(Index, Base),
}

/// What a power cut does not take.
pub(super) struct Disk {
    pub(super) member: MemberId,
    ballots: [Sector; 2],
    pub(super) base: Base,
    pub(super) journal: Vec<Commit>,
    pub(super) checkpoint: Index,
    /// What was written after that, in order, with the number that waits for it.
    unsynced: VecDeque<(Option<ReadyNumber>, Write)>,
    /// The last ballot that was written, be it synced or not.
    last_ballot: NumberedBallot,
}

impl Disk {
    /// A new directory, whose log begins at that base.
    pub(super) fn new(member: MemberId, base: Base) -> Self {
        let first = NumberedBallot::first(member, Ballot { term: base.id.term, vote: None });
        let mut ballots = [[0; SECTOR_LEN]; 2];
        ballots[first.sector()] = first.encode();
        let checkpoint = base.id.index;
        let (journal, unsynced) = (Vec::new(), VecDeque::new());
        Disk { member, ballots, base, journal, checkpoint, unsynced, last_ballot: first }
    }

    pub(super) fn ballot_file(&self) -> BallotFile {
        BallotFile::read([&self.ballots[0], &self.ballots[1]])
    }

    /// As a member rebuilds it when it starts.
    pub(super) fn log(&self) -> Log {
        let mut log = Log::new(self.base.clone());
        self.journal.iter().for_each(|(entry, _)| log.append(entry).expect("a journal is in order"));
        log
    }

    /// Whether the entry would be there after a power cut.
    pub(super) fn has(&self, id: LogId) -> bool {
        if id.index <= self.base.id.index {
            return true;
        }
        let place = (id.index.0 - self.base.id.index.0 - 1) as usize;
        self.journal.get(place).is_some_and(|(entry, _)| entry.id == id)
    }

    pub(super) fn write(&mut self, number: Option<ReadyNumber>, write: Write) {
        self.unsynced.push_back((number, write));
    }

    pub(super) fn write_ballot(&mut self, number: Option<ReadyNumber>, ballot: Ballot) {
        self.last_ballot = self.last_ballot.next(ballot);
        self.write(number, Write::Ballot(self.last_ballot));
    }

    pub(super) fn unsynced_count(&self) -> usize {
        self.unsynced.len()
    }

    /// A sync that covers so many writes has come back; says up to which number all is durable.
    pub(super) fn sync(&mut self, count: usize) -> Option<ReadyNumber> {
        let mut done = None;
        for _ in 0..count {
            let Some((number, write)) = self.unsynced.pop_front() else { break };
            self.apply(write);
            done = done.max(number);
        }
        done
    }

    /// A power cut: some of what was not synced is there nevertheless, from the first on, the last of it in part.
    pub(super) fn cut_power(&mut self, random: &mut Random) {
        let kept = random.below(self.unsynced.len() + 1);
        let _ = self.sync(kept);
        match self.unsynced.pop_front() {
            Some((_, Write::Append(mut commits))) => {
                commits.truncate(random.below(commits.len()));
                self.apply(Write::Append(commits));
            }
            Some((_, Write::Ballot(ballot))) if random.percent(50) => {
                let torn = ballot.encode();
                let cut = random.below(44);
                self.ballots[ballot.sector()][..cut].copy_from_slice(&torn[..cut]);
            }
            _ => {}
        }
        self.unsynced.clear();
        if let BallotFile::Whole { last, .. } = self.ballot_file() {
            self.last_ballot = last;
        }
    }

    fn apply(&mut self, write: Write) {
        match write {
            Write::Ballot(ballot) => self.ballots[ballot.sector()] = ballot.encode(),
            Write::Restore(base) => {
                self.journal.clear();
                self.checkpoint = base.id.index;
                self.base = base;
            }
            Write::Append(commits) => {
                let Some((first, _)) = commits.first() else { return };
                let place = (first.id.index.0 - self.base.id.index.0 - 1) as usize;
                assert!(place <= self.journal.len(), "the journal gets a gap before {}", first.id);
                self.journal.truncate(place);
                self.journal.extend(commits);
            }
            Write::Checkpoint(checkpoint, base) => {
                // A restore may have come between.
                if base.id.index >= self.base.id.index {
                    let count = (base.id.index.0 - self.base.id.index.0) as usize;
                    self.journal.drain(..count);
                    self.base = base;
                }
                self.checkpoint = self.checkpoint.max(checkpoint);
            }
        }
    }

    /// For breaking a rule on purpose: the last synced entries are lost, and no checkpoint covers them.
    pub(super) fn lose_tail(&mut self, count: usize) {
        let left = self.journal.len().saturating_sub(count);
        self.journal.truncate(left.max((self.checkpoint.0 - self.base.id.index.0) as usize));
    }
}
