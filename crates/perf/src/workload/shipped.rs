//! Workloads that come with the program.

use std::io;

use super::document::{Node, Value};
use super::error::suggestion;
use super::{Error, Overrides, Workload, read};

/// A workload that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShippedWorkload {
    /// Its name.
    pub name: &'static str,
    /// The file, to be copied and changed.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        [$(ShippedWorkload { name: $name, text: include_str!(concat!("../../workloads/", $name, ".toml")) }),*]
    };
}

const SHIPPED: [ShippedWorkload; 16] = shipped![
    "basic-get",
    "confirm-every-n",
    "connection-churn",
    "delayed-exchange",
    "dq-confirm-multiack",
    "high-scale",
    "high-throughput",
    "low-latency",
    "lqs-confirm-multiack",
    "ndq-10q-multiack",
    "ndq-autoack",
    "ndq-multiack",
    "pqs-multiack",
    "queue-listing",
    "queue-listing-pollers",
    "resource-churning",
];

/// All of them, by name.
#[must_use]
pub(crate) fn shipped() -> &'static [ShippedWorkload] {
    &SHIPPED
}

impl ShippedWorkload {
    /// What it shows, for people.
    #[must_use]
    pub(crate) fn description(&self) -> String {
        Node::parse(self.text).ok().and_then(|workload| description(&workload)).unwrap_or_default()
    }
}

fn description(workload: &Node) -> Option<String> {
    match &workload.get("description")?.value {
        Value::Text(text) => Some(text.trim().to_owned()),
        _ => None,
    }
}

/// A workload that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// Neither a file nor shipped.
    #[error("found neither a file nor a shipped workload named {name}{hint}")]
    Unknown {
        /// As it was given.
        name: String,
        /// What there is instead.
        hint: String,
    },
    /// The file cannot be read.
    #[error("reading {name} failed: {error}")]
    Unreadable {
        /// The file.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// What it says cannot be run.
    #[error(transparent)]
    Invalid(#[from] Error),
}

/// Opens a file, or, if there is no such file, the shipped workload of that name, with or without `.toml`.
pub(crate) fn open(name: &str, overrides: &Overrides) -> Result<Workload, OpenError> {
    match std::fs::read_to_string(name) {
        Ok(text) => return Ok(read(&text, name, overrides)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // A folder may be called as a workload is.
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {}
        Err(error) => return Err(OpenError::Unreadable { name: name.to_owned(), error }),
    }
    match find(name) {
        Some(shipped) => Ok(read(shipped.text, &format!("{}.toml", shipped.name), overrides)?),
        None => Err(OpenError::Unknown {
            name: name.to_owned(),
            hint: suggestion(name.strip_suffix(".toml").unwrap_or(name), shipped().iter().map(|shipped| shipped.name)),
        }),
    }
}

/// The shipped workload of a name, with or without `.toml`.
#[must_use]
pub(crate) fn find(name: &str) -> Option<&'static ShippedWorkload> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    shipped().iter().find(|shipped| shipped.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BindingKeys, Plan, Schedule};

    fn runs(name: &str) -> Vec<Plan> {
        let workload = open(name, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
        workload.runs.into_iter().map(|run| run.plan).collect()
    }

    #[test]
    fn each_is_readable_named_as_its_file_and_explained() {
        for shipped in shipped() {
            let workload = open(shipped.name, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(workload.name, shipped.name);
            assert_eq!(workload.description, shipped.description());
            for part in ["\n\n", "Look at: ", "Comes from: "] {
                assert!(workload.description.contains(part), "{}: {part}", shipped.name);
            }
            let first = workload.description.lines().next().unwrap_or_default();
            assert!(!first.contains("Look at") && first.len() > 40, "{first}");
            assert!(workload.runs.iter().all(|run| run.plan.duration.is_some()), "{}", shipped.name);
        }
    }

    #[test]
    fn every_file_of_the_folder_is_shipped() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/workloads");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".toml", ""))
            .collect();
        files.sort();
        let names: Vec<&str> = shipped().iter().map(|shipped| shipped.name).collect();
        assert_eq!(files, names);
    }

    #[test]
    fn each_fits_a_machine_of_any_size() {
        for shipped in shipped() {
            for scale in [0.001, 0.1, 0.33, 3.0] {
                let overrides = Overrides { scale, ..Overrides::default() };
                open(shipped.name, &overrides).unwrap_or_else(|error| panic!("scale {scale}: {error}"));
            }
        }
    }

    #[test]
    fn a_name_may_end_as_a_file_does() {
        assert_eq!(runs("low-latency"), runs("low-latency.toml"));
    }

    #[test]
    fn what_is_neither_a_file_nor_shipped_is_refused() {
        let error = open("low-latencey.toml", &Overrides::default()).unwrap_err().to_string();
        assert_eq!(
            error,
            "found neither a file nor a shipped workload named low-latencey.toml; did you mean \"low-latency\"?"
        );
    }

    #[test]
    fn low_latency_has_7900_keys_and_30000_messages_a_second() {
        let [plan] = &runs("low-latency")[..] else { panic!("one run") };
        let keys = plan.queues[0].bindings.iter().map(|binding| match &binding.keys {
            BindingKeys::Spread(keys) => keys.len(),
            _ => 0,
        });
        assert_eq!(keys.sum::<usize>(), 7_900);
        let rate: f64 = plan
            .publishers
            .iter()
            .map(|group| {
                let Schedule { segments, .. } = &group.schedule;
                let crate::plan::Rate::Fixed(rate) = segments[0].rate else { panic!("a fixed rate") };
                rate * f64::from(group.connections * group.channels)
            })
            .sum();
        assert_eq!(rate, 30_000.0);
        assert_eq!(plan.publishers.len(), 4);
    }

    #[test]
    fn queue_listing_has_the_shape_of_the_report() {
        let [plan] = &runs("queue-listing")[..] else { panic!("one run") };
        assert_eq!(plan.queues[0].names.len(), 3_000);
        assert_eq!(plan.publishers[0].connections * plan.publishers[0].channels, 3_000);
        assert_eq!(plan.consumers[0].connections * plan.consumers[0].channels, 6_000);
        assert_eq!(plan.publishers[0].connections + plan.consumers[0].connections, 20);
    }

    #[test]
    fn pollers_share_neither_columns_nor_vhosts() {
        let [plan] = &runs("queue-listing-pollers")[..] else { panic!("one run") };
        let paths: std::collections::BTreeSet<&str> = plan.probes.iter().map(|probe| &*probe.path).collect();
        assert_eq!(paths.len(), 10);
        assert!(paths.iter().any(|path| path.starts_with("/api/queues/%2F?")));
        // The load is that of the report, so that the two can be compared.
        let [alone] = &runs("queue-listing")[..] else { panic!("one run") };
        assert_eq!(
            (&plan.queues, &plan.publishers, &plan.consumers),
            (&alone.queues, &alone.publishers, &alone.consumers)
        );
    }

    #[test]
    fn the_rate_and_the_pollers_of_queue_listing_can_be_set() {
        let settings = ["rate=9000", "pollers=4", "every=100ms"].map(str::to_owned).to_vec();
        let overrides = Overrides { settings, ..Overrides::default() };
        let plan = open("queue-listing", &overrides).unwrap().runs.remove(0).plan;
        assert_eq!((plan.probes[0].count, plan.probes[0].every.as_millis()), (4, 100));
        let crate::plan::Rate::Fixed(rate) = plan.publishers[0].schedule.segments[0].rate else {
            panic!("a fixed rate")
        };
        assert!((rate - 3.0).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn sweeps_have_their_combinations() {
        assert_eq!(runs("confirm-every-n").len(), 16);
        assert_eq!(runs("delayed-exchange").len(), 4);
        assert_eq!(runs("connection-churn").len(), 2);
    }
}
