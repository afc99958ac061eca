//! What the latency of messages consists of, and which queues are watched for it. RabbitMQ has none of this.

use broker::statistics::{Stage, StagesView};
use net::TcpInfo;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::json::Cell;
use crate::problem::Problem;
use crate::route::Role::{AdministratorInVhost, Monitoring};
use crate::route::{Operation, Route, Shape, at};

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/warren/watched-queues",
        &[Operation::get(Monitoring, all, "Lists the watched queues: `vhost` and `name` of each.", Shape::List)],
    ),
    at(
        "/api/warren/watched-queues/{vhost}/{queue}",
        &[
            Operation::put(
                AdministratorInVhost,
                watch,
                "Watches a queue until the broker stops: the broker measures how long its messages spend in each stage.",
                &[],
            )
            .refuses(&[("404", "The queue does not exist.")]),
            Operation::delete(AdministratorInVhost, unwatch, "Stops watching a queue.")
                .refuses(&[("404", "The queue is not watched.")]),
        ],
    ),
];

fn all(call: &Call) -> Result<Answer, Problem> {
    let shown = |queue: broker::view::QueueView| {
        let definition = queue.definition();
        json!({"vhost": definition.vhost.as_str(), "name": definition.name.as_str()})
    };
    let queues: Vec<Value> = call.broker().watched_queues().into_iter().map(shown).collect();
    Ok(Answer::json(Value::Array(queues).to_string().into_bytes()))
}

fn watch(call: &Call) -> Result<Answer, Problem> {
    call.broker().watch_queue(call.vhost(), call.argument("queue"))?;
    Ok(Answer::no_content())
}

fn unwatch(call: &Call) -> Result<Answer, Problem> {
    call.broker().unwatch_queue(call.vhost(), call.argument("queue"))?;
    Ok(Answer::no_content())
}

/// How long messages were in each stage, in microseconds: lately, and since the start.
pub(super) fn write_stages(cell: Cell<'_>, view: &StagesView) {
    let us = |ns: u64| ns as f64 / 1e3;
    cell.object(|members| {
        members.cell("recent_seconds").float(view.recent_span.as_secs_f64());
        for stage in Stage::ALL {
            let (recent, total) = (&view.recent[stage as usize], &view.total[stage as usize]);
            members.cell(stage.name()).object(|members| {
                members.cell("messages").int(recent.count());
                if let Some(mean_ns) = recent.mean_ns() {
                    members.cell("mean_us").float(us(mean_ns));
                    members.cell("p50_us").float(us(recent.quantile_ns(0.5).unwrap_or(mean_ns)));
                    members.cell("p99_us").float(us(recent.quantile_ns(0.99).unwrap_or(mean_ns)));
                    members.cell("max_us").float(us(recent.max_ns()));
                }
                members.cell("total_messages").int(total.count());
                if let Some(mean_ns) = total.mean_ns() {
                    members.cell("total_mean_us").float(us(mean_ns));
                    members.cell("total_max_us").float(us(total.max_ns()));
                }
            });
        }
    });
}

/// What the kernel knows of the way to a client.
pub(super) fn write_network(cell: Cell<'_>, tcp: &TcpInfo) {
    let us = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    cell.object(|members| {
        members.cell("round_trip_us").int(us(tcp.round_trip));
        members.cell("round_trip_variation_us").int(us(tcp.round_trip_variation));
        if let Some(min) = tcp.round_trip_min {
            members.cell("round_trip_min_us").int(us(min));
        }
        members.cell("retransmits").int(tcp.retransmits.into());
    });
}
