//! Changing the running process: its limits, its log, its listeners, and its end. Only the server knows which values are good.

use serde_json::{Value, json};

use crate::command::{Command, flag, optional, required};
use crate::failure::{DATA, Failure, TEMPORARY, UNAVAILABLE};
use crate::invocation::Invocation;
use crate::step::{Ask, Ended, ProcessName, Step, StepResult, remark};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new(
        "set_vm_memory_high_watermark",
        "sets above which fraction of the memory, or how many bytes ('absolute 2GiB'), publishers are blocked, until the server ends",
        |input| {
            let body = match (input.text("limit"), input.optional("value")) {
                ("absolute", Some(size)) => json!({"absolute": size}),
                ("absolute", None) | (_, Some(_)) => return Err(usage(input, "a fraction, or 'absolute' and a size")),
                (text, None) => json!({"relative": fraction(text)}),
            };
            change(Ask::put("warren/memory-limit".to_owned(), &body), DATA)
        },
    )
    .taking(&[required("limit"), optional("value")])
    .saying("Setting memory threshold to {limit} {value}..."),
    Command::new(
        "set_disk_free_limit",
        "sets below how much free disk, or how many times the memory ('mem_relative 1.5'), publishers are blocked, until the server ends",
        |input| {
            let body = match (input.text("limit"), input.optional("value")) {
                ("mem_relative", Some(text)) => json!({"relative": fraction(text)}),
                ("mem_relative", None) | (_, Some(_)) => {
                    return Err(usage(input, "a size, or 'mem_relative' and a fraction"));
                }
                (size, None) => json!({"absolute": size}),
            };
            change(Ask::put("warren/disk-free-limit".to_owned(), &body), DATA)
        },
    )
    .taking(&[required("limit"), optional("value")])
    .saying("Setting disk free limit to {limit} {value}..."),
    Command::new(
        "set_log_level",
        "sets the lowest level that is logged (debug, info, warning, error, critical, none), until the server ends",
        |input| {
            change(Ask::put("warren/log-level".to_owned(), &json!({"level": input.text("log-level")})), UNAVAILABLE)
        },
    )
    .taking(&[required("log-level")])
    .saying("Setting log level to \"{log-level}\" ..."),
    Command::new("suspend_listeners", "refuses new client connections; open connections are not affected", |_| {
        change(Ask::post("warren/listeners/suspend".to_owned(), &json!({})), UNAVAILABLE)
    })
    .saying("Will suspend client connection listeners. The node will no longer accept client connections!"),
    Command::new("resume_listeners", "accepts new client connections again", |_| {
        change(Ask::post("warren/listeners/resume".to_owned(), &json!({})), UNAVAILABLE)
    })
    .saying("Will resume client connection listeners. The node will now accept client connections"),
    Command::new("stop", "ends the server's process on this machine: the one that a file names, or the socket", end)
        .taking(&[optional("pid-file")])
        .with(&[flag("idempotent", "no error if the process does not exist")])
        .saying("Stopping and halting node ..."),
    Command::new("shutdown", "the same, and waits until it has ended", end)
        .with(&[flag("wait", "accepted: it is waited for"), flag("no-wait", "accepted: it is waited for")])
        .saying("Shutting down the node ..."),
];

/// Has the process end in order, and waits until it has.
fn end(input: &Invocation) -> StepResult {
    let name = input.optional("pid-file").map(|file| ProcessName::File(file.into()));
    let is_idempotent = input.has("idempotent");
    Ok(Step::End(
        name,
        Box::new(move |ended| match ended {
            Ended::InOrder(id) => remark(format!("process {id} has ended")),
            Ended::NotThere if is_idempotent => remark("no such process"),
            Ended::NotThere => Err(Failure::unavailable("no such process")),
            Ended::StillThere(id) => {
                Err(Failure::new(TEMPORARY, format!("process {id} was asked to end, and still runs")))
            }
        }),
    ))
}

fn usage(input: &Invocation, takes: &str) -> Failure {
    Failure::usage(format!("{} takes {takes}", input.command.name))
}

/// A number; what is none, for the server to say what would be one.
fn fraction(text: &str) -> Value {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => json!(number),
        _ => json!(text),
    }
}

/// Asks for a change. A value that the server refuses ends it with that status, and with the server's own sentence.
fn change(ask: Ask, refused_status: u8) -> StepResult {
    ask.then(move |reply| match (reply.status, reply.reason()) {
        (404 | 405, _) => Err(Failure::not_warren()),
        (400 | 500 | 503, Some(reason)) => {
            let status = if reply.status == 400 { refused_status } else { UNAVAILABLE };
            Err(Failure::new(status, reason))
        }
        _ => reply.done(),
    })
}
