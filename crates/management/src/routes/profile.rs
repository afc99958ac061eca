//! CPU profiles of the running process, which RabbitMQ has by Erlang's tools only.

use std::time::Duration;

use hyper::StatusCode;
use sampler::{Session, StartError};

use super::request_params::RequestParams as _;
use super::trace::NAMED;
use crate::answer::Answer;
use crate::introspection::Introspection;
use crate::problem::Problem;
use crate::profile::{About, Feed, viewer};
use crate::route::Role::Administrator;
use crate::route::{Operation, Parameters, Route, Shape, at};
use crate::watch::JSON_LINES;

pub(crate) const CPU: &str = "/api/profile/cpu";

pub(super) static ROUTES: &[Route] = &[at(
    CPU,
    &[Operation::get(
        Administrator,
        |call| cpu(&Introspection::of(call)),
        "Streams a CPU profile as lines of JSON: stacks of all threads, as addresses within files.",
        Shape::Page(JSON_LINES),
    )
    .query(&[
        Parameters::Other("seconds", "The duration in seconds, from 1 to 300. Default: 10."),
        Parameters::Other(
            "rate",
            "The number of samples per second of a thread's CPU time, from 1 to 999. Default: 99.",
        ),
        NAMED,
    ])
    .refuses(&[
        ("409", "Another CPU profile is running."),
        ("503", "Eight traces and profiles are running, an alarm is in effect, or the system does not support it."),
    ])],
)];

const SECONDS_MAX: u32 = 300;
const SECONDS_DEFAULT: u32 = 10;
const RATE_HZ_MAX: u32 = 999;
/// Not 100, so that it does not keep step with what happens a hundred times a second.
const RATE_HZ_DEFAULT: u32 = 99;

pub(crate) fn cpu(introspection: &Introspection) -> Result<Answer, Problem> {
    if let Some(name) = introspection.query.names().find(|name| !["seconds", "rate", "session"].contains(name)) {
        return Err(Problem::bad_request(format!(
            "unknown parameter '{name}': the parameters are seconds, rate and session"
        )));
    }
    let number = |name, default, most: u32| {
        let number = introspection.query.number_in(name, 1..=most.into())?;
        Ok::<_, Problem>(number.and_then(|number| u32::try_from(number).ok()).unwrap_or(default))
    };
    let seconds = number("seconds", SECONDS_DEFAULT, SECONDS_MAX)?;
    let rate_hz = number("rate", RATE_HZ_DEFAULT, RATE_HZ_MAX)?;
    let observer = introspection.observer()?;
    let about = About { node: introspection.node.clone(), rate_hz, seconds };
    let (viewer, lines) = viewer(about);
    let options = sampler::Options { rate_hz, time: Duration::from_secs(u64::from(seconds)) };
    let session = Session::start(options, Box::new(viewer)).map_err(|error| match error {
        StartError::Taken => Problem::new(StatusCode::CONFLICT, "conflict", error.to_string()),
        _ => Problem::unavailable(error.to_string()),
    })?;
    tracing::info!(user = introspection.watched.user(), seconds, rate_hz, "CPU profile started");
    Ok(observer.answer(Feed::new(session, lines)))
}
