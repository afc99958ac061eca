//! What the broker does, while it does it: calls of its functions, the tree of their times, and the last of them. RabbitMQ has no such
//! routes; its users attach a shell to the node.

use std::time::Duration;

use hyper::StatusCode;
use serde_json::{Value, json};
use telemetry::trace::{
    self, CallsOptions, CallsSession, Condition, Limit, OpenError, Pattern, RECORDER_LEN, WallSession, recorder,
};

use super::request_params::RequestParams as _;

use crate::answer::Answer;
use crate::introspection::Introspection;
use crate::limits::OBSERVER_COUNT_MAX;
use crate::problem::Problem;
use crate::route::Kind::{Boolean, Integer, List, Text};
use crate::route::Role::Administrator;
use crate::route::{AnswerFuture, Field, Operation, Parameters, Route, Shape, at};
use crate::watch::{CallsFeed, JSON_LINES, OBSERVERS_REFUSAL, WallFeed, no_place};

pub(crate) const POINTS: &str = "/api/trace/points";
pub(crate) const SESSIONS: &str = "/api/trace/sessions";
pub(crate) const SESSION: &str = "/api/trace/sessions/{name}";
pub(crate) const CALLS: &str = "/api/trace/calls";
pub(crate) const WALL: &str = "/api/profile/wall";
pub(crate) const FLIGHT_RECORDER: &str = "/api/flight-recorder";
pub(crate) const RECORDING: &str = "/api/flight-recorder/recording";
pub(crate) const SAVED_RECORDING: &str = "/api/flight-recorder/recordings/{name}";

pub(super) static ROUTES: &[Route] = &[
    at(
        POINTS,
        &[Operation::get(
            Administrator,
            |call| points(&Introspection::of(call)),
            "Lists the functions that can be traced: `name`, `arguments` and what it is `about`.",
            Shape::List,
        )
        .query(&[PATTERN])],
    ),
    at(
        SESSIONS,
        &[Operation::get(
            Administrator,
            |call| sessions(&Introspection::of(call)),
            "Returns the number of running traces and profiles.",
            Shape::Object(&[
                Field::required("node", Text, "The node that answered."),
                Field::required("count", Integer, "The number of running traces and profiles."),
                Field::required("max", Integer, "The maximum number."),
            ]),
        )],
    ),
    at(
        SESSION,
        &[Operation::delete(
            Administrator,
            |call| end_session(&Introspection::of(call)),
            "Ends the trace or profile whose parameter `session` has this name. The response of the trace or profile reports how it \
             ended.",
        )],
    ),
    at(
        CALLS,
        &[Operation::get(
            Administrator,
            |call| calls(&Introspection::of(call)),
            "Streams the calls of matching functions as lines of JSON, until a limit is reached or the client or the broker closes the \
             stream.",
            Shape::Page(JSON_LINES),
        )
        .query(&[
            PATTERN,
            Parameters::Other("max", "The maximum number of calls. Default: 1000."),
            Parameters::Other(
                "rate",
                "The trace ends after more calls than this within a second. `none`: no such limit. Default: 10, and `none` if `max` is \
                 set.",
            ),
            Parameters::Other("where", "An argument and its value, such as `queue=orders`. If given several times, all must match."),
            Parameters::Other("return", "`true`: includes returns with their results and durations."),
            Parameters::Other("body", "The number of bytes of message bodies to include, at most 4096. Default: 0."),
            NAMED,
        ])
        .strict()
        .refuses(REFUSALS)],
    ),
    at(
        WALL,
        &[Operation::get(
            Administrator,
            |call| wall(&Introspection::of(call)),
            "Follows the calls of matching functions for some seconds, and returns a tree of their durations. The response is lines of \
             JSON; the last line that is not empty contains the tree.",
            Shape::Page(JSON_LINES),
        )
        .query(&[PATTERN, Parameters::Other("seconds", "The duration in seconds, from 1 to 300. Default: 10."), NAMED])
        .strict()
        .refuses(REFUSALS)],
    ),
    at(
        FLIGHT_RECORDER,
        &[
            Operation::get(
                Administrator,
                |call| flight_recorder(&Introspection::of(call)),
                "Returns whether the flight recorder is running, and its saved recordings.",
                Shape::Object(&[
                    Field::required("node", Text, "The node that answered."),
                    Field::required("running", Boolean, "Whether the flight recorder is running."),
                    Field::required("bytes", Integer, "The memory that the flight recorder uses while it runs."),
                    Field::required("saved", List, "The recordings: `name` and `bytes`."),
                    Field::required("saved_bytes", Integer, "The total size of the recordings."),
                    Field::required("saved_bytes_max", Integer, "The maximum total size. Beyond it, the oldest recordings are deleted."),
                    Field::required("saved_max", Integer, "The maximum number of recordings. Beyond it, the oldest are deleted."),
                ]),
            ),
            Operation::put(
                Administrator,
                |_| Err(Problem::not_found()),
                "Starts or stops the flight recorder, until the process ends.",
                &[
                    Field::required("running", Boolean, "Whether the flight recorder should run."),
                    Field::optional(
                        "slow_request_ms", Integer,
                        "When a request takes longer than this, the recording is saved. Default: 1000.",
                    ),
                ],
            )
            .later(|call| Box::pin(async move { switch_recorder(&Introspection::of(&call)) }) as AnswerFuture)
            .answers(Shape::NoContent),
        ],
    ),
    at(
        RECORDING,
        &[Operation::get(
            Administrator,
            |call| recording(&Introspection::of(call)),
            "Returns the current content of the flight recorder, as JSON for Perfetto and Chrome.",
            Shape::Page("application/json"),
        )
        .refuses(&[("409", "The flight recorder is not running.")])],
    ),
    at(
        SAVED_RECORDING,
        &[Operation::get(
            Administrator,
            |call| saved_recording(&Introspection::of(call)),
            "Returns a saved recording, as JSON for Perfetto and Chrome.",
            Shape::Page("application/json"),
        )],
    ),
];

const PATTERN: Parameters = Parameters::Other("pattern", "The names of functions. `*` stands for any text.");
pub(super) const NAMED: Parameters =
    Parameters::Other("session", "A name of at most 64 characters, which can be used to end the session.");
const REFUSALS: &[(&str, &str)] = &[("503", OBSERVERS_REFUSAL)];

const SECONDS_DEFAULT: u64 = 10;
const SECONDS_MAX: u64 = 300;
/// The most bytes of a body that a trace of calls shows.
const BODY_LEN_MAX: u64 = 4_096;

fn pattern(introspection: &Introspection) -> Result<Pattern, Problem> {
    match introspection.query.get("pattern").map(str::trim) {
        None | Some("") => {
            Err(Problem::bad_request("a pattern is required: names of functions, in which * stands for any text"))
        }
        Some(text) => Ok(Pattern::new(text)),
    }
}

fn refused(error: &OpenError) -> Problem {
    match error {
        OpenError::TooMany => no_place(),
        OpenError::NoPoint | OpenError::NoArgument(_) => Problem::bad_request(error.to_string()),
    }
}

pub(crate) fn end_session(introspection: &Introspection) -> Result<Answer, Problem> {
    let name = introspection.arguments.get("name").unwrap_or_default();
    if introspection.places.end(name) {
        return Ok(Answer::no_content());
    }
    let reason = format!(
        "the node {} has no session '{name}': it has ended, or was started on another node",
        introspection.node
    );
    Err(Problem::new(StatusCode::NOT_FOUND, "not_found", reason))
}

pub(crate) fn points(introspection: &Introspection) -> Result<Answer, Problem> {
    let pattern = Pattern::new(introspection.query.get("pattern").unwrap_or("*"));
    let points = trace::points().into_iter().filter(|point| pattern.matches(point.name()));
    let shown: Vec<Value> = points
        .map(|point| json!({"name": point.name(), "arguments": point.arguments(), "about": point.about()}))
        .collect();
    Ok(Answer::json(Value::from(shown).to_string().into_bytes()))
}

pub(crate) fn sessions(introspection: &Introspection) -> Result<Answer, Problem> {
    let shown =
        json!({"node": introspection.node, "count": introspection.places.taken_count(), "max": OBSERVER_COUNT_MAX});
    Ok(Answer::json(shown.to_string().into_bytes()))
}

pub(crate) fn calls(introspection: &Introspection) -> Result<Answer, Problem> {
    let limit = Limit {
        per_s: match introspection.query.get("rate") {
            // A number of calls is a limit of its own: as many are seen, however fast they come.
            None if introspection.query.get("max").is_none() => Limit::default().per_s,
            None | Some("none") => None,
            Some(_) => introspection.query.number_in("rate", 1..=u64::MAX)?,
        },
        total: introspection.query.number_in("max", 1..=u64::MAX)?.unwrap_or(Limit::default().total),
    };
    let conditions = introspection.query.all("where").map(|text| {
        let refused = || {
            Problem::bad_request(format!("where must be an argument and its value, such as queue=orders, not '{text}'"))
        };
        Condition::parse(text).ok_or_else(refused)
    });
    let options = CallsOptions {
        pattern: pattern(introspection)?,
        conditions: conditions.collect::<Result<_, _>>()?,
        limit,
        has_returns: introspection.query.is_true("return"),
        body_len_max: introspection.query.number_in("body", 0..=BODY_LEN_MAX)?.unwrap_or_default() as usize,
    };
    let observer = introspection.observer()?;
    let session = CallsSession::open(options).map_err(|error| refused(&error))?;
    Ok(observer.answer(CallsFeed::new(session, introspection.node.clone())))
}

pub(crate) fn wall(introspection: &Introspection) -> Result<Answer, Problem> {
    let seconds = introspection.query.number_in("seconds", 1..=SECONDS_MAX)?.unwrap_or(SECONDS_DEFAULT);
    let pattern = pattern(introspection)?;
    let observer = introspection.observer()?;
    let session = WallSession::open(pattern).map_err(|error| refused(&error))?;
    Ok(observer.answer(WallFeed::new(session, introspection.node.clone(), Duration::from_secs(seconds))))
}

pub(crate) fn flight_recorder(introspection: &Introspection) -> Result<Answer, Problem> {
    let own = &introspection.flight_recorder;
    let saved = own.saved();
    let len: u64 = saved.iter().map(|saved| saved.len).sum();
    let saved: Vec<Value> = saved.iter().map(|saved| json!({"name": saved.name, "bytes": saved.len})).collect();
    let shown = json!({
        "node": introspection.node,
        "running": recorder().is_running(),
        "bytes": RECORDER_LEN,
        "saved": saved,
        "saved_bytes": len,
        "saved_bytes_max": own.total_len_max,
        "saved_max": own.file_count_max,
    });
    Ok(Answer::json(shown.to_string().into_bytes()))
}

pub(crate) fn switch_recorder(introspection: &Introspection) -> Result<Answer, Problem> {
    let wanted = introspection.object()?;
    match wanted.get("running").and_then(Value::as_bool) {
        None => return Err(Problem::bad_request("running must be true or false")),
        Some(false) => recorder().stop(),
        Some(true) => {
            let slow =
                match wanted.get("slow_request_ms") {
                    None => introspection.slow_request,
                    Some(value) => value.as_u64().filter(|ms| *ms > 0).map(Duration::from_millis).ok_or_else(|| {
                        Problem::bad_request("slow_request_ms must be a number of milliseconds above 0")
                    })?,
                };
            introspection.flight_recorder.start(&introspection.watched, slow);
        }
    }
    Ok(Answer::no_content())
}

pub(crate) fn recording(introspection: &Introspection) -> Result<Answer, Problem> {
    let off = "the flight recorder is not running: start it with warren trace recorder start, or warren.flight_recorder.enabled";
    let json = introspection.flight_recorder.recording();
    json.map(Answer::json).ok_or_else(|| Problem::new(StatusCode::CONFLICT, "conflict", off))
}

pub(crate) fn saved_recording(introspection: &Introspection) -> Result<Answer, Problem> {
    introspection
        .flight_recorder
        .read(introspection.arguments.get("name").unwrap_or_default())
        .map(Answer::json)
        .ok_or_else(Problem::not_found)
}
