//! Definitions: everything but messages, as one document.

mod transformations;

use self::transformations::Transformation;
use crate::command::{Argument, Command, Opt, flag, option, optional, required};
use crate::failure::Failure;
use crate::given::Given;
use crate::output::Output;
use crate::step::{Ask, Source, Started, Step, path, remark, say};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new(
        "export_definitions",
        "writes users, virtual hosts, queues and so on to a file, or - for what goes out",
        |given| {
            refuse_erlang(given)?;
            export(definitions(given.said_vhost()), given.text("file"), Vec::new())
        },
    )
    .taking(&[required("file")])
    .with(&[option("format", "FORMAT", "json, the only one")])
    .long()
    .saying("Exporting definitions in JSON to a file at \"{file}\" ..."),
    Command::new("import_definitions", "takes definitions in from a file, or from what comes in", |given| {
        refuse_erlang(given)?;
        let place = definitions(given.said_vhost());
        let file = given.optional("file").unwrap_or("-");
        import(skipping(place, given), file)
    })
    .taking(&[optional("file")])
    .with(&[
        option("format", "FORMAT", "json, the only one"),
        flag("skip-if-unchanged", "accepted: definitions that are there already change nothing"),
        SKIP_UNSUPPORTED,
    ])
    .long()
    .saying("Importing definitions in JSON from {file|what comes in} ..."),
];

pub(crate) const ADMIN_COMMANDS: &[Command] = &[
    Command::new("export", "writes definitions to a file, with --vhost those of one virtual host", admin_export)
        .also(&["definitions export", "export definitions"])
        .taking(FILE)
        .with(EXPORT)
        .long(),
    Command::new("definitions export_from_vhost", "writes a virtual host's definitions to a file", |given| {
        export(definitions(Some(given.vhost())), written(given), transformations(given)?)
    })
    .taking(FILE)
    .with(EXPORT)
    .long(),
    Command::new("import", "takes definitions in from a file, with --vhost into one virtual host", |given| {
        admin_import(given, given.said_vhost())
    })
    .also(&["definitions import", "import definitions"])
    .taking(FILE)
    .with(IMPORT)
    .long(),
    Command::new("definitions import_into_vhost", "takes a virtual host's definitions in from a file", |given| {
        admin_import(given, Some(given.vhost()))
    })
    .taking(FILE)
    .with(IMPORT)
    .long(),
];

const FILE: &[Argument] = &[optional("file").bare()];
const IMPORT: &[Opt] = &[flag("stdin", "from what comes in"), SKIP_UNSUPPORTED];
const EXPORT: &[Opt] = &[
    flag("stdout", "to what goes out"),
    option("transformations", "NAMES", "what to do to them first, with commas between").short('t'),
];

const SKIP_UNSUPPORTED: Opt = flag("skip-unsupported", "leave out what the server cannot do, and list it");

fn skipping(place: String, given: &Given) -> String {
    if given.has("skip-unsupported") { place + "?skip_unsupported=true" } else { place }
}

/// All, or one virtual host's.
fn definitions(vhost: Option<&str>) -> String {
    match vhost {
        Some(vhost) => path(&["definitions", vhost]),
        None => "definitions".to_owned(),
    }
}

fn refuse_erlang(given: &Given) -> Result<(), Failure> {
    match given.optional("format") {
        None | Some("json") => Ok(()),
        Some(other) => Err(Failure::usage(format!("definitions are JSON over HTTP, and not '{other}'"))),
    }
}

fn admin_export(given: &Given) -> Started {
    export(definitions(given.said_vhost()), written(given), transformations(given)?)
}

fn written(given: &Given) -> &str {
    if given.has("stdout") { "-" } else { given.optional("file").unwrap_or("-") }
}

fn transformations(given: &Given) -> Result<Vec<Transformation>, Failure> {
    transformations::named(&given.all("transformations").join(","))
}

fn admin_import(given: &Given, vhost: Option<&str>) -> Started {
    match given.optional("file").filter(|_| !given.has("stdin")) {
        Some(file) => import(skipping(definitions(vhost), given), file),
        None if given.has("stdin") => import(skipping(definitions(vhost), given), "-"),
        None => Err(Failure::usage("import needs a file, or --stdin")),
    }
}

fn export(place: String, file: &str, transformations: Vec<Transformation>) -> Started {
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

fn import(place: String, file: &str) -> Started {
    let source = Source::of(file);
    let file = if file == "-" { "what came in".to_owned() } else { file.to_owned() };
    source.then(move |bytes| {
        if let Err(error) = serde_json::from_slice::<serde_json::Value>(&bytes) {
            return Err(Failure::data(format!("there are no definitions in {file}, which is no JSON: {error}")));
        }
        Ask::post(place, &serde_json::Value::Null).with_body(bytes).then(|reply| {
            reply.accepted()?;
            let left_out = reply.value().ok().and_then(|value| Some(value.get("left_out")?.as_array()?.clone()));
            if let Some(left_out) = left_out.filter(|entries| !entries.is_empty()) {
                let lines: Vec<&str> = left_out.iter().filter_map(serde_json::Value::as_str).collect();
                return say(format!("Left out, since the server does not support it:\n{}", lines.join("\n")));
            }
            remark("Successfully started definition import. This process is asynchronous and can take some time.")
        })
    })
}
