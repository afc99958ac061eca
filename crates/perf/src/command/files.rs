//! The files that results are written to: looked at before the first run, written after each.

use std::io;
use std::path::{Path, PathBuf};

use super::complain;
use crate::report::html::{self, Charts};
use crate::results::{Results, check_writable};

/// Where results and report are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files {
    pub(crate) json: Option<PathBuf>,
    pub(crate) html: Option<PathBuf>,
}

impl Files {
    /// Whether they can be written, asked before anything is measured. Nothing is left behind and nothing changed.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.each(|path, _| check_writable(path))
    }

    /// Writes each that can be. The error names the others.
    pub(crate) fn write(&self, results: &Results) -> Result<(), String> {
        self.each(|path, kind| match kind {
            Kind::Json => results.save(path),
            Kind::Html => html::save(path, &html::report(results, Charts::Drawn)),
        })
    }

    /// Says where they are.
    pub(crate) fn tell(&self) {
        for (path, name) in [(&self.json, "results: "), (&self.html, "report:  ")] {
            if let Some(path) = path {
                complain(&format!("{name}{}", path.display()));
            }
        }
    }

    fn each(&self, mut work: impl FnMut(&Path, Kind) -> io::Result<()>) -> Result<(), String> {
        let mut problems = Vec::new();
        for (path, kind) in [(&self.json, Kind::Json), (&self.html, Kind::Html)] {
            let Some(path) = path else { continue };
            if let Err(error) = work(path, kind) {
                problems.push(format!("cannot write {}: {error}", path.display()));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Json,
    Html,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("warren-perf-files-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn one_that_cannot_be_written_does_not_keep_the_other() {
        let directory = directory("other");
        let html = directory.join("r.html");
        let files = Files { json: Some("/nowhere/x.json".into()), html: Some(html.clone()) };
        let expected = "cannot write /nowhere/x.json: ";
        assert!(files.write(&Results::default()).unwrap_err().starts_with(expected));
        assert!(fs::read_to_string(&html).unwrap().starts_with("<!doctype html>"));
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn check_changes_nothing() {
        let directory = directory("check");
        let (old, new) = (directory.join("old.json"), directory.join("new.html"));
        fs::write(&old, "before").unwrap();
        let files = Files { json: Some(old.clone()), html: Some(new) };
        assert_eq!(files.check(), Ok(()));
        assert_eq!(fs::read_to_string(&old).unwrap(), "before");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing is left");

        let folder = Files { json: Some(directory.clone()), html: Some("/nowhere/x.html".into()) };
        let text = folder.check().unwrap_err();
        assert!(text.contains("; cannot write /nowhere/x.html: "), "{text}");
        assert!(Files { json: Some("/dev/null".into()), html: None }.check().is_err(), "it would be replaced");
        fs::remove_dir_all(&directory).unwrap();
    }
}
