//! Definitions: everything but messages, as one document.

mod transformations;

use self::transformations::Transformation;
use crate::command::{Argument, Command, Opt, flag, option, optional, required};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::step::{Ask, Source, Step, StepResult, path, remark, say};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new(
        "export_definitions",
        "writes users, virtual hosts, queues and so on to a file, or to standard output (-)",
        |input| {
            refuse_erlang(input)?;
            export(definitions(input.said_vhost()), input.text("file"), Vec::new())
        },
    )
    .taking(&[required("file")])
    .with(&[option("format", "FORMAT", "json, the only one")])
    .long()
    .saying("Exporting definitions in JSON to a file at \"{file}\" ..."),
    Command::new("import_definitions", "imports definitions from a file, or from standard input", |input| {
        refuse_erlang(input)?;
        let place = definitions(input.said_vhost());
        let file = input.optional("file").unwrap_or("-");
        import(skipping(place, input), file)
    })
    .taking(&[optional("file")])
    .with(&[
        option("format", "FORMAT", "json, the only one"),
        flag("skip-if-unchanged", "accepted: definitions that are there already change nothing"),
        SKIP_UNSUPPORTED,
    ])
    .long()
    .saying("Importing definitions in JSON from {file|standard input} ..."),
];

pub(crate) const ADMIN_COMMANDS: &[Command] = &[
    Command::new("export", "writes definitions to a file, with --vhost those of one virtual host", admin_export)
        .also(&["definitions export", "export definitions"])
        .taking(FILE)
        .with(EXPORT)
        .long(),
    Command::new("definitions export_from_vhost", "writes a virtual host's definitions to a file", |input| {
        export(definitions(Some(input.vhost())), written(input), transformations(input)?)
    })
    .taking(FILE)
    .with(EXPORT)
    .long(),
    Command::new("import", "imports definitions from a file, with --vhost into one virtual host", |input| {
        admin_import(input, input.said_vhost())
    })
    .also(&["definitions import", "import definitions"])
    .taking(FILE)
    .with(IMPORT)
    .long(),
    Command::new("definitions import_into_vhost", "imports a virtual host's definitions from a file", |input| {
        admin_import(input, Some(input.vhost()))
    })
    .taking(FILE)
    .with(IMPORT)
    .long(),
];

const FILE: &[Argument] = &[optional("file").bare()];
const IMPORT: &[Opt] = &[flag("stdin", "from standard input"), SKIP_UNSUPPORTED];
const EXPORT: &[Opt] = &[
    flag("stdout", "to standard output"),
    option("transformations", "NAMES", "changes to make first, separated by commas").short("t"),
];

const SKIP_UNSUPPORTED: Opt = flag("skip-unsupported", "skip and list entries that the server does not support");

fn skipping(place: String, input: &Invocation) -> String {
    if input.has("skip-unsupported") { place + "?skip_unsupported=true" } else { place }
}

/// All, or one virtual host's.
fn definitions(vhost: Option<&str>) -> String {
    match vhost {
        Some(vhost) => path(&["definitions", vhost]),
        None => "definitions".to_owned(),
    }
}

fn refuse_erlang(input: &Invocation) -> Result<(), Failure> {
    match input.optional("format") {
        None | Some("json") => Ok(()),
        Some(other) => Err(Failure::usage(format!("definitions are JSON over HTTP, and not '{other}'"))),
    }
}

fn admin_export(input: &Invocation) -> StepResult {
    export(definitions(input.said_vhost()), written(input), transformations(input)?)
}

fn written(input: &Invocation) -> &str {
    if input.has("stdout") { "-" } else { input.optional("file").unwrap_or("-") }
}

fn transformations(input: &Invocation) -> Result<Vec<Transformation>, Failure> {
    transformations::named(&input.all("transformations").join(","))
}

fn admin_import(input: &Invocation, vhost: Option<&str>) -> StepResult {
    match input.optional("file").filter(|_| !input.has("stdin")) {
        Some(file) => import(skipping(definitions(vhost), input), file),
        None if input.has("stdin") => import(skipping(definitions(vhost), input), "-"),
        None => Err(Failure::usage("import needs a file, or --stdin")),
    }
}

fn export(place: String, file: &str, transformations: Vec<Transformation>) -> StepResult {
    let file = file.to_owned();
    Ask::get(place).then(move |reply| {
        // Whatever it is, it is to be JSON; and as long as nothing is done to it, it is written as the server has said it.
        let mut definitions = reply.value()?;
        let mut bytes = reply.body;
        if !transformations.is_empty() {
            transformations.iter().for_each(|transform| transform(&mut definitions));
            bytes = definitions.to_string().into_bytes();
        }
        if file == "-" {
            bytes.push(b'\n');
            return Ok(Step::Done(Output::Bytes(bytes)));
        }
        let text = format!("Exported definitions to {file}");
        Ok(Step::Done(Output::File { path: file.into(), bytes, text }))
    })
}

fn import(place: String, file: &str) -> StepResult {
    let source = Source::of(file);
    let file = if file == "-" { "what came in".to_owned() } else { file.to_owned() };
    source.then(move |bytes| {
        if let Err(error) = serde_json::from_slice::<serde_json::Value>(&bytes) {
            return Err(Failure::data(format!("no definitions in {file}: invalid JSON: {error}")));
        }
        Ask::post(place, &serde_json::Value::Null).with_body(bytes).then(|reply| {
            reply.accepted()?;
            let left_out = reply.value().ok().and_then(|value| Some(value.get("left_out")?.as_array()?.clone()));
            if let Some(left_out) = left_out.filter(|entries| !entries.is_empty()) {
                // Reasons in RabbitMQ's words go over several lines.
                let in_one_line = |entry: &str| entry.split_whitespace().collect::<Vec<_>>().join(" ");
                let lines: Vec<_> = left_out.iter().filter_map(serde_json::Value::as_str).map(in_one_line).collect();
                return say(format!("Left out, since the server cannot have it:\n{}", lines.join("\n")));
            }
            remark("Successfully started definition import. This process is asynchronous and can take some time.")
        })
    })
}
