//! Why an order was not carried out: one sentence each.

use thiserror::Error;

use crate::wire::ClusterId;

/// Why an order was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ControlError {
    /// The operator sets a key and starts the node anew.
    #[error(
        "this node has nothing that would keep strangers out of a cluster: set warren.cluster.secret, or warren.cluster.tls.*, and \
         restart it"
    )]
    NotConfigured,
    /// The operator has the node join one first.
    #[error("this node belongs to no cluster")]
    NoCluster,
    /// The operator resets it first.
    #[error("this node belongs to cluster {0} already")]
    AlreadyMember(ClusterId),
    /// The operator says that it may be lost.
    #[error(
        "this node has {queues} queues and {messages} messages, which it would lose: --force has it join all the same"
    )]
    NotEmpty {
        /// How many queues.
        queues: u64,
        /// How many messages.
        messages: u64,
    },
    /// The operator waits until more nodes are back.
    #[error("{reachable} of {of} voting nodes can be reached, which is no majority: nothing can be decided")]
    NoMajority {
        /// How many can be.
        reachable: usize,
        /// Of how many.
        of: usize,
    },
    /// The operator corrects the name.
    #[error("there is no node {0} in the cluster")]
    UnknownNode(String),
    /// The operator stops it first.
    #[error("{0} runs: stop it first, or reset it there")]
    StillRunning(String),
    /// The operator orders it on another node.
    #[error("this node cannot forget itself: reset it, or order it on another node")]
    Itself,
    /// The operator gives another name.
    #[error("{0} has no vote, so it cannot lead")]
    NotAVoter(String),
    /// The operator waits, or gives another name.
    #[error("{name} cannot lead yet: {why}")]
    NotFit {
        /// Which node.
        name: String,
        /// Why.
        why: String,
    },
    /// The operator looks at the network and at the other node.
    #[error("{name} cannot be reached: {why}")]
    Unreachable {
        /// Which node.
        name: String,
        /// Why.
        why: String,
    },
    /// The operator looks at why.
    #[error("{by} refuses: {why}")]
    Refused {
        /// The node that refuses.
        by: String,
        /// Why.
        why: String,
    },
    /// The operator tries again.
    #[error("another change of members runs")]
    ChangeRuns,
    /// The operator tries again.
    #[error("{what} has taken too long, and may still happen")]
    TimedOut {
        /// What was ordered.
        what: &'static str,
    },
    /// The operator does something else.
    #[error("{0}")]
    Impossible(String),
    /// What another node said.
    #[error("{sentence}")]
    Remote {
        /// What sort of error it is.
        kind: ErrorKind,
        /// Its sentence.
        sentence: String,
    },
}

/// What became of an order that was not carried out, for answers over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// It cannot be done like this.
    Wrong,
    /// What it speaks of is not there.
    NotFound,
    /// It cannot be done now.
    Unavailable,
}

impl ControlError {
    /// What sort of error it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            ControlError::UnknownNode(_) => ErrorKind::NotFound,
            ControlError::NoMajority { .. }
            | ControlError::NotFit { .. }
            | ControlError::Unreachable { .. }
            | ControlError::ChangeRuns
            | ControlError::TimedOut { .. } => ErrorKind::Unavailable,
            ControlError::Remote { kind, .. } => *kind,
            _ => ErrorKind::Wrong,
        }
    }
}
