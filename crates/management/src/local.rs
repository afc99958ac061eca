//! What a node answers by itself while no broker runs on it: whether it is well, and to the operator on its machine how its cluster stands,
//! and orders to that.
//!
//! There are no users here, since definitions are the broker's. So over the network nothing is told but what health checks say, in one
//! sentence; and orders come by the socket in the data directory, which only the operator can open.

use std::sync::Arc;

use ::cluster::control::Control;
use bytes::Bytes;
use hyper::body::Body;
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use observe::prometheus::WithoutBroker;
use telemetry::Counter;

use crate::answer::Answer;
use crate::body;
use crate::json::parse_object;
use crate::limits::ANONYMOUS_BODY_LEN_MAX;
use crate::listing::Query;
use crate::media;
use crate::options::{ListenerInfo, Options};
use crate::path;
use crate::problem::Problem;
use crate::route::Verb;
use crate::router::{self, RouteMatch};
use crate::routes::{cluster, health};
use crate::service::{operation, response_of};
use crate::unknown;
use http_server::AnswerBody;

/// What a node answers at one kind of listener.
#[derive(Debug)]
pub struct LocalSite {
    options: Arc<Options>,
    node: WithoutBroker,
    control: Arc<dyn Control>,
    listeners: Vec<ListenerInfo>,
    is_operators: bool,
    panics: Arc<Counter>,
}

impl LocalSite {
    /// Answers for a node of a cluster, or one that is to be in one. `is_operators`: only the operator on this machine asks here.
    #[must_use]
    pub fn new(
        options: Arc<Options>,
        node: WithoutBroker,
        control: Arc<dyn Control>,
        listeners: Vec<ListenerInfo>,
        is_operators: bool,
    ) -> Arc<Self> {
        Arc::new(Self { options, node, control, listeners, is_operators, panics: Arc::default() })
    }

    /// Whether there is an answer. Asked before all of the request is there: where not, it may be sent on to another node.
    #[must_use]
    pub fn has_answer(&self, method: &Method, path: &str) -> bool {
        match self.find(path) {
            Some(found) if cluster::is_about_cluster(found.route.path) => self.is_operators,
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
    ) -> Option<Response<AnswerBody>> {
        let found = self.find(parts.uri.path())?;
        let answer = match refusal {
            Some(reason) if health::is_check(found.route.path) => Ok(health::refused(reason)),
            _ if !self.has_answer(&parts.method, parts.uri.path()) => return None,
            _ if cluster::is_about_cluster(found.route.path) => self.of_cluster(parts, body, &found).await,
            _ => {
                Ok(health::without_broker(found.route.path, &self.control.view(), self.node.alarms(), &self.listeners))
            }
        };
        Some(response_of(answer, &self.panics))
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
