//! Keys that had another name before.

use model::config::table::State;

use super::super::schema::TABLE;
use super::*;

#[test]
fn an_old_name_is_read_with_a_warning_that_names_the_new_one() {
    let file = format!("{UPSTREAM}proxy.lines.max = 7\nproxy.line_wait = 20s");
    let (config, warnings) = parse(&file, &[], &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((config.switchboard.upstream_connection_max, config.switchboard.upstream_wait_ms), (7, 20_000));
    assert_eq!(
        warnings.iter().map(Warning::to_string).collect::<Vec<_>>(),
        [
            "proxy.conf:2: 'proxy.lines.max' is called 'proxy.upstream_connections.max' now; the old name is still read",
            "proxy.conf:3: 'proxy.line_wait' is called 'proxy.upstream_connections.wait_timeout' now; the old name is still read",
        ]
    );
}

#[test]
fn the_later_of_both_names_counts() {
    let given = ["--set", "proxy.lines.channel_max=4", "amqp://b"];
    let (config, _) = parse("proxy.upstream_connections.channel_max = 3", &[], &given).unwrap();
    assert_eq!(config.switchboard.upstream_channel_max, 4);
    let given = ["--set", "proxy.upstream_connections.channel_max=5", "amqp://b"];
    let (config, _) = parse("proxy.lines.channel_max = 3", &[], &given).unwrap();
    assert_eq!(config.switchboard.upstream_channel_max, 5);
}

#[test]
fn a_bad_value_of_an_old_name_is_refused_under_the_new_one() {
    check_error(
        "proxy.lines.channel_max = 0",
        "proxy.conf:1: 'proxy.upstream_connections.channel_max' must be an integer from 1 to 65535, not '0'",
    );
}

#[test]
fn every_old_name_leads_to_a_key_that_does_something() {
    let renamed = TABLE.keys().filter_map(|key| match key.state {
        State::RenamedTo(target) => Some((key.pattern, target)),
        _ => None,
    });
    for (old, target) in renamed {
        let row = TABLE.keys().find(|key| key.pattern == target).unwrap_or_else(|| panic!("{old} leads nowhere"));
        assert_eq!(row.state, State::Effective, "{old}");
        if let Some(default) = row.default {
            let (config, warnings) = parse(&format!("{UPSTREAM}{old} = {default}"), &[], &[]).unwrap();
            assert_eq!(in_force(&config, target), default, "{old}");
            assert_eq!(warnings.len(), 1, "{old}");
        }
    }
}

#[test]
fn a_misspelt_key_is_told_todays_name() {
    check_error(
        "proxy.upstream_connections.maxx = 1",
        "proxy.conf:1: unknown key 'proxy.upstream_connections.maxx'; the closest known key is 'proxy.upstream_connections.max'",
    );
}
