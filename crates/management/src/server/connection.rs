//! One connection: requests one after the other, within bounds; or, at `/ws`, AMQP from then on.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use broker::Origin;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use net::proxy_protocol::Endpoints;
use net::{Stream, TlsInfo, websocket};
use tokio::sync::watch;

use super::{AmqpSink, Seat, Site, Stage, patience};
use crate::answer::AnswerBody;
use crate::limits::{HEAD_LEN_MAX, HEADER_COUNT_MAX};
use crate::options::ConnectionLimits;

/// Who comes, and what it may do.
pub(super) struct Guest {
    pub(super) origin: Origin,
    pub(super) limits: ConnectionLimits,
    pub(super) amqp: Option<AmqpSink>,
    pub(super) seat: Seat,
}

/// Serves until the client goes, misbehaves, or the server stops.
pub(super) async fn serve(site: Site, stream: Stream, guest: Guest, mut stage: watch::Receiver<Stage>) {
    let Guest { origin, limits, amqp, seat } = guest;
    let door = amqp.and_then(|amqp| Door::of(&stream, amqp, seat.clone())).map(Arc::new);
    let request_count = AtomicU64::new(0);
    let answer = service_fn(move |request: Request<Incoming>| {
        let (site, door) = (site.clone(), door.clone());
        let is_last = request_count.fetch_add(1, Ordering::Relaxed) + 1 >= limits.keep_alive_max;
        async move {
            if !names_one_host(&request) {
                let mut response = refused(StatusCode::BAD_REQUEST, String::new());
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                return Ok(response);
            }
            let mut response = match (&site, &door) {
                (Site::Api(service), Some(door)) if service.is_websocket(request.uri().path()) => {
                    if !service.lets_in_page_of(request.headers()) {
                        refused(StatusCode::FORBIDDEN, FOREIGN_PAGE.to_owned())
                    } else if service.is_suspended() {
                        refused(StatusCode::SERVICE_UNAVAILABLE, SUSPENDED.to_owned())
                    } else {
                        door.open(request)
                    }
                }
                (Site::Api(service), _) => service.respond(request, origin).await,
                (Site::Metrics(metrics, compresses), _) => metrics.respond(request, origin, *compresses).await,
            };
            if is_last && response.status() != StatusCode::SWITCHING_PROTOCOLS {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_buf_size(HEAD_LEN_MAX)
        .max_headers(HEADER_COUNT_MAX)
        .serve_connection(patience::of(stream, limits.write_timeout), answer)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    // How a connection ends is the client's business: nothing of it is worth a line in the log.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stage.wait_for(|stage| *stage >= Stage::Stopping) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Whether it says for whom it is, once: what stands between could understand two in two ways. Before HTTP/1.1 nothing had to be said.
fn names_one_host<B>(request: &Request<B>) -> bool {
    match request.headers().get_all(HOST).iter().count() {
        0 => request.version() < Version::HTTP_11,
        count => count == 1,
    }
}

/// What a page of another origin is told.
const FOREIGN_PAGE: &str =
    "pages of this origin may not open a WebSocket here; management.cors.allow_origins names those that may";

/// What is said while AMQP's listeners are suspended.
const SUSPENDED: &str = "the node takes no new connections of AMQP: its listeners were suspended";

fn refused(status: StatusCode, text: String) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(text.into()));
    *response.status_mut() = status;
    response
}

/// Where a connection becomes a WebSocket that carries AMQP.
struct Door {
    endpoints: Endpoints,
    tls: Option<TlsInfo>,
    amqp: AmqpSink,
    seat: Seat,
}

impl Door {
    /// None where there is no network between: nobody needs a WebSocket there.
    fn of(stream: &Stream, amqp: AmqpSink, seat: Seat) -> Option<Door> {
        let endpoints = Endpoints { peer: stream.peer_addr().ok()?, local: stream.local_addr().ok()? };
        Some(Door { endpoints, tls: stream.tls_info(), amqp, seat })
    }

    fn open(self: &Arc<Self>, mut request: Request<Incoming>) -> Response<AnswerBody> {
        if *request.method() != Method::GET {
            return refused(StatusCode::METHOD_NOT_ALLOWED, String::new());
        }
        let headers = match websocket::accept(request.headers()) {
            Ok(headers) => headers,
            Err(error) => return refused(error.status(), error.to_string()),
        };
        let upgrading = hyper::upgrade::on(&mut request);
        let door = self.clone();
        tokio::spawn(async move {
            // An error means that the client has gone meanwhile.
            if let Ok(upgraded) = upgrading.await {
                let stream = websocket::stream(TokioIo::new(upgraded), door.endpoints, door.tls.clone());
                (door.amqp)(stream, door.seat.clone());
            }
        });
        let mut response = refused(StatusCode::SWITCHING_PROTOCOLS, String::new());
        response.headers_mut().extend(headers);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_one_host() {
        let names = |version, hosts: &[&str]| {
            let builder = hosts.iter().fold(Request::builder().version(version), |all, host| all.header(HOST, *host));
            names_one_host(&builder.body(()).unwrap())
        };
        assert!(names(Version::HTTP_11, &["a"]) && names(Version::HTTP_10, &[]) && names(Version::HTTP_10, &["a"]));
        assert!(!names(Version::HTTP_11, &[]));
        for version in [Version::HTTP_10, Version::HTTP_11] {
            assert!(!names(version, &["a", "a"]) && !names(version, &["a", "b"]));
        }
    }
}
