//! What is kept, shown and dropped: `/api/spool`, `/api/spool/USER/VHOST`, `/api/spool/USER/VHOST/first`.

use std::time::Duration;

use http_body_util::Full;
use http_server::respond;
use hyper::body::Bytes;
use hyper::{Method, Response, StatusCode};
use serde_json::{Value, json};

use super::{JSON, TEXT, decoded, not_allowed};
use crate::service::Handle;
use crate::service::forwarder::wall_ms;
use crate::spool::{First, NotNow, Report, Spool, SpoolQueueReport};

/// How long a message may take to be read.
const LOAD_TIMEOUT: Duration = Duration::from_secs(5);

/// `/api/spool`.
pub(super) fn page(spool: Option<&Report>) -> Value {
    let Some(spool) = spool else { return json!({ "enabled": false }) };
    json!({
        "enabled": true,
        "messages": spool.count(),
        "bytes": spool.len(),
        "bytes_max": spool.len_max,
        "unwritten_bytes": spool.unwritten_len,
        "failure": spool.failure,
        "kept": spool.counters.kept,
        "sent_on": spool.counters.sent_on,
        "refused": spool.counters.refused,
        "expired": spool.counters.expired,
        "dropped": spool.counters.dropped,
        "full": spool.counters.full,
        "shelves": spool.spool_queues.iter().map(spool_queue).collect::<Vec<_>>(),
    })
}

fn spool_queue(queue: &SpoolQueueReport) -> Value {
    json!({
        "user": queue.user,
        "vhost": queue.vhost,
        "messages": queue.count,
        "bytes": queue.len,
        "state": if queue.is_sending { "sending" } else { "waiting" },
        "last_error": queue.last_error,
    })
}

/// What lies below `/api/spool/`.
pub(super) async fn answer(handle: &Handle, method: &Method, names: &str) -> Response<Full<Bytes>> {
    let parts: Vec<&str> = names.split('/').collect();
    let (user, vhost, is_first) = match parts[..] {
        [user, vhost] => (decoded(user), decoded(vhost), false),
        [user, vhost, "first"] => (decoded(user), decoded(vhost), true),
        _ => {
            return respond(
                StatusCode::NOT_FOUND,
                TEXT,
                "the path must be /api/spool/USER/VHOST, or .../first, with / in names as %2F",
            );
        }
    };
    let is_drop = *method == Method::DELETE;
    match (is_first, method) {
        (_, &Method::DELETE) | (true, &Method::GET | &Method::HEAD) => {}
        (true, _) => return not_allowed("GET, HEAD, DELETE"),
        (false, _) => return not_allowed("DELETE"),
    }
    let nothing =
        || respond(StatusCode::NOT_FOUND, TEXT, format!("no messages of user '{user}' for vhost '{vhost}' are stored"));
    let Some(spool) = handle.spool() else { return nothing() };
    if !is_first {
        return match spool.drop_all(&user, &vhost) {
            0 => nothing(),
            count => {
                tracing::warn!(%user, %vhost, count, "stored messages dropped by an operator over HTTP");
                respond(StatusCode::OK, JSON, json!({ "dropped": count }).to_string())
            }
        };
    }
    let found = match tokio::time::timeout(LOAD_TIMEOUT, first(spool, &user, &vhost, is_drop)).await {
        Ok(found) => found,
        Err(_) => {
            return respond(
                StatusCode::SERVICE_UNAVAILABLE,
                TEXT,
                "the message cannot be read at the moment; try again",
            );
        }
    };
    match found {
        Ok(None) => nothing(),
        Ok(Some(first)) => {
            if is_drop {
                let First { exchange, routing_key, body_len, .. } = &first;
                tracing::warn!(
                    %user, %vhost, exchange, routing_key, body_len,
                    "stored message dropped by an operator over HTTP"
                );
            }
            respond(StatusCode::OK, JSON, message(&first).to_string())
        }
        Err(Sending) => respond(StatusCode::CONFLICT, TEXT, "the message is being forwarded; try again when it waits"),
    }
}

/// It is being sent on.
struct Sending;

async fn first(spool: &Spool, user: &str, vhost: &str, is_drop: bool) -> Result<Option<First>, Sending> {
    let mut changes = spool.changes();
    loop {
        changes.borrow_and_update();
        let found = if is_drop { spool.drop_first(user, vhost) } else { spool.first(user, vhost) };
        match found {
            Ok(first) => return Ok(first),
            Err(NotNow::Sending) => return Err(Sending),
            // It says when something was read, for as long as it is there.
            Err(NotNow::Loading) => drop(changes.changed().await),
        }
    }
}

fn message(first: &First) -> Value {
    json!({
        "exchange": first.exchange,
        "routing_key": first.routing_key,
        "body_bytes": first.body_len,
        "age_s": wall_ms().saturating_sub(first.kept_ms) / 1_000,
    })
}
