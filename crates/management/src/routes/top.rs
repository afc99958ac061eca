//! What keeps the broker busy: queues, connections, channels, vhosts or users; and the same in the shape of rabbitmq_top.

use std::time::Duration;

use broker::view::{TopBy, TopOf, TopRequest, TopRow, TopTable};
use hyper::StatusCode;
use serde_json::Value;

use super::cluster::shown_troubles;
use super::nodes::check_node;
use super::request_params::RequestParams as _;
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Object, Writer};
use crate::limits::{TOP_COUNT_MAX, TOP_INTERVAL_MS_MAX, TOP_INTERVAL_MS_MIN, TOP_PLACE_COUNT};
use crate::problem::Problem;
use crate::route::Kind::{Integer, List, Number, Text};
use crate::route::Role::{Administrator, Monitoring};
use crate::route::{AnswerFuture, Field, Operation, Parameters, Route, Shape, at};

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/top",
        &[Operation::get(
            Monitoring,
            never,
            "Returns the objects that use the most resources during an interval that starts with the request.",
            Shape::Object(&[
                Field::required("of", Text, "The kind of objects."),
                Field::required("by", Text, "The measure that they are sorted by."),
                Field::required("interval_ms", Integer, "The length of the interval in milliseconds."),
                Field::required("compared", Integer, "The number of objects that were compared."),
                Field::optional(
                    "process_cpu_percent",
                    Number,
                    "The CPU use of the whole process, in percent of one processor.",
                ),
                Field::optional(
                    "cluster_troubles",
                    List,
                    "The problems of the cluster: `severity`, `node`, `text`. Absent if there are none.",
                ),
                Field::required("rows", List, ROWS),
            ]),
        )
        .query(&[
            Parameters::Other("of", "`queues`, `connections`, `channels`, `vhosts` or `users`."),
            Parameters::Other("by", "`cpu`, `messages`, `bytes`, `waiting` or `memory`."),
            Parameters::Other("count", "The maximum number of objects. Default: 20; at most 500."),
            Parameters::Other(
                "interval_ms",
                "The length of the interval in milliseconds, from 100 to 30000. Default: 1000.",
            ),
            Parameters::Other("reverse", "`true`: the smallest first."),
            Parameters::Other("filter", "Only objects whose names contain this text."),
            Parameters::Other("vhost", "Only objects of this vhost."),
            Parameters::Other("user", "Only connections and channels of this user."),
            Parameters::Other("connection", "Only channels of this connection."),
        ])
        .strict()
        .refuses(&[("503", "The maximum number of such requests is being answered.")])
        .lasting_as_asked()
        .later(|call| Box::pin(top(call)) as AnswerFuture)],
    ),
    at(
        "/api/top/{node}",
        &[Operation::get(
            Administrator,
            never,
            "Returns the busiest connections and queues in the format of rabbitmq_top.",
            Shape::Object(&[
                Field::required("node", Text, "The node."),
                Field::required("row_count", Integer, "The number of rows that was requested."),
                Field::required("processes", List, "Connections and queues in the format of Erlang processes."),
            ]),
        )
        .query(&[
            Parameters::Other("sort", "`reduction_delta`, `memory` or `message_queue_len`."),
            Parameters::Other("sort_reverse", "`true`: the smallest first."),
            Parameters::Other("row_count", "The maximum number of rows. Default: 20."),
        ])
        .refuses(&[("503", "The maximum number of such requests is being answered.")])
        .lasting_as_asked()
        .later(|call| Box::pin(processes(call)) as AnswerFuture)],
    ),
    at(
        "/api/top/ets/{node}",
        &[Operation::get(
            Administrator,
            tables,
            "Reports that a node has no Erlang tables.",
            Shape::Object(&[Field::required("ets_tables", List, "An empty list.")]),
        )],
    ),
    at(
        "/api/process/{pid}",
        &[Operation::get(
            Administrator,
            process,
            "Returns a connection or a queue in the format of rabbitmq_top.",
            Shape::Object(&[Field::required("pid", Text, "The id of the connection or queue.")]),
        )],
    ),
];

const ROWS: &str = "The objects: if available, `name`, `vhost`, `user`, `connection` and `pid`; `messages_per_second`, `bytes_per_second`, \
     `cpu_percent` of one processor, `waiting_percent`, and if known `memory` in bytes and `messages`.";

fn never(_: &Call) -> Result<Answer, Problem> {
    Err(Problem::not_found())
}

/// One of several words.
fn word<T: Copy>(call: &Call, name: &str, all: &[T], name_of: fn(T) -> &'static str, default: T) -> Result<T, Problem> {
    let Some(text) = call.query.get(name) else { return Ok(default) };
    all.iter().copied().find(|known| name_of(*known) == text).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|known| format!("'{}'", name_of(*known))).collect();
        Problem::bad_request(format!("'{name}' must be one of {}, not '{text}'", known.join(", ")))
    })
}

fn count(call: &Call, name: &str) -> Result<usize, Problem> {
    let count = call.query.number(name)?.unwrap_or(20).clamp(1, TOP_COUNT_MAX);
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

async fn look(call: &Call, request: TopRequest, interval: Duration) -> Result<TopTable, Problem> {
    let _place = call.service.tops.try_acquire().map_err(|_| {
        let reason = format!("{TOP_PLACE_COUNT} such requests are being answered, which is the maximum");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", reason)
    })?;
    let begin = call.broker().begin_top(request);
    tokio::time::sleep(interval).await;
    Ok(begin.end(call.broker()))
}

async fn top(call: Call) -> Result<Answer, Problem> {
    let of = word(&call, "of", &TopOf::ALL, TopOf::name, TopOf::Queues)?;
    let by = word(&call, "by", &TopBy::ALL, TopBy::name, TopBy::Cpu)?;
    let interval_ms = call.query.number_in("interval_ms", TOP_INTERVAL_MS_MIN..=TOP_INTERVAL_MS_MAX)?.unwrap_or(1000);
    let request = TopRequest {
        of,
        by,
        is_reversed: call.query.truth("reverse")?.unwrap_or(false),
        count: count(&call, "count")?,
        filter: call.query.text("filter")?,
        vhost: call.query.text("vhost")?,
        user: call.query.text("user")?,
        connection: call.query.text("connection")?,
    };
    let table = look(&call, request, Duration::from_millis(interval_ms)).await?;
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| {
        members.cell("of").text(of.name());
        members.cell("by").text(by.name());
        members.cell("interval_ms").int(table.span.as_millis() as u64);
        members.cell("compared").int(table.compared_count as u64);
        if let Some(percent) = table.process_cpu_percent {
            members.cell("process_cpu_percent").float(percent);
        }
        let troubles = call.service.cluster().map_or_else(Vec::new, |view| shown_troubles(&view));
        if !troubles.is_empty() {
            members.cell("cluster_troubles").value(&Value::Array(troubles));
        }
        members.cell("rows").list(&table.rows, |row, writer| writer.object(|members| write_row(row, members)));
    });
    Ok(Answer::json(out))
}

fn write_row(row: &TopRow, members: &mut Object<'_>) {
    members.cell("name").text(&row.name);
    for (name, text) in [("vhost", &row.vhost), ("user", &row.user), ("connection", &row.connection), ("pid", &row.pid)]
    {
        members.cell(name).text_if(text.as_deref());
    }
    members.cell("messages_per_second").float(row.messages_per_s);
    members.cell("bytes_per_second").float(row.bytes_per_s);
    members.cell("cpu_percent").float(row.cpu_percent);
    members.cell("waiting_percent").float(row.waiting_percent);
    if let Some(len) = row.memory_len {
        members.cell("memory").int(len);
    }
    if let Some(count) = row.message_count {
        members.cell("messages").int(count);
    }
}

/// How long rabbitmq_top's figures are of.
const PROCESS_INTERVAL: Duration = Duration::from_secs(1);

async fn processes(call: Call) -> Result<Answer, Problem> {
    check_node(&call)?;
    let row_count = count(&call, "row_count")?;
    let by = match call.query.get("sort") {
        Some("memory") => TopBy::Memory,
        Some("message_queue_len") => TopBy::Messages,
        _ => TopBy::Cpu,
    };
    let is_reversed = call.query.truth("sort_reverse").ok().flatten().unwrap_or(false);
    let request = |of| TopRequest {
        of,
        by,
        is_reversed,
        count: row_count,
        filter: None,
        vhost: None,
        user: None,
        connection: None,
    };
    // Both at a time: they take two places, and one interval.
    let (queues, connections) = tokio::join!(
        look(&call, request(TopOf::Queues), PROCESS_INTERVAL),
        look(&call, request(TopOf::Connections), PROCESS_INTERVAL),
    );
    let of = |rows: Vec<TopRow>, kind: &'static str| rows.into_iter().map(move |row| (row, kind)).collect::<Vec<_>>();
    let mut rows = of(queues?.rows, "queue");
    rows.extend(of(connections?.rows, "connection"));
    let rank = |row: &TopRow| match by {
        TopBy::Memory => row.memory_len.unwrap_or(0) as f64,
        TopBy::Messages => row.messages_per_s,
        _ => row.cpu_percent,
    };
    rows.sort_by(|(a, _), (b, _)| rank(b).total_cmp(&rank(a)));
    if is_reversed {
        rows.reverse();
    }
    rows.truncate(row_count);
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| {
        members.cell("node").text(call.service.node());
        members.cell("row_count").int(row_count as u64);
        members.cell("processes").list(&rows, |(row, kind), writer| {
            writer.object(|members| write_process(row, kind, members));
        });
    });
    Ok(Answer::json(out))
}

/// As rabbitmq_top has it; reductions are microseconds at work.
fn write_process(row: &TopRow, kind: &str, members: &mut Object<'_>) {
    members.cell("pid").text(row.pid.as_deref().unwrap_or_default());
    members.cell("memory").int(row.memory_len.unwrap_or(0));
    members.cell("message_queue_len").int(row.message_count.unwrap_or(0));
    members.cell("reductions").int(row.busy_us);
    members.cell("reduction_delta").int((row.cpu_percent * 1e4 * PROCESS_INTERVAL.as_secs_f64()) as u64);
    members.cell("buffer_len").int(0);
    members.cell("status").text(if row.cpu_percent > 0.0 { "running" } else { "waiting" });
    members.cell("name").object(|name| {
        name.cell("name").text(&row.name);
        name.cell("supertype").text(kind);
        name.cell("type").text(kind);
        name.cell("vhost").text_if(row.vhost.as_deref());
    });
}

fn process(call: &Call) -> Result<Answer, Problem> {
    let pid = call.argument("pid");
    let row = call.broker().top_process(pid).ok_or_else(Problem::not_found)?;
    let kind = if pid.starts_with("<queue") { "queue" } else { "connection" };
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| write_process(&row, kind, members));
    Ok(Answer::json(out))
}

/// What rabbitmq_top says of a machine that has none.
fn tables(call: &Call) -> Result<Answer, Problem> {
    check_node(call)?;
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| {
        members.cell("node").text(call.service.node());
        members.cell("row_count").int(0);
        members.cell("ets_tables").texts([]);
    });
    Ok(Answer::json(out))
}
