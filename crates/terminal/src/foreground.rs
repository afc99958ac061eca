//! What a command in the foreground begins and ends with: its runtime, the signals that end it, and what it complains about.

use std::future::Future;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::watch;

use crate::stop_signals::StopSignals;

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

/// Ctrl-C and SIGTERM: the first ends what is running, the second the program.
#[derive(Clone, Debug)]
pub struct Interrupt {
    has_come: watch::Receiver<bool>,
    /// The exit status that the signal asks for; 0: none has come.
    status: Arc<AtomicU8>,
}

impl Interrupt {
    /// Listens from now on. To be called within a runtime.
    ///
    /// # Errors
    ///
    /// The system does not let this process listen.
    pub fn listen() -> io::Result<Self> {
        let mut signals = StopSignals::listen()?;
        let (sender, has_come) = watch::channel(false);
        let interrupt = Interrupt { has_come, status: Arc::default() };
        let status = interrupt.status.clone();
        tokio::spawn(async move {
            loop {
                let signal = signals.next().await;
                if status.swap(signal.status(), Ordering::Relaxed) != 0 {
                    std::process::exit(i32::from(signal.status()));
                }
                sender.send_replace(true);
            }
        });
        Ok(interrupt)
    }

    /// Turns true when a signal has come.
    #[must_use]
    pub fn receiver(&self) -> watch::Receiver<bool> {
        self.has_come.clone()
    }

    /// The exit status that shells give to a program that the signal has ended; none where none has come.
    #[must_use]
    pub fn status(&self) -> Option<u8> {
        Some(self.status.load(Ordering::Relaxed)).filter(|status| *status != 0)
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
        if self.has_come.wait_for(|is_interrupted| *is_interrupted).await.is_err() {
            // No more signals can come.
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
        let mut interrupt = Interrupt { has_come: receiver, status: Arc::default() };
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
