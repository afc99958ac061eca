//! Messages that were lost to damaged files, which no RabbitMQ reports.

use serde_json::{Value, json};

use crate::command::{Command, repeated};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing::{Listing, columns, show};
use crate::reply::Reply;
use crate::step::{Ask, StepResult};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("list_data_losses", "lists messages that were lost to damaged files and not acknowledged", list)
        .taking(&[repeated("column")])
        .saying("Listing messages that were lost to damaged files ..."),
    Command::new(
        "acknowledge_data_losses",
        "acknowledges all losses so far, so that the health check passes again",
        |_| Ask::delete("warren/data-loss".to_owned()).then(|reply| of_warren(reply)?.done()),
    )
    .saying("Acknowledging that messages were lost ..."),
];

const LOSSES: Listing = Listing {
    columns: columns! {
        "vhost" "queue" "exchange" "messages" "path" "what" "found_at"
    },
    default: &["vhost", "queue", "exchange", "messages", "path", "what"],
};

fn list(input: &Invocation) -> StepResult {
    let columns = LOSSES.chosen(input)?;
    Ask::get("warren/data-loss".to_owned()).then(move |reply| {
        let answer = of_warren(reply)?.value()?;
        let files = answer["damaged_files"].as_array().into_iter().flatten();
        let losses: Vec<Value> = files.flat_map(losses_of).collect();
        show(&columns, &losses)
    })
}

/// A file's losses, each with what is known of the file.
fn losses_of(file: &Value) -> Vec<Value> {
    let of_file = |mut loss: Value| {
        for name in ["path", "what", "found_at"] {
            loss[name] = file[name].clone();
        }
        loss
    };
    match file["lost"].as_array().map(Vec::as_slice) {
        // It is damaged all the same.
        None | Some([]) => vec![of_file(json!({"messages": 0}))],
        Some(losses) => losses.iter().filter(|loss| loss.is_object()).cloned().map(of_file).collect(),
    }
}

fn of_warren(reply: Reply) -> Result<Reply, Failure> {
    if matches!(reply.status, 404 | 405) { Err(Failure::not_warren()) } else { Ok(reply) }
}
