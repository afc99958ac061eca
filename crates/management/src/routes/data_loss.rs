//! Messages that were lost to damaged files, which RabbitMQ does not tell of.

use broker::view::{DamagedFile, Loss};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::problem::Problem;
use crate::route::Kind::{Integer, List};
use crate::route::Role::{Administrator, Monitoring};
use crate::route::{Field, Operation, Route, Shape, at};

pub(super) static ROUTES: &[Route] = &[at(
    "/api/warren/data-loss",
    &[
        Operation::get(
            Monitoring,
            all,
            "Lists damaged files of messages that no operator has acknowledged, and what is lost by them.",
            Shape::Object(&[
                Field::required("lost_messages", Integer, "How many messages are lost."),
                Field::required("damaged_files", List, FILES),
            ]),
        ),
        Operation::delete(Administrator, acknowledge, "Acknowledges all losses so far: the health check passes again."),
    ],
)];

const FILES: &str = "The files: `path`, `what` was found first, `found_at`, and of which `queue` or `exchange` of which `vhost` how \
     many messages are `lost`. What has been deleted since has no name.";

fn all(call: &Call) -> Result<Answer, Problem> {
    let files = call.broker().data_loss();
    let lost_count = files.iter().map(DamagedFile::lost_count).sum::<u64>();
    let files: Vec<Value> = files.iter().map(shown).collect();
    Ok(Answer::json(json!({"lost_messages": lost_count, "damaged_files": files}).to_string().into_bytes()))
}

fn acknowledge(call: &Call) -> Result<Answer, Problem> {
    call.broker().acknowledge_data_loss(call.actor());
    Ok(Answer::no_content())
}

fn shown(file: &DamagedFile) -> Value {
    let lost = file.lost.iter().map(|Loss { of, is_exchange, count }| match of {
        Some((vhost, name)) if *is_exchange => json!({"vhost": vhost, "exchange": name, "messages": count}),
        Some((vhost, name)) => json!({"vhost": vhost, "queue": name, "messages": count}),
        None => json!({"messages": count}),
    });
    json!({
        "path": file.path.to_string_lossy(),
        "what": file.what,
        "found_at": humantime::format_rfc3339_seconds(file.found_at).to_string(),
        "lost": lost.collect::<Vec<Value>>(),
    })
}
