//! Requests over HTTP/1.1: what our own programs ask of a management API, of InfluxDB, of a server for tokens.
//!
//! ```text
//!  url            where a server is, and as which user: http[s]://user:password@host:port/path, or a Unix socket
//!  request        what is asked, and what was answered
//!  client         asks one server, one request after the other, over a connection that is kept
//!  answer_stream  an answer that is read as it comes
//!  byte_stream        the connection: TCP, TLS, a Unix socket
//!  error          why there is no answer
//!  testing        a server that speaks TLS, for tests (feature `testing`)
//! ```
//!
//! An answer is held in memory as a whole, and is bounded, or is read as it comes. Not here: redirects, cookies, proxies, several
//! requests at once.

mod answer_stream;
mod byte_stream;
mod client;
mod error;
mod request;
#[cfg(feature = "testing")]
pub mod testing;
mod url;

pub use answer_stream::AnswerStream;
pub use client::{Client, get, post};
pub use error::HttpError;
pub use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
pub use hyper::{Method, StatusCode};
pub use request::{Answer, Request};
pub use url::{HttpUrl, HttpUrlError};

/// An answer longer than this is an error unless [`Client::set_answer_len_max`] has said otherwise: the management API's list of very many
/// queues is shorter.
pub(crate) const ANSWER_LEN_MAX: usize = 64 << 20;

/// Bounds an answer that may be a RabbitMQ's definitions: with a million queues these are 200 to 300 MB.
pub const DEFINITIONS_LEN_MAX: usize = 512 << 20;

/// What has to come of a body within [`PACE_WINDOW`], whatever time the answer has as a whole: one of a byte a second would never end.
pub(crate) const PACE_LEN_MIN: usize = 4 << 10;
pub(crate) const PACE_WINDOW: std::time::Duration = std::time::Duration::from_secs(60);
