//! The table of the proxy's keys.

pub(super) mod clients;
pub(super) mod listeners;
pub(super) mod operation;
mod renamed;
pub(super) mod spool;
pub(super) mod upstreams;

use model::config::table::{Key, Row, Section, Table, Type, effective};

/// All keys, in the order of the reference.
pub(super) static TABLE: Table = Table(&[
    listeners::SECTION,
    listeners::TLS_SECTION,
    upstreams::SECTION,
    upstreams::CHOICE_SECTION,
    upstreams::CONNECTIONS_SECTION,
    clients::SECTION,
    clients::LIMITS_SECTION,
    spool::SECTION,
    operation::SECTION,
    renamed::SECTION,
]);

/// The longest time that a key may say.
const TIME_MS_MAX: u64 = 86_400_000;
const TIME: Type = Type::DurationMs(1, TIME_MS_MAX);
const TIME_OR_NONE: Type = Type::DurationMs(0, TIME_MS_MAX);
const HEARTBEAT_S: Type = Type::Integer(0, 65_535);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::config::table::State;

    use super::*;

    #[test]
    fn every_default_is_a_value_of_its_type() {
        for key in TABLE.keys() {
            let family = key.family_default.iter().map(|(_, value)| value);
            for default in key.default.iter().chain(family) {
                assert!(key.kind.accepts(default), "{} = {default}", key.pattern);
            }
        }
    }

    #[test]
    fn every_key_is_listed_once_and_begins_with_proxy() {
        let mut seen = BTreeSet::new();
        for spelling in TABLE.keys().flat_map(Row::spellings) {
            assert!(spelling.starts_with("proxy."), "{spelling}");
            assert!(seen.insert(spelling.clone()), "{spelling} is listed twice");
        }
    }

    #[test]
    fn a_row_has_no_bars_of_its_own() {
        for key in TABLE.keys() {
            let texts = [key.pattern, key.text, &key.kind.to_string(), key.default.unwrap_or_default()];
            assert!(texts.iter().all(|text| !text.contains('|')), "{}", key.pattern);
        }
    }

    #[test]
    fn sockets_are_not_opened_anew_while_the_proxy_runs() {
        for key in TABLE.keys().filter(|key| key.state == State::Effective && key.is_reloadable) {
            for fixed in ["proxy.listeners", "proxy.ssl_options", "proxy.http", "proxy.tcp_listen_options"] {
                assert!(!key.pattern.starts_with(fixed), "{}", key.pattern);
            }
        }
    }
}
