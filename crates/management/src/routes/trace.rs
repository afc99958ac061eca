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
use crate::call::Call;
use crate::limits::OBSERVER_COUNT_MAX;
use crate::problem::Problem;
use crate::route::Kind::{Boolean, Integer, List};
use crate::route::Role::Administrator;
use crate::route::{AnswerFuture, Field, Operation, Parameters, Route, Shape, at};
use crate::watch::{CallsFeed, JSON_LINES, OBSERVERS_REFUSAL, Observer, WallFeed, no_place};

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/trace/points",
        &[Operation::get(
            Administrator,
            points,
            "Lists the functions that can be traced: `name`, `arguments` and what it is `about`.",
            Shape::List,
        )
        .query(&[PATTERN])],
    ),
    at(
        "/api/trace/sessions",
        &[Operation::get(
            Administrator,
            sessions,
            "Says how many traces and profiles watch the broker.",
            Shape::Object(&[
                Field::required("count", Integer, "How many there are."),
                Field::required("max", Integer, "How many there may be."),
            ]),
        )],
    ),
    at(
        "/api/trace/calls",
        &[Operation::get(
            Administrator,
            calls,
            "Streams calls of the functions that match as lines of JSON, until a limit is reached or one side ends it.",
            Shape::Page(JSON_LINES),
        )
        .query(&[
            PATTERN,
            Parameters::Other("max", "How many calls are seen: 1000 if nothing is said."),
            Parameters::Other("rate", "More calls within a second end it: 10 if nothing is said; `none` for no such limit."),
            Parameters::Other("where", "An argument and its value, such as `queue=orders`; all that are given must hold."),
            Parameters::Other("return", "`true` to see returns, too, with results and durations."),
            Parameters::Other("body", "So many bytes of messages' bodies, at most 4096: none if nothing is said."),
        ])
        .strict()
        .refuses(REFUSALS)],
    ),
    at(
        "/api/profile/wall",
        &[Operation::get(
            Administrator,
            wall,
            "Follows calls of the functions that match for some seconds, and answers with the tree of their times: lines of JSON, of \
             which the last that is not empty has it.",
            Shape::Page(JSON_LINES),
        )
        .query(&[PATTERN, Parameters::Other("seconds", "For how long: 1 to 300, or 10 if nothing is said.")])
        .strict()
        .refuses(REFUSALS)],
    ),
    at(
        "/api/flight-recorder",
        &[
            Operation::get(
                Administrator,
                flight_recorder,
                "Shows whether the flight recorder runs, and the recordings that it has saved.",
                Shape::Object(&[
                    Field::required("running", Boolean, "Whether it runs."),
                    Field::required("bytes", Integer, "The memory that it takes while it runs."),
                    Field::required("saved", List, "The recordings: `name` and `bytes`."),
                ]),
            ),
            Operation::put(
                Administrator,
                |_| Err(Problem::not_found()),
                "Starts or stops the flight recorder, until the process ends.",
                &[
                    Field::required("running", Boolean, "Whether it is to run."),
                    Field::optional("slow_request_ms", Integer, "Requests that take so long have it saved: 1000 if nothing is said."),
                ],
            )
            .later(|call| Box::pin(async move { switch_recorder(&call) }) as AnswerFuture)
            .answers(Shape::NoContent),
        ],
    ),
    at(
        "/api/flight-recorder/recording",
        &[Operation::get(
            Administrator,
            recording,
            "What the flight recorder has now, in the JSON that Perfetto and Chrome read.",
            Shape::Page("application/json"),
        )
        .refuses(&[("409", "It does not run.")])],
    ),
    at(
        "/api/flight-recorder/recordings/{name}",
        &[Operation::get(
            Administrator,
            saved_recording,
            "A recording that was saved, in the JSON that Perfetto and Chrome read.",
            Shape::Page("application/json"),
        )],
    ),
];

const PATTERN: Parameters = Parameters::Other("pattern", "Names of functions; `*` stands for any text.");
const REFUSALS: &[(&str, &str)] = &[("503", OBSERVERS_REFUSAL)];

const SECONDS_DEFAULT: u64 = 10;
const SECONDS_MAX: u64 = 300;
/// The most bytes of a body that a trace of calls shows.
const BODY_LEN_MAX: u64 = 4_096;

fn pattern(call: &Call) -> Result<Pattern, Problem> {
    match call.query.get("pattern").map(str::trim) {
        None | Some("") => {
            Err(Problem::bad_request("a pattern is needed: names of functions, in which * stands for any text"))
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

fn points(call: &Call) -> Result<Answer, Problem> {
    let pattern = Pattern::new(call.query.get("pattern").unwrap_or("*"));
    let points = trace::points().into_iter().filter(|point| pattern.matches(point.name()));
    let shown: Vec<Value> = points
        .map(|point| json!({"name": point.name(), "arguments": point.arguments(), "about": point.about()}))
        .collect();
    Ok(Answer::json(Value::from(shown).to_string().into_bytes()))
}

fn sessions(call: &Call) -> Result<Answer, Problem> {
    let shown = json!({"count": call.service.observers.taken_count(), "max": OBSERVER_COUNT_MAX});
    Ok(Answer::json(shown.to_string().into_bytes()))
}

fn calls(call: &Call) -> Result<Answer, Problem> {
    let limit = Limit {
        per_s: match call.query.get("rate") {
            None => Limit::default().per_s,
            Some("none") => None,
            Some(_) => call.query.number_in("rate", 1..=u64::MAX)?,
        },
        total: call.query.number_in("max", 1..=u64::MAX)?.unwrap_or(Limit::default().total),
    };
    let conditions = call.query.all("where").map(|text| {
        let refused = || {
            Problem::bad_request(format!(
                "where is an argument and its value, such as queue=orders, and '{text}' is not"
            ))
        };
        Condition::parse(text).ok_or_else(refused)
    });
    let options = CallsOptions {
        pattern: pattern(call)?,
        conditions: conditions.collect::<Result<_, _>>()?,
        limit,
        has_returns: call.query.is_true("return"),
        body_len_max: call.query.number_in("body", 0..=BODY_LEN_MAX)?.unwrap_or_default() as usize,
    };
    let observer = Observer::of(call)?;
    let session = CallsSession::open(options).map_err(|error| refused(&error))?;
    Ok(observer.answer(CallsFeed::new(session)))
}

fn wall(call: &Call) -> Result<Answer, Problem> {
    let seconds = call.query.number_in("seconds", 1..=SECONDS_MAX)?.unwrap_or(SECONDS_DEFAULT);
    let pattern = pattern(call)?;
    let observer = Observer::of(call)?;
    let session = WallSession::open(pattern).map_err(|error| refused(&error))?;
    Ok(observer.answer(WallFeed::new(session, Duration::from_secs(seconds))))
}

fn flight_recorder(call: &Call) -> Result<Answer, Problem> {
    let saved = call.service.flight_recorder.saved();
    let saved: Vec<Value> = saved.iter().map(|saved| json!({"name": saved.name, "bytes": saved.len})).collect();
    let shown = json!({"running": recorder().is_running(), "bytes": RECORDER_LEN, "saved": saved});
    Ok(Answer::json(shown.to_string().into_bytes()))
}

fn switch_recorder(call: &Call) -> Result<Answer, Problem> {
    let wanted = call.object()?;
    match wanted.get("running").and_then(Value::as_bool) {
        None => return Err(Problem::bad_request("running has to be true or false")),
        Some(false) => recorder().stop(),
        Some(true) => {
            let slow = match wanted.get("slow_request_ms") {
                None => call.service.options.flight_recorder.slow_request,
                Some(value) => value.as_u64().filter(|ms| *ms > 0).map(Duration::from_millis).ok_or_else(|| {
                    Problem::bad_request("slow_request_ms has to be a number of milliseconds above 0")
                })?,
            };
            call.service.flight_recorder.start(call.broker(), slow);
        }
    }
    Ok(Answer::no_content())
}

fn recording(call: &Call) -> Result<Answer, Problem> {
    let off = "the flight recorder does not run: warren trace recorder start, or warren.flight_recorder.enabled";
    let json = call.service.flight_recorder.recording();
    json.map(Answer::json).ok_or_else(|| Problem::new(StatusCode::CONFLICT, "conflict", off))
}

fn saved_recording(call: &Call) -> Result<Answer, Problem> {
    call.service.flight_recorder.read(call.argument("name")).map(Answer::json).ok_or_else(Problem::not_found)
}
