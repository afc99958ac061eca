//! What is answered while no broker runs here: that it is so, with the reason, and what the node knows by itself.

use std::fmt;
use std::sync::Arc;

use http_server::AnswerBody;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use crate::headers;
use crate::options::Options;
use crate::problem::Problem;

/// Answers that a node gives by itself, whether a broker runs on it or not: its health, say.
pub trait LocalAnswers: fmt::Debug + Send + Sync {
    /// The answer; none: only a broker can give it.
    fn answer(&self, method: &Method, path: &str) -> Option<Response<AnswerBody>>;

    /// Whether there is one. Asked before all of the request is there: where not, it may be sent on to another node.
    fn has_answer(&self, method: &Method, path: &str) -> bool;
}

/// Answers where no broker does.
#[derive(Debug)]
pub struct Absent {
    options: Arc<Options>,
    reason: Box<str>,
    local: Option<Arc<dyn LocalAnswers>>,
}

impl Absent {
    /// `reason` is why none does.
    #[must_use]
    pub fn new(options: Arc<Options>, reason: &str, local: Option<Arc<dyn LocalAnswers>>) -> Self {
        Self { options, reason: reason.into(), local }
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn respond<B>(&self, request: &Request<B>) -> Response<AnswerBody> {
        let path = request.uri().path();
        let local = self.local.as_ref().and_then(|local| local.answer(request.method(), path));
        let mut response = local.unwrap_or_else(|| {
            let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", &*self.reason);
            let mut response = Response::new(AnswerBody::whole(problem.render().into()));
            *response.status_mut() = problem.status;
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        });
        headers::add_common(response.headers_mut(), &self.options.headers, None);
        headers::add_cors(response.headers_mut(), &self.options.cors, request.headers(), None);
        response
    }
}
