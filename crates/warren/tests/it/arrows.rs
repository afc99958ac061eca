//! A crate may use only the crates above it in this list: the directions in which the house is built.

use std::collections::HashMap;
use std::process::Command;

use serde_json::Value;

/// From the ground up. `warren` alone knows all others.
const CRATES: &[&str] = &["amqp", "model", "routing", "queue", "telemetry", "store", "net", "broker", "warren"];

/// Crates whose state machines know no async, file, socket, clock or randomness, and what would bring it in.
const PURE: &[&str] = &["amqp", "model", "routing", "queue"];
const IMPURE: &[&str] = &["tokio", "rustix", "socket2", "getrandom", "net", "store"];

fn dependencies() -> HashMap<String, Vec<String>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name_of = |value: &Value| value["name"].as_str().unwrap().to_owned();
    packages
        .iter()
        .map(|package| {
            // What only tests use does not reach the binary.
            let used = package["dependencies"].as_array().unwrap().iter().filter(|used| used["kind"].is_null());
            (name_of(package), used.map(name_of).collect())
        })
        .collect()
}

#[test]
fn arrows_point_upwards_only() {
    let dependencies = dependencies();
    for (position, name) in CRATES.iter().enumerate() {
        for used in &dependencies[*name] {
            if let Some(of_used) = CRATES.iter().position(|other| other == used) {
                assert!(of_used < position, "{name} must not depend on {used}");
            }
        }
    }
}

#[test]
fn every_crate_has_its_place_in_the_list() {
    for name in dependencies().keys().filter(|name| *name != "bench" && *name != "lapin-client") {
        assert!(CRATES.contains(&name.as_str()), "{name} is not in the list of crates");
    }
}

#[test]
fn state_machines_stay_pure() {
    let dependencies = dependencies();
    for name in PURE {
        for used in &dependencies[*name] {
            assert!(!IMPURE.contains(&used.as_str()), "{name} must not depend on {used}");
        }
    }
}
