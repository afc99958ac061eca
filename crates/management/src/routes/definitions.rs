//! Definitions: exported, imported, and what they do not have deleted.

use definitions::{DefinitionsError, Scope, Unsupported, parse};
use hyper::StatusCode;
use hyper::header::{CONTENT_DISPOSITION, ETAG, HeaderValue, IF_NONE_MATCH};

use super::vhosts;
use crate::answer::Answer;
use crate::call::Call;
use crate::definitions::{Export, PruneResult, check, diff, import, prune};
use crate::json::Writer;
use crate::media;
use crate::multipart;
use crate::problem::Problem;
use crate::route::Kind::{List, Object as ObjectKind};
use crate::route::Role::{Administrator, AdministratorInVhost};
use crate::route::{Field, Operation, Parameters, Route, Shape, at};

pub(super) static ROUTES: &[Route] = &[
    at("/api/definitions", ALL),
    at("/api/all-configuration", ALL),
    at(
        "/api/definitions/{vhost}",
        &[
            Operation::get(Administrator, export_vhost, "Exports the definitions of a vhost.", Shape::Object(DOCUMENT))
                .query(DOWNLOAD),
            Operation::post(AdministratorInVhost, import_vhost, "Imports definitions into a vhost.", DOCUMENT)
                .query(IMPORT),
        ],
    ),
    at(
        "/api/definitions/diff",
        &[Operation::post(
            Administrator,
            |call| differing(call, Scope::Broker),
            "Returns the differences between definitions and the broker. Nothing is changed.",
            DOCUMENT,
        )
        .answers(DIFFERENCE)],
    ),
    at(
        "/api/definitions/{vhost}/diff",
        &[Operation::post(
            AdministratorInVhost,
            |call| differing(call, Scope::Vhost(call.vhost())),
            "Returns the differences between definitions and a vhost. Nothing is changed.",
            DOCUMENT,
        )
        .answers(DIFFERENCE)],
    ),
];

const DIFFERENCE: Shape = Shape::Object(&[
    Field::required("added", ObjectKind, "By kind, the names of objects that only the document has, at most 1000."),
    Field::required(
        "changed",
        ObjectKind,
        "By kind, the objects that an import would change: `name`, `from` and `to`, at most 1000.",
    ),
    Field::required(
        "missing",
        ObjectKind,
        "By kind, the names of objects that only the broker has, for kinds that the document mentions.",
    ),
    Field::required("same", ObjectKind, "By kind, the number of objects that are the same."),
    Field::required("counts", ObjectKind, "By kind, the numbers of `added`, `changed` and `missing` objects."),
]);

const ALL: &[Operation] = &[
    Operation::get(Administrator, export_all, "Exports all definitions.", Shape::Object(DOCUMENT)).query(DOWNLOAD),
    Operation::post(Administrator, import_all, "Imports definitions.", DOCUMENT).query(IMPORT),
];

const DOWNLOAD: &[Parameters] = &[Parameters::Other("download", "The file name for the browser's download.")];
const IMPORT: &[Parameters] = &[
    Parameters::Other(
        "prune",
        "`true`: deletes objects that the document does not have, of the kinds that it mentions. `dry-run`: only lists them.",
    ),
    Parameters::Other("skip_unsupported", "`true`: skips unsupported entries, and lists them in the response."),
];
const DOCUMENT: &[Field] = &[
    Field::optional("users", List, "The users."),
    Field::optional("vhosts", List, "The vhosts."),
    Field::optional("permissions", List, "The permissions."),
    Field::optional("topic_permissions", List, "The topic permissions."),
    Field::optional("parameters", List, "Vhost limits, operator policies, shovels, and federation upstreams."),
    Field::optional("global_parameters", List, "The global parameters."),
    Field::optional("policies", List, "The policies."),
    Field::optional("queues", List, "The queues."),
    Field::optional("exchanges", List, "The exchanges."),
    Field::optional("bindings", List, "The bindings."),
];

fn export_all(call: &Call) -> Result<Answer, Problem> {
    exported(call, Scope::Broker)
}

fn export_vhost(call: &Call) -> Result<Answer, Problem> {
    if vhosts::find(call).is_err() {
        return Err(Problem::bad_request("vhost_not_found"));
    }
    exported(call, Scope::Vhost(call.vhost()))
}

fn exported(call: &Call, scope: Scope<'_>) -> Result<Answer, Problem> {
    let [started, written, changed] = call.broker().definitions_version();
    let etag = format!("\"{started:x}-{written:x}-{changed:x}\"");
    let known = call.headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let is_known = known.flat_map(|value| value.split(',')).any(|one| matches!(one.trim(), "*") || one.trim() == etag);
    let answer = match is_known {
        true => Answer::empty(StatusCode::NOT_MODIFIED),
        false => Answer::pieces(Box::new(Export::new(call.broker(), &call.service.options, scope))),
    };
    let answer = match HeaderValue::from_str(&etag) {
        Ok(value) => answer.with(ETAG, value),
        Err(_) => answer,
    };
    let Some(name) = call.query.get("download") else { return Ok(answer) };
    // A file's name: nothing that could end the header or leave the folder of downloads.
    let name: String = name.chars().filter(|char| char.is_ascii_alphanumeric() || "._- @".contains(*char)).collect();
    match HeaderValue::from_str(&format!("attachment; filename={name}")) {
        Ok(value) => Ok(answer.with(CONTENT_DISPOSITION, value)),
        Err(_) => Ok(answer),
    }
}

fn import_all(call: &Call) -> Result<Answer, Problem> {
    broker::take_long(|| imported(call, Scope::Broker))
}

fn import_vhost(call: &Call) -> Result<Answer, Problem> {
    broker::take_long(|| imported(call, Scope::Vhost(call.vhost())))
}

impl From<DefinitionsError> for Problem {
    fn from(DefinitionsError(reason): DefinitionsError) -> Problem {
        Problem::bad_request(reason)
    }
}

fn imported(call: &Call, scope: Scope<'_>) -> Result<Answer, Problem> {
    let mut definitions = parse(document(call)?, scope)?;
    let unsupported = match call.query.get("skip_unsupported") {
        Some("true") => Unsupported::LeftOut,
        None | Some("false") => Unsupported::Refused,
        Some(other) => {
            return Err(Problem::bad_request(format!("'skip_unsupported' must be 'true' or 'false', not '{other}'")));
        }
    };
    if unsupported == Unsupported::LeftOut && !matches!(call.query.get("prune"), None | Some("false")) {
        let text = "'prune' and 'skip_unsupported' exclude each other: a document that is not imported completely does not show what to \
             delete";
        return Err(Problem::bad_request(text));
    }
    let pruned = match call.query.get("prune") {
        Some("dry-run") => {
            check(call.broker(), &mut definitions, scope, unsupported)?;
            return Ok(answer_pruned(&prune(call.broker(), call.actor(), &definitions, scope, true)?, true));
        }
        Some("true") => true,
        None | Some("false") => false,
        Some(other) => {
            let text = format!("'prune' must be 'true', 'false' or 'dry-run', not '{other}'");
            return Err(Problem::bad_request(text));
        }
    };
    let imported = import(call.broker(), call.actor(), &mut definitions, scope, unsupported)?;
    for warning in &imported.warnings {
        tracing::warn!("{warning}");
    }
    for entry in &imported.left_out {
        tracing::warn!(%entry, "definitions imported without unsupported entries");
    }
    let mut answer = match pruned {
        true => {
            let pruned = prune(call.broker(), call.actor(), &definitions, scope, false);
            let pruned = pruned.map_err(|DefinitionsError(reason)| {
                Problem::bad_request(format!("{reason} The whole document has been imported."))
            })?;
            let mut answer = answer_pruned(&pruned, false);
            answer.position = pruned.position;
            answer
        }
        false if unsupported == Unsupported::LeftOut => answer_left_out(&imported.left_out),
        false => Answer::no_content(),
    };
    answer.position.add(imported.position);
    Ok(answer)
}

fn differing(call: &Call, scope: Scope<'_>) -> Result<Answer, Problem> {
    let mut definitions = parse(document(call)?, scope)?;
    check(call.broker(), &mut definitions, scope, Unsupported::Refused)?;
    let difference = diff(call.broker(), call.actor(), &definitions, scope)?;
    Ok(Answer::json(difference.to_json().to_string().into_bytes()))
}

fn answer_left_out(left_out: &[String]) -> Answer {
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| members.cell("left_out").texts(left_out.iter().map(String::as_str)));
    Answer::json(out)
}

fn answer_pruned(pruned: &PruneResult, is_dry_run: bool) -> Answer {
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| {
        members.cell("dry_run").bool(is_dry_run);
        for (member, kinds) in [("deleted", &pruned.deleted), ("spared", &pruned.spared)] {
            members.cell(member).object(|object| {
                for (kind, names) in kinds {
                    object.cell(kind).texts(names.iter().map(String::as_str));
                }
            });
        }
    });
    Answer::json(out)
}

/// The document: the body, or the file in it if it is a form.
fn document(call: &Call) -> Result<&[u8], Problem> {
    let Some(boundary) = media::multipart_boundary(&call.headers) else { return Ok(&call.body) };
    let malformed = || Problem::bad_request("failed_to_parse_json");
    let parts = multipart::parts(&call.body, &boundary).ok_or_else(malformed)?;
    let file = parts.iter().find(|part| part.name == "file").ok_or_else(malformed)?;
    let is_json = |name: &str| name.to_ascii_lowercase().ends_with(".json");
    if call.service.options.requires_json_extension && !file.file_name.is_some_and(is_json) {
        return Err(Problem::bad_request("unsupported_file_extension"));
    }
    Ok(file.content)
}
