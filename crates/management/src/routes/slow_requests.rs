//! The requests that took longest of late: those of the HTTP API always, those of AMQP and what was waited for as far as the flight
//! recorder has them. RabbitMQ has no such route.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use telemetry::trace::{RecordedRequest, RecordedWait, recorder};

use crate::answer::Answer;
use crate::call::Call;
use crate::problem::Problem;
use crate::route::Kind::{Boolean, Integer, List};
use crate::route::Role::Administrator;
use crate::route::{Field, Operation, Route, Shape, at};
use crate::slow_requests::{KEPT_FOR, SlowRequest};
use crate::watch::is_as_long_as_asked;

pub(super) static ROUTES: &[Route] = &[at(
    "/api/warren/slow-requests",
    &[Operation::get(
        Administrator,
        all,
        "Lists the slowest of the latest requests.",
        Shape::Object(&[
            Field::required(
                "recorder_running",
                Boolean,
                "Whether the flight recorder is running. Without it, AMQP requests are not included.",
            ),
            Field::required("seconds", Integer, "How many seconds requests of the HTTP API are stored."),
            Field::required("requests", List, REQUESTS),
        ]),
    )],
)];

const REQUESTS: &str = "The requests, the slowest first: `protocol`, `request`, the start time `at`, `duration_us`, and `waits`, \
    which has the `kind`, `holder` and `duration_us` of each wait, or is null if waits were not recorded. Requests of the HTTP API \
    also have the `status`, the `bytes` of the response, whether it was `broken_off`, and the parts of the duration: `first_byte_us` \
    until the first byte was sent to the connection, `making_us` to generate the response, `turn_us` for other tasks, `reader_us` \
    until the client read it. Requests of AMQP also have the `task` and what it is `about`.";

/// Requests of one answer, of each protocol.
const COUNT_MAX: usize = 20;
/// What the recorder has of a request is within it; two clocks are compared.
const LEEWAY: Duration = Duration::from_millis(100);

fn all(call: &Call) -> Result<Answer, Problem> {
    let of = |family: &'static str| {
        recorder().slowest(COUNT_MAX, |name| name.starts_with(family) && !is_as_long_as_asked(name))
    };
    let (of_amqp, mut of_http) = (of("amqp::"), of("http::").unwrap_or_default());
    let is_running = of_amqp.is_some();
    let mut shown: Vec<(Duration, Value)> = Vec::new();
    for request in call.service.answers.slow.all(Instant::now()) {
        let place = of_http.iter().position(|recorded| is_same(&request, recorded));
        shown.push((request.duration, shown_http(&request, place.map(|place| of_http.remove(place)).as_ref())));
    }
    shown.extend(of_amqp.unwrap_or_default().iter().map(|recorded| (recorded.call.duration, shown_amqp(recorded))));
    shown.sort_by_key(|(duration, _)| std::cmp::Reverse(*duration));
    let requests: Vec<Value> = shown.into_iter().map(|(_, request)| request).collect();
    let answer = json!({"recorder_running": is_running, "seconds": KEPT_FOR.as_secs(), "requests": requests});
    Ok(Answer::json(answer.to_string().into_bytes()))
}

fn is_same(request: &SlowRequest, recorded: &RecordedRequest) -> bool {
    let end = |at: SystemTime, duration: Duration| at + duration;
    recorded.call.name == request.point
        && recorded.call.at + LEEWAY >= request.at
        && end(recorded.call.at, recorded.call.duration) <= end(request.at, request.duration) + LEEWAY
}

fn us(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}

fn waits(recorded: &RecordedRequest) -> Vec<Value> {
    let shown =
        |wait: &RecordedWait| json!({"kind": wait.kind, "holder": wait.holder, "duration_us": us(wait.duration)});
    recorded.waits.iter().map(shown).collect()
}

fn shown_http(request: &SlowRequest, recorded: Option<&RecordedRequest>) -> Value {
    let method = request.point.trim_start_matches("http::").split(' ').next().unwrap_or_default();
    json!({
        "protocol": "http",
        "request": format!("{method} {}", request.path),
        "status": request.status,
        "at": time(request.at),
        "duration_us": us(request.duration),
        "first_byte_us": us(request.way.first_byte),
        "making_us": us(request.way.making),
        "turn_us": us(request.way.turn),
        "reader_us": us(request.way.reader),
        "bytes": request.way.len,
        "broken_off": !request.way.is_whole,
        "waits": recorded.map(waits),
    })
}

fn shown_amqp(recorded: &RecordedRequest) -> Value {
    json!({
        "protocol": "amqp",
        "request": recorded.call.name.trim_start_matches("amqp::"),
        "about": recorded.call.text,
        "task": recorded.task,
        "at": time(recorded.call.at),
        "duration_us": us(recorded.call.duration),
        "waits": waits(recorded),
    })
}
