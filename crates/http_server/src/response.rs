//! Answers that are made at once.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

/// An answer of this type.
pub fn respond(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Only these methods are for what was asked.
pub fn not_allowed(allowed: &'static str, content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = respond(StatusCode::METHOD_NOT_ALLOWED, content_type, body);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
