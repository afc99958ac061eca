//! Configuration in Erlang's terms, `rabbitmq.config` and `advanced.config`, which this broker does not read: as the keys of
//! `rabbitmq.conf` that say the same, so that `model` can say what becomes of each.

mod rabbit;
mod shovels;

use amqp::uri::without_passwords;

use crate::configuration::SETTING;
use crate::pages;
use crate::sheet::{Place, Remark, Sheet};
use crate::terms::{Node, Term};

/// A file as lines of `rabbitmq.conf`.
#[derive(Debug)]
pub(crate) struct Translation {
    /// The file.
    pub(crate) source: String,
    said: Vec<Said>,
}

/// A line of `rabbitmq.conf`, and what it is said by.
#[derive(Debug)]
pub(crate) struct Said {
    /// The line of the file.
    pub(crate) line: usize,
    /// What it is called there.
    pub(crate) path: String,
    /// The line as it may be shown: without secrets.
    pub(crate) shown: String,
    pub(crate) text: String,
}

impl Translation {
    /// As `rabbitmq.conf`, of which [`Self::said`] knows each line.
    pub(crate) fn text(&self) -> String {
        self.said.iter().map(|said| format!("{}\n", said.text)).collect()
    }

    /// What a line of [`Self::text`] is from.
    pub(crate) fn said(&self, line: usize) -> Option<&Said> {
        self.said.get(line.checked_sub(1)?)
    }
}

/// Applications of Erlang's own, and of libraries: there is nothing that they could be set for.
const OF_ERLANG: &[&str] = &[
    "kernel",
    "sasl",
    "os_mon",
    "stdlib",
    "ssl",
    "mnesia",
    "ra",
    "aten",
    "osiris",
    "khepri",
    "lager",
    "syslog",
    "inets",
    "crypto",
    "public_key",
    "ranch",
    "cowboy",
    "sysmon_handler",
    "rabbitmq_management_agent",
    "rabbitmq_web_dispatch",
];

/// Applications whose settings have the same names in `rabbitmq.conf`, behind another word.
const APPLICATIONS: &[(&str, &str)] = &[
    ("rabbitmq_management", "management"),
    ("rabbitmq_prometheus", "prometheus"),
    ("rabbitmq_auth_backend_http", "auth_http"),
    ("rabbitmq_auth_backend_oauth2", "auth_oauth2"),
    ("rabbitmq_auth_backend_cache", "auth_cache"),
    ("rabbitmq_auth_backend_ldap", "auth_ldap"),
    ("rabbitmq_mqtt", "mqtt"),
    ("rabbitmq_web_mqtt", "web_mqtt"),
    ("rabbitmq_stomp", "stomp"),
    ("rabbitmq_web_stomp", "web_stomp"),
    ("rabbitmq_amqp1_0", "amqp1_0"),
    ("rabbitmq_federation", "federation"),
    ("rabbitmq_trust_store", "trust_store"),
];

/// What is said of a setting that there is a key for. Nothing refuses the file, and what it says would be missed.
pub(crate) fn not_read() -> Remark {
    Remark::refused(
        "files in Erlang's terms are not read; rabbitmq.conf says the same by other words",
        pages::CONFIGURATION,
    )
    .advising("write these lines into rabbitmq.conf")
    .in_full()
}

/// What is said of a setting that there is none for.
pub(crate) fn unknown() -> Remark {
    Remark::refused(
        "files in Erlang's terms are not read, and there is no key here that says this",
        pages::CONFIGURATION,
    )
    .advising("find out whether it is needed, and look for what stands for it among the keys that are known here")
}

/// What a file says. What no key could say goes to the sheet at once.
pub(crate) fn translate(source: &str, term: &Node, sheet: &mut Sheet) -> Translation {
    let mut translator = Translator { source, said: Vec::new(), sheet };
    match term.list() {
        Some(applications) => applications.iter().for_each(|application| translator.application(application)),
        None => translator.refuse(term.line, &term.to_string(), unknown()),
    }
    Translation { source: source.to_owned(), said: translator.said }
}

struct Translator<'a> {
    source: &'a str,
    said: Vec<Said>,
    sheet: &'a mut Sheet,
}

impl Translator<'_> {
    fn application(&mut self, application: &Node) {
        let Some((name, settings)) = application.property() else {
            return self.refuse(application.line, &application.to_string(), unknown());
        };
        let settings = settings.and_then(Node::list).unwrap_or_default();
        let prefix = APPLICATIONS.iter().find(|(known, _)| *known == name).map(|(_, prefix)| *prefix);
        for setting in settings {
            let Some((key, value)) = setting.property() else {
                self.refuse(setting.line, &format!("{name} {setting}"), unknown());
                continue;
            };
            let path = format!("{name}.{key}");
            let place = Position { line: setting.line, path: &path };
            match (name, prefix, value) {
                ("rabbit", _, value) => rabbit::translate(self, place, key, value),
                ("rabbitmq_shovel", _, value) => shovels::translate(self, place, key, value),
                ("rabbitmq_management", _, Some(value)) if key == "listener" => {
                    rabbit::management_listener(self, place, value)
                }
                (_, Some(prefix), value) => self.below(place, &format!("{prefix}.{}", escaped(key)), value),
                _ if OF_ERLANG.contains(&name) => {
                    self.refuse(
                        setting.line,
                        &path,
                        Remark::different("no effect: there is no Erlang here", pages::CONFIGURATION),
                    );
                }
                _ => self.refuse(setting.line, &path, unknown()),
            }
        }
    }

    fn refuse(&mut self, line: usize, path: &str, remark: Remark) {
        self.sheet.put(SETTING, Place::of(self.source, Some(line), path), vec![remark]);
    }

    /// What has the same names in `rabbitmq.conf`: one value, or properties with dots between their names, or a list by numbers.
    fn below(&mut self, place: Position<'_>, key: &str, value: Option<&Node>) {
        let Some(value) = value else { return self.say(place, key, "true") };
        if let Some(scalar) = value.scalar() {
            return self.say(place, key, scalar);
        }
        let items = value.list().unwrap_or_default();
        let are_properties =
            !items.is_empty() && items.iter().all(|item| item.tuple().is_some() && item.property().is_some());
        let are_scalars = !items.is_empty() && items.iter().all(|item| item.scalar().is_some());
        if are_properties {
            for (name, inner) in items.iter().filter_map(Node::property) {
                self.below(place, &format!("{key}.{}", escaped(name)), inner);
            }
        } else if are_scalars {
            for (number, scalar) in (1..).zip(items.iter().filter_map(Node::scalar)) {
                self.say(place, &format!("{key}.{number}"), scalar);
            }
        } else {
            // The model knows the beginning of the key, or does not.
            self.say(place, key, &shape(value));
        }
    }

    /// A line of `rabbitmq.conf`.
    fn say(&mut self, place: Position<'_>, key: &str, value: &str) {
        let text = format!("{key} = {}", quoted(value));
        let is_one_line = !value.contains(['\n', '\'']);
        let is_secret = ["pass", "secret", "key_config"].iter().any(|word| key.contains(word)) && !key.contains("path");
        let shown = if is_secret { format!("{key} = …") } else { without_passwords(&text) };
        // A value that goes over lines would shift those behind it: it is read without them.
        let text = if is_one_line { text } else { format!("{key} = {}", quoted(&value.replace(['\n', '\''], " "))) };
        self.said.push(Said { line: place.line, path: place.path.to_owned(), shown, text });
    }
}

/// Where a setting is.
#[derive(Debug, Clone, Copy)]
struct Position<'a> {
    line: usize,
    path: &'a str,
}

fn shape(value: &Node) -> String {
    match &value.term {
        Term::List(items) if items.is_empty() => "none".to_owned(),
        _ => value.to_string(),
    }
}

/// A value as `rabbitmq.conf` has it: bare where it can be.
fn quoted(value: &str) -> String {
    let is_bare = !value.is_empty()
        && value.trim() == value
        && !value.starts_with('\'')
        && !value.contains(|char: char| char == '#' || char.is_control());
    if is_bare { value.to_owned() } else { format!("'{value}'") }
}

/// A word of a key, whose own dots are told from those between words. What a key cannot have is left out.
fn escaped(word: &str) -> String {
    let known = word.chars().filter(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.'));
    let word: String = known.collect();
    if word.is_empty() { "unnamed".to_owned() } else { word.replace('.', "\\.") }
}

#[cfg(test)]
mod tests;
