//! All of it together: rounds one after the other, what is shown of them, and the exit status.
//!
//! Exit status: 0 measured, and within the budget if there is one; 1 not measured, or over the budget; 2 bad usage.

use std::io::{self, Write as _};
use std::time::Duration;

use terminal::Interrupt;
use tokio::time::Instant;

use crate::arguments::{Arguments, Settings};
use crate::failure::Failure;
use crate::probe::Probe;
use crate::statistics::Statistics;
use crate::{json, text, verdict};

const EXIT_FAILED: u8 = 1;
const EXIT_USAGE: u8 = 2;

/// Pings as asked for. Returns the exit status.
#[must_use]
pub fn main(arguments: &Arguments) -> u8 {
    let settings = match arguments.settings() {
        Ok(settings) => settings,
        Err(text) => {
            complain(&text);
            return EXIT_USAGE;
        }
    };
    let done = terminal::run(run(&settings));
    match done.unwrap_or_else(|error| Err(format!("cannot start: {error}"))) {
        Ok(true) => 0,
        Ok(false) => EXIT_FAILED,
        Err(text) => {
            complain(&text);
            EXIT_FAILED
        }
    }
}

/// Why it ended before its time.
enum Ended {
    /// Nothing reads what is written: a reader that stops, as `head` does, has read enough.
    Unread,
    Failed(String),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Ended::Failed(failure.to_string())
    }
}

/// Returns whether it was measured, within the budget.
async fn run(settings: &Settings) -> Result<bool, String> {
    let mut interrupt = Interrupt::listen().map_err(|error| format!("cannot listen for signals: {error}"))?;
    let mut probe = Probe::new(settings).map_err(|failure| failure.to_string())?;
    let outcome = ping(settings, &mut probe, &mut interrupt).await;
    if let Some(warning) = probe.end().await {
        complain(&warning);
    }
    match outcome {
        Ok(is_good) => Ok(is_good),
        Err(Ended::Unread) => Ok(true),
        Err(Ended::Failed(text)) => Err(text),
    }
}

async fn ping(settings: &Settings, probe: &mut Probe<'_>, interrupt: &mut Interrupt) -> Result<bool, Ended> {
    let subject = tokio::select! {
        subject = probe.connect() => subject?,
        () = interrupt.come() => return Err(Ended::Failed("interrupted before there was a connection".to_owned())),
    };
    let screen = Screen { is_json: settings.is_json };
    screen.put(|| text::begin(&subject), || json::begin(&subject))?;
    let mut statistics = Statistics::new();
    let start = Instant::now();
    let (mut done, mut began) = (0, Duration::ZERO);
    while let Some(next) = settings.schedule.next(done, began, start.elapsed()) {
        tokio::select! {
            () = tokio::time::sleep_until(start + next) => {}
            () = probe.idle() => {}
            () = interrupt.come() => break,
        }
        began = start.elapsed();
        let outcome = tokio::select! {
            outcome = probe.round(done + 1) => outcome,
            () = interrupt.come() => break,
        };
        done += 1;
        match &outcome {
            Ok(times) => statistics.complete(times),
            Err(failure) if statistics.completed() > 0 || failure.is_timeout() => statistics.lose(),
            Err(failure) => return Err(Ended::Failed(failure.to_string())),
        }
        let outcome = outcome.map_err(|failure| failure.to_string());
        screen.put(|| text::round(done, &outcome), || json::round(done, &outcome))?;
    }
    let took = start.elapsed();
    let verdict = verdict::judge(&statistics, settings.budget);
    screen.put(|| text::end(&subject, &statistics, took, &verdict), || json::end(&statistics, took, &verdict))?;
    Ok(statistics.completed() > 0 && verdict.budget.is_none_or(|budget| budget.is_kept))
}

/// Standard output.
struct Screen {
    is_json: bool,
}

impl Screen {
    fn put(&self, text: impl FnOnce() -> String, json: impl FnOnce() -> String) -> Result<(), Ended> {
        let text = if self.is_json { json() } else { text() };
        let mut out = io::stdout().lock();
        let written = out.write_all(human::printable(&text).as_bytes()).and_then(|()| out.flush());
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Ended::Unread,
            _ => Ended::Failed(format!("cannot write: {error}")),
        })
    }
}

fn complain(text: &str) {
    terminal::complain("ping", text);
}
