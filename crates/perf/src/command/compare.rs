//! `warren perf compare A.json B.json …`.

use std::path::{Path, PathBuf};

use super::{Failure, complain, print};
use crate::report::compare::{compare, load};
use crate::report::html::{self, Charts};

const USAGE: &str = "\
usage: warren perf compare FILE FILE… [--html FILE] [--markdown]

Compares results that were stored with --json. The first is the baseline.

  --html FILE   write a page with all charts
  --markdown    print a table in Markdown
";

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let mut paths: Vec<&Path> = Vec::new();
    let mut page: Option<PathBuf> = None;
    let mut is_markdown = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--help" | "-?" => return print(USAGE),
            "--markdown" => is_markdown = true,
            "--html" => {
                page = Some(words.next().ok_or_else(|| Failure::usage("option '--html' needs a value"))?.into())
            }
            word if word.starts_with("--html=") => page = Some(word["--html=".len()..].into()),
            word if word.starts_with('-') => {
                return Err(Failure::Usage(format!("unknown option '{word}'; there are --html and --markdown")));
            }
            word => paths.push(Path::new(word)),
        }
    }
    if paths.len() < 2 {
        return Err(Failure::Usage(format!("at least two results are required\n\n{USAGE}")));
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
