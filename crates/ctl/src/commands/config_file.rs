//! rabbitmqadmin's file of settings: which servers it names, and naming others.

use serde_json::{Value, json};

use crate::command::{Argument, Command, Opt, flag, optional, required};
use crate::failure::{CONFIG, Failure, USAGE};
use crate::invocation::Invocation;
use crate::output::{Output, Table};
use crate::settings_file::{self, Setting};
use crate::step::{SettingsFile, Step, StepResult, say};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("config_file show_path", "shows where the file of settings is", |_| {
        Ok(Step::ReadSettings(Box::new(|file| say(file.path.display().to_string()))))
    }),
    Command::new("config_file show", "shows the file of settings, without passwords", |input| {
        let shows_passwords = input.has("reveal-passwords");
        Ok(Step::ReadSettings(Box::new(move |file| table(&there(file)?, shows_passwords))))
    })
    .with(&[flag("reveal-passwords", "with passwords")]),
    Command::new("config_file add_node", "adds a server to the file of settings", |input| edit(input, Edit::Add))
        .taking(NODE)
        .with(FLAGS),
    Command::new("config_file update_node", "changes or adds a server in the file of settings", |input| {
        edit(input, Edit::Update)
    })
    .taking(NODE)
    .with(FLAGS),
    Command::new("config_file delete_node", "removes a server from the file of settings", |input| {
        let name = input.text("node").to_owned();
        Ok(Step::ReadSettings(Box::new(move |file| {
            let (path, text) = (file.path.clone(), there(file)?);
            match settings_file::without(&text, &name) {
                Some(settings) => keep(path, settings, format!("{name} is named no more")),
                None => Err(Failure::new(CONFIG, format!("{} has no section [{name}]", path.display()))),
            }
        })))
    })
    .taking(&[required("node").short("N")])
    .with(&[CREATE]),
];

const NODE: &[Argument] = &[
    optional("node").short("N"),
    optional("host").short("H").also(&["hostname"]),
    optional("port").short("P"),
    optional("base-uri").short("U"),
    optional("path-prefix"),
    optional("username").short("u"),
    optional("password").short("p"),
    optional("scheme").short("s"),
    optional("vhost").short("V"),
    optional("tls-ca-cert-file"),
    optional("tls-cert-file"),
    optional("tls-key-file"),
];
const CREATE: Opt = flag("create-file-if-missing", "create the file if it does not exist");
const FLAGS: &[Opt] = &[flag("use-tls", "with TLS"), CREATE];

/// Arguments, and the keys that rabbitmqadmin's successor has for them.
const KEYS: &[(&str, &str)] = &[
    ("host", "hostname"),
    ("port", "port"),
    ("base-uri", "base_uri"),
    ("scheme", "scheme"),
    ("path-prefix", "path_prefix"),
    ("username", "username"),
    ("password", "password"),
    ("vhost", "virtual_host"),
    ("tls-ca-cert-file", "ca_certificate_bundle_path"),
    ("tls-cert-file", "client_certificate_file_path"),
    ("tls-key-file", "client_private_key_file_path"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Edit {
    Add,
    Update,
}

fn edit(input: &Invocation, edit: Edit) -> StepResult {
    let name = input.optional("node").or(input.optional("host"));
    let Some(name) = name.map(str::to_owned) else {
        return Err(Failure::usage(format!("{} needs --node, the name of the server's section", input.command.name)));
    };
    let settings = settings(input)?;
    let makes_file = input.has("create-file-if-missing");
    Ok(Step::ReadSettings(Box::new(move |file| {
        let path = file.path.clone();
        let text = match file.text {
            None if makes_file => String::new(),
            _ => there(file)?,
        };
        let parsed = settings_file::parse(&text).map_err(|problem| broken(&path, &problem))?;
        if edit == Edit::Add && parsed.iter().any(|(known, _)| *known == name) {
            let text = format!("{} has a section [{name}] already, see config_file update_node", path.display());
            return Err(Failure::new(CONFIG, text));
        }
        let settings = settings_file::with(&text, &name, &settings);
        keep(path, settings, format!("{name} is named"))
    })))
}

fn settings(input: &Invocation) -> Result<Vec<Setting>, Failure> {
    let mut settings = Vec::new();
    for (argument, key) in KEYS {
        let Some(text) = input.optional(argument) else { continue };
        if text.contains(['\n', '\r']) {
            return Err(Failure::usage(format!("--{argument} must be one line")));
        }
        let is_number = *argument == "port";
        if is_number && text.parse::<u16>().is_err() {
            return Err(Failure::usage(format!("a port must be a number up to 65535, not '{text}'")));
        }
        if *argument == "scheme" && !["http", "https"].contains(&text) {
            return Err(Failure::usage(format!("the scheme must be http or https, not '{text}'")));
        }
        let value = if is_number { text.to_owned() } else { settings_file::quoted(text) };
        settings.push(Setting { key, value });
    }
    if input.has("use-tls") {
        settings.push(Setting { key: "tls", value: "true".to_owned() });
    }
    Ok(settings)
}

fn there(file: SettingsFile) -> Result<String, Failure> {
    let path = file.path;
    file.text.ok_or_else(|| Failure::new(CONFIG, format!("no file {}, see --create-file-if-missing", path.display())))
}

fn broken(path: &std::path::Path, problem: &str) -> Failure {
    Failure::new(CONFIG, format!("{}: {problem}", path.display()))
}

fn keep(path: std::path::PathBuf, settings: String, text: String) -> StepResult {
    Ok(Step::Done(Output::Settings { path, settings, text }))
}

fn table(text: &str, shows_passwords: bool) -> StepResult {
    const COLUMNS: &[&str] =
        &["hostname", "port", "scheme", "base_uri", "username", "password", "vhost", "path_prefix", "ssl"];
    let sections = settings_file::parse(text).map_err(|problem| Failure::new(USAGE, problem))?;
    let cell = |section: &settings_file::Section, column: &str| match section.get(column) {
        Some(_) if column == "password" && !shows_passwords => json!("********"),
        value => value.map_or(Value::Null, |text| json!(text)),
    };
    let rows = sections.iter().map(|(name, section)| {
        std::iter::once(json!(name)).chain(COLUMNS.iter().map(|column| cell(section, column))).collect()
    });
    let columns = std::iter::once("name").chain(COLUMNS.iter().copied()).map(str::to_owned).collect();
    Ok(Step::Done(Output::Table(Table { columns, rows: rows.collect() })))
}
