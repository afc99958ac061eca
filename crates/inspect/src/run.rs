//! Runs a command to its end, and says how it ended.

use std::future::Future;
use std::io::{self, Write as _};

use terminal::Interrupt;

use crate::failure::Failure;

/// What a command came to.
pub trait Outcome {
    /// The exit status.
    fn status(self) -> u8;
}

impl Outcome for () {
    fn status(self) -> u8 {
        0
    }
}

impl Outcome for u8 {
    fn status(self) -> u8 {
        self
    }
}

/// Runs what a command does. Returns the exit status: that of its outcome, 1 failed, 2 bad usage. Ctrl-C and SIGTERM end what is running,
/// which is no failure; nor is it one that what reads the output has had enough.
pub fn main<T: Outcome>(command: impl Future<Output = Result<T, Failure>>) -> u8 {
    main_with(async |mut interrupt| {
        tokio::select! {
            result = command => result.map(Outcome::status),
            () = interrupt.come() => Ok(0),
        }
    })
}

/// The same for a command that has something to do when Ctrl-C or SIGTERM comes, and then ends itself.
pub fn main_with<T: Outcome>(command: impl AsyncFnOnce(Interrupt) -> Result<T, Failure>) -> u8 {
    let done = terminal::run(async {
        let interrupt = Interrupt::listen()?;
        Ok::<_, io::Error>(command(interrupt).await.map(Outcome::status))
    });
    let cannot_start = |error: io::Error| Err(Failure::failed(format!("cannot start: {error}")));
    let result = done.and_then(|done| done).unwrap_or_else(cannot_start);
    match result {
        Ok(status) => status,
        Err(failure) if failure.status == 0 => 0,
        Err(failure) => told(&failure),
    }
}

fn told(failure: &Failure) -> u8 {
    remark(&format!("Error: {}", failure.text));
    failure.status
}

/// Says something beside what is printed.
pub(crate) fn remark(text: &str) {
    eprintln!("{}", human::printable(text));
}

/// Prints a line at once, whatever reads it.
pub(crate) fn print_line(line: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", human::printable(line)).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::unread(),
        _ => Failure::failed(format!("cannot print: {error}")),
    })
}
