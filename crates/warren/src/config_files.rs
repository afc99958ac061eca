//! Which configuration files there are: the one that was named, its `conf.d`, and what is in Erlang's terms.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use model::config::{Config, Source, Warning};
use preflight::ErlangSettings;

use crate::environment::Environment;

/// Names the file where the command line does not. As all of RabbitMQ's variables, it counts as unset when it is empty.
const FILE: &str = "RABBITMQ_CONFIG_FILE";
/// Names the directory that is read in place of `conf.d`.
const DIRECTORY: &str = "RABBITMQ_CONFIG_FILES";
/// Names the file that is read in place of `advanced.config`.
const ADVANCED: &str = "RABBITMQ_ADVANCED_CONFIG_FILE";
/// Arguments of Erlang's command line, which may set applications.
const ARGUMENTS: &[&str] = &["RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "RABBITMQ_SERVER_START_ARGS"];

/// Where the files of a configuration are. What is not there is not read, unless it was named.
#[derive(Debug, Default)]
pub(crate) struct Locations {
    /// The file itself.
    pub(crate) main: Option<PathBuf>,
    /// The directory whose files `*.conf` are read after it.
    pub(crate) conf_d: Option<PathBuf>,
    /// A file in Erlang's terms, which is read last.
    pub(crate) advanced: Option<PathBuf>,
}

impl Locations {
    /// What stands beside a file, unless variables name something else. Where no file is named, variables alone count.
    pub(crate) fn beside(file: Option<&Path>, environment: &Environment) -> Locations {
        let variable = |name| environment.get(name).map(PathBuf::from);
        let main = file.map(Path::to_owned).or_else(|| variable(FILE));
        let dir = main.as_deref().map(|main| main.parent().unwrap_or(Path::new(".")).to_owned());
        let conf_d = variable(DIRECTORY).map(|named| match named.file_name() {
            // A pattern of names, as RabbitMQ takes it.
            Some(name) if name.to_string_lossy().contains('*') => named.parent().unwrap_or(Path::new(".")).to_owned(),
            _ => named,
        });
        Locations {
            main: main.map(find),
            conf_d: conf_d.or_else(|| dir.as_ref().map(|dir| dir.join("conf.d"))),
            advanced: variable(ADVANCED)
                .map(with_extension_where_needed)
                .or_else(|| dir.as_ref().map(|dir| dir.join("advanced.config")).filter(|file| file.exists())),
        }
    }
}

/// Reads the configuration of a file, or of the variable that names one. Where neither does, only the defaults, the environment and
/// `sets` count.
pub(crate) fn load(file: Option<&Path>, sets: &[String]) -> Result<(Config, Vec<String>)> {
    let environment = Environment::of_process(None)?;
    parse(&Locations::beside(file, &environment), &environment, sets)
}

/// Reads the configuration: what it comes to, and what there is to say of it.
pub(crate) fn parse(
    locations: &Locations,
    environment: &Environment,
    sets: &[String],
) -> Result<(Config, Vec<String>)> {
    let mut files = Files::default();
    if let Some(main) = &locations.main {
        files.add(main)?;
    }
    if let Some(dir) = &locations.conf_d {
        for file in listed(dir)? {
            files.add(&file)?;
        }
    }
    if let Some(advanced) = &locations.advanced {
        files.add_terms(&read(advanced)?)?;
    }
    let mut said: Vec<String> = environment.remarks().to_vec();
    for variable in ARGUMENTS {
        let Some(text) = environment.get(variable) else { continue };
        let (terms, flags) = preflight::terms_of_arguments(text);
        files.add_terms(&Source { name: (*variable).to_owned(), text: terms })?;
        if !flags.is_empty() {
            said.push(format!("{variable}: {} have no effect: Warren does not run on Erlang", flags.join(", ")));
        }
    }
    let origin = |origin| files.terms.iter().fold(origin, |origin, terms| terms.origin(origin));
    let (config, warnings) = match Config::parse(&files.sources, environment.variables(), sets) {
        Ok(parsed) => parsed,
        Err(error) => return Err(anyhow::anyhow!("{}", error.relabelled(origin))),
    };
    for terms in &files.terms {
        said.extend(terms.remarks().iter().map(ToString::to_string));
    }
    let place = |Warning(mut remark): Warning| {
        remark.origin = origin(remark.origin);
        remark.to_string()
    };
    said.extend(warnings.into_iter().map(place));
    Ok((config, said))
}

/// Files in the order in which they count.
#[derive(Default)]
struct Files {
    sources: Vec<Source>,
    /// Those of them that are in Erlang's terms.
    terms: Vec<ErlangSettings>,
}

impl Files {
    fn add(&mut self, file: &Path) -> Result<()> {
        let source = read(file)?;
        if file.extension().is_some_and(|extension| extension == "config") || is_in_terms(&source.text) {
            return self.add_terms(&source);
        }
        self.sources.push(source);
        Ok(())
    }

    fn add_terms(&mut self, source: &Source) -> Result<()> {
        let terms = ErlangSettings::read(&source.name, &source.text)?;
        self.sources.push(terms.source());
        self.terms.push(terms);
        Ok(())
    }
}

/// Whether a text begins as Erlang's terms do, and no file of keys can.
fn is_in_terms(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with(['[', '%'])
}

/// All variables of the environment that are text.
pub(crate) fn environment() -> Vec<(String, String)> {
    std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?))).collect()
}

/// Like RabbitMQ, if there is no such file its name with `.conf` is tried, and then with `.config`.
fn find(file: PathBuf) -> PathBuf {
    if file.exists() {
        return file;
    }
    let others = [".conf", ".config"].map(|extension| with(&file, extension));
    others.into_iter().find(|other| other.exists()).unwrap_or(file)
}

/// As RabbitMQ, which adds `.config` where it is missing.
fn with_extension_where_needed(file: PathBuf) -> PathBuf {
    let other = with(&file, ".config");
    if !file.exists() && other.exists() { other } else { file }
}

fn with(file: &Path, extension: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(extension);
    PathBuf::from(name)
}

/// One file.
pub(crate) fn read(file: &Path) -> Result<Source> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read the configuration {}", file.display()))?;
    Ok(Source { name: file.display().to_string(), text })
}

fn listed(dir: &Path) -> Result<Vec<PathBuf>> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "conf"))
        .collect();
    files.sort();
    Ok(files)
}
