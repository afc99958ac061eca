//! One connection: requests one after the other, within bounds; or, at `/ws`, AMQP from then on.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use net::proxy_protocol::Endpoints;
use net::{Replay, Stream, TlsInfo, websocket};
use tokio::sync::watch;

use super::{AmqpSink, ConnectionPermit, HttpClient, Site};
use crate::call::ForwardedBy;
use crate::limits::{HEAD_LEN_MAX, HEADER_COUNT_MAX};
use crate::stage::Stage;
use http_server::AnswerBody;

/// Serves until the client goes, misbehaves, or the group ends.
pub(super) async fn serve(site: Site, stream: Stream, client: HttpClient, mut stage: watch::Receiver<Stage>) {
    let may_change = match &site {
        Site::Api(_) => false,
        Site::Metrics(metrics, _) => metrics.is_without_broker(),
        Site::Absent(_) => true,
    };
    let HttpClient { origin, limits, amqp, permit, received, forwarded_by } = client;
    let forwarded_by = forwarded_by.map(ForwardedBy);
    let upgrade = amqp.and_then(|amqp| WebSocketUpgrade::of(&stream, amqp, permit.clone())).map(Arc::new);
    let answer = move |mut request: Request<Incoming>| {
        let (site, upgrade) = (site.clone(), upgrade.clone());
        if let Some(node) = &forwarded_by {
            request.extensions_mut().insert(node.clone());
        }
        async move {
            if http_server::host(request.headers(), request.version()).is_err() {
                let mut response = refused(StatusCode::BAD_REQUEST, String::new());
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                return response;
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
                (Site::Api(service), _) => service.respond(request, origin).await,
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
        // Who asks while no broker is here finds one the next time, perhaps on another node.
        request_count_max: if may_change { 1 } else { limits.keep_alive_max },
    };
    let mut until_end = stage.clone();
    let stop = async move {
        // An error means that the group has been dropped.
        let _ = stage.wait_for(|stage| *stage >= Stage::Stopping).await;
    };
    tokio::select! {
        () = http_server::serve(Replay::new(received, stream), limits, answer, stop) => {}
        _ = until_end.wait_for(|stage| *stage == Stage::Ended) => {}
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
            // An error means that the client has gone meanwhile.
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
