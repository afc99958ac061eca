//! `docs/perf-workloads.md` is true.

use super::*;
use crate::workload::{extras, groups, topology, users};

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/perf-workloads.md"));

/// The texts of fences that begin with these words.
fn fences(info: &str) -> Vec<&'static str> {
    let start = format!("```{info}\n");
    PAGE.split(start.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

#[test]
fn each_example_is_a_workload() {
    let (whole, parts) = (fences("toml"), fences("toml part"));
    assert!(whole.len() >= 5 && parts.len() >= 5);
    for example in whole {
        read(example, "example", &Overrides::default()).unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
    for example in parts {
        let text = format!("idle_connections = 1\n{example}");
        read(&text, "example", &Overrides::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
}

#[test]
fn each_key_is_described() {
    let keys = TOP_KEYS
        .iter()
        .chain(groups::PUBLISHER_KEYS)
        .chain(groups::CONSUMER_KEYS)
        .chain(topology::EXCHANGE_KEYS)
        .chain(topology::QUEUE_KEYS)
        .chain(extras::CHURN_KEYS)
        .chain(extras::PROBE_KEYS)
        .chain(users::USER_KEYS)
        .chain(&expect::KEYS);
    for key in keys {
        let is_there = PAGE.contains(&format!("`{key}`"))
            || PAGE.contains(&format!("[[{key}]]"))
            || PAGE.contains(&format!("[{key}]"))
            || PAGE.contains(&format!("\n{key} = "));
        assert!(is_there, "{key}");
    }
    for step in users::steps() {
        assert!(PAGE.contains(&format!("{{ {step} = ")) || PAGE.contains(&format!("`\"{step}\"`")), "{step}");
    }
}

#[test]
fn each_shipped_workload_is_listed() {
    for shipped in shipped() {
        assert!(PAGE.contains(&format!("\n| `{}` | ", shipped.name)), "{}", shipped.name);
    }
}

#[test]
fn the_error_that_is_shown_is_the_one_that_is_given() {
    let text = "\n[[queues]]\nname = 'orders-%d'\ncount = 3\n[[publishers]]\nname = 'shops'\nqueue = 'order-%d'";
    let error = read(text, "load.toml", &Overrides::default()).unwrap_err().to_string();
    assert!(PAGE.contains(&format!("```text\n{error}\n```")), "{error}");
}
