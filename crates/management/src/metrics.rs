//! From a request for metrics to its answer.

use std::sync::Arc;

use broker::Origin;
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use observe::prometheus::{Endpoint, Filter, Meters, Scrape, WithoutBroker};
use telemetry::Counter;
use telemetry::exposition::CONTENT_TYPE;

use crate::gzip::Gzip;
use crate::listing::Query;
use crate::media;
use crate::problem::Problem;
use crate::service::Service;
use crate::tags::is_monitor;
use http_server::{AnswerBody, Pieces};

/// Options of metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsOptions {
    /// Where they are, such as `/metrics`; empty for the root.
    pub path: String,
    /// Whether the path itself has the metrics of every object.
    pub returns_per_object: bool,
    /// Whether they are shown only to users who may monitor.
    pub needs_login: bool,
}

impl Default for MetricsOptions {
    fn default() -> Self {
        Self { path: "/metrics".to_owned(), returns_per_object: false, needs_login: false }
    }
}

/// What answers scrapers.
#[derive(Debug)]
pub struct Metrics {
    subject: ScrapeSubject,
    options: MetricsOptions,
    meters: Arc<Meters>,
    /// Answers that ended in a panic.
    panics: Arc<Counter>,
}

/// What metrics are about.
#[derive(Debug)]
enum ScrapeSubject {
    /// A broker and its node.
    Broker(Arc<Service>),
    /// A node on which none runs.
    Node(Box<WithoutBroker>),
}

/// The answer to a scrape where a login is needed, and there are no users.
const NO_USERS: &str =
    "no broker is running on this node, so prometheus.authentication.enabled cannot authenticate users";

/// What a browser shows.
const REALM: HeaderValue = HeaderValue::from_static("Basic realm=\"RabbitMQ Prometheus\"");
/// What may be done.
const ALLOW: HeaderValue = HeaderValue::from_static("HEAD, GET, OPTIONS");

impl Metrics {
    /// Metrics of the broker that a service is over.
    #[must_use]
    pub fn new(service: Arc<Service>, options: MetricsOptions) -> Arc<Metrics> {
        let panics = service.counters.panics.clone();
        Arc::new(Metrics { subject: ScrapeSubject::Broker(service), options, meters: Arc::default(), panics })
    }

    /// Metrics of a node on which no broker runs.
    #[must_use]
    pub fn without_broker(node: WithoutBroker, options: MetricsOptions) -> Arc<Metrics> {
        Arc::new(Metrics {
            subject: ScrapeSubject::Node(Box::new(node)),
            options,
            meters: Arc::default(),
            panics: Arc::default(),
        })
    }

    /// Whether it is of a node on which no broker runs, which may change.
    pub(crate) fn is_without_broker(&self) -> bool {
        matches!(self.subject, ScrapeSubject::Node(_))
    }

    /// Answers a request; compressed if it accepts that and the listener does. The order of what is looked at is RabbitMQ's.
    pub async fn respond<B>(&self, request: Request<B>, origin: Origin, compresses: bool) -> Response<AnswerBody> {
        let (parts, _) = request.into_parts();
        let Some(name) = self.name_in(parts.uri.path()) else {
            return problem_response(&Problem::not_found());
        };
        let mut response = match parts.method {
            Method::GET | Method::HEAD => {
                let query = Query::parse(parts.uri.query().unwrap_or_default());
                match self.answer(&parts.headers, name, &query, origin).await {
                    Ok(_) if parts.method == Method::HEAD => text_response(StatusCode::OK, CONTENT_TYPE, ""),
                    Ok(pieces) => self.pieces_response(pieces, compresses && media::accepts_gzip(&parts.headers)),
                    Err(response) => response,
                }
            }
            Method::OPTIONS => empty(StatusCode::OK),
            _ => empty(StatusCode::METHOD_NOT_ALLOWED),
        };
        response.headers_mut().insert(header::ALLOW, ALLOW);
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        response
    }

    /// What follows the configured path; nothing for the path itself.
    fn name_in<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix(&*self.options.path)?;
        let rest = match rest.strip_prefix('/') {
            Some(rest) => rest,
            None if rest.is_empty() => rest,
            None => return None,
        };
        let name = rest.strip_suffix('/').unwrap_or(rest);
        (!name.contains('/')).then_some(name)
    }

    async fn answer(
        &self,
        headers: &HeaderMap,
        name: &str,
        query: &Query,
        origin: Origin,
    ) -> Result<Scrape, Response<AnswerBody>> {
        if self.options.needs_login {
            self.check_login(headers, origin).await?;
        }
        if !media::accepts(headers, "text/plain") {
            return Err(empty(StatusCode::NOT_ACCEPTABLE));
        }
        let endpoint = match name {
            "" => Some(Endpoint::Aggregated),
            name => Endpoint::ALL.into_iter().find(|endpoint| endpoint.registry() == name),
        };
        let Some(counted) = endpoint else {
            return Err(text_response(StatusCode::NOT_FOUND, "text/plain", "Unknown Registry"));
        };
        let filter = match counted {
            Endpoint::Detailed => Filter::parse(query.pairs())
                .map_err(|reason| text_response(StatusCode::BAD_REQUEST, "text/plain", reason))?,
            _ => Filter::default(),
        };
        let shown = match counted {
            Endpoint::Aggregated if self.options.returns_per_object => Endpoint::PerObject,
            counted => counted,
        };
        Ok(self.scrape(counted, shown, filter))
    }

    fn scrape(&self, counted: Endpoint, shown: Endpoint, filter: Filter) -> Scrape {
        let meters = &self.meters;
        let service = match &self.subject {
            ScrapeSubject::Broker(service) => service,
            ScrapeSubject::Node(node) => {
                return Scrape::without_broker((**node).clone(), meters, counted, shown, filter);
            }
        };
        match shown {
            Endpoint::Aggregated | Endpoint::PerObject => Scrape::of_node(service.observed(), meters, counted, shown),
            Endpoint::MemoryBreakdown => Scrape::memory(service.observed(), meters),
            Endpoint::Detailed => Scrape::detailed(service.observed(), meters, filter),
        }
    }

    async fn check_login(&self, headers: &HeaderMap, origin: Origin) -> Result<(), Response<AnswerBody>> {
        let service = match &self.subject {
            ScrapeSubject::Broker(service) => service,
            ScrapeSubject::Node(_) => return Err(problem_response(&Problem::unavailable(NO_USERS))),
        };
        let problem = match service.logged_in(headers, origin).await {
            Ok(actor) if is_monitor(&actor.identity) => return Ok(()),
            Ok(_) => Problem::not_authorised("Not monitor user"),
            Err(problem) => problem,
        };
        let mut response = problem_response(&problem);
        if problem.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, REALM);
        }
        Err(response)
    }

    fn pieces_response(&self, scrape: Scrape, is_compressed: bool) -> Response<AnswerBody> {
        let pieces: Box<dyn Pieces> = Box::new(scrape);
        let pieces = if is_compressed { Box::new(Gzip::new(pieces)) } else { pieces };
        let Ok(body) = AnswerBody::of(pieces, &self.panics) else {
            return empty(StatusCode::INTERNAL_SERVER_ERROR);
        };
        let mut response = response(StatusCode::OK, Some(CONTENT_TYPE), body);
        if is_compressed {
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}

fn problem_response(problem: &Problem) -> Response<AnswerBody> {
    match problem.render() {
        body if body.is_empty() => empty(problem.status),
        body => response(problem.status, Some("application/json"), AnswerBody::whole(body.into())),
    }
}

fn text_response(status: StatusCode, content_type: &'static str, text: impl Into<Bytes>) -> Response<AnswerBody> {
    response(status, Some(content_type), AnswerBody::whole(text.into()))
}

fn empty(status: StatusCode) -> Response<AnswerBody> {
    response(status, None, AnswerBody::whole(Bytes::new()))
}

fn response(status: StatusCode, content_type: Option<&'static str>, body: AnswerBody) -> Response<AnswerBody> {
    let len = body.known_len();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    if let Some(content_type) = content_type {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    if let Some(len) = len {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(len));
    }
    response
}
