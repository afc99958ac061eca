//! Which configuration files there are: the one that was named, and its `conf.d`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use model::config::{Config, Source, Warning};

/// Names the file where the command line does not. As all of RabbitMQ's variables, it counts as unset when it is empty.
const FILE_VARIABLE: &str = "RABBITMQ_CONFIG_FILE";

/// Reads the configuration. Where no file is named, only the defaults, the environment and `sets` count.
///
/// Like RabbitMQ, if there is no such file its name with `.conf` is tried. The files `conf.d/*.conf` beside the file are
/// read after it, by name.
pub(crate) fn load(file: Option<&Path>, sets: &[String]) -> Result<(Config, Vec<Warning>)> {
    let variable = std::env::var_os(FILE_VARIABLE).filter(|file| !file.is_empty());
    let sources = match file.map(Path::to_owned).or(variable.map(PathBuf::from)) {
        Some(file) => sources(&find(file))?,
        None => Vec::new(),
    };
    Config::parse(&sources, &environment(), sets).map_err(|error| anyhow::anyhow!("{error}"))
}

/// A file and what is in `conf.d` beside it.
fn sources(file: &Path) -> Result<Vec<Source>> {
    let mut sources = vec![read(file)?];
    for extra in conf_d(file)? {
        sources.push(read(&extra)?);
    }
    Ok(sources)
}

/// All variables of the environment that are text.
pub(crate) fn environment() -> Vec<(String, String)> {
    std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?))).collect()
}

fn find(file: PathBuf) -> PathBuf {
    let mut with_extension = OsString::from(&file);
    with_extension.push(".conf");
    let with_extension = PathBuf::from(with_extension);
    if !file.exists() && with_extension.exists() { with_extension } else { file }
}

/// One file.
pub(crate) fn read(file: &Path) -> Result<Source> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read the configuration {}", file.display()))?;
    Ok(Source { name: file.display().to_string(), text })
}

fn conf_d(file: &Path) -> Result<Vec<PathBuf>> {
    let dir = file.parent().unwrap_or(Path::new(".")).join("conf.d");
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(&dir).with_context(|| format!("cannot list {}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "conf"))
        .collect();
    files.sort();
    Ok(files)
}
