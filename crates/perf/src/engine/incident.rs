//! What tasks report to the run about themselves.

use serde::{Deserialize, Serialize};

/// What became of one publisher's messages, as far as the publisher knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PublisherEnd {
    /// Its number in the run.
    pub(crate) publisher: u32,
    /// Messages that are to come to a consumer: confirmed, or sent over a connection that ended in order.
    pub(crate) expected: u64,
    /// Of those, messages that came back because they could not be routed.
    pub(crate) returned: u64,
    /// Positions of messages of which it is not known whether the broker has them.
    pub(crate) doubtful: Vec<u64>,
    /// More are doubtful than are listed: very many, or, without confirms, all that a lost connection carried.
    pub(crate) is_unknown: bool,
}

/// Positions that a publisher remembers as doubtful: a broker may refuse millions.
const DOUBTFUL_MAX: usize = 1 << 20;

impl PublisherEnd {
    /// It is not known whether the broker has this message.
    pub(crate) fn doubt(&mut self, position: u64) {
        if self.doubtful.len() < DOUBTFUL_MAX {
            self.doubtful.push(position);
        } else {
            self.is_unknown = true;
        }
    }
}

/// What a task is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Role {
    /// It publishes.
    Publisher,
    /// It consumes.
    Consumer,
    /// Anything else.
    Other,
}

/// What a task reports to the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Incident {
    /// It is connected, and waits for the start.
    Ready,
    /// It has nothing more to do.
    Done(Role),
    /// A connection was lost; it is tried again.
    Lost(String),
    /// A connection is back.
    Back,
    /// The run cannot go on: the broker refuses something, or stays away.
    Failed(String),
    /// Something went wrong that does not end the run.
    Warning(String),
    /// A publisher has ended.
    PublisherEnded(PublisherEnd),
    /// An agent is lost, and with it its part of the load: the others go on.
    AgentLost(String),
}

/// Where tasks report it.
pub(crate) type Incidents = tokio::sync::mpsc::UnboundedSender<Incident>;

/// Reports something; a run that is over no longer listens.
pub(crate) fn tell(incidents: &Incidents, incident: Incident) {
    let _ = incidents.send(incident);
}
