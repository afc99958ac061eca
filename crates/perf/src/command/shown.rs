//! `warren perf list` and `warren perf show NAME`: workloads that are shipped.

use std::fmt::Write as _;

use super::{Failure, print};
use crate::workload::{find, shipped};

pub(crate) fn list(words: &[String]) -> Result<(), Failure> {
    if let Some(word) = words.first() {
        return Err(Failure::Usage(format!("unexpected argument '{word}': warren perf list has none")));
    }
    let mut text = String::new();
    let width = shipped().iter().map(|shipped| shipped.name.len()).max().unwrap_or(0);
    for shipped in shipped() {
        let description = shipped.description();
        let _ = writeln!(text, "{:width$}  {}", shipped.name, description.lines().next().unwrap_or_default());
    }
    print(&text)
}

pub(crate) fn show(words: &[String]) -> Result<(), Failure> {
    let [name] = words else {
        return Err(Failure::usage("one name is required: see warren perf list"));
    };
    match find(name) {
        Some(shipped) => print(shipped.text),
        None => Err(Failure::Usage(format!("no built-in workload '{name}': see warren perf list"))),
    }
}
