//! `rabbitmq-server`: the broker with RabbitMQ's files, variables and user. What of them cannot be honoured is said in the first lines of
//! the log.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use preflight::{PluginState, plugin_state};

use super::{directories, user};
use crate::environment::Environment;
use crate::{broker_options, config_files, machine, serve};

/// What was said on the command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    is_detached: bool,
    sets: Vec<String>,
    /// Erlang's, which nothing here stands for.
    ignored: Vec<String>,
}

/// Runs the broker until a signal stops it.
pub(super) fn run(words: &[OsString]) -> Result<()> {
    let arguments = Arguments::parse(words)?;
    if words.iter().any(|word| word == "--version" || word == "-version") {
        return writeln!(io::stdout(), "{}", broker_options::COMPATIBLE_VERSION).context("cannot write the version");
    }
    let mut environment = Environment::of_process(Some(Path::new(directories::ENV_FILE)))?;
    let data_dir = directories::data_dir(&environment);
    user::drop_root(words, &data_dir)?;
    if arguments.is_detached {
        return detach(words);
    }
    machine::use_small_pages();
    machine::purge_memory_soon();
    take_cookie(&mut environment);
    remark(&mut environment, &arguments);
    let locations = directories::locations(&environment);
    let plugins = directories::enabled_plugins(&environment);
    remark_plugins(&mut environment, &plugins);
    let pid_file = environment.get("RABBITMQ_PID_FILE").map(PathBuf::from);
    let base = directories::base(&environment);
    environment.forget(directories::VARIABLES);
    let (config, remarks) = config_files::parse(&locations, &environment, &arguments.sets)?;
    let _pid = PidFile::write(pid_file.unwrap_or_else(|| base.join(format!("{}.pid", machine::node_name(&config)))));
    serve::start(config, remarks, &data_dir)
}

impl Arguments {
    fn parse(words: &[OsString]) -> Result<Arguments> {
        let mut arguments = Arguments::default();
        let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            match word.as_str() {
                "-detached" | "--detached" => arguments.is_detached = true,
                "--set" => match words.next() {
                    Some(set) => arguments.sets.push(set),
                    None => bail!("--set needs KEY=VALUE"),
                },
                _ => arguments.ignored.push(word),
            }
        }
        Ok(arguments)
    }
}

/// The cookie that a file has, unless a variable does.
fn take_cookie(environment: &mut Environment) {
    let file = Path::new(directories::HOME).join(".erlang.cookie");
    if let Ok(text) = fs::read_to_string(file) {
        environment.set_if_missing("RABBITMQ_ERLANG_COOKIE", text.trim().to_owned());
    }
}

fn remark(environment: &mut Environment, arguments: &Arguments) {
    if !arguments.ignored.is_empty() {
        let words = arguments.ignored.join(" ");
        environment.remark(format!("rabbitmq-server: {words} has no effect: Warren does not run on Erlang"));
    }
    if let Some(dir) = directories::left_by_rabbitmq(environment) {
        environment.remark(format!(
            "{}: data of RabbitMQ cannot be read: export its definitions and move its messages while it runs, see warren migrate",
            dir.display()
        ));
    }
}

/// Says which plugins that a file enables are not there.
fn remark_plugins(environment: &mut Environment, file: &Path) {
    let Ok(text) = fs::read_to_string(file) else { return };
    let shown = file.display();
    match preflight::enabled_plugins(&text) {
        Err(reason) => environment.remark(format!("{shown}: {reason}")),
        Ok(names) => {
            for name in names {
                match plugin_state(&name) {
                    PluginState::BuiltIn => {}
                    PluginState::Different(text) => environment.remark(format!("{shown}: {name}: {text}")),
                    PluginState::NotBuilt(text, advice) => {
                        environment.remark(format!("{shown}: {name} is not supported: {text}; {advice}"));
                    }
                    PluginState::Unknown => {
                        environment.remark(format!("{shown}: unknown plugin {name}, and plugins cannot be added"));
                    }
                }
            }
        }
    }
}

/// Starts the broker as a process of its own, which keeps running when this one has ended.
fn detach(words: &[OsString]) -> Result<()> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let words = words.iter().filter(|word| *word != "-detached" && *word != "--detached");
    let mut command = Command::new(program);
    command.arg0("rabbitmq-server").args(words).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().context("cannot start the server process")?;
    Ok(())
}

/// The file that has the process's id for as long as it runs: scripts wait for it.
struct PidFile(Option<PathBuf>);

impl PidFile {
    fn write(path: PathBuf) -> PidFile {
        // A script that waits for it sees that it is not there: no reason to serve no client.
        let _ = path.parent().map(fs::create_dir_all);
        let is_written = fs::write(&path, format!("{}\n", std::process::id())).is_ok();
        PidFile(is_written.then_some(path))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_id_is_in_a_file_as_long_as_it_runs() {
        let path = std::env::temp_dir().join(format!("warren-pid-{}/mnesia/rabbit@a.pid", std::process::id()));
        let file = PidFile::write(path.clone());
        assert_eq!(fs::read_to_string(&path).unwrap().trim(), std::process::id().to_string());
        drop(file);
        assert!(!path.exists());
        fs::remove_dir_all(path.ancestors().nth(2).unwrap()).unwrap();
    }

    #[test]
    fn what_is_erlangs_is_told_apart() {
        let words = ["-detached", "--set", "heartbeat=5", "-noinput"].map(OsString::from);
        let expected =
            Arguments { is_detached: true, sets: vec!["heartbeat=5".to_owned()], ignored: vec!["-noinput".to_owned()] };
        assert_eq!(Arguments::parse(&words).unwrap(), expected);
        assert!(Arguments::parse(&[OsString::from("--set")]).is_err());
    }
}
