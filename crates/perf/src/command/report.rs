//! `warren perf report RESULTS`: a page from results that were kept.

use std::path::{Path, PathBuf};

use command_line::Opt;

use super::{Failure, OwnWords, complain};
use crate::report::html::{self, Charts};
use crate::results::Results;

const WORDS: OwnWords<()> = OwnWords {
    introduction: "\
usage: warren perf report FILE [--html FILE]

Writes an HTML page of results that were stored with --json.

",
    options: &[Opt::valued("html", "FILE", (), "the page (default: next to the results)")],
};

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let (said, sources) = WORDS.read(words)?;
    let [source] = sources[..] else {
        return Err(WORDS.misused("one file of results is required"));
    };
    let source = Path::new(source);
    let page = said.last().map_or_else(|| source.with_extension("html"), |said| PathBuf::from(said.value()));
    let results = Results::load(source).map_err(Failure::failed)?;
    html::save(&page, &html::report(&results, Charts::Drawn))
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", page.display())))?;
    complain(&format!("report: {}", page.display()));
    Ok(())
}
