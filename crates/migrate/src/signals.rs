//! Ctrl-C and SIGTERM: the first ends the waiting, the second the program.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Becomes true with the first signal. To be called within a runtime.
pub(crate) fn listen() -> io::Result<watch::Receiver<bool>> {
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
    Ok(interrupt)
}
