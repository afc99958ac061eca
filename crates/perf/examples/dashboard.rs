//! Plays results again on the dashboard, faster than they were measured: to look at while working on it.
//!
//! ```text
//! cargo run -p perf --example dashboard -- RESULTS.json [SAMPLES_PER_SECOND] [panic]
//! ```

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, thread};

use perf::dashboard::{Dashboard, Outline, Overall};
use perf::results::Results;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = env::args().skip(1);
    let path = PathBuf::from(words.next().ok_or("usage: dashboard RESULTS.json [SAMPLES_PER_SECOND] [panic]")?);
    let speed: f64 = words.next().map_or(Ok(10.0), |word| word.parse())?;
    let results = Results::load(&path)?;
    let run = results.runs.first().ok_or("these results have no run")?;
    let phase = |phase: &perf::results::PhaseMark| {
        (phase.name.clone(), Duration::from_secs_f64((phase.end_s - phase.start_s).max(0.0)))
    };
    let mut dashboard = Dashboard::open(Outline {
        name: results.name.clone(),
        duration: Some(Duration::from_secs_f64(run.summary.duration_s)),
        phases: run.phases.iter().map(phase).collect(),
        processors: results.processors(),
        has_agents: !results.agents.is_empty(),
    })?;
    results.warnings.iter().for_each(|warning| dashboard.warn(warning));
    let percentiles =
        |distribution: &Option<perf::results::Distribution>| distribution.as_ref().map(|all| all.percentiles);
    let latencies = &run.summary.latencies;
    let overall = Overall { consumer: percentiles(&latencies.consumer), confirm: percentiles(&latencies.confirm) };
    let will_panic = words.next().is_some_and(|word| word == "panic");
    for (index, sample) in run.samples.iter().enumerate() {
        dashboard.show(sample, overall)?;
        assert!(!(will_panic && index == 20), "as was asked for");
        thread::sleep(Duration::from_secs_f64(1.0 / speed.max(0.1)));
    }
    dashboard.close()?;
    Ok(())
}
