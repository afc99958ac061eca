//! What operators ask over HTTP: `/healthz`, `/readyz`, `/metrics`, `/api/pools`, `/api/spool`, `/api/upstreams`, draining, and dropping
//! what is kept.
//!
//! There is no login: it listens on this host unless the configuration says otherwise, shows no secrets, and changes nothing for other
//! hosts, nor for pages of other sites ([`Callers`]).

mod callers;
mod spool;

use std::borrow::Cow;
use std::net::SocketAddr;

use http_body_util::Full;
use http_server::{ConnectionSlots, Limits, WhenFull, respond};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use net::Listener;
use serde_json::{Value, json};

pub use self::callers::Callers;
use super::{Handle, log, metrics};
use crate::balance::{Circuit, RefusedVhost, Snapshot, State};
use crate::switchboard::{PoolReport, Report, UpstreamConnectionReport};

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
/// What Prometheus asks for.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Connections at once: few clients ask.
const PLACES: ConnectionSlots = ConnectionSlots { count_max: 256, address_count_max: 64, when_full: WhenFull::Close };

/// Answers for ever.
pub async fn serve_operations(listener: Listener, handle: Handle, callers: Callers) {
    let serve = |stream, peer: SocketAddr| {
        let (handle, callers) = (handle.clone(), callers.clone());
        let is_here = peer.ip().to_canonical().is_loopback();
        let answer = move |request| answer(handle.clone(), callers.clone(), is_here, request);
        http_server::serve(stream, Limits::default(), answer, std::future::pending())
    };
    http_server::accept(listener, PLACES, log::out_of_files, serve).await;
}

async fn answer(handle: Handle, callers: Callers, is_here: bool, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (request, _) = request.into_parts();
    let (path, method) = (request.uri.path().trim_end_matches('/'), &request.method);
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    if let Some((status, text)) = callers.refusal(&request, is_here, is_read) {
        return respond(status, TEXT, text);
    }
    if !is_read && !is_here {
        let text = "without a login nothing is changed from another host than the proxy's own";
        return respond(StatusCode::FORBIDDEN, TEXT, text);
    }
    if let Some(name) = path.strip_prefix("/api/upstreams/").and_then(|rest| rest.strip_suffix("/drain")) {
        return drain(&handle, method, &decoded(name));
    }
    if let Some(names) = path.strip_prefix("/api/spool/") {
        return spool::answer(&handle, method, names).await;
    }
    let known = ["", "/healthz", "/readyz", "/metrics", "/api/pools", "/api/spool", "/api/upstreams"];
    if known.contains(&path) && !is_read {
        return not_allowed("GET, HEAD");
    }
    match path {
        "" => respond(
            StatusCode::OK,
            TEXT,
            "warren proxy: /healthz /readyz /metrics /api/pools /api/spool /api/upstreams\n",
        ),
        "/healthz" => respond(StatusCode::OK, TEXT, "OK"),
        "/readyz" => match handle.unready() {
            None => respond(StatusCode::OK, TEXT, "OK"),
            Some(why) => respond(StatusCode::SERVICE_UNAVAILABLE, TEXT, why),
        },
        "/metrics" => {
            let text = metrics::render(
                &Report::sum(handle.reports().await),
                &handle.upstreams(),
                &handle.guard(),
                handle.spool_report().as_ref(),
                handle.unready().is_none(),
            );
            respond(StatusCode::OK, METRICS, text)
        }
        "/api/pools" => {
            let pools: Vec<Value> = Report::sum(handle.reports().await).pools.iter().map(pool).collect();
            respond(StatusCode::OK, JSON, Value::Array(pools).to_string())
        }
        "/api/spool" => respond(StatusCode::OK, JSON, spool::page(handle.spool_report().as_ref()).to_string()),
        "/api/upstreams" => {
            let upstreams: Vec<Value> = handle.upstreams().iter().map(upstream).collect();
            respond(StatusCode::OK, JSON, Value::Array(upstreams).to_string())
        }
        _ => respond(StatusCode::NOT_FOUND, TEXT, "unknown path"),
    }
}

/// A part of a path.
fn decoded(part: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(part).decode_utf8_lossy()
}

/// `PUT` has an upstream drained, `DELETE` has it used again.
fn drain(handle: &Handle, method: &Method, name: &str) -> Response<Full<Bytes>> {
    let is_found = match *method {
        // No POST: any page in a browser on this host could send one.
        Method::PUT => handle.drain(name),
        Method::DELETE => handle.undrain(name),
        _ => return not_allowed("PUT, DELETE"),
    };
    if is_found {
        return respond(StatusCode::NO_CONTENT, TEXT, "");
    }
    respond(StatusCode::NOT_FOUND, TEXT, format!("no upstream '{name}'"))
}

fn pool(pool: &PoolReport) -> Value {
    json!({
        "user": pool.user,
        "vhost": pool.vhost,
        "clients": pool.client_count,
        "waiting_clients": pool.waiting_client_count,
        "away": pool.is_away,
        "parked_channels_max": pool.parked_channel_max,
        "last_error": pool.last_error,
        "connections": pool.connections.iter().map(line).collect::<Vec<_>>(),
    })
}

fn line(line: &UpstreamConnectionReport) -> Value {
    json!({
        "upstream": line.upstream,
        "local_address": line.address.map(|address| address.to_string()),
        "for": if line.is_for_publishes { "publishes" } else { "calls" },
        "state": match (line.is_open, line.is_draining) {
            (_, true) => "draining",
            (true, false) => "open",
            (false, false) => "opening",
        },
        "blocked": line.is_blocked,
        "channels": line.channel_count,
        "used_channels": line.used_channel_count,
        "parked_channels": line.parked_channel_count,
        "unconfirmed": line.unconfirmed_count,
        "output_bytes": line.output_len,
    })
}

fn upstream(upstream: &Snapshot) -> Value {
    json!({
        "name": upstream.options.name,
        "address": upstream.options.address,
        "weight": upstream.options.weight,
        "vhosts": upstream.options.vhosts,
        "state": state_name(upstream.state),
        "connections": upstream.connection_count,
        "consecutive_failures": upstream.consecutive_failure_count,
        "circuit": match upstream.circuit {
            Circuit::Closed => "closed",
            Circuit::Open => "open",
            Circuit::HalfOpen => "half open",
        },
        "refused_vhosts": upstream.refused_vhosts.iter().map(refused_vhost).collect::<Vec<_>>(),
        "last_error": upstream.last_error.as_ref().map(|error| &error.text),
        "dialled": upstream.counters.dialled,
        "failed": upstream.counters.failed,
        "checks_passed": upstream.counters.checks_passed,
        "checks_failed": upstream.counters.checks_failed,
    })
}

fn refused_vhost(refused: &RefusedVhost) -> Value {
    json!({ "vhost": refused.name, "error": refused.text })
}

pub(super) fn state_name(state: State) -> &'static str {
    match state {
        State::Up => "up",
        State::Down => "down",
        State::Draining => "draining",
    }
}

fn not_allowed(allowed: &'static str) -> Response<Full<Bytes>> {
    http_server::not_allowed(allowed, TEXT, format!("only {allowed} is supported"))
}
