//! What is asked, and what was answered.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::{Method, StatusCode};

/// What is asked of a server: a method, a path with its query, headers, a body.
///
/// Without a path it is the URL's own that is asked for. `Host` and `Authorization` come from the URL, `Content-Length` from the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub(crate) method: Method,
    pub(crate) path: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Request {
    /// A request without a body, for the URL's own path.
    #[must_use]
    pub fn new(method: Method) -> Self {
        Request { method, path: None, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// The same for another path, below the URL's own.
    #[must_use]
    pub fn below(self, path: impl Into<String>) -> Self {
        Request { path: Some(path.into()), ..self }
    }

    /// The same with a header.
    #[must_use]
    pub fn with_header(mut self, name: hyper::header::HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The same with a body, and what it is.
    #[must_use]
    pub fn with_body(self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Request { body: body.into(), ..self }.with_header(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    /// The same with a body of JSON.
    #[must_use]
    pub fn with_json(self, body: impl Into<Bytes>) -> Self {
        self.with_body("application/json", body)
    }

    /// How long its body is, in bytes.
    #[must_use]
    pub fn body_len(&self) -> usize {
        self.body.len()
    }

    /// Whether a server that got it twice is in the same state as one that got it once.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.method.is_idempotent()
    }
}

/// What a server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// What it said about it.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

impl Answer {
    /// When the server wants to be asked again. In seconds; a date would take a calendar, and is as if nothing had been said.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
    }
}
