//! From a request to its answer: route, login, rights, body, handler, headers. The order is RabbitMQ's, so that of several
//! things that are wrong the same one is reported.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use broker::{Actor, Identity, Interface, LoginRefused, Origin};
use bytes::Bytes;
use http_server::AnswerBody;
use hyper::body::Body;
use hyper::header::HeaderMap;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use telemetry::trace::{self, CallDescription, PendingAnswer, Point};

use crate::access;
use crate::answer::Answer;
use crate::body;
use crate::call::Call;
use crate::cookie::{self, OverTls};
use crate::headers;
use crate::limits::{ANONYMOUS_BODY_LEN_MAX, HEAD_LEN_MAX};
use crate::listing::{Query, check_members, check_ranges};
use crate::login::Credentials;
use crate::media;
use crate::path;
use crate::problem::Problem;
use crate::request_context::RequestContext;
use crate::response::{problem_response, response_of};
use crate::route::{AnswerFuture, Handler, Operation, Role, Shape, Verb};
use crate::router::{self, RouteMatch};
use crate::routes;
use crate::sending::{Sending, Sent};
use crate::service::Service;
use crate::unknown;
use crate::watch;

/// The answer to a caller whose change can be lost with this node.
const NOT_DURABLE: &str =
    "the node can no longer make changes durable: the requested change may have been made, and may be lost";

impl Service {
    /// Answers a request. Nothing that it contains makes this fail.
    pub async fn respond<B: Body<Data = Bytes>>(
        self: &Arc<Self>,
        request: Request<B>,
        origin: Origin,
    ) -> Response<AnswerBody> {
        match self.begin(request, origin).await {
            Reply::Ready(response) => response,
            Reply::Deferred(answering) => answering.await,
        }
    }

    /// The same, where orders to the node are only about to be carried out.
    pub(crate) async fn begin<B: Body<Data = Bytes>>(self: &Arc<Self>, request: Request<B>, origin: Origin) -> Reply {
        let (parts, body) = request.into_parts();
        if head_len(&parts) > HEAD_LEN_MAX {
            let problem = Problem::bare(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
            return Reply::Ready(problem_response(&problem));
        }
        let (found, problem) = match self.find(parts.uri.path()) {
            Ok(found) => (Some(found), None),
            Err(problem) => (None, Some(problem)),
        };
        // Paths that lead nowhere are answered as files that are not there: these can be got.
        let allow = match (&found, &problem) {
            (Some(found), _) => Some(found.allow),
            (None, Some(problem)) if problem.status == StatusCode::NOT_FOUND => Some("HEAD, GET, OPTIONS"),
            _ => None,
        };
        let allow = allow.filter(|_| is_known(&parts.method));
        let preflight_allow = allow.filter(|_| parts.method == Method::OPTIONS);
        let (result, sending) = match (found, problem) {
            (Some(found), _) => self.timed_answer(&parts, body, found, origin).await,
            (None, problem) => {
                let result = nothing_there(&parts.method, problem.unwrap_or_else(Problem::not_found));
                (result.map(Outcome::Answer), None)
            }
        };
        let result = match result {
            Ok(Outcome::Answer(answer)) => Ok(answer),
            Err(problem) => Err(problem),
            Ok(Outcome::Order(order)) => {
                let panics = self.counters.panics.clone();
                let (of_all, of_others) = (self.options.headers.clone(), self.options.cors.clone());
                return Reply::Deferred(Box::pin(async move {
                    let answer = CatchPanic(order).await.unwrap_or_else(|_| {
                        panics.add(1);
                        tracing::error!("cluster command panicked");
                        Err(Problem::bare(StatusCode::INTERNAL_SERVER_ERROR))
                    });
                    let mut response = response_of(answer, &panics);
                    headers::add_common(response.headers_mut(), &of_all, allow);
                    headers::add_cors(response.headers_mut(), &of_others, &parts.headers, preflight_allow);
                    response
                }));
            }
        };
        let mut response = response_of(result, &self.counters.panics);
        if let Some(sending) = sending {
            response = response.map(|body| body.watched(Box::new(sending)));
        }
        headers::keep_dialogue_away(response.headers_mut(), &parts.headers);
        headers::add_common(response.headers_mut(), &self.options.headers, allow);
        headers::add_cors(response.headers_mut(), &self.options.cors, &parts.headers, preflight_allow);
        Reply::Ready(response)
    }

    fn find(&self, path: &str) -> Result<RouteMatch, Problem> {
        let rest = path.strip_prefix(&*self.options.path_prefix).ok_or_else(Problem::not_found)?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return Err(Problem::not_found());
        }
        let segments = path::segments(rest).map_err(|error| match error {
            path::PathError::Malformed | path::PathError::Unnameable => Problem::bare(StatusCode::BAD_REQUEST),
            path::PathError::Dots => Problem::not_found(),
        })?;
        let found = router::find(&segments).ok_or_else(Problem::not_found)?;
        let is_served = !self.options.is_queue_info_only || routes::is_queue_info(found.route);
        if is_served { Ok(found) } else { Err(Problem::not_found()) }
    }

    /// The answer, and what sees it on its way.
    async fn timed_answer<B: Body<Data = Bytes>>(
        self: &Arc<Self>,
        parts: &Parts,
        body: B,
        found: RouteMatch,
        origin: Origin,
    ) -> (Result<Outcome, Problem>, Option<Sending>) {
        let route = found.route;
        let Some(point) = Verb::of(&parts.method).and_then(|verb| watch::point_of(route, verb)) else {
            return (self.answer(parts, body, found, origin).await, None);
        };
        let began = Instant::now();
        let (result, call) = self.followed_answer(point, parts, body, found, origin).await;
        let status = match &result {
            Ok(Outcome::Answer(answer)) => Some(answer.status),
            Ok(Outcome::Order(_)) => None,
            Err(problem) => Some(problem.status),
        };
        let sending = status.map(|status| {
            let request = Sent {
                point: point.name(),
                path: watch::path_of(parts, route),
                status: status.as_u16(),
                began,
                is_as_long_as_asked: watch::is_as_long_as_asked(point.name()),
            };
            Sending::new(self.answers.clone(), request, call)
        });
        (result, sending)
    }

    /// The answer, as a call of the operation that can be traced.
    async fn followed_answer<B: Body<Data = Bytes>>(
        self: &Arc<Self>,
        point: &'static Point,
        parts: &Parts,
        body: B,
        found: RouteMatch,
        origin: Origin,
    ) -> (Result<Outcome, Problem>, Option<PendingAnswer>) {
        if !trace::is_active() {
            return (self.answer(parts, body, found, origin).await, None);
        }
        let followed = CallDescription {
            name: || match origin.peer {
                Some(peer) => format!("request of {peer}"),
                None => "request".to_owned(),
            },
            arguments: watch::arguments_of(parts, &found),
            result: |result: &Result<Outcome, Problem>| match result {
                Ok(Outcome::Answer(answer)) => answer.status.as_str().to_owned(),
                Ok(Outcome::Order(_)) => "an order".to_owned(),
                Err(problem) => format!("{} {}", problem.status.as_str(), problem.reason()),
            },
        };
        trace::follow(point, followed, self.answer(parts, body, found, origin)).await
    }

    async fn answer<B: Body<Data = Bytes>>(
        self: &Arc<Self>,
        parts: &Parts,
        body: B,
        found: RouteMatch,
        origin: Origin,
    ) -> Result<Outcome, Problem> {
        if parts.method == Method::OPTIONS {
            return Ok(Outcome::Answer(Answer::empty(StatusCode::OK)));
        }
        let operation = operation(&parts.method, &found)?;
        let (actor, is_logged_in) = self.actor(operation.role, parts, origin).await?;
        let context = RequestContext::new(self.broker.clone(), actor);
        context.retry_until_authorized(|| access::check(&self.broker, operation, &context, &found.arguments)).await?;
        if !media::accepts(&parts.headers, "application/json") && !accepts_other(operation, parts) {
            return Err(Problem::bare(StatusCode::NOT_ACCEPTABLE));
        }
        if matches!(operation.method, Verb::Put | Verb::Post) && !media::has_valid_content_type(&parts.headers) {
            return Err(Problem::bare(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        check_ranges(&query)?;
        check_members(&query)?;
        // Clients that have not logged in take none of the room of those that have.
        let (body, _room) = match operation.role {
            role if role == Role::Public || !is_logged_in => (body::read(body, ANONYMOUS_BODY_LEN_MAX).await?, None),
            _ => self.room.read(body, self.options.body_len_max).await.map(|(body, room)| (body, Some(room)))?,
        };
        if operation.is_strict {
            unknown::check(operation, &query, &body)?;
        }
        let call = Call {
            service: self.clone(),
            context,
            arguments: found.arguments,
            query,
            headers: parts.headers.clone(),
            is_logged_in,
            body,
            forwarded_by: parts.extensions.get().cloned(),
            is_over_tls: parts.extensions.get::<OverTls>().is_some(),
        };
        let answer = match operation.handler {
            Handler::Immediate(handler) => {
                call.context.retry_until_authorized(|| catch_unwind(AssertUnwindSafe(|| handler(&call)))).await
            }
            Handler::List(handler) => {
                match call.context.retry_until_authorized(|| catch_unwind(AssertUnwindSafe(|| handler(&call)))).await {
                    Ok(Ok(list)) => CatchPanic(list).await,
                    Ok(Err(problem)) => Ok(Err(problem)),
                    Err(panic) => Err(panic),
                }
            }
            Handler::Deferred(handler) => CatchPanic(handler(call)).await,
            Handler::Ordered(handler) => return handler(call).map(Outcome::Order),
        };
        let answer = answer.unwrap_or_else(|_| {
            // The panic's own text is in the log already.
            self.counters.panics.add(1);
            tracing::error!(method = operation.method.name(), path = found.route.path, "request handler panicked");
            Err(Problem::bare(StatusCode::INTERNAL_SERVER_ERROR))
        })?;
        // What an answer reports holds after a crash, too, also if another client caused it.
        let is_change = operation.method != Verb::Get;
        let position = match answer.position.is_empty() && is_change {
            true => self.broker.journal_end(),
            false => answer.position,
        };
        if !self.broker.until_durable(position).await {
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", NOT_DURABLE));
        }
        Ok(Outcome::Answer(answer))
    }

    /// The user that asks, and whether it has logged in: what is open to all may look different then.
    async fn actor(&self, role: Role, parts: &Parts, origin: Origin) -> Result<(Actor, bool), Problem> {
        if role == Role::Public {
            let is_logged_in =
                self.options.reference_needs_login && self.logged_in_or_remembered(parts, origin).await.is_ok();
            return Ok((Actor { origin, ..Actor::broker() }, is_logged_in));
        }
        let is_open = role == Role::Configured && !self.options.queue_info_needs_login;
        if is_open && matches!(Credentials::of(&parts.headers), Credentials::None) {
            return Ok((Actor { origin, ..Actor::broker() }, false));
        }
        Ok((self.logged_in_or_remembered(parts, origin).await?, true))
    }

    /// The user of a request: by its credentials, or else its cookie.
    async fn logged_in_or_remembered(&self, parts: &Parts, origin: Origin) -> Result<Actor, Problem> {
        let headers = &parts.headers;
        if matches!(Credentials::of(headers), Credentials::None) && origin.interface == Interface::Http {
            let now_ms = cookie::now_ms();
            let found = cookie::tokens(headers).find_map(|token| self.broker.login_session(token, &origin, now_ms));
            if let Some((identity, _)) = found {
                cookie::check_origin(&parts.method, headers)?;
                return Ok(Actor { identity: Arc::new(identity), origin });
            }
        }
        self.logged_in(headers, origin).await
    }

    /// The user of a request by its credentials.
    pub(crate) async fn logged_in(&self, headers: &HeaderMap, origin: Origin) -> Result<Actor, Problem> {
        match Credentials::of(headers) {
            Credentials::None if origin.interface == Interface::ControlSocket => {
                Ok(Actor { identity: Arc::new(Identity::local_operator()), origin })
            }
            Credentials::None => Err(Problem::login_required()),
            Credentials::Malformed => Err(Problem::bare(StatusCode::BAD_REQUEST)),
            Credentials::Basic { name, password } if !self.options.refuses_basic => {
                self.log_in(&name, &password, origin).await
            }
            Credentials::Basic { .. } => Err(Problem::not_authenticated()),
            Credentials::Bearer { token } => self.log_in_by_token(&token, origin).await,
        }
    }

    /// Logs in the owner of a token.
    pub(crate) async fn log_in_by_token(&self, token: &[u8], origin: Origin) -> Result<Actor, Problem> {
        logged_in("", origin, self.broker.log_in_by_token(token, &origin).await)
    }

    /// Logs a user in, for one request.
    pub(crate) async fn log_in(&self, name: &str, password: &[u8], origin: Origin) -> Result<Actor, Problem> {
        logged_in(name, origin, self.broker.log_in(name, password, &origin).await)
    }
}

fn logged_in(name: &str, origin: Origin, result: Result<Identity, LoginRefused>) -> Result<Actor, Problem> {
    match result {
        Ok(identity) => Ok(Actor { identity: Arc::new(identity), origin }),
        Err(refused) => {
            tracing::warn!(user = name, peer = ?origin.peer, reason = %refused, "HTTP login was refused");
            Err(Problem::not_authenticated())
        }
    }
}

/// Whether a method is one at all; which ones a route has is another question.
fn is_known(method: &Method) -> bool {
    Verb::of(method).is_some() || matches!(*method, Method::OPTIONS | Method::PATCH)
}

/// A request that has got as far as a broker is needed.
pub(crate) enum Reply {
    Ready(Response<AnswerBody>),
    /// The user may order it, and the node carries it out: nothing of the broker is held, which may stop meanwhile.
    Deferred(Pin<Box<dyn Future<Output = Response<AnswerBody>> + Send>>),
}

/// What a broker has made of a request.
enum Outcome {
    Answer(Answer),
    Order(AnswerFuture),
}

/// What is answered where a path leads nowhere: as for a file that is not there, whatever might have been done with it.
fn nothing_there(method: &Method, problem: Problem) -> Result<Answer, Problem> {
    if problem.status != StatusCode::NOT_FOUND {
        return Err(problem);
    }
    match Verb::of(method) {
        Some(Verb::Get) => Err(problem),
        None if *method == Method::OPTIONS => Ok(Answer::empty(StatusCode::OK)),
        None if !is_known(method) => Err(Problem::bare(StatusCode::NOT_IMPLEMENTED)),
        _ => Err(Problem::bare(StatusCode::METHOD_NOT_ALLOWED)),
    }
}

/// Bytes of a request before its body. What parses them bounds what it buffers, which may be more.
fn head_len(parts: &Parts) -> usize {
    let headers: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    headers + parts.uri.path().len() + parts.uri.query().map_or(0, str::len)
}

pub(crate) fn operation(method: &Method, found: &RouteMatch) -> Result<&'static Operation, Problem> {
    match Verb::of(method) {
        Some(verb) => {
            let operation = found.route.operations.iter().find(|operation| operation.method == verb);
            operation.ok_or_else(|| Problem::bare(StatusCode::METHOD_NOT_ALLOWED))
        }
        None if *method == Method::PATCH => Err(Problem::bare(StatusCode::METHOD_NOT_ALLOWED)),
        None => Err(Problem::bare(StatusCode::NOT_IMPLEMENTED)),
    }
}

fn accepts_other(operation: &Operation, parts: &Parts) -> bool {
    match operation.answer {
        Shape::Page(content_type) => media::accepts(&parts.headers, content_type),
        _ => false,
    }
}

/// A future whose panic is an error.
struct CatchPanic<F>(F);

impl<F: Future + Unpin> Future for CatchPanic<F> {
    type Output = std::thread::Result<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut self.0).poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}
