//! What a node answers while no broker runs on it: whether it is well, and to the operator on its machine how its cluster stands, and
//! orders to that.
//!
//! There are no users here, since definitions are the broker's. So over the network nothing is answered but health checks, in one
//! sentence; and orders come by the socket in the data directory, which only the operator can open. Introspection of the process is for
//! users that the leader permits: see [`Doorkeeper`].

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use ::cluster::control::Control;
use bytes::Bytes;
use hyper::body::Body;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode};
use observe::prometheus::WithoutBroker;
use telemetry::Counter;

use crate::answer::Answer;
use crate::body;
use crate::cookie;
use crate::introspection::{self, Introspection};
use crate::json::parse_object;
use crate::limits::ANONYMOUS_BODY_LEN_MAX;
use crate::listing::Query;
use crate::media;
use crate::options::{ListenerInfo, Options};
use crate::path;
use crate::pipeline::operation;
use crate::problem::Problem;
use crate::process::Process;
use crate::response::response_of;
use crate::route::Verb;
use crate::router::{self, RouteMatch};
use crate::routes::{cluster, health, trace};
use crate::unknown;
use crate::watch::{self, FlightRecorder, Places, Watched};
use http_server::AnswerBody;

/// Says whether the sender of a request with these headers may look into the process: asks the node that leads. Else gives the status with
/// which that one refused.
pub type Doorkeeper =
    Arc<dyn Fn(HeaderMap) -> Pin<Box<dyn Future<Output = Result<(), StatusCode>> + Send>> + Send + Sync>;

/// What a node answers at one kind of listener.
pub struct LocalSite {
    options: Arc<Options>,
    node: Arc<WithoutBroker>,
    control: Arc<dyn Control>,
    listeners: Vec<ListenerInfo>,
    is_operators: bool,
    process: Arc<Process>,
    flight_recorder: Arc<FlightRecorder>,
    places: Places,
    panics: Arc<Counter>,
}

impl fmt::Debug for LocalSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSite").field("is_operators", &self.is_operators).finish_non_exhaustive()
    }
}

impl LocalSite {
    /// Answers for a node of a cluster, or one that is to be in one. `is_operators`: only the operator on this machine asks here.
    #[must_use]
    pub fn new(
        options: Arc<Options>,
        node: WithoutBroker,
        control: Arc<dyn Control>,
        listeners: Vec<ListenerInfo>,
        process: Arc<Process>,
        is_operators: bool,
    ) -> Arc<Self> {
        watch::register();
        let own = &options.flight_recorder;
        let may_last = watch::is_as_long_as_asked;
        let flight_recorder = Arc::new(FlightRecorder::new(&options.data_dir, &options.node, own, may_last));
        let (node, panics, places) = (Arc::new(node), Arc::default(), Places::new());
        Arc::new(Self { options, node, control, listeners, is_operators, process, flight_recorder, places, panics })
    }

    /// Starts the flight recorder, if the configuration wants it. To be called within a runtime.
    pub fn start_flight_recorder(&self) {
        if self.options.flight_recorder.is_enabled {
            let watched = Watched::Process(self.node.clone());
            self.flight_recorder.start(&watched, self.options.flight_recorder.slow_request);
        }
    }

    /// Whether the answer is about the inside of this process, for administrators only.
    #[must_use]
    pub fn looks_inside(&self, method: &Method, path: &str) -> bool {
        self.find(path).is_some_and(|found| self.is_inside(method, &found))
    }

    /// The same of what was found. A session that was not begun here may be the leader's, where traces of messages are begun whichever
    /// node is asked.
    fn is_inside(&self, method: &Method, found: &RouteMatch) -> bool {
        let name = || found.arguments.get("name").unwrap_or_default();
        inside_handler(method, found).is_some() && (found.route.path != trace::SESSION || self.places.has(name()))
    }

    /// A path that only administrators may ask for, so that a node that knows users identifies them.
    #[must_use]
    pub fn administrators_path(&self) -> String {
        format!("{}{}", self.options.path_prefix, trace::SESSIONS)
    }

    /// Whether there is an answer. Asked before all of the request is there: where not, it may be sent on to another node.
    #[must_use]
    pub fn has_answer(&self, method: &Method, path: &str) -> bool {
        match self.find(path) {
            Some(found) if cluster::is_about_cluster(found.route.path) => self.is_operators,
            Some(found) if self.is_inside(method, &found) => self.is_operators,
            Some(found) => health::is_of_node(found.route.path) && Verb::of(method) == Some(Verb::Get),
            None => false,
        }
    }

    /// The answer; none: only a broker has it. `refusal` is why no client is served, if none is.
    pub(crate) async fn answer<B: Body<Data = Bytes>>(
        &self,
        parts: &Parts,
        body: B,
        refusal: Option<&str>,
        doorkeeper: Option<&Doorkeeper>,
    ) -> Option<Response<AnswerBody>> {
        let found = self.find(parts.uri.path())?;
        let answer = match refusal {
            Some(reason) if health::is_check(found.route.path) => Ok(health::refused(reason)),
            _ if self.is_operators && inside_handler(&parts.method, &found).is_some() => {
                self.of_inside(parts, body, found).await
            }
            _ if let Some(doorkeeper) = doorkeeper.filter(|_| inside_handler(&parts.method, &found).is_some()) => {
                match guarded(doorkeeper, parts).await {
                    Ok(()) => self.of_inside(parts, body, found).await,
                    Err(problem) => Err(problem),
                }
            }
            _ if !self.has_answer(&parts.method, parts.uri.path()) => return None,
            _ if cluster::is_about_cluster(found.route.path) => self.of_cluster(parts, body, &found).await,
            _ => {
                Ok(health::without_broker(found.route.path, &self.control.view(), self.node.alarms(), &self.listeners))
            }
        };
        Some(response_of(answer, &self.panics))
    }

    async fn of_inside<B: Body<Data = Bytes>>(
        &self,
        parts: &Parts,
        body: B,
        found: RouteMatch,
    ) -> Result<Answer, Problem> {
        let operation = operation(&parts.method, &found)?;
        if operation.method == Verb::Put && !media::has_valid_content_type(&parts.headers) {
            return Err(Problem::bare(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        let body = body::read(body, ANONYMOUS_BODY_LEN_MAX).await?;
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        if operation.is_strict {
            unknown::check(operation, &query, &body)?;
        }
        let handler = inside_handler(&parts.method, &found).ok_or_else(Problem::not_found)?;
        handler(&Introspection {
            node: self.options.node.clone(),
            watched: Watched::Process(self.node.clone()),
            places: self.places.clone(),
            query,
            arguments: found.arguments,
            body,
            flight_recorder: self.flight_recorder.clone(),
            slow_request: self.options.flight_recorder.slow_request,
            process: Some(self.process.clone()),
            stage: None,
        })
    }

    async fn of_cluster<B: Body<Data = Bytes>>(
        &self,
        parts: &Parts,
        body: B,
        found: &RouteMatch,
    ) -> Result<Answer, Problem> {
        let operation = operation(&parts.method, found)?;
        if operation.method == Verb::Post && !media::has_valid_content_type(&parts.headers) {
            return Err(Problem::bare(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        let body = body::read(body, ANONYMOUS_BODY_LEN_MAX).await?;
        if operation.is_strict {
            unknown::check(operation, &Query::parse(parts.uri.query().unwrap_or_default()), &body)?;
        }
        match operation.method {
            Verb::Get => Ok(cluster::shown_locally(&self.control.view(), &self.node.cluster_name)),
            _ => {
                let body = parse_object(&body)?;
                cluster::carry_out_locally(&*self.control, found.route.path, &found.arguments, &body).await
            }
        }
    }

    fn find(&self, path: &str) -> Option<RouteMatch> {
        let rest = path.strip_prefix(&*self.options.path_prefix)?;
        router::find(&path::segments(rest).ok()?)
    }
}

fn inside_handler(method: &Method, found: &RouteMatch) -> Option<introspection::Handler> {
    introspection::handler(found.route.path, Verb::of(method)?)
}

/// Asks the doorkeeper. What may change something must not come from a page of another host: the leader is asked by a request that
/// changes nothing, and does not look at that.
async fn guarded(doorkeeper: &Doorkeeper, parts: &Parts) -> Result<(), Problem> {
    if !parts.headers.contains_key(AUTHORIZATION) {
        cookie::check_origin(&parts.method, &parts.headers)?;
    }
    doorkeeper(parts.headers.clone()).await.map_err(turned_away)
}

/// The answer to a caller that the leader refused.
fn turned_away(status: StatusCode) -> Problem {
    match status {
        StatusCode::UNAUTHORIZED => Problem::not_authenticated(),
        StatusCode::FORBIDDEN => Problem::bare(status),
        _ => Problem::unavailable(format!("the leader did not authenticate the request: it answered {status}")),
    }
}
