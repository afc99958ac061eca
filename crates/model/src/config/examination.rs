//! What becomes of a configuration, key by key: for commands that ask before there is a broker.
//!
//! [`Config::parse`] ends with the first kind of trouble; here everything is reported at once, whatever is wrong with the rest.

use super::remark::{Origin, Remark, Warning};
use super::row::State;
use super::settings::Config;
use super::sources::Source;
use super::syntax::KeyPath;
use super::values::Values;
use super::{environment, interpolation, schema, settings, syntax, together};

/// What becomes of a configuration.
#[derive(Debug)]
pub struct Examination {
    /// Every key that is set to a value that it may have, in the order of their names. The last of several assignments is here.
    pub keys: Vec<SetKey>,
    /// What stops the start whatever a key does: keys that are unknown, values that they cannot have, lines that are no setting.
    pub problems: Vec<Remark>,
    /// What has no effect for what another key says, and names that are old.
    pub warnings: Vec<Warning>,
    /// Values that ask for a variable which is not there.
    pub unset_variables: Vec<UnsetVariable>,
    /// What all of it comes to, if it fits together.
    pub config: Option<Config>,
}

/// A key that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetKey {
    /// Which.
    pub key: KeyPath,
    /// Where.
    pub origin: Origin,
    /// What it does. A value that describes what happens anyway is honoured.
    pub state: State,
    /// Why it is not honoured, or what is missed.
    pub reason: &'static str,
}

/// A value that asks for a variable which is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsetVariable {
    /// Whose value.
    pub key: KeyPath,
    /// Which variable.
    pub name: String,
    /// Where it is asked for.
    pub origin: Origin,
}

/// What a variable of RabbitMQ's environment does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variable {
    /// It sets this key.
    Sets(&'static str),
    /// It names a file, or holds settings, that are read at the start.
    Read,
    /// Nothing; this is to be done instead.
    WithoutEffect(&'static str),
}

/// Looks at a configuration. `sources` are in the order in which they count, `env` is what is known of the environment of the broker.
#[must_use]
pub fn examine(sources: &[Source], env: &[(String, String)]) -> Examination {
    let mut values = Values::new(&schema::TABLE);
    let mut unset_variables = Vec::new();
    environment::assign_defaults(&mut values, env);
    for source in sources {
        let origin = |line| Origin::File { name: source.name.clone(), line };
        match syntax::parse(&source.text) {
            Err(error) => values.refuse(origin(error.line), error.reason.to_owned()),
            Ok(settings) => {
                for setting in settings {
                    match interpolation::interpolate(&setting.value, env) {
                        Ok(value) => values.assign(&setting.key, &value, origin(setting.line)),
                        Err(name) => {
                            let name = name.to_owned();
                            unset_variables.push(UnsetVariable {
                                key: setting.key,
                                name,
                                origin: origin(setting.line),
                            });
                        }
                    }
                }
            }
        }
    }
    environment::assign_above(&mut values, env);
    environment::assign_cookie(&mut values, env);
    let of_files = values.by_key.iter().filter(|(_, assigned)| matches!(assigned.origin, Origin::File { .. }));
    let keys = of_files.map(|(key, assigned)| SetKey {
        key: key.clone(),
        origin: assigned.origin.clone(),
        state: if assigned.row.harmless.contains(&&*assigned.text) { State::Effective } else { assigned.row.state },
        reason: assigned.row.text,
    });
    let keys = keys.collect();
    values.complete();
    let warnings = together::check(&mut values);
    let problems = values.take_problems();
    let config = problems.is_empty().then(|| settings::read(values));
    Examination { keys, problems, warnings, unset_variables, config }
}

/// What a key does; nothing if there is no such key.
#[must_use]
pub fn state_of(key: &str) -> Option<State> {
    schema::TABLE.find(&KeyPath::parse(key)?).map(|row| row.state)
}

/// What a variable does, if RabbitMQ's name for it is known.
#[must_use]
pub fn variable(name: &str) -> Option<Variable> {
    let sets = environment::key_of(name).map(Variable::Sets);
    let read = || environment::READ_BY_CALLER.contains(&name).then_some(Variable::Read);
    let without_effect = || environment::WITHOUT_EFFECT.iter().find(|(known, _)| *known == name);
    sets.or_else(read).or_else(|| without_effect().map(|(_, instead)| Variable::WithoutEffect(instead)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examined(text: &str) -> Examination {
        examine(&[Source { name: "f".to_owned(), text: text.to_owned() }], &[])
    }

    #[test]
    fn each_key_says_what_it_does_whatever_is_wrong_beside_it() {
        let examined = examined(
            "heartbeat = 30\nmqtt.listeners.tcp.default = 1883\nauth_ldap.servers.1 = x\nhartbeat = 5\nlog.file = false\n\
             channel_max = many\nraft.wal_max_size_bytes = 5\n",
        );
        let states: Vec<_> = examined.keys.iter().map(|set| (set.key.to_string(), set.state)).collect();
        let expected = [
            ("auth_ldap.servers.1", State::Refused),
            ("heartbeat", State::Effective),
            ("log.file", State::Effective),
            ("mqtt.listeners.tcp.default", State::NotBuilt),
            ("raft.wal_max_size_bytes", State::NoEffect),
        ];
        assert_eq!(states, expected.map(|(key, state)| (key.to_owned(), state)));
        let problems: Vec<_> = examined.problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems[0], "f:4: unknown key 'hartbeat'; the closest known key is 'heartbeat'");
        assert!(problems[1].starts_with("f:6: 'channel_max' must be"), "{problems:?}");
        assert!(examined.config.is_none());
    }

    #[test]
    fn a_variable_that_is_not_there_is_told_apart() {
        let examined =
            examined("default_pass = $(SECRET)\ndisk_free_limit.absolute = 1GB\ndisk_free_limit.relative = 1.0\n");
        let unset = &examined.unset_variables[0];
        assert_eq!((unset.key.to_string(), &*unset.name), ("default_pass".to_owned(), "SECRET"));
        assert_eq!(examined.warnings.len(), 1);
        assert!(examined.config.is_some());
    }

    #[test]
    fn variables_of_rabbitmq_are_known() {
        assert_eq!(variable("RABBITMQ_NODENAME"), Some(Variable::Sets("warren.node_name")));
        assert_eq!(variable("RABBITMQ_NODE_PORT"), Some(Variable::Sets("listeners.tcp.default")));
        assert_eq!(variable("RABBITMQ_ADVANCED_CONFIG_FILE"), Some(Variable::Read));
        assert_eq!(
            variable("RABBITMQ_LOGS"),
            Some(Variable::WithoutEffect("logs are written to stderr, see log.console"))
        );
        assert_eq!(variable("HOME"), None);
    }
}
