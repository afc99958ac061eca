//! The signals that ask a program to end.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that asks a program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl StopSignal {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StopSignal::Interrupt => "SIGINT",
            StopSignal::Terminate => "SIGTERM",
        }
    }

    /// The exit status that shells give to a program that the signal has ended.
    #[must_use]
    pub fn status(self) -> u8 {
        match self {
            StopSignal::Interrupt => 128 + 2,
            StopSignal::Terminate => 128 + 15,
        }
    }
}

/// SIGINT and SIGTERM, as they come.
#[derive(Debug)]
pub struct StopSignals {
    interrupts: Signal,
    terminations: Signal,
}

impl StopSignals {
    /// Listens: from here on neither signal alone ends the process. To be called within a runtime.
    ///
    /// # Errors
    ///
    /// The system does not let this process listen.
    pub fn listen() -> io::Result<Self> {
        let (interrupts, terminations) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(StopSignals { interrupts, terminations })
    }

    /// Waits for the next one. One that comes while nothing waits is kept.
    pub async fn next(&mut self) -> StopSignal {
        tokio::select! {
            _ = self.interrupts.recv() => StopSignal::Interrupt,
            _ = self.terminations.recv() => StopSignal::Terminate,
        }
    }
}
