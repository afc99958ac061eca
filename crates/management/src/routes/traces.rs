//! Traces of messages that go into files, and these files: rabbitmq_tracing's routes. The files are rotated, and traces survive a restart.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_server::{PIECE_LEN, Source};
use hyper::StatusCode;
use observe::message_traces::{CreateError, Definition, Filter, Format, TraceFile, TraceView, Traces};
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::json::Fields;
use crate::problem::Problem;
use crate::route::Kind::{Integer, List, Object, Text};
use crate::route::Role::Administrator;
use crate::route::{Field, Operation, Route, Shape, at};

pub(super) static ROUTES: &[Route] = &[
    at("/api/traces", &[Operation::get(Administrator, all, "Lists message traces.", Shape::List)]),
    at(
        "/api/traces/node/{node}",
        &[Operation::get(Administrator, all, "Lists message traces on a node.", Shape::List)],
    ),
    at("/api/traces/{vhost}", &[Operation::get(Administrator, all, "Lists message traces in a vhost.", Shape::List)]),
    at(
        "/api/traces/node/{node}/{vhost}",
        &[Operation::get(Administrator, all, "Lists message traces in a vhost on a node.", Shape::List)],
    ),
    at(
        "/api/traces/{vhost}/{name}",
        &[
            Operation::get(Administrator, one, "Returns a message trace.", TRACE),
            Operation::put(Administrator, put, "Starts a message trace.", BODY),
            Operation::delete(Administrator, delete, "Ends a message trace. Its files are kept."),
        ],
    ),
    at(
        "/api/traces/node/{node}/{vhost}/{name}",
        &[
            Operation::get(Administrator, one, "Returns a message trace on a node.", TRACE),
            Operation::put(Administrator, put, "Starts a message trace on a node.", BODY),
            Operation::delete(Administrator, delete, "Ends a message trace on a node. Its files are kept."),
        ],
    ),
    at("/api/trace-files", &[Operation::get(Administrator, files, "Lists trace files.", Shape::List)]),
    at(
        "/api/warren/trace-files",
        &[Operation::get(
            Administrator,
            sizes,
            "Returns the sizes of trace files and their limits.",
            Shape::Object(&[
                Field::required("node", Text, "The node that answered."),
                Field::required("files", List, "The files: `name`, `size`, and whether their trace has `ended`."),
                Field::required("size", Integer, "The total size of the files in bytes."),
                Field::required("ended_size", Integer, "The total size of the files of ended traces in bytes."),
                Field::required(
                    "ended_size_max",
                    Integer,
                    "The maximum size of the files of ended traces. Beyond it, the oldest files are deleted.",
                ),
                Field::required("running_size_max", Integer, "The maximum size of the files of one running trace."),
            ]),
        )],
    ),
    at(
        "/api/trace-files/node/{node}",
        &[Operation::get(Administrator, files, "Lists trace files on a node.", Shape::List)],
    ),
    at(
        "/api/trace-files/{name}",
        &[
            Operation::get(Administrator, file, "Returns a trace file.", Shape::Page(PLAIN)),
            Operation::delete(Administrator, delete_file, "Deletes a trace file, even while it is written."),
        ],
    ),
    at(
        "/api/trace-files/node/{node}/{name}",
        &[
            Operation::get(Administrator, file, "Returns a trace file on a node.", Shape::Page(PLAIN)),
            Operation::delete(Administrator, delete_file, "Deletes a trace file on a node."),
        ],
    ),
];

const PLAIN: &str = "text/plain; charset=utf-8";

const TRACE: Shape = Shape::Object(&[
    Field::required("vhost", Text, "The vhost."),
    Field::required("name", Text, "The name of the trace and, with `.log`, of its file."),
    Field::required("format", Text, "`text`, `json` or `events`."),
    Field::optional("pattern", Text, "The routing keys of the firehose that are traced."),
    Field::optional("max_payload_bytes", Integer, "The maximum number of bytes of each body that are written."),
    Field::optional(
        "tracer_connection_username",
        Text,
        "The user of the request that started the trace. No connection is made.",
    ),
    Field::required("written", Integer, "The number of written events."),
    Field::required(
        "missed",
        Integer,
        "The number of events that were not written, because too many occurred at once.",
    ),
    Field::optional("error", Text, "The reason why the trace ended by itself."),
]);

const BODY: &[Field] = &[
    Field::required("format", Text, "`text` or `json`, as in RabbitMQ, or `events`: all events of messages."),
    Field::optional(
        "pattern",
        Text,
        "The routing keys of the firehose that are traced. Required, except for the format `events`.",
    ),
    Field::optional(
        "max_payload_bytes",
        Integer,
        "The maximum number of bytes of each body that are written. Default: no limit.",
    ),
    Field::optional("tracer_connection_username", Text, "Accepted and returned. No connection is made."),
    Field::optional("tracer_connection_password", Text, "Accepted. No connection is made."),
    Field::optional("connection", Text, "Only events that this connection causes."),
    Field::optional("user", Text, "Only events that this user causes."),
    Field::optional("queue", Text, "Only events in this queue, and messages routed to it."),
    Field::optional("exchange", Text, "Only messages that were published to this exchange."),
    Field::optional("routing_key", Text, "Only messages whose routing key matches this pattern of topic exchanges."),
    Field::optional("message_id", Text, "Only messages with this `message_id`."),
    Field::optional("headers", Object, "Only messages with these headers."),
    Field::optional("sample", Integer, "Samples one of this many messages."),
];

/// Those of the broker.
pub(super) fn traces(call: &Call) -> Result<&Arc<Traces>, Problem> {
    let node = call.argument("node");
    if !node.is_empty() && node != call.service.node() {
        return Err(Problem::bad_request("Node is not a cluster member"));
    }
    call.service.traces().ok_or_else(|| Problem::unavailable("message traces do not run on this node"))
}

fn shown(view: &TraceView) -> Value {
    let mut shown = view.definition.to_json();
    if let Some(members) = shown.as_object_mut() {
        members.insert("written".to_owned(), json!(view.written_count));
        members.insert("missed".to_owned(), json!(view.missed_count));
        if let Some(error) = &view.error {
            members.insert("error".to_owned(), json!(error));
        }
    }
    shown
}

fn all(call: &Call) -> Result<Answer, Problem> {
    let vhost = call.vhost();
    let views = traces(call)?.list();
    let of_vhost = views.iter().filter(|view| vhost.is_empty() || view.definition.vhost == vhost);
    Ok(Answer::json(Value::Array(of_vhost.map(shown).collect()).to_string().into_bytes()))
}

fn one(call: &Call) -> Result<Answer, Problem> {
    let view = traces(call)?.find(call.vhost(), call.argument("name")).ok_or_else(Problem::not_found)?;
    Ok(Answer::json(shown(&view).to_string().into_bytes()))
}

fn put(call: &Call) -> Result<Answer, Problem> {
    let traces = traces(call)?;
    let body = call.object()?;
    let definition = definition(call.vhost(), call.argument("name"), &body)?;
    match traces.create(definition) {
        Ok(()) => Ok(Answer::created()),
        Err(CreateError::Vhost(_)) => Err(Problem::not_found()),
        Err(error) => Err(Problem::bad_request(error.to_string())),
    }
}

/// A trace as JSON describes it, checked in RabbitMQ's order.
fn definition(vhost: &str, name: &str, body: &Map<String, Value>) -> Result<Definition, Problem> {
    let is_own = body.get("format").and_then(Value::as_str) == Some("events");
    let keys: &[&str] = if is_own { &["format"] } else { &["format", "pattern"] };
    let missing: Vec<&str> = keys.iter().copied().filter(|key| !body.contains_key(*key)).collect();
    if !missing.is_empty() {
        return Err(Problem::keys_missing(&missing));
    }
    let body_len_max = match body.get("max_payload_bytes") {
        None => None,
        Some(value) if value.is_i64() || value.is_u64() => Some(value.as_u64().unwrap_or(0)),
        Some(_) => return Err(Problem::bad_request("max_payload_bytes not integer")),
    };
    let format = body.get("format").and_then(Value::as_str).and_then(Format::parse);
    let format = format.ok_or_else(|| Problem::bad_request("format not json or text"))?;
    let filter = Filter::from_json(body).map_err(Problem::bad_request)?;
    let text = |name: &str| Fields(body).text(name).map(|text| text.map(str::to_owned));
    let user = text("tracer_connection_username")?.filter(|user| !user.is_empty());
    let (vhost, name, pattern) = (vhost.to_owned(), name.to_owned(), text("pattern")?);
    Ok(Definition { vhost, name, format, pattern, body_len_max, filter, tracer_username: user })
}

fn delete(call: &Call) -> Result<Answer, Problem> {
    match traces(call)?.stop(call.vhost(), call.argument("name")) {
        true => Ok(Answer::no_content()),
        false => Err(Problem::not_found()),
    }
}

/// What the disk says.
fn failed(what: &str, error: &std::io::Error) -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", format!("cannot {what}: {error}"))
}

fn files(call: &Call) -> Result<Answer, Problem> {
    let directory = traces(call)?.directory();
    let what = format!("read the directory {}", directory.path().display());
    let files = directory.list().map_err(|error| failed(&what, &error))?;
    let list = files.iter().map(|TraceFile { name, len }| json!({"name": name, "size": len}));
    Ok(Answer::json(Value::Array(list.collect()).to_string().into_bytes()))
}

/// RabbitMQ's list has no place for what they are together.
fn sizes(call: &Call) -> Result<Answer, Problem> {
    let traces = traces(call)?;
    let what = format!("read the directory {}", traces.directory().path().display());
    let files = traces.files().map_err(|error| failed(&what, &error))?;
    let len = |is_counted: fn(bool) -> bool| -> u64 {
        files.iter().filter(|(_, is_ended)| is_counted(*is_ended)).map(|(file, _)| file.len).sum()
    };
    let (size, ended_size, limits) = (len(|_| true), len(|is_ended| is_ended), traces.limits());
    let list = files.iter().map(|(file, is_ended)| json!({"name": file.name, "size": file.len, "ended": is_ended}));
    let shown = json!({
        "node": call.service.node(),
        "files": list.collect::<Vec<_>>(),
        "size": size,
        "ended_size": ended_size,
        "ended_size_max": limits.ended_len_max,
        "running_size_max": limits.len_max.saturating_mul(limits.count_max.into()),
    });
    Ok(Answer::json(shown.to_string().into_bytes()))
}

fn file(call: &Call) -> Result<Answer, Problem> {
    let opened = traces(call)?.directory().open(call.argument("name"));
    let file = opened.map_err(|error| failed("read the trace file", &error))?.ok_or_else(Problem::not_found)?;
    let left_len = file.metadata().map_err(|error| failed("read the trace file", &error))?.len();
    Ok(Answer::of_source(PLAIN, Box::new(FileSource { file, left_len })))
}

fn delete_file(call: &Call) -> Result<Answer, Problem> {
    match traces(call)?.directory().delete(call.argument("name")) {
        Ok(true) => Ok(Answer::no_content()),
        Ok(false) => Err(Problem::not_found()),
        Err(error) => Err(failed("delete the trace file", &error)),
    }
}

/// A file that is read as its reader takes it, as far as it was long when that was asked for.
struct FileSource {
    file: File,
    left_len: u64,
}

impl Source for FileSource {
    fn poll_next(&mut self, _cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut piece = vec![0; PIECE_LEN.min(usize::try_from(self.left_len).unwrap_or(PIECE_LEN))];
        match self.file.read(&mut piece) {
            Ok(0) => Poll::Ready(None),
            Ok(len) => {
                self.left_len -= len as u64;
                piece.truncate(len);
                Poll::Ready(Some(piece.into()))
            }
            Err(error) => {
                tracing::warn!(%error, "reading a trace file failed");
                Poll::Ready(None)
            }
        }
    }
}
