//! Entries on their way to the journal of a follower.

use std::collections::VecDeque;
use std::sync::Arc;

use consensus::{Body, Entry, Index, Kind, LogId, Message, ReadyNumber};
use store::journal::{CommitKind, EMPTY_METAS, EntryHead, Journal, ReceivedCommit, SharedCommit};

use super::Core;
use super::pending_writes::PendingEntry;
use crate::found_entry::FoundEntry;

impl Core {
    /// Notes entries that are to be written, and hands them to the journal, or leaves them for later.
    pub(super) fn note_append(&mut self, number: ReadyNumber, entries: &mut Vec<Entry>) {
        if let Some(first) = entries.first()
            && first.id.index <= self.ends.last()
        {
            self.replace_from(first.id.index);
        }
        let mut pending = VecDeque::with_capacity(entries.len());
        for entry in entries.drain(..) {
            let Some(commit) = self.commit_of(&entry) else {
                return self.fail(&format!("the commit of entry {} is missing", entry.id));
            };
            if commit.first != self.ends.end() || commit.len() != len_of(&entry, &commit) {
                return self.fail(&format!(
                    "entry {} begins at {}, and the one before ends at {}: the two journals differ",
                    entry.id,
                    commit.first,
                    self.ends.end()
                ));
            }
            self.ends.push(commit.end());
            if entry.kind == Kind::Records {
                self.tail.push(entry.id, commit.clone());
            }
            // Before its ballot none of a term's entries lasts: else this member could not open again.
            if let Some(journal) = self.journal.following()
                && self.writes.next_ballot().is_none()
                && let Err(error) = receive(journal, entry.id, &commit)
            {
                return self.fail(&error);
            }
            pending.push_back(PendingEntry { entry, commit });
        }
        self.writes.push(number, pending);
    }

    /// Hands to the journal what it lacks of what should be durable.
    pub(super) fn hand_to(&self, journal: &Journal) -> Result<(), String> {
        let mut lacking = self.writes.lacking(journal.appended());
        lacking.try_for_each(|pending| receive(journal, pending.entry.id, &pending.commit))
    }

    /// The leader has other entries from this one on. What is in the journal is taken back: it is opened anew.
    fn replace_from(&mut self, index: Index) {
        self.ends.truncate(index);
        self.tail.truncate(index);
        self.writes.truncate(index, self.ends.end());
        self.close();
    }

    /// The bytes of an entry that is appended: they came with the message, were proposed here, or are known by its kind.
    fn commit_of(&mut self, entry: &Entry) -> Option<Arc<SharedCommit>> {
        let first = self.ends.end();
        let made = |kind, payload: Vec<u8>| {
            let len = payload.len() as u64;
            Arc::new(SharedCommit::of_payload(kind, first, len, payload))
        };
        let arrived = self.arrived.iter().find(|(id, _)| *id == entry.id).map(|(_, commit)| commit.clone());
        arrived.or_else(|| match &entry.kind {
            Kind::Records => None,
            Kind::Empty => Some(made(CommitKind::Empty, EMPTY_METAS.to_vec())),
            Kind::Members(change) => {
                let mut payload = Vec::new();
                change.encode(&mut payload);
                Some(made(CommitKind::Members, payload))
            }
        })
    }

    /// The commits of the records that a message names, as far as they are in memory.
    pub(super) fn commits_of(&self, message: &Message) -> Vec<Option<Arc<SharedCommit>>> {
        let Body::Append { entries, .. } = &message.body else { return Vec::new() };
        let records = entries.iter().filter(|entry| entry.kind == Kind::Records);
        records.map(|entry| self.tail.get(entry.id)).collect()
    }

    /// The first entry that the journal, with these, does not have as the log does; `None`: all that it has is as in the log.
    pub(crate) fn first_difference(&self, found: &[FoundEntry]) -> Option<FoundEntry> {
        let log = self.engine.log();
        let is_other =
            |entry: &&FoundEntry| entry.id.index >= log.first() && log.term(entry.id.index) != Some(entry.id.term);
        found.iter().find(is_other).cloned()
    }

    /// The journal is open and takes what the leader sends; first of all what it lacks of what should be durable.
    pub(crate) fn follow(&mut self, journal: Journal) {
        self.writes.reopen(journal.appended());
        if let Err(error) = self.hand_to(&journal) {
            return self.fail(&error);
        }
        if journal.appended() != self.ends.end() {
            return self.fail(&format!(
                "its journal ends at {}, and its log at {}: something that was acknowledged is lost",
                journal.appended(),
                self.ends.end()
            ));
        }
        self.journal.follow(journal);
        self.acknowledge();
        self.pump();
    }
}

/// Hands a commit that was looked at to the journal of a follower.
fn receive(journal: &Journal, id: LogId, commit: &SharedCommit) -> Result<(), String> {
    let head = EntryHead { id, kind: commit.kind };
    let (first, metas_len, payload) = (commit.first, commit.metas_len(), commit.to_payload());
    let received = journal.receive(ReceivedCommit { head, first, metas_len, payload });
    received.map(drop).map_err(|error| error.to_string())
}

/// How long the commit of an entry must be.
fn len_of(entry: &Entry, commit: &SharedCommit) -> u64 {
    if entry.kind == Kind::Records { u64::from(entry.len) } else { commit.len() }
}
