//! Between raft-rs' structs and ours, field by field.

use protobuf::Message as _;
use raft::eraftpb;
use raft::eraftpb::{ConfChangeSingle, ConfChangeType, ConfChangeV2, ConfState, EntryType, MessageType};

use crate::entry::{Entry, Kind};
use crate::ids::{Index, LogId, MemberId, Term};
use crate::members::{Base, MemberChange, MemberStep, Members};
use crate::message::{Body, Message, Round};

/// How the engine marks a question for votes that a leader wants.
const HANDED_OVER: &[u8] = raft::CAMPAIGN_TRANSFER;
const KIND_RECORDS: u8 = 1;

/// 0 stands for no member.
pub(crate) fn member(number: u64) -> Option<MemberId> {
    MemberId::new(number)
}

pub(crate) fn records(len: u32) -> eraftpb::Entry {
    eraftpb::Entry { kind: KIND_RECORDS, len, ..eraftpb::Entry::default() }
}

pub(crate) fn conf_change(change: &MemberChange) -> ConfChangeV2 {
    let single = |step: &MemberStep| {
        let change_type = match step {
            MemberStep::AddVoter(_) => ConfChangeType::AddNode,
            MemberStep::AddLearner(_) => ConfChangeType::AddLearnerNode,
            MemberStep::Remove(_) => ConfChangeType::RemoveNode,
        };
        ConfChangeSingle { change_type, node_id: step.member().get() }
    };
    ConfChangeV2 { changes: change.steps.iter().map(single).collect(), ..ConfChangeV2::default() }
}

fn member_change(data: &[u8]) -> MemberChange {
    let mut change = ConfChangeV2::default();
    change.merge_from_bytes(data).expect("only `raft_change` makes these bytes");
    let step = |single: &ConfChangeSingle| {
        let member = MemberId::new(single.node_id).expect("only `conf_change` makes changes, of members");
        match single.change_type {
            ConfChangeType::AddNode => MemberStep::AddVoter(member),
            ConfChangeType::AddLearnerNode => MemberStep::AddLearner(member),
            ConfChangeType::RemoveNode => MemberStep::Remove(member),
        }
    };
    MemberChange { steps: change.changes.iter().map(step).collect() }
}

/// An entry that holds a change of members, not yet of any index.
pub(crate) fn raft_change(change: &MemberChange) -> eraftpb::Entry {
    let data = conf_change(change).write_to_bytes().expect("its transition is the usual one");
    eraftpb::Entry { entry_type: EntryType::EntryConfChangeV2, data, ..eraftpb::Entry::default() }
}

pub(crate) fn raft_entry(entry: &Entry) -> eraftpb::Entry {
    let unplaced = match &entry.kind {
        Kind::Empty => eraftpb::Entry::default(),
        Kind::Records => records(entry.len),
        Kind::Members(change) => raft_change(change),
    };
    eraftpb::Entry { term: entry.id.term.0, index: entry.id.index.0, ..unplaced }
}

pub(crate) fn entry(entry: &eraftpb::Entry) -> Entry {
    let kind = match (entry.entry_type, entry.kind) {
        (EntryType::EntryNormal, KIND_RECORDS) => Kind::Records,
        (EntryType::EntryNormal, _) => Kind::Empty,
        (EntryType::EntryConfChange | EntryType::EntryConfChangeV2, _) => Kind::Members(member_change(&entry.data)),
    };
    Entry { id: LogId::new(entry.term, entry.index), kind, len: entry.len }
}

pub(crate) fn members(state: &ConfState) -> Members {
    let sorted = |ids: &[u64]| {
        let mut members: Vec<_> = ids.iter().filter_map(|id| member(*id)).collect();
        members.sort_unstable();
        members
    };
    Members {
        voters: sorted(&state.voters),
        outgoing: sorted(&state.voters_outgoing),
        learners: sorted(&state.learners),
        learners_next: sorted(&state.learners_next),
        ends_by_itself: state.auto_leave,
    }
}

pub(crate) fn conf_state(members: &Members) -> ConfState {
    let ids = |members: &[MemberId]| members.iter().map(|member| member.get()).collect();
    ConfState {
        voters: ids(&members.voters),
        learners: ids(&members.learners),
        voters_outgoing: ids(&members.outgoing),
        learners_next: ids(&members.learners_next),
        auto_leave: members.ends_by_itself,
    }
}

pub(crate) fn snapshot(base: &Base) -> eraftpb::Snapshot {
    let (index, term) = (base.id.index.0, base.id.term.0);
    eraftpb::Snapshot { metadata: eraftpb::SnapshotMetadata { conf_state: conf_state(&base.members), index, term } }
}

pub(crate) fn base(snapshot: &eraftpb::Snapshot) -> Base {
    let metadata = &snapshot.metadata;
    Base { id: LogId::new(metadata.term, metadata.index), members: members(&metadata.conf_state) }
}

/// A message of the engine; nothing for those that it sends only where its caller does not keep to `Engine`.
pub(crate) fn message(raft: eraftpb::Message) -> Option<Message> {
    let round = |trial: MessageType| if raft.msg_type == trial { Round::Trial } else { Round::Election };
    let committed = Index(raft.commit);
    let commit_id = LogId::new(raft.commit_term, raft.commit);
    let body = match raft.msg_type {
        MessageType::MsgAppend => Body::Append {
            previous: LogId::new(raft.log_term, raft.index),
            committed,
            entries: raft.entries.iter().map(entry).collect(),
        },
        MessageType::MsgAppendResponse if raft.reject => {
            Body::Refused { previous: Index(raft.index), hint: LogId::new(raft.log_term, raft.reject_hint), committed }
        }
        MessageType::MsgAppendResponse => Body::Appended { upto: Index(raft.index), committed },
        MessageType::MsgRequestVote | MessageType::MsgRequestPreVote => Body::Ask {
            round: round(MessageType::MsgRequestPreVote),
            last: LogId::new(raft.log_term, raft.index),
            committed: commit_id,
            is_handed_over: raft.context == HANDED_OVER,
        },
        MessageType::MsgRequestVoteResponse | MessageType::MsgRequestPreVoteResponse => Body::Vote {
            round: round(MessageType::MsgRequestPreVoteResponse),
            is_granted: !raft.reject,
            committed: commit_id,
        },
        MessageType::MsgHeartbeat => Body::Heartbeat { committed },
        MessageType::MsgHeartbeatResponse => Body::HeartbeatAnswer { committed },
        MessageType::MsgSnapshot => Body::Restore { base: base(&raft.snapshot) },
        MessageType::MsgTimeoutNow => Body::CampaignNow,
        _ => return None,
    };
    Some(Message { from: member(raft.from)?, to: member(raft.to)?, term: Term(raft.term), body })
}

pub(crate) fn raft_message(message: Message) -> eraftpb::Message {
    let mut raft = eraftpb::Message {
        from: message.from.get(),
        to: message.to.get(),
        term: message.term.0,
        ..eraftpb::Message::default()
    };
    let of_round = |round: Round, trial, election| if round == Round::Trial { trial } else { election };
    match message.body {
        Body::Append { previous, committed, entries } => {
            raft.msg_type = MessageType::MsgAppend;
            (raft.log_term, raft.index) = (previous.term.0, previous.index.0);
            raft.commit = committed.0;
            raft.entries = entries.iter().map(raft_entry).collect();
        }
        Body::Appended { upto, committed } => {
            raft.msg_type = MessageType::MsgAppendResponse;
            (raft.index, raft.commit) = (upto.0, committed.0);
        }
        Body::Refused { previous, hint, committed } => {
            raft.msg_type = MessageType::MsgAppendResponse;
            raft.reject = true;
            (raft.index, raft.commit) = (previous.0, committed.0);
            (raft.log_term, raft.reject_hint) = (hint.term.0, hint.index.0);
        }
        Body::Ask { round, last, committed, is_handed_over } => {
            raft.msg_type = of_round(round, MessageType::MsgRequestPreVote, MessageType::MsgRequestVote);
            (raft.log_term, raft.index) = (last.term.0, last.index.0);
            (raft.commit_term, raft.commit) = (committed.term.0, committed.index.0);
            raft.context = if is_handed_over { HANDED_OVER.to_vec() } else { Vec::new() };
        }
        Body::Vote { round, is_granted, committed } => {
            raft.msg_type =
                of_round(round, MessageType::MsgRequestPreVoteResponse, MessageType::MsgRequestVoteResponse);
            raft.reject = !is_granted;
            (raft.commit_term, raft.commit) = (committed.term.0, committed.index.0);
        }
        Body::Heartbeat { committed } => {
            raft.msg_type = MessageType::MsgHeartbeat;
            raft.commit = committed.0;
        }
        Body::HeartbeatAnswer { committed } => {
            raft.msg_type = MessageType::MsgHeartbeatResponse;
            raft.commit = committed.0;
        }
        Body::Restore { base } => {
            raft.msg_type = MessageType::MsgSnapshot;
            raft.snapshot = snapshot(&base);
        }
        Body::CampaignNow => raft.msg_type = MessageType::MsgTimeoutNow,
    }
    raft
}
