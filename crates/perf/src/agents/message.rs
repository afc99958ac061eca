//! What coordinator and agent say to each other.

use serde::{Deserialize, Serialize};

use super::order::Order;
use super::token::Nonce;
use super::wire_interval::WireInterval;
use crate::engine::incident::{Incident, Role};
use crate::engine::load_share::LoadShare;
use crate::results::Usage;

/// Both sides have to have this, the program's: what they say to each other, and what a command means, may change with it.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// By which both sides see that they talk to one of their own.
pub(crate) const PROGRAM: &str = "warren perf agent";

/// The first message of the agent, to any program that connects. Other versions have to understand this one, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AgentHello {
    /// It listens.
    Hello {
        program: String,
        version: String,
        nonce: Nonce,
        /// Whether it was given a token.
        needs_token: bool,
    },
    /// It does not.
    Refused { reason: String },
}

/// The coordinator's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CoordinatorHello {
    pub(crate) version: String,
    pub(crate) nonce: Nonce,
    pub(crate) proof: String,
}

/// What the agent says to that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Welcome {
    /// It obeys from here on, and proves that it knows the token, too. Its part of the load has so many
    /// processors.
    Welcome { proof: String, processors: u32 },
    /// It does not.
    Refused { reason: String },
}

/// What the coordinator says from there on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum ToAgent {
    /// What time is it? Also says that the coordinator is still there.
    Ping,
    /// The coordinator's clock less the agent's.
    Ahead { ns: i64 },
    /// Reads the command and starts threads for this part of it.
    Prepare { order: Box<Order>, share: LoadShare },
    /// Puts consumers to work.
    StartConsumers,
    /// Puts all others to work.
    StartOthers,
    /// All begin at this time of the agent's clock.
    Start { at_ns: u64 },
    /// Sends what was measured since the last time.
    Collect,
    /// Publishers are to stop.
    Drain,
    /// All are to close their connections.
    End,
    /// Ends the threads.
    Leave,
}

/// What the agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum FromAgent {
    /// So late is it.
    Pong { now_ns: u64 },
    /// So many threads are there.
    Prepared { threads: u32 },
    /// So many tasks were started: each will say that it is ready, and that it is done.
    Started { tasks: u32 },
    /// Its order cannot be carried out.
    Failed { reason: String },
    /// What a task says.
    Told(Incident),
    /// What each thread has measured, and what the process has used.
    Collected { threads: Vec<Option<WireInterval>>, usage: Usage },
    /// The threads have ended.
    Left,
}

/// All roles.
pub(crate) const ROLES: [Role; 3] = [Role::Publisher, Role::Consumer, Role::Other];
