//! The files of the repository, by crate.

use std::fs;
use std::path::{Path, PathBuf};

/// A crate's folder below `crates`, or `bench`.
#[derive(Debug)]
pub struct Crate {
    /// The package's name, which is the folder's.
    pub name: String,
    /// All its Rust files, in order, those of its tests and examples too; not what a generator has written.
    pub files: Vec<SourceFile>,
}

/// A Rust file.
#[derive(Debug)]
pub struct SourceFile {
    /// From the repository's root.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the crate lies in the repository")
}

/// All crates, in order.
pub fn crates() -> Vec<Crate> {
    let root = root();
    let mut folders: Vec<_> = children(&root.join("crates")).into_iter().filter(|path| path.is_dir()).collect();
    folders.push(root.join("bench"));
    folders.into_iter().map(|folder| read_crate(&root, &folder)).collect()
}

fn read_crate(root: &Path, folder: &Path) -> Crate {
    let mut paths = Vec::new();
    collect(folder, "rs", &mut paths);
    let is_generated = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "generated");
    let files = paths.into_iter().filter(|path| !is_generated(path)).map(|path| read(root, &path)).collect();
    Crate { name: folder.file_name().expect("a folder's name").to_string_lossy().into_owned(), files }
}

/// The documents that are written by hand: at the root and below `docs` and `tests`.
pub fn documents() -> Vec<SourceFile> {
    let root = root();
    let mut paths: Vec<_> = children(&root).into_iter().filter(|path| has_extension(path, "md")).collect();
    collect(&root.join("docs"), "md", &mut paths);
    paths.extend(["tests/README.md", "bench/README.md"].map(|name| root.join(name)));
    paths.into_iter().map(|path| read(&root, &path)).collect()
}

/// The files below a folder with that extension, in order.
fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for path in children(folder) {
        let is_output =
            matches!(path.file_name().and_then(|name| name.to_str()), Some("target" | "node_modules" | ".peers"));
        if path.is_dir() && !is_output {
            collect(&path, extension, found);
        } else if has_extension(&path, extension) {
            found.push(path);
        }
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|of_path| of_path == extension)
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
    paths.sort();
    paths
}

fn read(root: &Path, path: &Path) -> SourceFile {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    SourceFile { path: path.strip_prefix(root).expect("files lie below the root").to_owned(), text }
}
