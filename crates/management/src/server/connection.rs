//! One connection: requests one after the other, within bounds; or, at `/ws`, AMQP from then on.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use net::proxy_protocol::Endpoints;
use net::{Replay, Stream, TlsInfo, websocket};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{AmqpSink, ConnectionPermit, HttpClient, OpenConnection, Site};
use crate::call::ForwardedBy;
use crate::cookie::OverTls;
use crate::limits::{HEAD_LEN_MAX, HEADER_COUNT_MAX};
use crate::pipeline::Reply;
use crate::stage::Stage;
use http_server::AnswerBody;

/// What answers a connection, and what it keeps alive of a broker by that.
struct Answering {
    site: Site,
    upgrade: Option<Arc<WebSocketUpgrade>>,
    _place: OpenConnection,
}

/// Serves until the client disconnects or misbehaves, or the group ends in which the connection has this place.
pub(super) async fn serve(
    site: Site,
    stream: Stream,
    client: HttpClient,
    mut stage: watch::Receiver<Stage>,
    place: OpenConnection,
) {
    let may_change = match &site {
        Site::Api(_) => false,
        Site::Metrics(metrics, _) => metrics.is_without_broker(),
        Site::Absent(_) => true,
    };
    let HttpClient { origin, limits, amqp, permit, received, forwarded_by } = client;
    let forwarded_by = forwarded_by.map(ForwardedBy);
    let is_over_tls = stream.tls_info().is_some();
    let upgrade = amqp.and_then(|amqp| WebSocketUpgrade::of(&stream, amqp, permit.clone())).map(Arc::new);
    // Taken out by an order to the node, which may stop the broker: then the connection belongs to no group, and ends with the answer.
    let answering = Arc::new(Mutex::new(Some(Answering { site, upgrade, _place: place })));
    let of_group = answering.clone();
    let answer = move |mut request: Request<Incoming>| {
        let answering = answering.clone();
        if let Some(node) = &forwarded_by {
            request.extensions_mut().insert(node.clone());
        }
        if is_over_tls {
            request.extensions_mut().insert(OverTls);
        }
        async move {
            let parts = answering.lock().as_ref().map(|answering| (answering.site.clone(), answering.upgrade.clone()));
            let Some((site, upgrade)) = parts else {
                return last(refused(StatusCode::SERVICE_UNAVAILABLE, String::new()));
            };
            if http_server::host(request.headers(), request.version()).is_err() {
                return last(refused(StatusCode::BAD_REQUEST, String::new()));
            }
            match (&site, &upgrade) {
                (Site::Api(service), Some(upgrade)) if service.options.is_websocket(request.uri().path()) => {
                    if !service.options.lets_in_page_of(request.headers()) {
                        refused(StatusCode::FORBIDDEN, FOREIGN_PAGE.to_owned())
                    } else if service.is_suspended() {
                        refused(StatusCode::SERVICE_UNAVAILABLE, SUSPENDED.to_owned())
                    } else {
                        upgrade.open(request)
                    }
                }
                (Site::Absent(absent), Some(upgrade)) if absent.options().is_websocket(request.uri().path()) => {
                    match absent.options().lets_in_page_of(request.headers()) {
                        true => upgrade.open(request),
                        false => refused(StatusCode::FORBIDDEN, FOREIGN_PAGE.to_owned()),
                    }
                }
                (Site::Api(service), _) => match service.begin(request, origin).await {
                    Reply::Ready(response) => response,
                    Reply::Deferred(answer) => {
                        drop((site, upgrade));
                        drop(answering.lock().take());
                        last(answer.await)
                    }
                },
                (Site::Metrics(metrics, compresses), _) => metrics.respond(request, origin, *compresses).await,
                (Site::Absent(absent), _) => absent.respond(request).await,
            }
        }
    };
    let limits = http_server::Limits {
        head_timeout: limits.head_timeout,
        write_timeout: Some(limits.write_timeout),
        head_len_max: HEAD_LEN_MAX,
        header_count_max: HEADER_COUNT_MAX,
        // A client that asks while no broker is here finds one the next time, perhaps on another node.
        request_count_max: if may_change { 1 } else { limits.keep_alive_max },
    };
    let mut until_end = stage.clone();
    let stop = async move {
        // An error means that the group has been dropped.
        let _ = stage.wait_for(|stage| *stage >= Stage::Stopping).await;
    };
    let ended = async move {
        let _ = until_end.wait_for(|stage| *stage == Stage::Ended).await;
        if of_group.lock().is_none() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = http_server::serve(Replay::new(received, stream), limits, answer, stop) => {}
        () = ended => {}
    }
}

/// No request follows on this connection.
fn last(mut response: Response<AnswerBody>) -> Response<AnswerBody> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The answer to a page of another origin.
const FOREIGN_PAGE: &str =
    "pages of this origin may not open WebSockets: allow the origin with management.cors.allow_origins";

/// What is said while AMQP's listeners are suspended.
const SUSPENDED: &str = "the node accepts no new AMQP connections: its listeners are suspended";

fn refused(status: StatusCode, text: String) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(text.into()));
    *response.status_mut() = status;
    response
}

/// Where a connection becomes a WebSocket that carries AMQP.
struct WebSocketUpgrade {
    endpoints: Endpoints,
    tls: Option<TlsInfo>,
    amqp: AmqpSink,
    permit: ConnectionPermit,
}

impl WebSocketUpgrade {
    /// None where there is no network between: no client needs a WebSocket there.
    fn of(stream: &Stream, amqp: AmqpSink, permit: ConnectionPermit) -> Option<WebSocketUpgrade> {
        let endpoints = Endpoints { peer: stream.peer_addr().ok()?, local: stream.local_addr().ok()? };
        Some(WebSocketUpgrade { endpoints, tls: stream.tls_info(), amqp, permit })
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
        let upgrade = self.clone();
        tokio::spawn(async move {
            // An error means that the client has disconnected meanwhile.
            if let Ok(upgraded) = upgrading.await {
                let stream = websocket::stream(TokioIo::new(upgraded), upgrade.endpoints, upgrade.tls.clone());
                (upgrade.amqp)(stream, upgrade.permit.clone());
            }
        });
        let mut response = refused(StatusCode::SWITCHING_PROTOCOLS, String::new());
        response.headers_mut().extend(headers);
        response
    }
}
