//! One connection: requests one after the other, within limits.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::write_timeout::WriteTimeout;

/// What a client may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long a request's line and headers may take, and how long a connection may be idle before them.
    pub head_timeout: Duration,
    /// How long a client may leave unread what it is sent; for ever, if this is none.
    pub write_timeout: Option<Duration>,
    /// Bytes of a request's line and headers.
    pub head_len_max: usize,
    /// Headers of a request.
    pub header_count_max: usize,
    /// Requests of one connection.
    pub request_count_max: u64,
}

impl Default for Limits {
    /// hyper's own, which are for clients that are few and known.
    fn default() -> Self {
        Limits {
            head_timeout: Duration::from_secs(30),
            write_timeout: None,
            head_len_max: 408 << 10,
            header_count_max: 100,
            request_count_max: u64::MAX,
        }
    }
}

/// Serves until the client disconnects or misbehaves; after `stop`, until the request that is being answered is. An answer of 101 makes the
/// connection another one, which outlives this.
pub async fn serve<S, A, F, B>(stream: S, limits: Limits, answer: A, stop: impl Future<Output = ()>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<B>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let request_count = AtomicU64::new(0);
    let answer = service_fn(|request| {
        let is_last = request_count.fetch_add(1, Ordering::Relaxed) + 1 >= limits.request_count_max;
        let answering = answer(request);
        async move {
            let mut response = answering.await;
            if is_last && response.status() != StatusCode::SWITCHING_PROTOCOLS {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_buf_size(limits.head_len_max)
        .max_headers(limits.header_count_max)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream, limits.write_timeout)), answer)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    // How a connection ends is the client's business: nothing of it is worth a line in the log.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
