//! Looks into this process: what its functions and its processors do, and its log. They need no broker, so that each node of a cluster
//! answers for itself, whichever node leads.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value};
use tokio::sync::watch::Receiver;

use crate::answer::Answer;
use crate::call::Call;
use crate::json::parse_object;
use crate::listing::Query;
use crate::path::Arguments;
use crate::problem::Problem;
use crate::process::Process;
use crate::route::Verb;
use crate::routes::{log, process, profile, trace};
use crate::stage::Stage;
use crate::watch::{FlightRecorder, Observer, Places, Watched};

/// A request that looks introspection.
pub(crate) struct Introspection {
    /// The name of the node that answers: this one.
    pub(crate) node: String,
    pub(crate) watched: Watched,
    /// The observers' places.
    pub(crate) places: Places,
    pub(crate) query: Query,
    pub(crate) arguments: Arguments,
    pub(crate) body: Bytes,
    pub(crate) flight_recorder: Arc<FlightRecorder>,
    /// How long a request takes that the recorder is saved for, if nothing else is said.
    pub(crate) slow_request: Duration,
    pub(crate) process: Option<Arc<Process>>,
    /// How far the server is on its way to its end.
    pub(crate) stage: Option<Receiver<Stage>>,
}

/// What answers it.
pub(crate) type Handler = fn(&Introspection) -> Result<Answer, Problem>;

/// All of them, by their routes.
const HANDLERS: &[(&str, Verb, Handler)] = &[
    (trace::POINTS, Verb::Get, trace::points),
    (trace::SESSIONS, Verb::Get, trace::sessions),
    (trace::SESSION, Verb::Delete, trace::end_session),
    (trace::CALLS, Verb::Get, trace::calls),
    (trace::WALL, Verb::Get, trace::wall),
    (trace::FLIGHT_RECORDER, Verb::Get, trace::flight_recorder),
    (trace::FLIGHT_RECORDER, Verb::Put, trace::switch_recorder),
    (trace::RECORDING, Verb::Get, trace::recording),
    (trace::SAVED_RECORDING, Verb::Get, trace::saved_recording),
    (profile::CPU, Verb::Get, profile::cpu),
    (log::LOG, Verb::Get, log::log),
];

/// The handler of a route's requests, if they are for introspection.
pub(crate) fn handler(path: &str, verb: Verb) -> Option<Handler> {
    HANDLERS.iter().find(|(own, of, _)| *own == path && *of == verb).map(|(_, _, handler)| *handler)
}

impl Introspection {
    /// The process of the broker that answers a call.
    pub(crate) fn of(call: &Call) -> Introspection {
        Introspection {
            node: call.service.node().to_owned(),
            watched: Watched::Broker(call.broker().clone(), call.actor().clone()),
            places: call.service.observers.clone(),
            query: call.query.clone(),
            arguments: call.arguments.clone(),
            body: call.body.clone(),
            flight_recorder: call.service.flight_recorder.clone(),
            slow_request: call.service.options.flight_recorder.slow_request,
            process: call.service.process().cloned(),
            stage: call.service.feeds.stage(),
        }
    }

    /// An observer of it for a while.
    pub(crate) fn observer(&self) -> Result<Observer, Problem> {
        Observer::new(self.watched.clone(), &self.places, self.stage.clone(), self.query.get("session"))
    }

    pub(crate) fn object(&self) -> Result<Map<String, Value>, Problem> {
        parse_object(&self.body)
    }

    /// What can be asked of the process.
    pub(crate) fn process(&self) -> Result<&Process, Problem> {
        self.process.as_deref().ok_or_else(process::missing)
    }
}
