//! `warren perf report RESULTS`: a page from results that were kept.

use std::path::{Path, PathBuf};

use super::{Failure, complain, print};
use crate::report::html::{self, Charts};
use crate::results::Results;

const USAGE: &str = "\
usage: warren perf report FILE [--html FILE]

Writes an HTML page of results that were stored with --json, next to them or to the file of --html.
";

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let (source, page): (&Path, PathBuf) = match words {
        [word] if word == "--help" || word == "-?" => return print(USAGE),
        [source] if !source.starts_with('-') => (Path::new(source), Path::new(source).with_extension("html")),
        [source, option, page] if option == "--html" => (Path::new(source), page.into()),
        [option, page, source] if option == "--html" => (Path::new(source), page.into()),
        _ => return Err(Failure::Usage(format!("one file of results is required\n\n{USAGE}"))),
    };
    let results = Results::load(source).map_err(Failure::failed)?;
    html::save(&page, &html::report(&results, Charts::Drawn))
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", page.display())))?;
    complain(&format!("report: {}", page.display()));
    Ok(())
}
