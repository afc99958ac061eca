//! What a file is, by what is in it, and by its name where that does not show it.

use crate::terms;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `rabbitmq.conf`: lines of `key = value`.
    Configuration,
    /// `rabbitmq.config`, `advanced.config`: Erlang's terms.
    Classic,
    /// `enabled_plugins`.
    Plugins,
    /// `rabbitmq-env.conf`, or a file of environment variables.
    Environment,
    /// An export of definitions.
    Definitions,
    /// A broker that runs: what its HTTP API has answered.
    Broker,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] =
        [Kind::Configuration, Kind::Classic, Kind::Plugins, Kind::Environment, Kind::Definitions, Kind::Broker];

    /// Its name, as `--kind` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Configuration => "conf",
            Kind::Classic => "erlang",
            Kind::Plugins => "plugins",
            Kind::Environment => "env",
            Kind::Definitions => "definitions",
            Kind::Broker => "broker",
        }
    }

    /// What people call it.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Kind::Configuration => "rabbitmq.conf",
            Kind::Classic => "configuration in Erlang's terms",
            Kind::Plugins => "enabled plugins",
            Kind::Environment => "environment variables",
            Kind::Definitions => "definitions",
            Kind::Broker => "a running broker",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Members that only a document of definitions has.
const OF_DEFINITIONS: [&str; 9] = [
    "\"users\"",
    "\"vhosts\"",
    "\"permissions\"",
    "\"queues\"",
    "\"exchanges\"",
    "\"bindings\"",
    "\"policies\"",
    "\"parameters\"",
    "\"rabbit_version\"",
];

/// What a file is; None if neither its text nor its name shows it.
pub(crate) fn of(name: &str, text: &str) -> Option<Kind> {
    let base = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let is_named = |end: &str| base.ends_with(end);
    let start = text.trim_start();
    if start.starts_with('{') {
        if start.contains("\"overview\"") && start.contains("\"definitions\"") && start.contains("\"nodes\"") {
            return Some(Kind::Broker);
        }
        let is_of_definitions = OF_DEFINITIONS.iter().any(|member| start.contains(member)) || is_named(".json");
        return is_of_definitions.then_some(Kind::Definitions);
    }
    if base == "enabled_plugins" {
        return Some(Kind::Plugins);
    }
    let meaningful = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '%']));
    let of_terms = match start.starts_with(['[', '%']) {
        true => terms::parse(text).ok().map(|node| if node.is_list_of_atoms() { Kind::Plugins } else { Kind::Classic }),
        false => None,
    };
    let of_lines = || match meaningful().next() {
        Some(line) if environment_variable(line) => Some(Kind::Environment),
        Some(line) if is_setting(line) => Some(Kind::Configuration),
        _ => None,
    };
    of_terms.or_else(of_lines).or_else(|| {
        if is_named("-env.conf") || is_named(".env") {
            Some(Kind::Environment)
        } else if is_named(".config") {
            Some(Kind::Classic)
        } else if is_named(".conf") {
            Some(Kind::Configuration)
        } else if is_named(".json") {
            Some(Kind::Definitions)
        } else {
            None
        }
    })
}

/// `NAME=value`, with or without `export`.
fn environment_variable(line: &str) -> bool {
    let line = line.strip_prefix("export ").unwrap_or(line);
    line.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|char: char| char.is_ascii_uppercase())
            && name.chars().all(|char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_')
    })
}

/// `key = value`, where a key is small letters.
fn is_setting(line: &str) -> bool {
    line.split_once('=').is_some_and(|(key, _)| {
        let key = key.trim();
        key.starts_with(|char: char| char.is_ascii_lowercase())
            && key.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.' | '\\'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, text: &str, expected: Option<Kind>) {
        assert_eq!(of(name, text), expected, "{name}: {text}");
    }

    #[test]
    fn what_a_file_is_its_text_says() {
        check("x", "# a comment\n\nlisteners.tcp.default = 5672\n", Some(Kind::Configuration));
        check("x", "heartbeat=60", Some(Kind::Configuration));
        check("x", "[{rabbit, [{heartbeat, 60}]}].", Some(Kind::Classic));
        check("x", "%% -*- mode: erlang -*-\n[].\n", Some(Kind::Classic));
        check("x", "[rabbitmq_management,rabbitmq_mqtt].\n", Some(Kind::Plugins));
        check("x", "# env\nNODENAME=rabbit@a\n", Some(Kind::Environment));
        check("x", "export RABBITMQ_NODE_PORT=5673", Some(Kind::Environment));
        check("x", "{\"rabbit_version\":\"3.6.10\"}", Some(Kind::Definitions));
        check("x", "{\"overview\":{},\"nodes\":[],\"definitions\":{}}", Some(Kind::Broker));
        check("x", "{\"answer\":42}", None);
        check("x", "apiVersion: v1\nkind: ConfigMap\n", None);
    }

    #[test]
    fn where_it_does_not_its_name_does() {
        check("/etc/rabbitmq/enabled_plugins", "[].", Some(Kind::Plugins));
        check("/etc/rabbitmq/rabbitmq.conf", "# nothing yet\n", Some(Kind::Configuration));
        check("/etc/rabbitmq/rabbitmq-env.conf", "# nothing yet\n", Some(Kind::Environment));
        check("advanced.config", "", Some(Kind::Classic));
        check("definitions.json", "", Some(Kind::Definitions));
        check("advanced.config", "[{rabbit, [", Some(Kind::Classic));
        check("README", "", None);
    }
}
