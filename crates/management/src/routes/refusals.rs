//! Refusals of the broker, which words them for AMQP, as RabbitMQ's HTTP API tells them.

use amqp::reply::ReplyCode;
use broker::Refusal;
use hyper::StatusCode;

use crate::problem::Problem;

/// Why something was not declared, deleted, bound or purged: the text alone.
pub(super) fn of_change(refusal: &Refusal) -> Problem {
    match refusal.code {
        ReplyCode::AccessRefused => Problem::not_authorised("Access refused."),
        ReplyCode::NotFound => Problem::new(StatusCode::NOT_FOUND, "not_found", &*refusal.text),
        _ => Problem::bad_request(&*refusal.text),
    }
}

/// Why a message was not published or got: the text with its code, as a channel would be closed with.
pub(super) fn of_message(refusal: &Refusal) -> Problem {
    let reply = refusal.code.text(&refusal.text);
    Problem::bad_request(format!("{} {}", refusal.code.code(), String::from_utf8_lossy(&reply)))
}
