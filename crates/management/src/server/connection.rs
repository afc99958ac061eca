//! One connection: requests one after the other, within bounds.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use broker::Origin;
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use net::Stream;
use tokio::sync::watch;

use super::{Stage, patience};
use crate::limits::{HEAD_LEN_MAX, HEAD_TIMEOUT, HEADER_COUNT_MAX, KEEP_ALIVE_MAX};
use crate::service::Service;

/// Serves until the client goes, misbehaves, or the server stops.
pub(super) async fn serve(service: Arc<Service>, stream: Stream, origin: Origin, mut stage: watch::Receiver<Stage>) {
    let request_count = Arc::new(AtomicU32::new(0));
    let answer = service_fn(move |request: Request<Incoming>| {
        let service = service.clone();
        let is_last = request_count.fetch_add(1, Ordering::Relaxed) + 1 >= KEEP_ALIVE_MAX;
        async move {
            let mut response = service.respond(request, origin).await;
            if is_last {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_LEN_MAX)
        .max_headers(HEADER_COUNT_MAX)
        .serve_connection(patience::of(stream), answer);
    let mut connection = std::pin::pin!(connection);
    // How a connection ends is the client's business: nothing of it is worth a line in the log.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stage.wait_for(|stage| *stage >= Stage::Stopping) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
