//! Messages that were lost to damaged files, which RabbitMQ does not report.

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
            "Lists the damaged message files that no operator has acknowledged, and the messages lost with them.",
            Shape::Object(&[
                Field::required("lost_messages", Integer, "The number of lost messages."),
                Field::required("damaged_files", List, FILES),
            ]),
        ),
        Operation::delete(
            Administrator,
            acknowledge,
            "Acknowledges all losses so far, so that the health check passes again.",
        ),
    ],
)];

const FILES: &str = "The files: `path`, `what` was found first, `found_at`, and the numbers of `lost` messages by `vhost` and `queue` \
    or `exchange`. Objects that were deleted in the meantime have no name.";

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
