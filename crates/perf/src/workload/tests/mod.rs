//! What workload files become, and what is said of those that cannot be.

mod documentation;
mod errors;
mod plans;
mod sweeps;

use super::*;

/// The only run of a workload.
#[track_caller]
fn plan_of(text: &str) -> Plan {
    let workload = read(text, "test.toml", &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(workload.runs.len(), 1);
    workload.runs.into_iter().next().unwrap().plan
}

#[track_caller]
fn read_with(text: &str, scale: f64, settings: &[&str]) -> Result<Workload, Error> {
    let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
    read(text, "test.toml", &Overrides { settings, scale })
}
