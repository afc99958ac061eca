//! An answer, or a problem, as a response of HTTP.

use std::sync::Arc;

use bytes::Bytes;
use http_server::{AnswerBody, BrokenBody};
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use telemetry::Counter;

use crate::answer::{Answer, Content};
use crate::problem::Problem;

/// The name of the realm that a browser shows.
const REALM: HeaderValue = HeaderValue::from_static("Basic realm=\"RabbitMQ Management\"");

pub(crate) fn response_of(answer: Result<Answer, Problem>, panics: &Arc<Counter>) -> Response<AnswerBody> {
    match answer {
        Ok(answer) => answer_response(answer, panics),
        Err(problem) => problem_response(&problem),
    }
}

fn answer_response(answer: Answer, panics: &Arc<Counter>) -> Response<AnswerBody> {
    let is_bodiless = matches!(answer.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let (content_type, body) = match answer.content {
        Content::Empty => (None, AnswerBody::whole(Bytes::new())),
        Content::Json(json) => (Some("application/json"), AnswerBody::whole(json.into())),
        Content::Pieces(pieces) => match AnswerBody::of(pieces, panics) {
            Ok(body) => (Some("application/json"), body),
            Err(BrokenBody) => return problem_response(&Problem::bare(StatusCode::INTERNAL_SERVER_ERROR)),
        },
        Content::Other(content_type, bytes) => (Some(content_type), AnswerBody::whole(bytes)),
        Content::Source(content_type, source) => (Some(content_type), AnswerBody::live(source)),
    };
    let len = body.known_len().filter(|_| !is_bodiless);
    let mut response = response(answer.status, content_type, body, len);
    response.headers_mut().extend(answer.headers);
    response
}

fn response(
    status: StatusCode,
    content_type: Option<&'static str>,
    body: AnswerBody,
    len: Option<usize>,
) -> Response<AnswerBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if let Some(content_type) = content_type {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    if let Some(len) = len {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(len));
    }
    response
}

pub(crate) fn problem_response(problem: &Problem) -> Response<AnswerBody> {
    let body = problem.render();
    let content_type = (!body.is_empty()).then_some("application/json");
    let len = Some(body.len());
    let mut response = response(problem.status, content_type, AnswerBody::whole(body.into()), len);
    if problem.asks_for_login {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, REALM);
    }
    response
}
