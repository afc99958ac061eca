//! `warren perf list` and `warren perf show NAME`: workloads that are shipped.

use terminal::table::{self, Column};

use super::{Failure, print};
use crate::workload::{find, shipped};

pub(crate) fn list(words: &[String]) -> Result<(), Failure> {
    if let Some(word) = words.first() {
        return Err(Failure::Usage(format!("unexpected argument '{word}': warren perf list has none")));
    }
    let rows = shipped().iter().map(|shipped| {
        let description = shipped.description();
        [shipped.name.to_owned(), description.lines().next().unwrap_or_default().to_owned()]
    });
    let rows: Vec<[String; 2]> = rows.collect();
    print(&table::rows(&[Column::left(0), Column::left(0)], &rows))
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
