//! Help, and the reference in the documentation.

use super::*;

#[test]
fn help_has_every_option_but_those_about_metrics() {
    let text = check_printed("--help -x nonsense", "usage: warren perf [OPTION...]\n");
    let metrics = check_printed("-mh", "usage: warren perf [OPTION...]\n");
    let names = |text: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| line.get(..50)?.split("--").nth(1)?.split(' ').next().map(str::to_owned))
            .collect()
    };
    let (text_names, metrics_names) = (names(&text), names(&metrics));
    for entry in OPTIONS {
        let is_metric = entry.means.group == Group::Metrics;
        assert_eq!(text_names.iter().any(|name| name == entry.long), !is_metric, "{}", entry.long);
        assert_eq!(metrics_names.iter().any(|name| name == entry.long), is_metric, "{}", entry.long);
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn help_can_show_variables() {
    assert!(check_printed("-env", "Each option").contains("\n VARIABLE_RATE "));
    assert!(check_printed("-env -mh", "Each option").contains("\n METRICS_PROMETHEUS_PORT "));
    check_printed("--version", "warren perf ");
}

#[test]
fn names_are_unique() {
    for (at, entry) in OPTIONS.iter().enumerate() {
        for other in &OPTIONS[at + 1..] {
            assert_ne!(entry.long, other.long);
            assert!(entry.short.is_empty() || entry.short != other.short, "-{}", entry.short);
        }
    }
}

#[test]
fn the_reference_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/perf-options.md");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text == render_reference(), "run `make docs`");
}
