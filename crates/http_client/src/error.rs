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
    /// It broke off.
    #[error("the answer broke off: {0}")]
    Body(hyper::Error),
    /// It is longer than so many bytes.
    #[error("the answer is longer than {} MiB", .0 >> 20)]
    TooLong(usize),
    /// Of its body less has come in so long a time than has to.
    #[error("the response is too slow: less than {} KiB in {} s", crate::PACE_LEN_MIN >> 10, .0.as_secs_f64())]
    TooSlow(Duration),
    /// It took too long.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
}
