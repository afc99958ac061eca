//! Kinds of values that the broker's configuration does not have.

use std::time::Duration;

use amqp_client::{Uri, without_passwords};
use model::config::parse_duration_ms;
use model::config::table::Kind;

/// A duration, or none at all.
pub(super) const DURATION_OR_INFINITY: Kind = Kind {
    what: "milliseconds, a duration such as 10s or 5m, or infinity",
    refusal: |text| parse_duration_or_infinity(text).is_none().then(String::new),
    shown: str::to_owned,
};

/// Where an upstream is.
pub(super) const URL: Kind =
    Kind { what: "a URL such as amqp://host or amqps://host:5671", refusal: url_refusal, shown: shown_url };

fn url_refusal(text: &str) -> Option<String> {
    match Uri::parse(text) {
        Ok(uri) if uri.port == 0 => Some("no broker is at port 0".to_owned()),
        Ok(_) => None,
        Err(error) => Some(error.reason.into_owned()),
    }
}

/// Without the password.
pub(super) fn shown_url(text: &str) -> String {
    match Uri::parse(text) {
        Ok(_) => without_passwords(text),
        Err(error) => error.uri,
    }
}

/// A value of [`DURATION_OR_INFINITY`]; None for infinity.
pub(super) fn parse_duration_or_infinity(text: &str) -> Option<Option<Duration>> {
    match text {
        "infinity" => Some(None),
        _ => parse_duration_ms(text).map(|ms| Some(Duration::from_millis(ms))),
    }
}
