//! More of anything never needs less of anything.

use proptest::prelude::*;

use crate::planned;

/// What can be said as a number, and a workload that says all of it.
#[derive(Clone, Debug)]
struct Said {
    values: Vec<(&'static str, f64)>,
    flags: Vec<(&'static str, &'static str)>,
}

impl Said {
    fn sheet(&self) -> plan::sheet::Sheet {
        let values: Vec<(&str, String)> =
            self.values.iter().map(|(name, value)| (*name, format!("{value:.3}"))).collect();
        let values = values.iter().map(|(name, text)| (*name, text.trim_end_matches('0').trim_end_matches('.')));
        planned(&values.chain(self.flags.iter().copied()).collect::<Vec<_>>())
    }

    fn with(&self, name: &str, factor: f64) -> Self {
        let mut more = self.clone();
        more.values.iter_mut().filter(|(known, _)| *known == name).for_each(|(_, value)| *value *= factor);
        more
    }
}

fn said() -> impl Strategy<Value = Said> {
    let numbers =
        (1_u32..100_000, 0_u32..20_000, 0_u32..500, 1_u32..4, 1_u32..20, 0_u32..5_000, 0_u32..5_000, 0_u32..5_000);
    let flags = (any::<bool>(), any::<bool>(), 0_usize..3, 0_u32..4);
    (numbers, flags).prop_map(|(numbers, (confirms, persistent, replicas, balancers))| {
        let (rate, body, properties, copies, peak, outage, connections, queues) = numbers;
        let yes_or_no = |flag| if flag { "yes" } else { "no" };
        Said {
            values: vec![
                ("rate", f64::from(rate)),
                ("body", f64::from(body)),
                ("properties", f64::from(properties)),
                ("copies", f64::from(copies)),
                ("peak", f64::from(peak)),
                ("outage", f64::from(outage)),
                ("connections", f64::from(connections)),
                ("queues", f64::from(queues)),
            ],
            flags: vec![
                ("confirms", yes_or_no(confirms)),
                ("persistent", yes_or_no(persistent)),
                ("replicas", ["1", "3", "5"][replicas]),
                ("load-balancers", ["0", "1", "2", "3"][balancers as usize]),
                ("network", "10Gbit/s"),
                ("cpus", "4"),
                ("disk-write", "500MB/s"),
            ],
        }
    })
}

/// What may be less: a commit with more in it is no need, only what is written in all.
const NO_NEEDS: [&str; 1] = ["disk.commit"];

proptest! {
    #[test]
    fn more_never_needs_less(
        said in said(),
        name in prop::sample::select(vec!["rate", "copies", "peak", "outage", "connections", "queues"]),
        factor in 2_u32..10,
    ) {
        let (less, more) = (said.sheet(), said.with(name, f64::from(factor)).sheet());
        for line in less.lines().filter(|line| !NO_NEEDS.contains(&line.id.as_str())) {
            let (before, after) = (line.quantity.value, more.value(&line.id).unwrap());
            prop_assert!(after >= before * (1.0 - 1e-12), "{} falls from {before} to {after} with more {name}", line.id);
        }
    }

    #[test]
    fn every_line_is_a_number_that_its_formula_gives(said in said()) {
        let sheet = said.sheet();
        for line in sheet.lines() {
            prop_assert!(line.quantity.value.is_finite() && line.quantity.value >= 0.0, "{}", line.id);
            if let Some(formula) = &line.formula {
                prop_assert_eq!(formula.value(), line.quantity.value);
            }
        }
    }
}

/// Not among those above: from 4,096 bytes on several queues share a content on disk, so a little more may take less there.
#[test]
fn longer_bodies_need_no_less_of_the_network() {
    let mut before = 0.0;
    for body in [0, 100, 1_000, 4_000, 4_096, 100_000, 131_064, 131_065, 1_000_000] {
        let sheet = planned(&[("rate", "1000"), ("body", &body.to_string()), ("copies", "3"), ("replicas", "3")]);
        let needed = sheet.value("nodes.network-needed").unwrap();
        assert!(needed > before, "{body} bytes need {needed}, fewer {before}");
        before = needed;
    }
}
