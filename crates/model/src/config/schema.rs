//! The one table of configuration keys: pattern, type, default, what the key does today.
//!
//! A pattern's segments are words, `$name` (any one segment), `{a,b}` (one of these) or, at the end, `**` (anything
//! below). Every key that RabbitMQ 4.3 knows is here, so that its files are understood; what is not honoured says so.

mod access;
mod alerts;
mod cluster;
mod connections;
mod influxdb;
mod logging;
mod management;
mod management_listeners;
mod plugins;
mod prometheus;
mod queues;
mod resources;
mod runtime;
mod tls;
mod warren;

use std::cmp::Reverse;

use super::MAX_MESSAGE_SIZE_MAX;
use super::syntax::KeyPath;
use super::value::Type;

/// What a key does today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It does what its text says.
    Effective,
    /// Another name of an effective key.
    AliasOf(&'static str),
    /// Accepted; there is nothing here that it could change. A warning says why.
    NoEffect,
    /// Accepted with a warning that says what is missed.
    NotBuilt,
    /// The broker does not start, because it would be less safe than the file says.
    Refused,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    pub(super) pattern: &'static str,
    pub(super) kind: Type,
    /// None: unset.
    pub(super) default: Option<&'static str>,
    /// For patterns with `$name`: what holds while no such key is set.
    pub(super) family_default: &'static [(&'static str, &'static str)],
    pub(super) state: State,
    /// Values that describe what happens anyway, so that there is nothing to warn of or to refuse.
    pub(super) harmless: &'static [&'static str],
    /// What it does; for keys that are not honoured, why, or what is missed.
    pub(super) text: &'static str,
}

/// A chapter of the reference.
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) keys: &'static [Key],
}

/// All keys, in the order of the reference.
pub(super) const SECTIONS: &[Section] = &[
    connections::SECTION,
    access::SECTION,
    tls::SECTION,
    resources::SECTION,
    queues::SECTION,
    logging::SECTION,
    warren::SECTION,
    alerts::SECTION,
    management::SECTION,
    management_listeners::SECTION,
    tls::MANAGEMENT_SECTION,
    tls::MANAGEMENT_LISTENER_SECTION,
    prometheus::SECTION,
    tls::PROMETHEUS_SECTION,
    influxdb::SECTION,
    cluster::SECTION,
    plugins::SECTION,
    runtime::SECTION,
];

/// The cipher suites of TLS that there are, by all their names.
pub(super) const CIPHERS: &[&str] = tls::CIPHERS;

/// All keys.
pub(super) fn keys() -> impl Iterator<Item = &'static Key> {
    SECTIONS.iter().flat_map(|section| section.keys)
}

/// The row of a key: a literal one before one with placeholders, a longer one before a shorter one.
pub(super) fn find(path: &KeyPath) -> Option<&'static Key> {
    let rank = |key: &&Key| (key.pattern.matches(['$', '*']).count(), Reverse(key.pattern.len()));
    keys().filter(|key| key.matches(path.segments())).min_by_key(rank)
}

const fn row(
    pattern: &'static str,
    kind: Type,
    default: Option<&'static str>,
    state: State,
    text: &'static str,
) -> Key {
    Key { pattern, kind, default, family_default: &[], state, harmless: &[], text }
}

/// A key that does what it says. An empty default means unset.
const fn effective(pattern: &'static str, kind: Type, default: &'static str, text: &'static str) -> Key {
    let default = if default.is_empty() { None } else { Some(default) };
    row(pattern, kind, default, State::Effective, text)
}

const fn alias(pattern: &'static str, of: &'static str, kind: Type) -> Key {
    row(pattern, kind, None, State::AliasOf(of), "")
}

const fn no_effect(pattern: &'static str, kind: Type, why: &'static str) -> Key {
    row(pattern, kind, None, State::NoEffect, why)
}

const fn not_built(pattern: &'static str, kind: Type, missed: &'static str) -> Key {
    row(pattern, kind, None, State::NotBuilt, missed)
}

const fn refused(pattern: &'static str, kind: Type, why: &'static str) -> Key {
    row(pattern, kind, None, State::Refused, why)
}

impl Key {
    const fn family(self, family_default: &'static [(&'static str, &'static str)]) -> Key {
        Key { family_default, ..self }
    }

    const fn unless(self, harmless: &'static [&'static str]) -> Key {
        Key { harmless, ..self }
    }

    /// Whether this row is about the key.
    pub(super) fn matches(&self, segments: &[String]) -> bool {
        let mut given = segments.iter();
        for wanted in self.pattern.split('.') {
            if wanted == "**" {
                return given.len() > 0;
            }
            let Some(segment) = given.next() else { return false };
            if !segment_matches(wanted, segment) {
                return false;
            }
        }
        given.len() == 0
    }

    /// Every spelling of the pattern with its `{a,b}` written out.
    pub(super) fn spellings(&self) -> Vec<String> {
        let Some((before, rest)) = self.pattern.split_once('{') else { return vec![self.pattern.to_owned()] };
        let Some((words, after)) = rest.split_once('}') else { return vec![self.pattern.to_owned()] };
        words.split(',').map(|word| format!("{before}{word}{after}")).collect()
    }
}

fn segment_matches(wanted: &str, segment: &str) -> bool {
    if wanted.starts_with('$') {
        return true;
    }
    match wanted.strip_prefix('{').and_then(|words| words.strip_suffix('}')) {
        Some(words) => words.split(',').any(|word| word == segment),
        None => wanted == segment,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_known(line: &str) {
        // The lists write placeholders as `$name`, which is no key; any word will do in their place.
        let path = KeyPath::parse(&line.replace('$', "")).unwrap();
        assert!(find(&path).is_some(), "{line} is not in the schema");
    }

    #[test]
    fn every_key_of_rabbitmq_is_known() {
        include_str!("testdata/rabbitmq-keys.txt").lines().for_each(check_known);
    }

    #[test]
    fn every_key_of_the_management_plugin_is_known() {
        include_str!("testdata/rabbitmq-management-keys.txt").lines().for_each(check_known);
    }

    #[test]
    fn a_misspelt_key_of_the_management_plugin_is_not() {
        for key in
            ["management.rates_modes", "management.tcp.portt", "management.sample_retention_policies.globl.minute"]
        {
            assert!(find(&KeyPath::parse(key).unwrap()).is_none(), "{key}");
        }
    }

    #[test]
    fn every_key_of_the_prometheus_plugin_is_known() {
        include_str!("testdata/rabbitmq-prometheus-keys.txt").lines().for_each(check_known);
    }

    #[test]
    fn every_default_is_a_value_of_its_type() {
        for key in keys() {
            let family = key.family_default.iter().map(|(_, value)| value);
            for default in key.default.iter().chain(family) {
                assert!(key.kind.accepts(default), "{} = {default}", key.pattern);
            }
        }
    }

    #[test]
    fn harmless_values_are_values_of_their_type() {
        for key in keys() {
            for value in key.harmless {
                assert!(key.kind.accepts(value), "{} = {value}", key.pattern);
                assert!(matches!(key.state, State::NotBuilt | State::Refused | State::NoEffect), "{}", key.pattern);
            }
        }
    }

    #[test]
    fn no_key_is_listed_twice() {
        let mut seen = std::collections::BTreeSet::new();
        for spelling in keys().flat_map(Key::spellings) {
            assert!(seen.insert(spelling.clone()), "{spelling} is listed twice");
        }
    }

    #[test]
    fn a_pattern_has_at_most_one_choice() {
        assert!(keys().all(|key| key.pattern.matches('{').count() <= 1));
    }

    #[test]
    fn an_alias_names_an_effective_key_of_its_type() {
        for key in keys() {
            let State::AliasOf(target) = key.state else { continue };
            let target = find(&KeyPath::parse(target).unwrap()).unwrap();
            assert_eq!((target.state, target.kind), (State::Effective, key.kind), "{}", key.pattern);
        }
    }

    #[test]
    fn the_most_exact_row_counts() {
        let state = |key: &str| find(&KeyPath::parse(key).unwrap()).unwrap().state;
        assert_eq!(state("management.tcp.port"), State::Effective);
        assert_eq!(state("management.tcp.compress"), State::NotBuilt);
        assert_eq!(state("log.default.level"), State::Effective);
        assert_eq!(state("log.queue.level"), State::NotBuilt);
    }

    #[test]
    fn placeholders_match_one_segment_and_stars_the_rest() {
        let matches = |pattern, key: &str| {
            effective(pattern, Type::Text, "", "").matches(KeyPath::parse(key).unwrap().segments())
        };
        assert!(matches("listeners.tcp.$name", "listeners.tcp.default"));
        assert!(!matches("listeners.tcp.$name", "listeners.tcp"));
        assert!(!matches("listeners.tcp.$name", "listeners.tcp.a.b"));
        assert!(matches("log.{queue,ra}.level", "log.ra.level"));
        assert!(!matches("log.{queue,ra}.level", "log.other.level"));
        assert!(matches("mqtt.**", "mqtt.a.b"));
        assert!(!matches("mqtt.**", "mqtt"));
    }
}
