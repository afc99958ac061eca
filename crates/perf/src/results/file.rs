//! Results as a file: read with a clear word about what is wrong with it, written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Results, SCHEMA};

/// Why a file was not taken for results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// It is something else.
    #[error("{} is not a file of results of warren perf: {why}", path.display())]
    NotResults {
        /// The file.
        path: PathBuf,
        /// How that was recognised.
        why: String,
    },
    /// A later version has written it.
    #[error("{} has schema {schema}, but this version of warren perf reads up to {SCHEMA}: use a newer one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        schema: u64,
    },
}

/// What all versions of the format have in common.
#[derive(Deserialize)]
struct Head {
    schema: u64,
}

impl Results {
    /// Reads a file of results.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is something else, or is of a newer version.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let text = fs::read(path).map_err(|error| LoadError::Io { path: path.to_owned(), error })?;
        let not_results = |why: String| LoadError::NotResults { path: path.to_owned(), why };
        let head: Head = serde_json::from_slice(&text).map_err(|error| not_results(error.to_string()))?;
        if head.schema > u64::from(SCHEMA) {
            return Err(LoadError::Newer { path: path.to_owned(), schema: head.schema });
        }
        serde_json::from_slice(&text).map_err(|error| not_results(error.to_string()))
    }

    /// The JSON that is kept.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("results have only text for keys")
    }

    /// Writes the file, whole or not at all: what was there before stays until all of the new one is on disk.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let mut text = self.to_json();
        text.push('\n');
        write_whole(path, text.as_bytes())
    }
}

/// Whether [`write_whole`] can do its work here. What is there stays as it is.
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    let new = beside(path)?;
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        // A device or a pipe would be lost: a file would be in its place.
        Ok(there) if !there.is_file() => {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        _ => {}
    }
    File::create(&new)?;
    fs::remove_file(&new)
}

/// Where a new file is written that is to take this one's place.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} names no file", path.display())));
    };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.new", std::process::id()));
    Ok(path.with_file_name(hidden))
}

/// Writes a file beside the old one, syncs it, and takes the old one's place.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = beside(path)?;
    let written = File::create(&new).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let done = written.and_then(|()| fs::rename(&new, path));
    if done.is_err() {
        // What is left of it is of no use; that it cannot be removed either is not the error to report.
        let _ = fs::remove_file(&new);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that is removed on drop.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("warren-perf-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Directory(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[track_caller]
    fn check_refused(text: &str, words: &str) {
        let directory = Directory::new(&format!("refused-{}", text.len()));
        let path = directory.0.join("r.json");
        fs::write(&path, text).unwrap();
        let error = Results::load(&path).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert!(error.contains("r.json") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn saved_results_are_loaded_as_they_were() {
        let directory = Directory::new("saved");
        let path = directory.0.join("results.json");
        let results = Results { schema: SCHEMA, name: "é\"</script>".to_owned(), ..Results::default() };
        results.save(&path).unwrap();
        assert_eq!(Results::load(&path).unwrap(), results);
        let names: Vec<_> = fs::read_dir(&directory.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["results.json"], "nothing else is left");
    }

    #[test]
    fn failed_save_leaves_what_was_there() {
        let directory = Directory::new("failed");
        let path = directory.0.join("occupied");
        fs::create_dir_all(path.join("not empty")).unwrap();
        assert!(Results::default().save(&path).is_err());
        assert!(path.join("not empty").is_dir());
        assert_eq!(fs::read_dir(&directory.0).unwrap().count(), 1, "the new file is removed");
    }

    #[test]
    fn fields_of_others_are_passed_over() {
        let directory = Directory::new("fields");
        let path = directory.0.join("r.json");
        let text = Results { schema: SCHEMA, ..Results::default() }.to_json();
        fs::write(&path, text.replacen('{', "{\"colour\":\"green\",", 1)).unwrap();
        assert!(Results::load(&path).is_ok());
    }

    #[test]
    fn newer_schema_is_refused() {
        check_refused("{\"schema\":2,\"everything\":\"else\"}", "has schema 2, but this version");
    }

    #[test]
    fn something_else_is_refused() {
        check_refused("hello", "is not a file of results");
        check_refused("{\"name\":\"perftest\"}", "missing field `schema`");
        check_refused("{\"schema\":1}", "missing field");
        check_refused("[]", "is not a file of results");
    }

    #[test]
    fn missing_file_is_named() {
        let error = Results::load(Path::new("/nowhere/r.json")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read /nowhere/r.json: "), "{error}");
    }
}
