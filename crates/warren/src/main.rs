//! `warren`: the one binary. The command line, and what puts the crates together.
//!
//! Exit status: 0 done, 1 failed, 2 bad usage.

mod acceptor;
mod audit;
mod backends;
mod banner;
mod bind;
mod broker_options;
#[cfg(test)]
mod captured_log;
mod cluster;
mod config_files;
mod connection_limiter;
mod definitions;
mod directories;
mod environment;
mod fsck;
mod http_listeners;
mod http_sites;
mod listener_summary;
mod listeners;
mod log_fields;
mod log_json;
mod logging;
mod machine;
mod node;
mod proxy;
#[cfg(test)]
mod published_configurations;
mod rabbitmq;
mod serve;
mod service_manager;
mod signals;
mod tls;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A RabbitMQ-compatible message broker.
#[derive(Debug, Parser)]
#[command(name = "warren", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the broker.
    Serve(ServeArgs),
    /// Check a stopped broker's files.
    Fsck(FsckArgs),
    /// Run a proxy in front of brokers that pools connections of short-lived clients.
    #[command(disable_help_flag = true)]
    Proxy {
        /// Options, see `warren proxy --help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Put load on a broker and measure its performance: PerfTest's options, workloads, reports.
    #[command(disable_help_flag = true)]
    Perf {
        /// Options, see `warren perf --help` and `warren perf help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Find out whether the network or the broker is slow: measure each part of AMQP round trips.
    Ping(Box<ping::Arguments>),
    /// Calculate the network, disk, memory and processors that a workload needs, and show the arithmetic.
    #[command(disable_help_flag = true)]
    Plan {
        /// Options, see `warren plan --help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Move everything from RabbitMQ to Warren, or back, while both serve clients: definitions, then messages, queue by queue.
    Migrate(Box<migrate::Arguments>),
    /// Show what a running broker does, live: calls of its functions, with their arguments, results and durations.
    Trace(Box<inspect::trace::Arguments>),
    /// Show what a running broker spends its time on.
    Profile(Box<inspect::profile::Arguments>),
    /// Report the problems of a running broker, and store all data behind the findings in one archive.
    Diagnose(Box<inspect::diagnose::Arguments>),
    /// Show what keeps a running broker busy: queues, connections, channels, vhosts or users.
    Top(Box<inspect::top::Arguments>),
    /// Operate a broker over its HTTP API, with the commands of rabbitmqctl and rabbitmqadmin.
    #[command(disable_help_flag = true)]
    Ctl {
        /// Options, see `warren ctl help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

/// Options of `warren serve`.
#[derive(Debug, clap::Args)]
struct ServeArgs {
    /// Configuration file in rabbitmq.conf's format; files in a directory conf.d beside it, and advanced.config, are read after it.
    /// Without this option, the file that the environment variable RABBITMQ_CONFIG_FILE names.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The broker's data directory.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Set a configuration key; takes precedence over the file. May be given more than once.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

/// Options of `warren fsck`.
#[derive(Debug, clap::Args)]
struct FsckArgs {
    /// Configuration file that names the data directory; RABBITMQ_CONFIG_FILE without this option.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data directory.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Repair damaged files if nothing is lost by the repair; otherwise report what would be lost, and change nothing. Copy the directory
    /// first: damaged segments and checkpoints are moved to `quarantine`, but damaged files of the journal, the manifest and `format` are
    /// rewritten in place.
    #[arg(long)]
    repair: bool,
    /// Repair damaged files even if data is lost: the data that `--repair` alone has listed.
    #[arg(long, requires = "repair")]
    accept_loss: bool,
}

fn main() -> ExitCode {
    if let Some(code) = rabbitmq::run() {
        return code;
    }
    let cli = Cli::parse();
    machine::use_small_pages();
    let result = match cli.command {
        Command::Serve(args) => {
            machine::purge_memory_soon();
            serve::serve(&args)
        }
        Command::Fsck(args) => fsck::fsck(&args),
        Command::Proxy { words } => return proxy::main(&words),
        Command::Perf { words } => return ExitCode::from(perf::command::main(&words)),
        Command::Ping(arguments) => return ExitCode::from(ping::main(&arguments)),
        Command::Plan { words } => return ExitCode::from(plan::command::main(&words)),
        Command::Migrate(arguments) => return ExitCode::from(migrate::main(&arguments)),
        Command::Trace(arguments) => {
            return ExitCode::from(inspect::main_with(async |interrupt| arguments.run(interrupt).await));
        }
        Command::Diagnose(arguments) => return ExitCode::from(inspect::main(arguments.run())),
        Command::Profile(arguments) => {
            return ExitCode::from(inspect::main_with(async |interrupt| arguments.run(interrupt).await));
        }
        Command::Top(arguments) => return ExitCode::from(inspect::main(arguments.run())),
        Command::Ctl { words } => return ExitCode::from(ctl::main(&words, &directories::obey)),
    };
    ended(result)
}

/// The exit status of what was done, with the reason why not.
fn ended(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("warren: {}", in_one_line(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error and what caused it. A cause that the error before has named already is left out. It may be about what is in a file: a
/// terminal is to show that, not to obey.
fn in_one_line(error: &anyhow::Error) -> String {
    let line =
        error.chain().map(ToString::to_string).fold(String::new(), |sentence, cause| match sentence.is_empty() {
            true => cause,
            false if sentence.ends_with(&cause) => sentence,
            false => format!("{sentence}: {cause}"),
        });
    human::printable(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn an_error_commands_no_terminal() {
        let error = anyhow::anyhow!("unknown key '\u{1b}[2J'").context("cannot read rabbitmq.conf");
        assert_eq!(in_one_line(&error), "cannot read rabbitmq.conf: unknown key '\\u001b[2J'");
    }

    #[test]
    fn shells_complete_every_command() {
        let mut command = Cli::command();
        command.build();
        let mut names: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        names.sort_unstable();
        assert_eq!(names, ctl::PROGRAM_COMMANDS);
    }
}
