//! Methods that are answered later, while sessions follow them: what they wait for until their answers have left.
//!
//! A publish waits for its batch to be brought to its queues, for the journal, in a cluster for other nodes, for its connection's turn, and
//! for its client to take the confirm. They are looked at where stages of messages are timed ([`super::stages`]): with no session there is
//! no check that would not be there without this.

mod following;

use std::collections::VecDeque;
use std::time::Instant;

use engine::Positions;
use engine::lane::LaneNumber;
use telemetry::trace::{PendingAnswer, WaitKind, WaitReason};

/// Until the kernel has all of the answer.
const CLIENT: WaitReason = WaitReason { kind: WaitKind::Socket, name: "the client", threads: &[] };

/// Calls that are to be answered.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Publishes to be confirmed, as they came: first those of which it is known where they are durable.
    publishes: VecDeque<FollowedPublish>,
    /// The methods whose answers everything else waits for: one, or several that define something.
    methods: Vec<(PendingAnswer, Until)>,
    /// Those whose answers are in the output.
    leaving: Vec<PendingAnswer>,
}

#[derive(Debug)]
struct FollowedPublish {
    call: PendingAnswer,
    lane: LaneNumber,
    confirm_seq: u64,
    /// Where it is durable, once it has been brought to its queues.
    position: Option<Positions>,
}

/// What a method waits for.
#[derive(Debug, Clone, Copy)]
enum Until {
    Durable(Positions),
    /// A message has been read from a segment.
    Read,
    /// A back end has said whether it is allowed; then it comes again.
    Allowed,
}

impl Answers {
    pub(super) fn is_empty(&self) -> bool {
        self.publishes.is_empty() && self.methods.is_empty() && self.leaving.is_empty()
    }

    /// All of the output is with the kernel.
    pub(super) fn written(&mut self, now: Instant) {
        for mut call in self.leaving.drain(..) {
            call.waited(&CLIENT, now);
        }
    }
}
