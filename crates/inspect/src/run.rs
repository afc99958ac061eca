//! Runs a command to its end, and says how it ended.

use std::future::Future;
use std::io::Write as _;

use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// Runs what a command does. Returns the exit status: 0 done, 1 failed, 2 bad usage. Ctrl-C and SIGTERM end what goes on, which is no
/// failure.
pub fn main(command: impl Future<Output = Result<(), Failure>>) -> u8 {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return told(&Failure::failed(format!("cannot start: {error}"))),
    };
    let result = runtime.block_on(async {
        let (mut interrupt, mut termination) = match (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        {
            (Ok(interrupt), Ok(termination)) => (interrupt, termination),
            (Err(error), _) | (_, Err(error)) => return Err(Failure::failed(format!("cannot start: {error}"))),
        };
        tokio::select! {
            result = command => result,
            _ = interrupt.recv() => Ok(()),
            _ = termination.recv() => Ok(()),
        }
    });
    match result {
        Ok(()) => 0,
        Err(failure) => told(&failure),
    }
}

fn told(failure: &Failure) -> u8 {
    eprintln!("Error: {}", failure.text);
    failure.status
}

/// Prints a line at once, whatever reads it.
pub(crate) fn print_line(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::failed(format!("cannot print: {error}")))
}
