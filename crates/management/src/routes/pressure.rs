//! What holds the node and its clients back, counted since the start: two looks say what does so now. RabbitMQ has no such route.

use std::time::Duration;

use broker::Interface;
use broker::machine::processor_times;
use serde_json::json;

use crate::answer::Answer;
use crate::call::Call;
use crate::problem::Problem;
use crate::route::Kind::{Integer, Object};
use crate::route::Role::Monitoring;
use crate::route::{Field, Operation, Route, Shape, at};

pub(super) static ROUTES: &[Route] = &[at(
    "/api/warren/pressure",
    &[Operation::get(
        Monitoring,
        all,
        "Returns what has slowed down the node and its clients since the start.",
        Shape::Object(&[
            Field::required(
                "syncs",
                Object,
                "Syncs of the journal: their `count`, and their total duration `total_us`.",
            ),
            Field::required("processors", Object, PROCESSORS),
            Field::required(
                "connections_refused",
                Integer,
                "Connections that were refused because file descriptors or connection slots were used up.",
            ),
            Field::required("connections_failed", Integer, "Connections that were closed because of a client's error."),
            Field::required("channels_failed", Integer, "Channels that were closed because of a client's error."),
            Field::required("logins_failed", Integer, "Failed login attempts, over AMQP and HTTP."),
            Field::required("publishes_refused", Integer, "Publishes that were answered with `basic.nack`."),
            Field::required("flow_entered", Integer, "How often a publishing connection had to wait for the store."),
            Field::required(
                "connections_pausing",
                Integer,
                "Connections that are paused now so that consumers can keep up.",
            ),
        ]),
    )],
)];

const PROCESSORS: &str = "The CPU time of the process, in microseconds: `used_us`; `waited_us`, how long its threads were runnable \
    without a CPU; `throttled_us` by its control group; `stolen_us` from the whole machine by its hypervisor.";

fn all(call: &Call) -> Result<Answer, Problem> {
    let broker = call.broker();
    let pressure = broker.pressure_view();
    let processors = processor_times();
    let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let logins_failed: u64 =
        [Interface::Amqp, Interface::Http].map(|interface| broker.auth_attempts(interface).failed).iter().sum();
    let answer = json!({
        "syncs": {"count": pressure.syncs.count, "total_us": us(pressure.syncs.total)},
        "processors": {
            "used_us": us(processors.used), "waited_us": us(processors.waited), "throttled_us": us(processors.throttled),
            "stolen_us": us(processors.stolen),
        },
        "connections_refused": pressure.connections_refused,
        "connections_failed": pressure.connections_failed,
        "channels_failed": pressure.channels_failed,
        "logins_failed": logins_failed,
        "publishes_refused": pressure.publishes_refused,
        "flow_entered": pressure.flow_entered,
        "connections_pausing": pressure.pausing_count,
    });
    Ok(Answer::json(answer.to_string().into_bytes()))
}
