//! `warren perf compare A.json B.json …`.

use std::path::{Path, PathBuf};

use command_line::Opt;

use super::{Failure, OwnWords, complain, print};
use crate::report::compare::{compare, load};
use crate::report::html::{self, Charts};

#[derive(Clone, Copy)]
enum Meaning {
    Html,
    Markdown,
}

const WORDS: OwnWords<Meaning> = OwnWords {
    introduction: "\
usage: warren perf compare FILE FILE… [--html FILE] [--markdown]

Compares results that were stored with --json. The first is the baseline.

",
    options: &[
        Opt::valued("html", "FILE", Meaning::Html, "write a page with all charts"),
        Opt::flag("markdown", Meaning::Markdown, "print a table in Markdown"),
    ],
};

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let (said, paths) = WORDS.read(words)?;
    let paths: Vec<&Path> = paths.into_iter().map(Path::new).collect();
    let mut page: Option<PathBuf> = None;
    let mut is_markdown = false;
    for said in said {
        match said.option.means {
            Meaning::Html => page = Some(said.value().into()),
            Meaning::Markdown => is_markdown = true,
        }
    }
    if paths.len() < 2 {
        return Err(WORDS.misused("at least two results are required"));
    }
    let parts = load(&paths).map_err(Failure::failed)?;
    let parts: Vec<_> = parts.iter().map(|(name, results)| (name.as_str(), results)).collect();
    let comparison = compare(&parts);
    let mut text = Vec::new();
    let written = if is_markdown { comparison.write_markdown(&mut text) } else { comparison.write_terminal(&mut text) };
    written.map_err(Failure::failed)?;
    print(&String::from_utf8_lossy(&text))?;
    if let Some(path) = page {
        html::save(&path, &html::comparison(&parts, &comparison, Charts::Drawn))
            .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))?;
        complain(&format!("report: {}", path.display()));
    }
    Ok(())
}
