//! What a command in the foreground begins and ends with: its runtime, Ctrl-C, and what it complains about.

use std::future::Future;
use std::io::{self, Write as _};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Runs a command to its end, on this thread. What it has begun and does not wait for, such as a name that is looked up, ends with it.
///
/// # Errors
///
/// The runtime cannot start.
pub fn run<T>(command: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(command);
    runtime.shutdown_background();
    Ok(outcome)
}

/// Ctrl-C and SIGTERM: the first ends what goes on, the second the program.
#[derive(Clone, Debug)]
pub struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Listens from now on. To be called within a runtime.
    ///
    /// # Errors
    ///
    /// The system does not let this process listen.
    pub fn listen() -> io::Result<Self> {
        let (sender, interrupt) = watch::channel(false);
        let mut interrupts = signal(SignalKind::interrupt())?;
        let mut terminations = signal(SignalKind::terminate())?;
        tokio::spawn(async move {
            loop {
                let number = tokio::select! {
                    _ = interrupts.recv() => 2,
                    _ = terminations.recv() => 15,
                };
                if sender.send_replace(true) {
                    std::process::exit(128 + number);
                }
            }
        });
        Ok(Interrupt(interrupt))
    }

    /// What work gives; the default, where an interrupt ends it.
    ///
    /// # Errors
    ///
    /// Those of the work.
    pub async fn or<T: Default, E>(&mut self, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        tokio::select! {
            result = work => result,
            () = self.come() => Ok(T::default()),
        }
    }

    /// Waits until one has come.
    pub async fn come(&mut self) {
        if self.0.wait_for(|is_interrupted| *is_interrupted).await.is_err() {
            // No signal can come any more.
            std::future::pending::<()>().await;
        }
    }
}

/// Says on standard error what is wrong, as the command `warren …`. The text may be another program's.
pub fn complain(command: &str, text: &str) {
    let _ = writeln!(io::stderr().lock(), "warren {command}: {}", human::printable(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_stays_come() {
        let (sender, receiver) = watch::channel(false);
        let mut interrupt = Interrupt(receiver);
        let waits = run(async {
            tokio::select! {
                biased;
                () = interrupt.come() => false,
                () = std::future::ready(()) => true,
            }
        });
        assert!(waits.unwrap());
        sender.send_replace(true);
        run(async {
            interrupt.come().await;
            interrupt.come().await;
        })
        .unwrap();
    }
}
