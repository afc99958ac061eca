//! Methods that are answered later, as they go on ([`super`] has those that wait).

use std::time::Instant;

use engine::JOURNAL;
use engine::Positions;
use engine::lane::LaneNumber;
use engine::pending_reads::READING;
use engine::position::Marks;
use telemetry::trace::{Call, PendingAnswer, WaitKind, WaitReason};

use super::{FollowedPublish, Until};
use crate::front::confirms::ConfirmState;
use crate::front::{Front, Protocol};
use crate::login::ASKING;

/// What other nodes do that have to have it as well.
const REPLICATION: WaitReason = WaitReason {
    kind: WaitKind::Socket,
    name: "replication to a majority of nodes",
    threads: &["cluster", "cluster work"],
};
/// Until what came with it in one read has been received, and brought to the queues.
const BATCH: &str = "the batch of its connection";
/// Until the connection has found that it may answer.
const TURN: &str = "the turn of its connection";

impl<P: Protocol> Front<P> {
    /// A publish is in the batch, or was answered without; `confirm_seq` is its number if it is to be confirmed.
    pub(crate) fn follow_publish(&mut self, call: Call, lane: LaneNumber, confirm_seq: Option<u64>) {
        if let Some(confirm_seq) = confirm_seq
            && let Some(mut call) = call.answered_later()
        {
            // Unless it is answered.
            call.returns(|| "none: its connection was closed".to_owned());
            self.stages.answers().publishes.push_back(FollowedPublish { call, lane, confirm_seq, position: None });
        }
    }

    /// A method has done its work. It may have to wait until it is answered.
    pub(crate) fn follow_method(&mut self, call: Call, is_refused: bool) {
        let asks = || self.principal.known_access().is_some_and(|access| access.permissions.has_open());
        let until = match self.waits.last_reply_position() {
            _ if is_refused && asks() => Until::Allowed,
            Some(position) => Until::Durable(position),
            None if self.waits.has_get() => Until::Read,
            None => return,
        };
        if let Some(call) = call.answered_later() {
            self.stages.answers().methods.push((call, until));
        }
    }

    /// Confirms up to there are about to be written.
    #[cold]
    pub(in crate::front) fn follow_confirms(&mut self, durable: Marks) {
        let Some(answers) = self.stages.known_answers() else { return };
        if answers.publishes.is_empty() {
            return;
        }
        let mut publishes = std::mem::take(&mut answers.publishes);
        let (now, mut leaving) = (Instant::now(), Vec::new());
        let known_count = publishes.partition_point(|publish| publish.position.is_some());
        for mut publish in publishes.split_off(known_count) {
            publish.call.waited_for_own_task(BATCH, now);
            match self.lanes.confirm_state(publish.lane, publish.confirm_seq) {
                ConfirmState::Waiting(position) => {
                    publish.position = Some(position);
                    publishes.push_back(publish);
                    continue;
                }
                ConfirmState::Refused => publish.call.returns(|| "nack".to_owned()),
                ConfirmState::Done => publish.call.returns(|| "ack".to_owned()),
                ConfirmState::Closed => publish.call.returns(|| "none: its channel was closed".to_owned()),
            }
            leaving.push(publish.call);
        }
        let is_durable =
            |publish: &mut FollowedPublish| publish.position.is_none_or(|position| durable.reach_all(position));
        while let Some(mut publish) = publishes.pop_front_if(is_durable) {
            let is_there = self.lanes.is_open(publish.lane);
            publish.call.returns(|| if is_there { "ack" } else { "none: its channel was closed" }.to_owned());
            self.has_become_durable(&mut publish.call, publish.position.unwrap_or(durable.into()), now);
            leaving.push(publish.call);
        }
        let answers = self.stages.answers();
        answers.publishes = publishes;
        answers.leaving.append(&mut leaving);
    }

    /// A call has waited for the journal, and was looked at only now.
    fn has_become_durable(&self, call: &mut PendingAnswer, position: Positions, now: Instant) {
        let engine = &self.broker.engine;
        let durable_at = engine.durable_since(position).unwrap_or(now).min(now);
        if engine.is_replicated() {
            // Where a majority had it before this disk did, that one was not waited for.
            if let Some(flushed_at) = engine.flushed_since(position).filter(|at| *at <= durable_at) {
                call.waited(&JOURNAL, flushed_at);
            }
            call.waited(&REPLICATION, durable_at);
        } else {
            call.waited(&JOURNAL, durable_at);
        }
        call.waited_for_own_task(TURN, now);
    }

    /// The answers that waited for the journal up to there are in the output.
    #[cold]
    pub(in crate::front) fn answer_followed(&mut self, durable: Marks) {
        let now = Instant::now();
        let Some(answers) = self.stages.known_answers() else { return };
        let is_due =
            |(_, until): &mut (PendingAnswer, Until)| matches!(until, Until::Durable(at) if durable.reach_all(*at));
        let due: Vec<_> = answers.methods.extract_if(.., is_due).collect();
        for (mut call, until) in due {
            if let Until::Durable(position) = until {
                self.has_become_durable(&mut call, position, now);
            }
            self.stages.answers().leaving.push(call);
        }
    }

    /// A message has been read for which a method waited. It may have to wait for more.
    #[cold]
    pub(in crate::front) fn read_followed(&mut self) {
        let position = self.waits.reply_position();
        let is_loading = self.waits.has_get();
        let Some(answers) = self.stages.known_answers() else { return };
        let Some((mut call, until)) = answers.methods.pop() else { return };
        call.waited(&READING, Instant::now());
        match position {
            Some(position) => answers.methods.push((call, Until::Durable(position))),
            None if is_loading => answers.methods.push((call, until)),
            None => answers.leaving.push(call),
        }
    }

    /// A back end has said whether something is allowed: the same comes again, as a call of its own.
    #[cold]
    pub(in crate::front) fn ask_followed(&mut self) {
        let Some(answers) = self.stages.known_answers() else { return };
        if let Some((mut call, _)) = answers.methods.pop_if(|(_, until)| matches!(until, Until::Allowed)) {
            call.waited(&ASKING, Instant::now());
            call.returns(|| "a back end was asked".to_owned());
        }
        self.stages.tidy();
    }
}
