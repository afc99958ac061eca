//! What documents name is there.

use std::path::Path;

use tidy::workspace::{SourceFile, crates, documents, root};

#[test]
fn links_of_documents_lead_somewhere() {
    let dead: Vec<_> = documents().iter().flat_map(dead_links).collect();
    assert!(dead.is_empty(), "links to nothing:\n{}", dead.join("\n"));
}

/// Links to files that are not there. Addresses, and places within the same page, are not followed.
fn dead_links(document: &SourceFile) -> Vec<String> {
    let folder = root().join(document.path.parent().unwrap_or(Path::new("")));
    let ends: Vec<_> = document.text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).collect();
    let targets = ends.iter().map(|(target, _)| target.split('#').next().unwrap_or_default());
    let of_files = targets.filter(|target| !target.is_empty() && !target.contains("://") && !target.contains(' '));
    of_files
        .filter(|target| !folder.join(target).exists())
        .map(|target| format!("{}: {target}", document.path.display()))
        .collect()
}

/// Documents for developers: what they name in backticks is held to the sources.
fn for_developers() -> Vec<SourceFile> {
    let is_for_them = |path: &Path| {
        path == Path::new("ARCHITECTURE.md") || path == Path::new("CONTRIBUTING.md") || path.starts_with("docs/dev")
    };
    documents().into_iter().filter(|document| is_for_them(&document.path)).collect()
}

fn in_backticks(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

#[test]
fn files_named_by_documents_exist() {
    let is_path = |word: &&str| {
        ["crates/", "tests/", "docs/", "bench/"].iter().any(|start| word.starts_with(start))
            && !word.contains([' ', '*', '<', '{'])
    };
    let documents = for_developers();
    let named = documents
        .iter()
        .flat_map(|document| in_backticks(&document.text).filter(is_path).map(|path| (&document.path, path)));
    let missing: Vec<_> = named.filter(|(_, path)| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "files that are not there: {missing:?}");
}

#[test]
fn tests_named_by_documents_exist() {
    let sources: Vec<String> = ["crates", "tests"].iter().flat_map(|folder| texts(&root().join(folder))).collect();
    let is_there = |name: &str| {
        let starts = [format!("fn {name}("), format!("def {name}(")];
        sources
            .iter()
            .any(|text| starts.iter().any(|start| text.contains(start)) || text.contains(&format!("    {name}: \"")))
    };
    let mut count = 0;
    for document in for_developers() {
        for (_, holders) in document.text.lines().filter_map(|line| line.split_once("*Held by*")) {
            for name in in_backticks(holders).filter(|name| !name.contains('/')) {
                count += 1;
                assert!(is_there(name), "{} names a test that is not there: {name}", document.path.display());
            }
        }
    }
    assert!(count > 20, "only {count} tests are named");
}

/// `tests/rust.py` runs programs of tests, and examples in comments are none: one would look tested, and be run by nothing.
#[test]
fn examples_in_comments_are_not_code_to_be_run() {
    let files: Vec<SourceFile> = crates().into_iter().flat_map(|each| each.files).collect();
    let comments = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim_start);
        lines.filter_map(|line| line.strip_prefix("//!").or(line.strip_prefix("///"))).map(str::to_owned).collect()
    };
    let opened = |file: &SourceFile| -> Vec<String> {
        let comments = comments(&file.text);
        let fences = comments.iter().filter_map(|line| line.trim_start().strip_prefix("```"));
        fences.step_by(2).map(|language| format!("{}: '{language}'", file.path.display())).collect()
    };
    let all: Vec<String> = files.iter().flat_map(opened).collect();
    let run: Vec<_> = all
        .iter()
        .filter(|fence| ["''", "'rust'", "'no_run'", "'should_panic'"].iter().any(|end| fence.ends_with(end)))
        .collect();
    assert!(all.len() > 50, "only {} examples were found", all.len());
    assert!(run.is_empty(), "examples that nothing runs: {run:?}");
}

fn texts(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_source = |path: &Path| path.extension().is_some_and(|extension| extension == "rs" || extension == "py");
    entries
        .flat_map(|path| match path.is_dir() {
            true => texts(&path),
            false if is_source(&path) => vec![std::fs::read_to_string(path).unwrap()],
            false => Vec::new(),
        })
        .collect()
}
