//! What RabbitMQ has no command for.

use serde_json::{Value, json};

use crate::command::{Command, required};
use crate::failure::Failure;
use crate::listing::text;
use crate::output::Output;
use crate::step::{Ask, Step};

pub(crate) const COMMANDS: &[Command] =
    &[Command::new("backup", "makes the running broker write a backup of all its data, on its own machine", |input| {
        let place = input.text("path").to_owned();
        Ask::post("warren/backup".to_owned(), &json!({"path": place})).then(move |reply| {
            if matches!(reply.status, 404 | 405 | 501) {
                return Err(Failure::unavailable(
                    "the server cannot make backups: that is Warren's own, and it may be a RabbitMQ or an older Warren",
                ));
            }
            let answer = reply.value()?;
            // Where it is, if the server chose a name within a directory.
            let place = Some(text(&answer, "path")).filter(|path| !path.is_empty()).unwrap_or(&place);
            let size = ["size", "bytes"].iter().find_map(|name| answer.get(name).and_then(Value::as_u64));
            let text = match size {
                Some(size) => format!("Backup written to {place}, {size} bytes"),
                None => format!("Backup written to {place}"),
            };
            Ok(Step::Done(Output::Document { text, value: answer }))
        })
    })
    .taking(&[required("path")])
    .long()
    .saying("Making a backup at {path} ...")];
