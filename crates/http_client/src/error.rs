//! Why there is no answer.

use std::io;
use std::time::Duration;

/// Why there is no answer. An answer that says no is one.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The server cannot be connected to.
    #[error("{0}")]
    Unreachable(#[from] io::Error),
    /// What came, or did not come, is no HTTP.
    #[error("{0}: {1}")]
    Broken(&'static str, hyper::Error),
    /// The path or a header cannot be sent.
    #[error("{0}")]
    Unsendable(#[from] hyper::http::Error),
    /// It was too long, or broke off.
    #[error("the answer broke off, or is longer than {} MiB", crate::ANSWER_LEN_MAX >> 20)]
    Body,
    /// It took too long.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
}
