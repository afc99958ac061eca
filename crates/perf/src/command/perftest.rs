//! `warren perf OPTION…`, as PerfTest.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::files::Files;
use super::session::Session;
use super::{Failure, RunRequest};
use crate::agents::{Order, Surroundings};
use crate::perftest::{Command, Options, parse};
use crate::workload::PlannedRun;

/// Reads the command.
pub(crate) fn read(words: &[String], surroundings: Surroundings) -> Result<RunRequest, Failure> {
    let variable = |name: &str| surroundings.variable(name);
    let (options, warnings) = match parse(words, &variable).map_err(Failure::usage)? {
        Command::Print(text) => return Ok(RunRequest::Print(text)),
        Command::Run { options, warnings } => (options, warnings),
    };
    let id = surroundings.id(|| options.id.clone().unwrap_or_else(|| Options::generated_id(SystemTime::now())));
    let seed = surroundings.seed(|| options.seed.unwrap_or_else(random_seed));
    let plan = options.plan(&id, seed, &|path| surroundings.file(path)).map_err(Failure::failed)?;
    Ok(RunRequest::Run(Box::new(Session {
        name: id,
        description: String::new(),
        workload: None,
        seed,
        runs: vec![PlannedRun { label: String::new(), variables: BTreeMap::new(), plan }],
        files: Files { json: options.output.json.clone(), html: options.output.html.clone() },
        warnings,
        order: Order::new(words, surroundings),
        options,
    })))
}

/// A seed for a command that was given none; small enough to be typed again.
pub(crate) fn random_seed() -> u64 {
    u64::from(fastrand::u32(..))
}
