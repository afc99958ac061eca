//! Backups, which RabbitMQ has none of.

use std::path::PathBuf;

use broker::{BackupError, BackupView};
use hyper::StatusCode;

use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Fields, Writer};
use crate::problem::Problem;
use crate::route::Kind::{Integer, Text};
use crate::route::Role::Administrator;
use crate::route::{AnswerFuture, Field, Operation, Route, Shape, at};

pub(super) static ROUTES: &[Route] = &[at(
    "/api/warren/backup",
    &[Operation::post(
        Administrator,
        |_| Err(Problem::not_found()),
        "Copies the broker's data into a directory on its own machine.",
        &[Field::required("path", Text, "The absolute path of the directory, which must not exist or must be empty.")],
    )
    .later(|call| Box::pin(back_up(call)) as AnswerFuture)
    .answers(Shape::Object(&[
        Field::required("path", Text, "The directory."),
        Field::required("size", Integer, "The size of all files in bytes."),
        Field::required(
            "linked_size",
            Integer,
            "The size of the files that are shared with the broker's own directory.",
        ),
        Field::required("took_ms", Integer, "The duration in milliseconds."),
    ]))
    .refuses(&[
        ("409", "Another backup is running."),
        ("500", "The data is damaged, or a file could not be read or written."),
        ("503", "The broker is stopping."),
        ("507", "The disk has not enough free space."),
    ])],
)];

async fn back_up(call: Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let path = Fields(&body).text("path")?.ok_or_else(|| Problem::bad_request("'path' is missing"))?;
    let path = PathBuf::from(path);
    let (broker, actor) = (call.broker().clone(), call.actor().clone());
    // It reads and writes for as long as it takes.
    let made = tokio::task::spawn_blocking(move || broker.backup(&actor, &path)).await;
    let view = made.map_err(|_| Problem::bare(StatusCode::INTERNAL_SERVER_ERROR))?.map_err(|error| refused(&error))?;
    Ok(Answer::json(shown(&view)))
}

fn shown(view: &BackupView) -> Vec<u8> {
    let mut out = Vec::new();
    Writer::new(&mut out).object(|object| {
        object.cell("path").text(&view.dir.to_string_lossy());
        object.cell("size").int(view.len);
        object.cell("linked_size").int(view.linked_len);
        object.cell("took_ms").int(view.took_ms);
    });
    out
}

fn refused(error: &BackupError) -> Problem {
    let (status, name) = match error {
        BackupError::Refused { .. } => (StatusCode::BAD_REQUEST, "bad_request"),
        BackupError::Busy => (StatusCode::CONFLICT, "conflict"),
        BackupError::NoRoom { .. } | BackupError::DiskFull => {
            (StatusCode::INSUFFICIENT_STORAGE, "insufficient_storage")
        }
        BackupError::Closing => (StatusCode::SERVICE_UNAVAILABLE, "service_unavailable"),
        BackupError::Damaged { .. } | BackupError::Journal(_) | BackupError::Io { .. } => {
            tracing::error!(%error, "a backup failed");
            (StatusCode::INTERNAL_SERVER_ERROR, "internal_error")
        }
    };
    Problem::new(status, name, error.to_string())
}
