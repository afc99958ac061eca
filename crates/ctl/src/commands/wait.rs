//! Waiting: for a process, for a broker to come, for nodes.

use std::time::Duration;

use serde_json::Value;

use crate::command::{Command, Opt, option, optional, required};
use crate::failure::{CONFIG, Failure, TEMPORARY, USAGE};
use crate::invocation::Invocation;
use crate::reply::Reply;
use crate::step::{Ask, Process, ProcessName, Step, StepResult, done};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("await_startup", "waits until the server answers", |input| {
        until_started(WaitLimit::of(input, STARTUP_TIMEOUT)?, None)
    }),
    Command::new(
        "wait",
        "waits until the process with the id in a file runs and its server answers; fails if the process ends",
        |input| {
            let name = match (input.optional("pid"), input.optional("pid-file")) {
                (Some(text), None) => ProcessName::Id(
                    text.parse().map_err(|_| Failure::data(format!("a process id must be a number, not '{text}'")))?,
                ),
                (None, Some(file)) => ProcessName::File(file.into()),
                _ => return Err(Failure::usage("wait needs a file that has the process id, or --pid")),
            };
            until_started(WaitLimit::of(input, WAIT_TIMEOUT)?, Some(name))
        },
    )
    .taking(&[optional("pid-file")])
    .with(&[PID])
    .saying_if("pid", "Waiting for pid {pid} ...")
    .saying("Waiting for pid file '{pid-file}' to appear ..."),
    Command::new("await_online_nodes", "waits until a number of the cluster's nodes run", |input| {
        let text = input.text("count");
        let count: usize = text
            .parse()
            .map_err(|_| Failure::data(format!("the number of nodes must be a whole number, not '{text}'")))?;
        until(WaitLimit::of(input, STARTUP_TIMEOUT)?, "nodes", move |reply| {
            let nodes = reply.list()?;
            let running = nodes.iter().filter(|node| node["running"] == Value::Bool(true)).count();
            Ok(if running >= count { None } else { Some(format!("{running} of {count} nodes run")) })
        })
    })
    .taking(&[required("count")])
    .saying("Will wait for at least {count} nodes to join the cluster. Timeout: {timeout|300} seconds."),
    Command::new(
        "await_online_quorum_plus_one",
        "waits until no quorum queue loses its quorum when the node stops",
        |input| {
            until(WaitLimit::of(input, QUORUM_TIMEOUT)?, "health/checks/node-is-quorum-critical", |reply| {
                if reply.is_accepted() {
                    return Ok(None);
                }
                match reply.status {
                    503 => Ok(Some(reply.reason().unwrap_or_else(|| "some queues cannot lose a member".to_owned()))),
                    _ => Err(reply.refusal()),
                }
            })
        },
    )
    .saying("Will wait for a quorum + 1 of nodes to be online for all quorum queues and streams ..."),
];

const PID: Opt = option("pid", "PID", "the process, instead of a file that names it").short("P");

/// How long a node may take to start, if nothing else is said. As rabbitmqctl.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(300);
const QUORUM_TIMEOUT: Duration = Duration::from_secs(120);
/// How long `wait` waits, if nothing else is said. As rabbitmqctl.
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(500);

/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(10);

/// How long is still to be waited.
#[derive(Clone, Copy)]
struct WaitLimit {
    left: Duration,
}

impl WaitLimit {
    fn of(input: &Invocation, usual: Duration) -> Result<Self, Failure> {
        let left = match input.shared("timeout") {
            Some("infinity") => Duration::MAX,
            _ => input.shared_number("timeout")?.map_or(usual, Duration::from_secs),
        };
        Ok(WaitLimit { left })
    }

    /// Tries again after a pause, or fails if that would be too late.
    fn again(self, took: Duration, why: &str, next: impl FnOnce(Self) -> StepResult + 'static) -> StepResult {
        let left = if self.left == Duration::MAX { self.left } else { self.left.saturating_sub(took + PAUSE) };
        if left.is_zero() {
            return Err(Failure::new(TEMPORARY, why));
        }
        Ok(Step::Pause(PAUSE, Box::new(move |()| next(WaitLimit { left }))))
    }
}

/// Waits until the server answers, and before that until the process is there, if one is named.
fn until_started(waiting: WaitLimit, name: Option<ProcessName>) -> StepResult {
    let Some(name) = name else { return until_answered(waiting, None) };
    Ok(Step::Look(
        name.clone(),
        Box::new(move |process| match process {
            Process::Unknown => waiting.again(Duration::ZERO, "no file has named the process in time", |waiting| {
                until_started(waiting, Some(name))
            }),
            Process::Gone(id) => Err(Failure::unavailable(format!("process {id} does not exist or has ended"))),
            Process::Running(_) => until_answered(waiting, Some(name)),
        }),
    ))
}

fn until_answered(waiting: WaitLimit, name: Option<ProcessName>) -> StepResult {
    let next = move |answer: Result<Reply, Failure>, took: Duration| match answer {
        // A server that refuses us is there.
        Ok(reply) if reply.status < 500 => reply.done(),
        Err(failure) if failure.status == CONFIG || failure.status == USAGE => Err(failure),
        answer => {
            let why = answer.map_or_else(|failure| failure.text, |reply| reply.refusal().text);
            waiting.again(took, &format!("the server has not started in time: {why}"), |waiting| {
                until_started(waiting, name)
            })
        }
    };
    Ok(Step::Try { ask: Ask::get("overview".to_owned()), timeout: waiting.left.min(ATTEMPT), next: Box::new(next) })
}

/// Asks until the answer is as it should be; `check` says what is not. A server that does not answer yet is waited for, too.
fn until(
    waiting: WaitLimit,
    place: &'static str,
    check: impl Fn(&Reply) -> Result<Option<String>, Failure> + 'static,
) -> StepResult {
    let next = move |answer: Result<Reply, Failure>, took: Duration| {
        let why = match answer {
            Ok(reply) => match check(&reply)? {
                None => return done(),
                Some(why) => why,
            },
            Err(failure) if failure.status == CONFIG || failure.status == USAGE => return Err(failure),
            Err(failure) => failure.text,
        };
        waiting.again(took, &format!("timeout: {why}"), move |waiting| until(waiting, place, check))
    };
    Ok(Step::Try { ask: Ask::get(place.to_owned()), timeout: waiting.left.min(ATTEMPT), next: Box::new(next) })
}
