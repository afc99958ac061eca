//! The broker's table of configuration keys.
//!
//! Every key that RabbitMQ 4.3 knows is here, so that its files are understood; keys that are not honoured are marked as such.

pub(super) mod access;
pub(super) mod alerts;
pub(super) mod cluster;
pub(super) mod connections;
pub(super) mod influxdb;
pub(super) mod logging;
pub(super) mod management;
pub(super) mod management_listeners;
pub(super) mod oauth2;
pub(super) mod plugins;
pub(super) mod prometheus;
pub(super) mod queues;
pub(super) mod resources;
pub(super) mod runtime;
pub(super) mod shovels;
pub(super) mod tls;
pub(super) mod traces;
pub(super) mod warren;

use super::key::Key;
use super::row::{Row, Section, Table, alias, effective, no_effect, not_built, refused};
use super::value::Type;

/// All keys, in the order of the reference.
pub(super) static TABLE: Table = Table(&[
    connections::SECTION,
    access::SECTION,
    oauth2::SECTION,
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
    traces::SECTION,
    cluster::SECTION,
    shovels::SECTION,
    plugins::SECTION,
    runtime::SECTION,
]);

#[cfg(test)]
mod tests {
    use super::super::row::State;
    use super::super::syntax::KeyPath;
    use super::*;

    fn find(path: &KeyPath) -> Option<&'static Row> {
        TABLE.find(path)
    }

    fn keys() -> impl Iterator<Item = &'static Row> {
        TABLE.keys()
    }

    #[track_caller]
    fn check_known(line: &str) {
        // The lists write placeholders as `$name`, which is no key; any word will do in their place.
        let path = KeyPath::parse(&line.replace('$', "")).unwrap();
        assert!(find(&path).is_some(), "{line} is not in the schema");
    }

    #[test]
    fn every_key_of_rabbitmq_is_known() {
        include_str!("../testdata/rabbitmq-keys.txt").lines().for_each(check_known);
    }

    #[test]
    fn every_key_of_the_management_plugin_is_known() {
        include_str!("../testdata/rabbitmq-management-keys.txt").lines().for_each(check_known);
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
        include_str!("../testdata/rabbitmq-prometheus-keys.txt").lines().for_each(check_known);
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
        for spelling in keys().flat_map(Row::spellings) {
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
}
