//! Refusals of the broker as RabbitMQ's HTTP API returns them.

use broker::reply_code;
use hyper::StatusCode;
use model::refusal::{Refusal, RefusalKind};

use crate::problem::Problem;

/// Why something was not declared, deleted, bound or purged: the text alone.
pub(super) fn of_change(refusal: &Refusal) -> Problem {
    match refusal.kind {
        RefusalKind::AccessRefused => Problem::not_authorised("Access refused."),
        RefusalKind::NotFound => Problem::new(StatusCode::NOT_FOUND, "not_found", &*refusal.text),
        _ => Problem::bad_request(&*refusal.text),
    }
}

/// Why a message was not published or got: the text with its code, as a channel would be closed with.
pub(super) fn of_message(refusal: &Refusal) -> Problem {
    let code = reply_code(refusal.kind);
    let reply = code.text(&refusal.text);
    Problem::bad_request(format!("{} {}", code.code(), String::from_utf8_lossy(&reply)))
}
