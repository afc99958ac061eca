//! The journal of a member, as it passes from one owner to another.
//!
//! ```text
//!              follow                  begin_opening               lead
//!   ┌► Closed ────────► Following ─────────────────────► Opening ────────► Leading
//!   │    ▲  ▲  replaced,  │          elected, all is        │                 │
//!   │    │  └─ restored ──┘          committed              │ lose            │ lose, refuse
//!   │    └──────────────────────────────────────────────────┘                 ▼
//!   └───────────────────────────── step_back ────────────────────────────── Lost
//! ```
//!
//! A follower's journal takes what the leader sends. A leader's has a store on it, which the owner of the member opens and drops: so one
//! that no longer leads is *lost* until its store is dropped. A closed journal is opened anew by `rebuild`, whatever closed it.

use std::sync::Arc;

use store::journal::Journal;

/// What the journal is just now.
pub(crate) enum Slot {
    /// Closed, or about to be: `rebuild` opens it. What is to be written gathers meanwhile.
    Closed,
    /// It takes what the leader sends.
    Following(Journal),
    /// A store is being opened on it.
    Opening,
    /// A store is open on it.
    Leading(Journal),
    /// The store on it is to be dropped: this member no longer leads.
    Lost,
}

/// A journal on which nothing more will be written, and which does not know it yet.
pub(crate) struct Ending {
    pub(crate) journal: Journal,
    /// Why; nothing if it is that this member does not lead.
    pub(crate) failure: Option<Arc<str>>,
}

/// The slot, and the news for its journal, which is delivered without the lock: the tasks that it wakes may do much.
pub(super) struct JournalSlot {
    slot: Slot,
    ending: Option<Ending>,
    /// More is committed than the journal knows.
    is_commit_news: bool,
}

impl JournalSlot {
    pub(super) fn closed() -> JournalSlot {
        JournalSlot { slot: Slot::Closed, ending: None, is_commit_news: false }
    }

    pub(super) fn slot(&self) -> &Slot {
        &self.slot
    }

    /// The journal, if it is open.
    pub(super) fn open(&self) -> Option<&Journal> {
        match &self.slot {
            Slot::Following(journal) | Slot::Leading(journal) => Some(journal),
            Slot::Closed | Slot::Opening | Slot::Lost => None,
        }
    }

    /// The journal, if it takes what the leader sends.
    pub(super) fn following(&self) -> Option<&Journal> {
        if let Slot::Following(journal) = &self.slot { Some(journal) } else { None }
    }

    /// The journal, if a store is open on it.
    pub(super) fn leading(&self) -> Option<&Journal> {
        if let Slot::Leading(journal) = &self.slot { Some(journal) } else { None }
    }

    /// Whether a store is open, or being opened.
    pub(super) fn has_store(&self) -> bool {
        matches!(self.slot, Slot::Opening | Slot::Leading(_))
    }

    /// The journal has been opened, and takes what the leader sends.
    pub(super) fn follow(&mut self, journal: Journal) {
        debug_assert!(matches!(self.slot, Slot::Closed), "a journal is open already");
        (self.slot, self.is_commit_news) = (Slot::Following(journal), true);
    }

    /// A store is about to be opened, if this member follows; says whether it does.
    pub(super) fn begin_opening(&mut self) -> bool {
        let is_following = matches!(self.slot, Slot::Following(_));
        if is_following {
            self.slot = Slot::Opening;
        }
        is_following
    }

    /// The store that was being opened is open.
    pub(super) fn lead(&mut self, journal: Journal) {
        debug_assert!(matches!(self.slot, Slot::Opening), "no store was being opened");
        (self.slot, self.is_commit_news) = (Slot::Leading(journal), true);
    }

    /// This member no longer leads: a journal with a store on it fails, in words that its owner understands.
    pub(super) fn lose(&mut self) {
        match std::mem::replace(&mut self.slot, Slot::Closed) {
            Slot::Leading(journal) => {
                self.ending = Some(Ending { journal, failure: None });
                self.slot = Slot::Lost;
            }
            // The thread that is opening the store sees it.
            Slot::Opening => {}
            slot => self.slot = slot,
        }
    }

    /// The journal's writer was refused a place in the log: it takes that for an answer, and the journal fails.
    pub(super) fn refuse(&mut self) {
        self.slot = Slot::Lost;
    }

    /// The journal has to be opened anew: it has what the log no longer has.
    pub(super) fn close(&mut self) {
        match self.slot {
            Slot::Following(_) => self.slot = Slot::Closed,
            _ => self.lose(),
        }
    }

    /// The store that was open, if there was one, is dropped.
    pub(super) fn step_back(&mut self) {
        if matches!(self.slot, Slot::Lost | Slot::Opening | Slot::Leading(_)) {
            self.slot = Slot::Closed;
        }
    }

    /// This member has failed, and its journal with it.
    pub(super) fn fail(&mut self, reason: &Arc<str>) {
        if let Some(journal) = self.open() {
            self.ending = Some(Ending { journal: journal.clone(), failure: Some(reason.clone()) });
        }
    }

    /// More is committed.
    pub(super) fn note_committed(&mut self) {
        self.is_commit_news = true;
    }

    /// The journal to notify of how far it is committed, if that is news to it.
    pub(super) fn take_commit_news(&mut self) -> Option<Journal> {
        let journal = self.open()?.clone();
        std::mem::take(&mut self.is_commit_news).then_some(journal)
    }

    /// The journal to notify that it has failed.
    pub(super) fn take_ending(&mut self) -> Option<Ending> {
        self.ending.take()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::ids::JournalPosition;
    use store::file::{Disk, SimDisk};
    use store::journal::{self, Options, Recovery};

    use super::*;

    fn journal() -> Journal {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
        let dir = Path::new("/data/journal");
        let mut recovery = Recovery::open(disk, dir, JournalPosition::START, 0).unwrap();
        recovery.read_entries(&mut |_| {}).unwrap();
        journal::assemble(recovery, Options::default(), Arc::new(|_| {}), None).unwrap().0
    }

    fn name(slot: &JournalSlot) -> &'static str {
        match slot.slot() {
            Slot::Closed => "closed",
            Slot::Following(_) => "following",
            Slot::Opening => "opening",
            Slot::Leading(_) => "leading",
            Slot::Lost => "lost",
        }
    }

    /// In a state, with the news for the journal on the way there taken.
    fn in_state(state: &str) -> JournalSlot {
        let mut slot = JournalSlot::closed();
        if state != "closed" {
            slot.follow(journal());
        }
        if ["opening", "leading", "lost"].contains(&state) {
            assert!(slot.begin_opening());
        }
        if ["leading", "lost"].contains(&state) {
            slot.lead(journal());
        }
        if state == "lost" {
            slot.lose();
        }
        slot.take_ending();
        slot.take_commit_news();
        assert_eq!(name(&slot), state);
        slot
    }

    const STATES: [&str; 5] = ["closed", "following", "opening", "leading", "lost"];

    /// What becomes of each of [`STATES`], and in which of them a journal is notified that it has ended.
    #[track_caller]
    fn check(act: fn(&mut JournalSlot), expected: [&str; 5], told: &[&str]) {
        for (state, expected) in STATES.into_iter().zip(expected) {
            let mut slot = in_state(state);
            act(&mut slot);
            assert_eq!(name(&slot), expected, "from {state}");
            assert_eq!(slot.take_ending().is_some(), told.contains(&state), "from {state}");
        }
    }

    #[test]
    fn each_step_leads_where_the_picture_says() {
        check(JournalSlot::lose, ["closed", "following", "closed", "lost", "lost"], &["leading"]);
        check(JournalSlot::close, ["closed", "closed", "closed", "lost", "lost"], &["leading"]);
        check(JournalSlot::step_back, ["closed", "following", "closed", "closed", "closed"], &[]);
        let fail = |slot: &mut JournalSlot| slot.fail(&"the disk is gone".into());
        check(fail, STATES, &["following", "leading"]);
        let open = |slot: &mut JournalSlot| {
            slot.begin_opening();
        };
        check(open, ["closed", "opening", "opening", "leading", "lost"], &[]);
    }

    #[test]
    fn a_journal_that_was_opened_is_told_how_far_it_is_committed() {
        let mut slot = in_state("closed");
        slot.note_committed();
        assert!(slot.take_commit_news().is_none(), "it is told when it is open");
        slot.follow(journal());
        assert!(slot.take_commit_news().is_some() && slot.take_commit_news().is_none());
        slot.begin_opening();
        slot.lead(journal());
        assert!(slot.take_commit_news().is_some() && slot.take_commit_news().is_none());
        slot.note_committed();
        assert!(slot.take_commit_news().is_some());
    }

    #[test]
    fn a_journal_fails_by_the_lost_lead_or_for_a_reason() {
        let mut slot = in_state("leading");
        slot.lose();
        assert!(slot.take_ending().is_some_and(|ending| ending.failure.is_none()));
        let mut slot = in_state("following");
        slot.fail(&"the disk is gone".into());
        assert_eq!(slot.take_ending().and_then(|ending| ending.failure).as_deref(), Some("the disk is gone"));
    }
}
