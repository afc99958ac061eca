//! A workload from what `warren perf` has measured.

use perf::results::{Results, Run};

use crate::setting::Key;
use crate::workload::Description;

/// What a run was. `label` says which, where there are several.
pub(crate) fn describe(results: &Results, label: Option<&str>, place: &str) -> Result<Description, String> {
    let run = choose(&results.runs, label, place)?;
    let (counts, summary) = (&run.summary.counts, &run.summary);
    if counts.published == 0 || summary.duration_s <= 0.0 {
        return Err(format!("{place}: nothing was published in this run"));
    }
    let published = counts.published as f64;
    let mut description = Description::default();
    let mut put = |key, value: f64| description.note(key, value, place);
    put(Key::Rate, published / summary.duration_s)?;
    put(Key::Body, (counts.published_bytes as f64 / published).round())?;
    let copies = copies(counts.consumed as f64 / published);
    put(Key::Copies, copies)?;
    put(Key::Confirms, f64::from(u8::from(counts.confirmed > 0)))?;
    put(Key::Persistent, f64::from(u8::from(is_persistent(results))))?;
    if let Some(connections) = run.samples.iter().map(|sample| sample.connections).max().filter(|most| *most > 0) {
        put(Key::Connections, f64::from(connections))?;
    }
    if let Some(cpu_s) = cpu_of_warren(results, run) {
        put(Key::CpuUs, cpu_s * 1e6 / published / copies)?;
    }
    Ok(description)
}

fn choose<'a>(runs: &'a [Run], label: Option<&str>, place: &str) -> Result<&'a Run, String> {
    let labels = || runs.iter().map(|run| format!("'{}'", run.label)).collect::<Vec<_>>().join(", ");
    match (runs, label) {
        ([], _) => Err(format!("{place}: it contains no run")),
        ([run], None) => Ok(run),
        (_, None) => Err(format!("{place} has {} runs: select one with --run, of {}", runs.len(), labels())),
        (_, Some(label)) => runs
            .iter()
            .find(|run| run.label == label)
            .ok_or_else(|| format!("{place} has no run '{label}', only {}", labels())),
    }
}

/// How many consumers a message had, by the hundredth: what was still under way at the end is no fan-out.
pub(crate) fn copies(consumed_each: f64) -> f64 {
    ((consumed_each * 100.0).round() / 100.0).max(1.0)
}

/// Whether its messages were persistent, by how it was given.
fn is_persistent(results: &Results) -> bool {
    let is_said = |word: &String| word == "persistent" || word == "--quorum-queue" || word.ends_with("=persistent");
    let text = results.workload.as_deref().unwrap_or_default();
    let says = |line: &str| line.split('#').next().unwrap_or_default().replace(' ', "").starts_with("persistent=true");
    results.command.iter().any(is_said) || text.lines().any(says)
}

/// Processor time of the broker in this run. That of another broker than Warren says nothing here.
fn cpu_of_warren(results: &Results, run: &Run) -> Option<f64> {
    let is_warren = |variant: &String| variant.starts_with("Warren");
    results.broker.as_ref()?.variant.as_ref().filter(|variant| is_warren(variant))?;
    run.summary.broker?.usage.cpu_s.filter(|cpu_s| *cpu_s > 0.0)
}

#[cfg(test)]
mod tests {
    use perf::results::{Broker, BrokerUsage, Counts, Sample, Summary, Usage};

    use super::*;

    fn run(label: &str) -> Run {
        let counts = Counts {
            published: 300_000,
            published_bytes: 300_000 * 1_000,
            confirmed: 300_000,
            consumed: 600_300,
            ..Counts::default()
        };
        let usage = Usage { cpu_s: Some(6.0), ..Usage::default() };
        let broker = Some(BrokerUsage { usage, ..BrokerUsage::default() });
        let summary = Summary { duration_s: 10.0, counts, broker, ..Summary::default() };
        let samples =
            vec![Sample { connections: 40, ..Sample::default() }, Sample { connections: 39, ..Sample::default() }];
        Run { label: label.to_owned(), summary, samples, ..Run::default() }
    }

    fn results(runs: Vec<Run>) -> Results {
        let broker = Some(Broker { variant: Some("Warren 0.1.0".to_owned()), ..Broker::default() });
        Results { schema: 1, runs, broker, ..Results::default() }
    }

    #[test]
    fn a_run_says_what_the_workload_was() {
        let mut results = results(vec![run("")]);
        results.workload = Some("[[publishers]]\npersistent = true # they last\n".to_owned());
        let workload = describe(&results, None, "r.json").unwrap().resolve().unwrap();
        assert_eq!(workload.value(Key::Rate), 30_000.0);
        assert_eq!(workload.value(Key::Body), 1_000.0);
        assert_eq!(workload.value(Key::Copies), 2.0);
        assert_eq!(workload.value(Key::Connections), 40.0);
        assert!(workload.is(Key::Confirms) && workload.is(Key::Persistent));
        assert_eq!(workload.optional(Key::CpuUs), Some(10.0));
    }

    #[test]
    fn a_command_says_whether_messages_were_persistent() {
        let mut results = results(vec![run("")]);
        assert!(!is_persistent(&results));
        results.workload = Some("# persistent = true\n".to_owned());
        assert!(!is_persistent(&results));
        results.command = ["-f", "persistent"].map(str::to_owned).into();
        assert!(is_persistent(&results));
    }

    #[test]
    fn another_brokers_processor_time_is_left_out() {
        let mut results = results(vec![run("")]);
        results.broker = Some(Broker { variant: None, ..Broker::default() });
        assert_eq!(describe(&results, None, "r.json").unwrap().resolve().unwrap().optional(Key::CpuUs), None);
    }

    #[test]
    fn one_of_several_runs_is_chosen_by_its_label() {
        let results = results(vec![run("publishers=1"), run("publishers=5")]);
        let error = |label| describe(&results, label, "r.json").unwrap_err();
        assert_eq!(error(None), "r.json has 2 runs: select one with --run, of 'publishers=1', 'publishers=5'");
        assert!(error(Some("x")).starts_with("r.json has no run 'x', only "));
        assert!(describe(&results, Some("publishers=5"), "r.json").is_ok());
    }

    #[test]
    fn a_run_without_messages_is_refused() {
        let empty = results(vec![Run::default()]);
        assert_eq!(describe(&empty, None, "r.json").unwrap_err(), "r.json: nothing was published in this run");
    }
}
