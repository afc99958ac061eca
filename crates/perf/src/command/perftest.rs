//! `warren perf OPTION…`, as PerfTest.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::session::{Session, execute};
use super::{Failure, complain, print, variable};
use crate::perftest::{Command, Options, parse};
use crate::workload::PlannedRun;

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let (options, warnings) = match parse(words, &variable).map_err(Failure::usage)? {
        Command::Print(text) => return print(&text),
        Command::Run { options, warnings } => (options, warnings),
    };
    for warning in &warnings {
        complain(&format!("warning: {warning}"));
    }
    let id = options.id.clone().unwrap_or_else(|| Options::generated_id(SystemTime::now()));
    let seed = options.seed.unwrap_or_else(random_seed);
    let plan = options.plan(&id, seed, &|path| std::fs::read(path)).map_err(Failure::failed)?;
    execute(Session {
        options: &options,
        words,
        name: id,
        description: String::new(),
        workload: None,
        seed,
        runs: vec![PlannedRun { label: String::new(), variables: BTreeMap::new(), plan }],
        json: options.output.json.clone(),
        html: options.output.html.clone(),
        warnings,
    })
}

/// A seed for a command that was given none; small enough to be typed again.
pub(crate) fn random_seed() -> u64 {
    u64::from(fastrand::u32(..))
}
