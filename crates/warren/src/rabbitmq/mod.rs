//! This program by the names of RabbitMQ's programs: links to it that are called `rabbitmqctl`, `rabbitmq-server` and so on.
//!
//! ```text
//!  rabbitmqctl, rabbitmq-diagnostics, -plugins, -queues, -streams, -upgrade, rabbitmqadmin ─► warren ctl
//!  rabbitmq-server ─► warren serve, with RabbitMQ's files, variables and user: `server`
//! ```

mod directories;
mod server;
mod user;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Programs that operate a broker.
const OPERATING: &[&str] = &[
    "rabbitmqctl",
    "rabbitmq-diagnostics",
    "rabbitmq-plugins",
    "rabbitmq-queues",
    "rabbitmq-streams",
    "rabbitmq-upgrade",
    "rabbitmqadmin",
];

/// Does what the program of RabbitMQ's does by whose name this one was started; nothing if it was by none.
pub(crate) fn run() -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let name = words.next()?;
    let name = Path::new(&name).file_name()?.to_str()?.to_owned();
    let words: Vec<OsString> = words.collect();
    if OPERATING.contains(&name.as_str()) {
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        return Some(ExitCode::from(ctl::main_as(&name, &words, &crate::directories::obey)));
    }
    (name == "rabbitmq-server").then(|| crate::ended(server::run(&words)))
}
