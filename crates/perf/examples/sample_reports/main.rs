//! Writes reports of invented results into a folder: for the tests in a browser, and to look at while working on the page.
//!
//! ```text
//! cargo run -p perf --example sample_reports -- FOLDER
//! ```
//!
//! The numbers are drawn from a small model of a broker, by the same seed every time; they say nothing about a real one.

mod invent;

use std::path::Path;
use std::{env, fs, io};

use perf::report::compare::compare;
use perf::report::html::{self, Charts};
use perf::results::Results;

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).unwrap_or_else(|| "target/reports".into());
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;

    let peak = invent::peak(1.0);
    let faster = invent::peak(0.6);
    write(folder, "peak", &peak, Charts::Drawn)?;
    write(folder, "tables", &peak, Charts::Tables)?;
    write(folder, "sweep", &invent::sweep(), Charts::Drawn)?;
    write(folder, "lines", &invent::sweep_of_one(), Charts::Drawn)?;
    write(folder, "interrupted", &invent::interrupted(), Charts::Drawn)?;
    write(folder, "hostile", &invent::hostile(), Charts::Drawn)?;
    write(folder, "cut", &invent::cut_short(), Charts::Drawn)?;
    write(folder, "empty", &Results { schema: perf::results::SCHEMA, ..Results::default() }, Charts::Drawn)?;

    let parts = [("before", &peak), ("after", &faster)];
    html::save(&folder.join("compare.html"), &html::comparison(&parts, &compare(&parts), Charts::Drawn))?;
    let (sweep, other) = (invent::sweep(), invent::sweep());
    let parts = [("first", &sweep), ("second", &other)];
    html::save(&folder.join("sweeps.html"), &html::comparison(&parts, &compare(&parts), Charts::Drawn))?;
    let parts = [("before", &peak), ("after", &faster)];
    let mut out = io::stdout().lock();
    compare(&parts).write_terminal(&mut out)
}

fn write(folder: &Path, name: &str, results: &Results, charts: Charts) -> io::Result<()> {
    results.save(&folder.join(format!("{name}.json")))?;
    html::save(&folder.join(format!("{name}.html")), &html::report(results, charts))
}
