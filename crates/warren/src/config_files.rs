//! Which configuration files there are: the one that was named, and its `conf.d`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use model::config::{Config, Source, Warning};

/// Reads the configuration. Without `file`, only the defaults, the environment and `sets` count.
///
/// Like RabbitMQ, a name without `.conf` is tried with it; and the files `conf.d/*.conf` beside the file are read after
/// it, by name.
pub(crate) fn load(file: Option<&Path>, sets: &[String]) -> Result<(Config, Vec<Warning>)> {
    let mut sources = Vec::new();
    if let Some(file) = file {
        let file = with_extension(file);
        sources.push(read(&file)?);
        for extra in conf_d(&file)? {
            sources.push(read(&extra)?);
        }
    }
    let environment: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    Config::parse(&sources, &environment, sets).map_err(|error| anyhow::anyhow!("{error}"))
}

fn with_extension(file: &Path) -> PathBuf {
    if file.exists() || file.extension().is_some_and(|extension| extension == "conf") {
        return file.to_owned();
    }
    file.with_extension("conf")
}

fn read(file: &Path) -> Result<Source> {
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
