//! The engine over raft-rs.
//!
//! raft-rs decides; what is here keeps its caller and it to eight rules that simulations have taught ("rule" in comments,
//! `docs/dev/cluster.md`). It panics where raft-rs finds an invariant broken, which is the end of the process.

use std::collections::VecDeque;

use raft::eraftpb::{self, EntryType, MessageType};
use raft::{Changer, ProgressState, RawNode, SnapshotStatus, StateRole};
use slog::o;
use thiserror::Error;

use crate::ballot::{Ballot, BallotFile};
use crate::engine::{Engine, PeerStatus, Refusal, Status};
use crate::entry::Proposal;
use crate::ids::{GroupId, Index, LogId, MemberId, Term};
use crate::limits::{MEMBERS_MAX, MESSAGE_CONTENTS_LEN_MAX, MESSAGES_UNDER_WAY_MAX};
use crate::log::Log;
use crate::mark::Mark;
use crate::members::{Base, MemberChange, MemberStep, Members};
use crate::message::{Body, Message};
use crate::random::Random;
use crate::ready::{Leadership, Ready, ReadyNumber, Role, Shipment, ShipmentState};
use crate::storage::LogStorage;
use crate::translate;

/// How long a member waits, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Between a leader's heartbeats.
    pub heartbeat_ticks: u32,
    /// Without a leader until an election, at least; at most twice that. A leader that has not heard of a majority for so long steps down.
    pub election_ticks: u32,
}

/// What a member was when it last ran, and how it is to be from now on.
#[derive(Debug)]
pub struct Opening {
    /// For panics to say which group ended the process.
    pub group: GroupId,
    /// Which member it is.
    pub member: MemberId,
    /// What its ballot file holds.
    pub ballot: BallotFile,
    /// Its log, as the manifest and the journal have it; of a group that begins or a directory that is new, without entries.
    pub log: Log,
    /// Up to where its checkpoint reaches, which was committed before it was made. At least the log's base.
    pub checkpoint: Index,
    /// How long it waits.
    pub timing: Timing,
    /// Where its random numbers begin: of the operating system, or of a simulation.
    pub seed: u64,
}

/// A member must not run on what it has. All but `Timing` mean that it has lost what it had promised or acknowledged (rule 5): its
/// directory is set aside, and it joins anew under another id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OpenError {
    /// What it voted for is lost.
    #[error("the ballot file is damaged, or there is none although there is a log")]
    Ballot,
    /// The directory was copied from another member, or given its file.
    #[error("the ballot file is of member {0:?}")]
    OtherMember(MemberId),
    /// An entry of a later term than the ballot's was written after a ballot that is not there.
    #[error("the log has entries of term {log:?}, the ballot file ends at {ballot:?}")]
    BallotBehindLog {
        /// The ballot's.
        ballot: Term,
        /// The last entry's.
        log: Term,
    },
    /// Entries are missing that were committed and durable here.
    #[error("the log ends at {log:?}, before its checkpoint at {checkpoint:?}")]
    LogBehindCheckpoint {
        /// The last entry.
        log: Index,
        /// The checkpoint's.
        checkpoint: Index,
    },
    /// The manifest's members are not valid for a group.
    #[error("the log's base has impossible members")]
    Members,
    /// The caller's: an election must take longer than a heartbeat.
    #[error("an election must take more ticks than a heartbeat, and that at least one")]
    Timing,
}

/// What is being made durable.
#[derive(Debug, Clone, Copy)]
struct Write {
    number: ReadyNumber,
    has_ballot: bool,
}

/// A member over raft-rs.
pub struct RaftEngine {
    member: MemberId,
    raw: RawNode<LogStorage>,
    random: Random,
    election_ticks: u64,
    /// What was last given out to be written.
    ballot: Ballot,
    leadership: Leadership,
    members: Members,
    has_new_members: bool,
    mark: Mark,
    /// The last number that the engine gave to a `Ready` of its own.
    last_number: u64,
    /// What was given out and is not durable yet, in order.
    writes: VecDeque<Write>,
    /// Messages that wait for a write.
    held: VecDeque<(ReadyNumber, Vec<Message>)>,
    /// Messages that wait no longer.
    sendable: Vec<Message>,
    shipments: Vec<ShipmentState>,
    /// The write that restores, and to which index. Rule 2: until it is durable, nothing else happens.
    restoring: Option<(ReadyNumber, Index)>,
}

impl RaftEngine {
    /// A member continues where it was.
    ///
    /// # Errors
    ///
    /// It must not.
    pub fn open(opening: Opening) -> Result<Self, OpenError> {
        let Opening { group, member, ballot, log, checkpoint, timing, seed } = opening;
        let ballot = found_ballot(member, ballot, &log)?;
        let (base, last) = (log.base(), log.last());
        if ballot.term < last.term {
            return Err(OpenError::BallotBehindLog { ballot: ballot.term, log: last.term });
        }
        if checkpoint > last.index {
            return Err(OpenError::LogBehindCheckpoint { log: last.index, checkpoint });
        }
        let is_new = *base == Base::default() && last.index.0 == 0;
        if !is_new && !base.members.is_sound() {
            return Err(OpenError::Members);
        }
        if timing.heartbeat_ticks == 0 || timing.election_ticks <= timing.heartbeat_ticks {
            return Err(OpenError::Timing);
        }
        let config = config(member, timing, base.id.index);
        let members = base.members.clone();
        // Rule 3: a member begins with what its checkpoint says is committed, not with where its log begins. Rule 7: and with the change of
        // members before the last. One that holds an election under members of two changes ago may win it without a majority of today's.
        let committed = checkpoint.max(base.id.index).max(log.committed_for_sure());
        let (base, mark) = (base.clone(), Mark::new(checkpoint.max(base.id.index)));
        let storage = LogStorage { log, ballot, committed, checkpoint: base, is_checkpoint_too_old: false.into() };
        let logger = slog::Logger::root(slog::Discard, o!("group" => group.0));
        let raw = RawNode::new(&config, storage, &logger).expect("the storage has all that the engine reads");
        let mut engine = RaftEngine {
            member,
            raw,
            random: Random::new(seed ^ member.get().rotate_left(32) ^ u64::from(group.0)),
            election_ticks: timing.election_ticks.into(),
            ballot,
            leadership: Leadership { term: ballot.term, ..Leadership::default() },
            members,
            has_new_members: true,
            mark,
            last_number: 0,
            writes: VecDeque::new(),
            held: VecDeque::new(),
            sendable: Vec::new(),
            shipments: Vec::new(),
            restoring: None,
        };
        // Changes of members up to the checkpoint take effect before anything else happens.
        engine.take_all(&mut Ready::default());
        engine.checkpointed(checkpoint);
        engine.draw_timeout();
        Ok(engine)
    }

    /// Its log.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.raw.store().log
    }

    /// The engine draws its election timeout from the operating system whenever it begins to wait anew. Ours replaces it before the
    /// engine looks at it, which it does when it has waited for at least a tick: so the seed alone decides.
    fn draw_timeout(&mut self) {
        if self.raw.raft.election_elapsed == 0 {
            let ticks = self.election_ticks + self.random.below(self.election_ticks);
            self.raw.raft.set_randomized_election_timeout(ticks as usize);
        }
    }

    fn is_restoring(&self) -> bool {
        self.restoring.is_some() || self.raw.snap().is_some()
    }

    /// Whether it could win an election alone, with a log that is not durable yet. With others it cannot: its questions are held back
    /// until all is durable. raft-rs asserts that a leader's log is.
    fn might_lead_too_early(&self) -> bool {
        let log = &self.raw.raft.raft_log;
        let is_alone = self.members.is_majority(|voter| voter == self.member);
        is_alone && self.raw.raft.state != StateRole::Leader && log.persisted < log.last_index()
    }

    fn refusal(&self) -> Option<Refusal> {
        let raft = &self.raw.raft;
        let is_member = raft.prs().get(self.member.get()).is_some();
        if raft.state != StateRole::Leader || !is_member || self.is_restoring() {
            return Some(Refusal::NotLeader { leader: translate::member(raft.leader_id) });
        }
        let to = raft.lead_transferee.and_then(translate::member)?;
        Some(Refusal::HandingOver { to })
    }

    fn append(&mut self, entry: eraftpb::Entry) -> Result<LogId, Refusal> {
        let message = eraftpb::Message {
            msg_type: MessageType::MsgPropose,
            from: self.member.get(),
            entries: vec![entry],
            ..eraftpb::Message::default()
        };
        let is_appended = self.raw.raft.step(message).is_ok();
        let raft = &self.raw.raft;
        if !is_appended {
            return Err(Refusal::NotLeader { leader: translate::member(raft.leader_id) });
        }
        Ok(LogId::new(raft.term, raft.raft_log.last_index()))
    }

    /// Whether raft-rs will take the change when it is committed: only one runs at a time, so it will then be what it is now.
    fn check_possible(&self, change: &MemberChange) -> Result<(), Refusal> {
        let raft = &self.raw.raft;
        let now = &self.members;
        // raft-rs would take a change as soon as the one before is applied. Raft's author asks for an entry of the leader's own term to be
        // committed, too: until then it may not know how far others are.
        if raft.has_pending_conf() || now.is_joint() || !raft.commit_to_current_term() {
            return Err(Refusal::ChangeRuns);
        }
        let keeps_leader = |step: &MemberStep| step.member() != self.member || matches!(step, MemberStep::AddVoter(_));
        if !change.steps.iter().all(keeps_leader) {
            return Err(Refusal::OfTheLeader);
        }
        let wanted = translate::conf_change(change);
        let mut changer = Changer::new(raft.prs());
        let is_possible = match wanted.enter_joint() {
            _ if change.steps.is_empty() => false,
            Some(auto_leave) => changer.enter_joint(auto_leave, &wanted.changes).is_ok(),
            None => changer.simple(&wanted.changes).is_ok(),
        };
        let count = now.voters.len() + now.learners.len() + change.steps.len();
        if is_possible && count <= MEMBERS_MAX { Ok(()) } else { Err(Refusal::Impossible) }
    }

    /// Rule 4: raft-rs sends nothing to a member until it knows what became of its snapshot, so it learns of each.
    fn hear_of_shipments(&mut self) {
        let raw = &mut self.raw;
        let term = Term(raw.raft.term);
        self.shipments.retain(|state| {
            // A leader of another term has forgotten that it shipped anything.
            if state.term != term {
                return false;
            }
            let Some(has_arrived) = state.outcome() else { return true };
            let status = if has_arrived { SnapshotStatus::Finish } else { SnapshotStatus::Failure };
            raw.report_snapshot(state.to.get(), status);
            false
        });
    }

    fn take_all(&mut self, out: &mut Ready) {
        while self.restoring.is_none() && self.raw.has_ready() {
            self.take_one(out);
        }
    }

    /// One `Ready` of raft-rs becomes part of ours.
    fn take_one(&mut self, out: &mut Ready) {
        let mut ready = self.raw.ready();
        let number = ReadyNumber(ready.number());
        self.last_number = number.0;
        let has_ballot = self.take_ballot(out);
        let has_restore = self.take_restore(ready.snapshot(), number, out);
        let entries = ready.take_entries();
        let is_written = has_ballot || has_restore || !entries.is_empty();
        for entry in entries {
            let entry = translate::entry(&entry);
            // Rule 1: the engine reads it from here from now on.
            self.raw.mut_store().log.append(&entry).expect("the engine appends in order");
            out.append.push(entry);
        }
        if is_written {
            self.writes.push_back(Write { number, has_ballot });
            out.number = Some(number);
        }
        let mut messages = ready.take_messages();
        messages.append(&mut ready.take_persisted_messages());
        let committed = ready.take_committed_entries();
        self.raw.advance_append_async(ready);
        if self.writes.is_empty() {
            self.raw.on_persist_ready(number.0);
        }
        self.take_messages(messages, out);
        self.apply(&committed);
    }

    fn take_ballot(&mut self, out: &mut Ready) -> bool {
        let raft = &self.raw.raft;
        let ballot = Ballot { term: Term(raft.term), vote: translate::member(raft.vote) };
        let is_new = ballot != self.ballot;
        if is_new {
            self.ballot = ballot;
            out.ballot = Some(ballot);
        }
        is_new
    }

    fn take_restore(&mut self, snapshot: &eraftpb::Snapshot, number: ReadyNumber, out: &mut Ready) -> bool {
        if snapshot.is_empty() {
            return false;
        }
        let base = translate::base(snapshot);
        self.restoring = Some((number, base.id.index));
        self.members = base.members.clone();
        self.has_new_members = true;
        self.mark.restored(base.id.index);
        let storage = self.raw.mut_store();
        storage.log.restore(base.clone());
        storage.checkpoint = base.clone();
        out.restore = Some(base);
        true
    }

    /// A follower's messages rest on all that it has to write, a leader's on its ballot only: what it appends it may send before.
    fn take_messages(&mut self, messages: Vec<eraftpb::Message>, out: &mut Ready) {
        let is_leader = self.raw.raft.state == StateRole::Leader;
        let awaited = self.writes.iter().rfind(|write| !is_leader || write.has_ballot).map(|write| write.number);
        let mut ours = Vec::new();
        for message in messages.into_iter().filter_map(translate::message) {
            let Body::Restore { base } = &message.body else {
                ours.push(message);
                continue;
            };
            let base = base.clone();
            let (shipment, state) = Shipment::new(message, base);
            // An earlier shipment's state says nothing about this one: a member may have been removed and have come back.
            self.shipments.retain(|earlier| earlier.to != state.to);
            self.shipments.push(state);
            // One that would have to wait fails, and is wanted again.
            if awaited.is_none() {
                out.ship.push(shipment);
            }
        }
        match awaited {
            Some(number) if !ours.is_empty() => self.held.push_back((number, ours)),
            Some(_) => {}
            None => self.sendable.append(&mut ours),
        }
    }

    /// Changes of members take effect when they are committed and durable here.
    fn apply(&mut self, committed: &[eraftpb::Entry]) {
        let Some(last) = committed.last() else { return };
        for entry in committed.iter().filter(|entry| entry.entry_type != EntryType::EntryNormal) {
            let crate::Kind::Members(change) = translate::entry(entry).kind else { continue };
            // A change that can no longer be made changes nothing, on any member.
            let Ok(state) = self.raw.apply_conf_change(&translate::conf_change(&change)) else { continue };
            let members = translate::members(&state);
            self.mark.applied(Index(entry.index), members != self.members);
            self.members = members.clone();
            self.has_new_members = true;
            self.raw.mut_store().log.applied(Index(entry.index), members);
        }
        self.raw.advance_apply_to(last.index);
        self.step_down_if_removed();
    }

    /// A leader that an earlier leader's change removes keeps leading in raft-rs 0.7.0, and panics at the next answer. Here it follows.
    /// It still votes, and reports what is committed where it refuses: so the remaining members get on without it.
    fn step_down_if_removed(&mut self) {
        let raft = &mut self.raw.raft;
        if raft.state == StateRole::Leader && !raft.promotable() {
            let term = raft.term;
            raft.become_follower(term, raft::INVALID_ID);
            self.draw_timeout();
        }
    }

    /// Up to where it calls entries committed: rule 8.
    fn told_committed(&mut self) -> Index {
        let log = &self.raw.raft.raft_log;
        let (committed, applied) = (Index(log.committed), Index(log.applied));
        if self.raw.raft.state != StateRole::Leader {
            return self.mark.announce(committed);
        }
        let unapplied = self.log().last_change(committed).filter(|index| *index > applied);
        self.mark.limit(committed, unapplied)
    }

    fn take_leadership(&mut self, out: &mut Ready) {
        let raft = &self.raw.raft;
        let role = role(raft.state);
        let now = Leadership { term: Term(raft.term), role, leader: translate::member(raft.leader_id) };
        if now != self.leadership {
            self.leadership = now;
            out.leadership = Some(now);
        }
    }
}

impl Engine for RaftEngine {
    fn tick(&mut self) {
        if !self.is_restoring() && !self.might_lead_too_early() {
            self.raw.tick();
            self.draw_timeout();
        }
    }

    fn propose(&mut self, proposal: Proposal) -> Result<LogId, Refusal> {
        match self.refusal() {
            Some(refusal) => Err(refusal),
            None => self.append(translate::records(proposal.len)),
        }
    }

    fn change(&mut self, change: &MemberChange) -> Result<LogId, Refusal> {
        self.check_change(change)?;
        self.append(translate::raft_change(change))
    }

    fn check_change(&self, change: &MemberChange) -> Result<(), Refusal> {
        self.refusal().map_or(Ok(()), Err)?;
        self.check_possible(change)
    }

    fn wanted_mark(&self) -> Option<MemberChange> {
        if !self.mark.is_wanted() || self.raw.raft.state != StateRole::Leader {
            return None;
        }
        // It changes nothing: it has a vote.
        let mark = MemberChange::of(MemberStep::AddVoter(self.member));
        let is_voter = self.members.voters.contains(&self.member);
        (is_voter && self.check_change(&mark).is_ok()).then_some(mark)
    }

    fn transfer(&mut self, to: MemberId) {
        // A follower would ask its leader to: that is not wanted of any message.
        if self.raw.raft.state == StateRole::Leader && self.members.is_voter(to) && !self.is_restoring() {
            self.raw.transfer_leader(to.get());
            self.draw_timeout();
        }
    }

    fn step(&mut self, message: Message) {
        let is_too_early = message.body == Body::CampaignNow && self.might_lead_too_early();
        if message.to != self.member || is_too_early || self.is_restoring() {
            return;
        }
        // It refuses answers of former members, and returns no more than that.
        let _ = self.raw.step(translate::raft_message(message));
        self.draw_timeout();
    }

    fn unreachable(&mut self, peer: MemberId) {
        self.raw.report_unreachable(peer.get());
    }

    fn ready(&mut self, out: &mut Ready) {
        out.clear();
        self.hear_of_shipments();
        self.take_all(out);
        let log = &self.raw.store().log;
        out.send.extend(self.sendable.drain(..).filter(|message| has_what_it_names(log, message)));
        out.is_checkpoint_wanted = self.raw.store().is_checkpoint_too_old.take();
        out.committed = self.told_committed();
        self.take_leadership(out);
        if std::mem::take(&mut self.has_new_members) {
            out.members = Some(self.members.clone());
        }
    }

    fn persisted(&mut self, number: ReadyNumber) {
        assert!(number.0 <= self.last_number, "{number:?} was never given out");
        while self.writes.pop_front_if(|write| write.number <= number).is_some() {}
        // Those of raft-rs that wrote nothing are done with those before them.
        let done = if self.writes.is_empty() { self.last_number } else { number.0 };
        self.raw.on_persist_ready(done);
        if let Some((_, index)) = self.restoring.take_if(|(restoring, _)| *restoring <= number) {
            self.raw.advance_apply_to(index.0);
        }
        while let Some((_, mut messages)) = self.held.pop_front_if(|(awaited, _)| *awaited <= number) {
            self.sendable.append(&mut messages);
        }
    }

    fn checkpointed(&mut self, reached: Index) {
        if let Some(base) = self.base_at(reached).filter(|_| reached >= self.raw.store().checkpoint.id.index) {
            self.raw.mut_store().checkpoint = base;
        }
    }

    fn compact(&mut self, to: Index) {
        // A member that is shipped the checkpoint continues from there.
        let to = to.min(self.raw.store().checkpoint.id.index);
        if !self.is_restoring() {
            self.raw.mut_store().log.compact(to);
        }
    }

    fn base_at(&self, index: Index) -> Option<Base> {
        if index.0 <= self.raw.raft.raft_log.applied { self.log().base_at(index) } else { None }
    }

    fn status(&self) -> Status {
        let raft = &self.raw.raft;
        let log = &raft.raft_log;
        Status {
            member: self.member,
            role: role(raft.state),
            ballot: Ballot { term: Term(raft.term), vote: translate::member(raft.vote) },
            leader: translate::member(raft.leader_id),
            committed: Index(log.committed),
            persisted: Index(log.persisted),
            applied: Index(log.applied),
            base: self.log().base().id,
            last: LogId::new(log.last_term(), log.last_index()),
            handing_over_to: raft.lead_transferee.and_then(translate::member),
            members: self.members.clone(),
            is_settled: self.mark.is_settled(raft.state == StateRole::Leader),
        }
    }

    fn leader(&self) -> Option<MemberId> {
        translate::member(self.raw.raft.leader_id)
    }

    fn peers(&self) -> Vec<PeerStatus> {
        let raft = &self.raw.raft;
        if raft.state != StateRole::Leader {
            return Vec::new();
        }
        let others = raft.prs().iter().filter(|(id, _)| **id != self.member.get());
        let status = others.filter_map(|(id, progress)| {
            Some(PeerStatus {
                member: translate::member(*id)?,
                upto: Index(progress.matched),
                is_shipped_to: progress.state == ProgressState::Snapshot,
                is_active: progress.recent_active,
            })
        });
        let mut peers: Vec<_> = status.collect();
        peers.sort_unstable_by_key(|peer| peer.member);
        peers
    }
}

/// What a member has promised. Rule 5: what it no longer knows, it must not promise again.
fn found_ballot(member: MemberId, file: BallotFile, log: &Log) -> Result<Ballot, OpenError> {
    match file {
        BallotFile::Whole { last, .. } if last.member == member => Ok(last.ballot),
        BallotFile::Whole { last, .. } => Err(OpenError::OtherMember(last.member)),
        BallotFile::Fresh if log.last().index.0 <= 1 => Ok(Ballot { term: log.base().id.term, vote: None }),
        BallotFile::Fresh | BallotFile::Damaged => Err(OpenError::Ballot),
    }
}

/// Whether the log still has all that a message names: it may have waited while the log was cut off at either end. It may be lost, too.
fn has_what_it_names(log: &Log, message: &Message) -> bool {
    let Body::Append { entries, .. } = &message.body else { return true };
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return true };
    // Two logs that have one entry in common have all before it in common.
    first.id.index >= log.first() && log.term(last.id.index) == Some(last.id.term)
}

fn config(member: MemberId, timing: Timing, applied: Index) -> raft::Config {
    raft::Config {
        id: member.get(),
        election_tick: timing.election_ticks as usize,
        heartbeat_tick: timing.heartbeat_ticks as usize,
        applied: applied.0,
        max_size_per_msg: MESSAGE_CONTENTS_LEN_MAX,
        max_inflight_msgs: MESSAGES_UNDER_WAY_MAX,
        check_quorum: true,
        pre_vote: true,
        // Followers learn what is committed with the next entries or the next heartbeat: a message less an entry.
        skip_bcast_commit: true,
        ..raft::Config::default()
    }
}

fn role(state: StateRole) -> Role {
    match state {
        StateRole::Follower => Role::Follower,
        StateRole::Candidate | StateRole::PreCandidate => Role::Candidate,
        StateRole::Leader => Role::Leader,
    }
}
