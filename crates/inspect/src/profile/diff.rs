//! `warren profile diff`: what takes more than before, and what less.

use std::fs;
use std::path::{Path, PathBuf};

use profile::{Profile, svg};

use super::output::{self, Form};
use crate::failure::Failure;
use crate::run::print_line;

#[derive(Debug, clap::Args)]
pub(super) struct Diff {
    /// Folded stacks from `warren profile cpu -o a.folded`.
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The folded stacks to compare with.
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Write a flame graph, .svg, instead of a table: red takes a larger share than before, blue a smaller one.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The number of functions in the table.
    #[arg(long, value_name = "COUNT", default_value_t = 25)]
    top: usize,
}

impl Diff {
    pub(super) fn run(&self) -> Result<(), Failure> {
        if self.output.as_ref().is_some_and(|path| Form::of(path) != Ok(Form::Svg)) {
            return Err(Failure::usage("the file of a comparison ends in .svg"));
        }
        let (before, after) = (read(&self.before)?, read(&self.after)?);
        let diff = profile::Diff { before: &before, after: &after };
        match &self.output {
            Some(path) => output::write(path, svg::flame_diff(&diff).as_bytes()),
            None => print_line(diff.table(self.top).trim_end()),
        }
    }
}

fn read(path: &Path) -> Result<Profile, Failure> {
    let cannot = |why: String| Failure::failed(format!("{} cannot be read: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => cannot("it is not text, so it contains no folded stacks".to_owned()),
        _ => cannot(error.to_string()),
    })?;
    Profile::from_folded(&path.to_string_lossy(), &text).map_err(|error| cannot(error.to_string()))
}
