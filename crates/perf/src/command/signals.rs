//! Ctrl-C and its relatives: the first ends the run, the second the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::engine::Interrupt;

/// Which signal came, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct SignalFlag(Arc<AtomicU8>);

impl SignalFlag {
    /// The exit status that shells give to a program that a signal has ended.
    pub(crate) fn status(&self) -> Option<u8> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            number => Some(128 + number),
        }
    }
}

/// Listens for signals. To be called within a runtime.
pub(crate) fn listen() -> std::io::Result<(Interrupt, SignalFlag)> {
    let (sender, interrupt) = watch::channel(false);
    let signalled = SignalFlag::default();
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut terminations = signal(SignalKind::terminate())?;
    let seen = signalled.clone();
    tokio::spawn(async move {
        loop {
            let number = tokio::select! {
                _ = interrupts.recv() => 2,
                _ = terminations.recv() => 15,
            };
            if seen.0.swap(number, Ordering::Relaxed) != 0 {
                std::process::exit(128 + i32::from(number));
            }
            sender.send_replace(true);
        }
    });
    Ok((interrupt, signalled))
}
