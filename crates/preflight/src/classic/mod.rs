//! Configuration in Erlang's terms, `rabbitmq.config` and `advanced.config`: as the keys of `rabbitmq.conf` that say the same, which a
//! start applies and a check judges. What no key stands for is passed over, with a remark.

mod oauth;
mod rabbit;
mod settings;
mod shovels;

use model::config;

use crate::pages;
use crate::sheet::Remark;
use crate::terms::{Node, Term};

pub use settings::{ErlangSettings, terms_of_arguments};

/// A file as lines of `rabbitmq.conf`.
#[derive(Debug)]
pub(crate) struct Translation {
    /// The file.
    pub(crate) source: String,
    said: Vec<TranslatedLine>,
    /// What no key stands for.
    pub(crate) passed_over: Vec<PassedOver>,
}

/// A setting that no key stands for.
#[derive(Debug)]
pub(crate) struct PassedOver {
    /// The line of the file.
    pub(crate) line: usize,
    /// What it is called there.
    pub(crate) path: String,
    pub(crate) remark: Remark,
}

/// A line of `rabbitmq.conf`, and what it is said by.
#[derive(Debug)]
pub(crate) struct TranslatedLine {
    /// The line of the file.
    pub(crate) line: usize,
    /// What it is called there.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Translation {
    /// As `rabbitmq.conf`, of which [`Self::said`] knows each line.
    pub(crate) fn text(&self) -> String {
        self.said.iter().map(|said| format!("{}\n", said.text)).collect()
    }

    /// What a line of [`Self::text`] is from.
    pub(crate) fn said(&self, line: usize) -> Option<&TranslatedLine> {
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

/// What is said of a setting that no key stands for. As in RabbitMQ, a term that no program asks for stops nothing.
pub(crate) fn unknown() -> Remark {
    Remark::different("no effect: this term corresponds to no key", pages::CONFIGURATION)
        .advising("find out whether it is needed, and look for a corresponding key in the configuration reference")
        .in_full()
}

/// What a file says.
pub(crate) fn translate(source: &str, term: &Node) -> Translation {
    let mut translator = Translator { said: Vec::new(), passed_over: Vec::new() };
    match term.list() {
        Some(applications) => applications.iter().for_each(|application| translator.application(application)),
        None => translator.pass_over(
            term.line,
            &term.to_string(),
            Remark::refused("a list of applications and their settings was expected", pages::CONFIGURATION),
        ),
    }
    Translation { source: source.to_owned(), said: translator.said, passed_over: translator.passed_over }
}

struct Translator {
    said: Vec<TranslatedLine>,
    passed_over: Vec<PassedOver>,
}

impl Translator {
    fn application(&mut self, application: &Node) {
        let Some((name, settings)) = application.property() else {
            return self.pass_over(application.line, &application.to_string(), unknown());
        };
        let settings = settings.and_then(Node::list).unwrap_or_default();
        let prefix = APPLICATIONS.iter().find(|(known, _)| *known == name).map(|(_, prefix)| *prefix);
        for setting in settings {
            let Some((key, value)) = setting.property() else {
                self.pass_over(setting.line, &format!("{name} {setting}"), unknown());
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
                ("rabbitmq_management", _, Some(value)) if rabbit::management(self, place, key, value) => {}
                ("rabbitmq_auth_backend_oauth2", _, Some(value)) => oauth::translate(self, place, key, value),
                (_, Some(prefix), value) => self.below(place, &format!("{prefix}.{}", escaped(key)), value),
                _ if OF_ERLANG.contains(&name) => {
                    self.pass_over(
                        setting.line,
                        &path,
                        Remark::different("no effect: Warren has no Erlang runtime", pages::CONFIGURATION),
                    );
                }
                _ => self.pass_over(setting.line, &path, unknown()),
            }
        }
    }

    fn pass_over(&mut self, line: usize, path: &str, remark: Remark) {
        if self.passed_over.last().is_some_and(|last| last.line == line && last.path == path) {
            return;
        }
        self.passed_over.push(PassedOver { line, path: path.to_owned(), remark });
    }

    /// What has the same names in `rabbitmq.conf`: one value, or properties with dots between their names, or a list by numbers.
    fn below(&mut self, place: Position<'_>, key: &str, value: Option<&Node>) {
        let Some(value) = value else { return self.say(place, key, "true") };
        if let Some(scalar) = value.scalar() {
            return self.say(place, key, scalar);
        }
        let items = value.list().unwrap_or_default();
        let are_scalars = !items.is_empty() && items.iter().all(|item| item.scalar().is_some());
        if let Some(members) = value.members() {
            for (name, inner) in members {
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

    /// A line of `rabbitmq.conf`, if there is such a key.
    fn say(&mut self, place: Position<'_>, key: &str, value: &str) {
        if config::state_of(key).is_none() {
            return self.pass_over(place.line, place.path, unknown());
        }
        let text = format!("{key} = {}", quoted(value));
        let is_one_line = !value.contains(['\n', '\'']);
        // A value of several lines would shift those behind it: its line breaks are replaced, which PEM and JSON stand.
        let text = if is_one_line { text } else { format!("{key} = {}", quoted(&value.replace(['\n', '\''], " "))) };
        self.said.push(TranslatedLine { line: place.line, path: place.path.to_owned(), text });
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

/// A word of a key, whose own dots are distinguished from those between words. What a key cannot have is left out.
fn escaped(word: &str) -> String {
    let known = word.chars().filter(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.'));
    let word: String = known.collect();
    if word.is_empty() { "unnamed".to_owned() } else { word.replace('.', "\\.") }
}

#[cfg(test)]
mod tests;
