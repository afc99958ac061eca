//! What operators change of the running process, and RabbitMQ changes by `rabbitmqctl` alone. The next start knows nothing of it.

use std::io;

use hyper::StatusCode;
use model::config::{LogLevel, parse_size};
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Fields, wrong_type};
use crate::problem::Problem;
use crate::process::Process;
use crate::route::Kind::{Any, Number, Text};
use crate::route::Role::Administrator;
use crate::route::{Field, Operation, Route, Shape, at};

const ABSOLUTE: Field = Field::optional("absolute", Any, "Bytes, or a size such as `50MB` or `2GiB`.");

/// What happens where nothing of the process can be changed, and where the system refuses.
pub(super) const REFUSALS: &[(&str, &str)] = &[("503", "The process cannot be changed by this API.")];
const LISTENER_REFUSALS: &[(&str, &str)] =
    &[("500", "The system refused the change for one listener. The other listeners were changed."), REFUSALS[0]];

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/warren/memory-limit",
        &[Operation::put(
            Administrator,
            set_memory_limit,
            "Sets the limit of resident memory above which publishers are blocked, until the process ends.",
            &[
                Field::optional("relative", Number, "A fraction of the memory, from 0 to 1. Instead of `absolute`."),
                ABSOLUTE,
            ],
        )
        .answers(Shape::NoContent)
        .refuses(REFUSALS)],
    ),
    at(
        "/api/warren/disk-free-limit",
        &[Operation::put(
            Administrator,
            set_disk_free_limit,
            "Sets the limit of free disk below which publishers are blocked, until the process ends.",
            &[
                Field::optional("relative", Number, "A multiple of the memory, from 0 to 1000. Instead of `absolute`."),
                ABSOLUTE,
            ],
        )
        .answers(Shape::NoContent)
        .refuses(REFUSALS)],
    ),
    at(
        "/api/warren/log-level",
        &[Operation::put(
            Administrator,
            set_log_level,
            "Sets the lowest level that is logged, until the process ends.",
            &[Field::required(
                "level",
                Text,
                "`debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert`, `emergency` or `none`.",
            )],
        )
        .answers(Shape::NoContent)
        .refuses(REFUSALS)],
    ),
    at(
        "/api/warren/listeners/suspend",
        &[Operation::post(
            Administrator,
            suspend_listeners,
            "Refuses new AMQP connections, also over WebSockets. Open connections are not affected.",
            &[],
        )
        .refuses(LISTENER_REFUSALS)],
    ),
    at(
        "/api/warren/listeners/resume",
        &[Operation::post(Administrator, resume_listeners, "Accepts new AMQP connections again.", &[])
            .refuses(LISTENER_REFUSALS)],
    ),
];

pub(crate) fn missing() -> Problem {
    let reason = "the process cannot be changed by this API";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", reason)
}

fn process(call: &Call) -> Result<&Process, Problem> {
    call.service.process().map(AsRef::as_ref).ok_or_else(missing)
}

/// As in `rabbitmqctl`. Without a limit only the kernel would say that memory is short, by ending the process.
const MEMORY_FRACTION_MAX: f64 = 1.0;
/// As in the configuration.
const DISK_FRACTION_MAX: f64 = 1000.0;

fn set_memory_limit(call: &Call) -> Result<Answer, Problem> {
    let len = limit(&call.object()?, process(call)?.memory_len(), MEMORY_FRACTION_MAX)?;
    call.broker().set_memory_limit(call.actor(), len, &call.service.options.data_dir);
    Ok(Answer::no_content())
}

fn set_disk_free_limit(call: &Call) -> Result<Answer, Problem> {
    let len = limit(&call.object()?, process(call)?.memory_len(), DISK_FRACTION_MAX)?;
    call.broker().set_disk_free_limit(call.actor(), len, &call.service.options.data_dir);
    Ok(Answer::no_content())
}

/// Bytes, or a part of the memory.
fn limit(body: &Map<String, Value>, memory_len: u64, fraction_max: f64) -> Result<u64, Problem> {
    match (body.get("relative"), body.get("absolute")) {
        (None, Some(size)) => {
            let len = size.as_u64().or_else(|| size.as_str().and_then(parse_size));
            len.ok_or_else(|| wrong_type("absolute", "a number of bytes, or a size such as 50MB or 2GiB", size))
        }
        (Some(value), None) => {
            let fraction = value.as_f64().filter(|fraction| (0.0..=fraction_max).contains(fraction));
            let wanted = format!("a fraction between 0 and {fraction_max}");
            Ok((memory_len as f64 * fraction.ok_or_else(|| wrong_type("relative", &wanted, value))?) as u64)
        }
        _ => Err(Problem::bad_request("either 'relative' or 'absolute' must be given")),
    }
}

fn set_log_level(call: &Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let name = Fields(&body).required_text("level")?;
    // These words are RabbitMQ's, which takes the other levels, too.
    let unknown = || {
        let levels = "debug, info, warning, error, critical, none";
        Problem::bad_request(format!("level {name} is not supported. Try one of {levels}"))
    };
    let level = LogLevel::parse(name).ok_or_else(unknown)?;
    let process = process(call)?;
    let tell = || {
        let user = call.identity().name();
        tracing::info!(user, level = name, "log level changed until the process ends");
    };
    // Before, so that the log's last line names the user who has switched it off; after, if it was off.
    let is_told = tracing::enabled!(tracing::Level::INFO);
    if is_told {
        tell();
    }
    process.set_log_level(level);
    if !is_told {
        tell();
    }
    Ok(Answer::no_content())
}

fn suspend_listeners(call: &Call) -> Result<Answer, Problem> {
    process(call)?.suspend_listeners().map_err(|error| refused("suspended", &error))?;
    tracing::info!(user = call.identity().name(), "AMQP listeners suspended");
    Ok(Answer::no_content())
}

fn resume_listeners(call: &Call) -> Result<Answer, Problem> {
    process(call)?.resume_listeners().map_err(|error| refused("resumed", &error))?;
    tracing::info!(user = call.identity().name(), "AMQP listeners resumed");
    Ok(Answer::no_content())
}

fn refused(what: &str, error: &io::Error) -> Problem {
    tracing::error!(%error, "a listener could not be {what}");
    let reason = format!("a listener could not be {what}: {error}");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", reason)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_limit(body: &Value, fraction_max: f64, expected: Result<u64, &str>) {
        let limit = limit(body.as_object().unwrap(), 1000, fraction_max);
        assert_eq!(limit, expected.map_err(Problem::bad_request), "{body}");
    }

    #[test]
    fn a_limit_is_bytes_or_a_part_of_the_memory() {
        check_limit(&json!({"absolute": 5}), 1.0, Ok(5));
        check_limit(&json!({"absolute": "5"}), 1.0, Ok(5));
        check_limit(&json!({"absolute": "2GiB"}), 1.0, Ok(2 << 30));
        check_limit(&json!({"relative": 0.4}), 1.0, Ok(400));
        check_limit(&json!({"relative": 0}), 1.0, Ok(0));
        check_limit(&json!({"relative": 1}), 1.0, Ok(1000));
        check_limit(&json!({"relative": 1.5}), 1000.0, Ok(1500));
    }

    #[test]
    fn what_is_no_limit_is_refused_with_what_would_be_one() {
        check_limit(&json!({"relative": 1.1}), 1.0, Err("'relative' must be a fraction between 0 and 1, not 1.1"));
        check_limit(&json!({"relative": -1}), 1000.0, Err("'relative' must be a fraction between 0 and 1000, not -1"));
        check_limit(&json!({"relative": "x"}), 1.0, Err("'relative' must be a fraction between 0 and 1, not \"x\""));
        for size in [json!(-1), json!(1.5), json!("2xB"), json!(""), json!("99999999999TB"), json!(null)] {
            let text = format!("'absolute' must be a number of bytes, or a size such as 50MB or 2GiB, not {size}");
            check_limit(&json!({"absolute": size}), 1.0, Err(&text));
        }
        for body in [json!({}), json!({"relative": 0.5, "absolute": 5})] {
            check_limit(&body, 1.0, Err("either 'relative' or 'absolute' must be given"));
        }
    }
}
