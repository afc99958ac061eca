//! All of it together: what was remembered, the steps, what is reported of them, and the exit status.
//!
//! Exit status: 0 done; 1 it cannot continue; 2 bad usage; 3 interrupted, or out of time; 4 counts are not right.

use std::time::Duration;

use serde_json::json;
use terminal::Interrupt;
use tokio::time::Instant;

use crate::arguments::{Arguments, Settings};
use crate::facts::Facts;
use crate::failure::Failure;
use crate::journal::{Journal, Step};
use crate::link::PREFIX;
use crate::machine::{Action, End, Machine, Wishes};
use crate::preparation::Brought;
use crate::report::{self, Reporter};
use crate::shell::Shell;
use crate::state_file::StateFile;
use crate::{definitions, rehearsal};

const EXIT_FAILED: u8 = 1;
const EXIT_USAGE: u8 = 2;
const EXIT_UNFINISHED: u8 = 3;
const EXIT_FEWER: u8 = 4;

/// From one look to the next.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How often the journal is written where nothing but numbers has changed.
const WRITE_INTERVAL: Duration = Duration::from_secs(5);

/// Migrates as asked for. Returns the exit status.
#[must_use]
pub fn main(arguments: &Arguments) -> u8 {
    let settings = match arguments.settings() {
        Ok(settings) => settings,
        Err(text) => {
            complain(&text);
            return EXIT_USAGE;
        }
    };
    let done = terminal::run(run(settings));
    match done.unwrap_or_else(|error| Err(Failure::stopped(format!("cannot start: {error}")))) {
        Ok(status) => status,
        Err(Failure::Unread) => 0,
        Err(Failure::Interrupted) => {
            complain("interrupted: running shovels continue; run the command again to continue");
            EXIT_UNFINISHED
        }
        Err(Failure::Away(text) | Failure::Stopped(text)) => {
            complain(&text);
            EXIT_FAILED
        }
    }
}

async fn run(settings: Settings) -> Result<u8, Failure> {
    let mut interrupt =
        Interrupt::listen().map_err(|error| Failure::stopped(format!("cannot listen for signals: {error}")))?;
    let timeout = settings.timeout;
    let working = async {
        match settings.rehearsal {
            Some(kind) => rehearsal::rehearse(settings, kind).await.map(|()| 0),
            None => Box::pin(migrate(settings)).await,
        }
    };
    tokio::select! {
        status = working => status,
        () = interrupt.come() => Err(Failure::Interrupted),
        () = out_of_time(timeout) => {
            complain("out of time: running shovels continue; run the command again to continue");
            Ok(EXIT_UNFINISHED)
        }
    }
}

async fn out_of_time(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}

fn complain(text: &str) {
    terminal::complain("migrate", text);
}

/// The journal to continue with: what was remembered, or a new beginning.
pub(crate) fn journal(settings: &Settings, remembered: Option<Journal>) -> Result<Journal, Failure> {
    let (old, new) = (settings.old.shown(), settings.new.shown());
    match remembered {
        Some(journal) if !settings.is_again && journal.direction == settings.direction => {
            if (&journal.old, &journal.new) != (&old, &new) {
                let (file, between) = (settings.state.display(), format!("from {} to {}", journal.old, journal.new));
                return Err(Failure::stopped(format!(
                    "{file} belongs to a migration {between}: name another file with --state, or start again with --again"
                )));
            }
            Ok(journal)
        }
        _ => Ok(Journal::new(settings.direction, &old, &new)),
    }
}

async fn migrate(settings: Settings) -> Result<u8, Failure> {
    let (mut file, remembered) = StateFile::open(&settings.state)?;
    let journal = journal(&settings, remembered)?;
    let mut reporter = Reporter::new(settings.format);
    if journal.step == Step::Done {
        reporter.tell(Step::Done, "done", "already done: start again with --again", json!({}))?;
        return Ok(0);
    }
    let mut shell = Shell::new(settings);
    loop {
        match shell.identify().await {
            // Only a migration that has begun waits for a broker: before that the address may be wrong.
            Err(Failure::Away(text)) if journal.step > Step::Check => reporter.away(journal.step, &text)?,
            identified => break identified?,
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
    greet(&shell, &reporter, journal.step)?;
    let wishes = Wishes {
        at_once: shell.settings.at_once,
        cut_over: shell.settings.cut_over,
        until: shell.settings.until,
        accepts: shell.settings.accepts,
        lag_ms: shell.lag_ms(),
    };
    let mut machine = Machine::new(journal, wishes);
    file.write(machine.journal())?;
    let mut written_at = Instant::now();
    while machine.end().is_none() {
        let began = Instant::now();
        let (step, had_counts) = (machine.step(), machine.counts().is_some());
        match round(&mut shell, &mut machine, &mut reporter).await {
            Ok(()) => {}
            Err(Failure::Away(text)) if step > Step::Check => reporter.away(machine.step(), &text)?,
            Err(failure) => {
                file.write(machine.journal())?;
                return Err(failure);
            }
        }
        if let Some(counts) = machine.counts().filter(|_| !had_counts) {
            reporter.counts(machine.journal(), counts)?;
        }
        let is_to_be_saved = file.journal().is_none_or(|saved| machine.is_to_be_saved(saved));
        if is_to_be_saved || written_at.elapsed() >= WRITE_INTERVAL || machine.end().is_some() {
            file.write(machine.journal())?;
            written_at = Instant::now();
        }
        if machine.step() == step && machine.end().is_none() {
            // A look at many queues costs the brokers something: half of the time at most, unless queues wait for a place.
            let is_urgent = machine.waiting_count() > 0;
            tokio::time::sleep(if is_urgent { LOOK_INTERVAL } else { LOOK_INTERVAL.max(began.elapsed()) }).await;
        }
    }
    conclude(&machine, &reporter)
}

fn greet(shell: &Shell, reporter: &Reporter, step: Step) -> Result<(), Failure> {
    let brokers = [&shell.old, &shell.new].map(|broker| format!("{} is {}", broker.named(), broker.product));
    let text = brokers.join(", ");
    reporter.tell(step, "begin", &text, json!({"old": shell.old.product, "new": shell.new.product}))
}

fn conclude(machine: &Machine, reporter: &Reporter) -> Result<u8, Failure> {
    match machine.end() {
        Some(End::Fewer) => {
            let text = "there are fewer messages than before: continue anyway with --accept";
            reporter.tell(Step::Verify, "stopped", text, json!({"reason": text}))?;
            Ok(EXIT_FEWER)
        }
        _ if machine.step() == Step::Done => {
            let destination = machine.journal().direction.destination();
            let text = format!("everything is at the {destination} broker");
            reporter.tell(Step::Done, "done", &text, json!({}))?;
            Ok(0)
        }
        _ => {
            let text = "is the next step: run the command again without --until";
            reporter.tell(machine.step(), "until", text, json!({}))?;
            Ok(0)
        }
    }
}

/// A look, and what follows from it.
async fn round(shell: &mut Shell, machine: &mut Machine, reporter: &mut Reporter) -> Result<(), Failure> {
    let facts = match machine.step() {
        // These ask what they need themselves.
        Step::Check | Step::Definitions => Facts::default(),
        step => shell.look(machine.question(), step).await?,
    };
    let actions = machine.next(&facts);
    reporter.progress(machine, &facts)?;
    for action in actions {
        match act(shell, machine, reporter, &action).await {
            Ok(()) => machine.has_done(&action),
            Err(failure) => {
                machine.has_failed(&action);
                return Err(failure);
            }
        }
    }
    Ok(())
}

async fn act(shell: &mut Shell, machine: &mut Machine, reporter: &Reporter, action: &Action) -> Result<(), Failure> {
    let step = machine.step();
    match action {
        Action::Check => {
            let checked = shell.check().await?;
            for line in checked.lines() {
                reporter.tell(step, "finding", &line, json!({"text": line}))?;
            }
            if checked.is_refused() && !shell.settings.skips_unsupported {
                let text =
                    "some objects are refused, and --skip-unsupported would skip them: warren ctl check shows more";
                return Err(Failure::stopped(text));
            }
        }
        Action::Define => {
            let brought = shell.define().await?;
            tell_brought(reporter, step, &brought)?;
            machine.granted(brought.granted);
        }
        Action::Complete => match shell.complete().await {
            Ok(brought) => {
                if !brought.counts.is_empty() {
                    tell_brought(reporter, step, &brought)?;
                }
                machine.granted(brought.granted);
            }
            // What cannot be brought is held, and reported as a warning.
            Err(Failure::Stopped(text)) => reporter.tell(step, "warning", &text, json!({"text": text}))?,
            Err(failure) => return Err(failure),
        },
        Action::Start(links) => {
            for (link, reason) in shell.start(links).await? {
                reporter.tell(step, "warning", &reason, json!({"text": reason}))?;
                machine.has_not_started(&[link]);
            }
        }
        Action::Stop(shovels) => shell.stop(shovels).await?,
        Action::RemoveWays(ways) => {
            shell.remove_ways(ways).await?;
            let count = ways.iter().map(Vec::len).sum::<usize>() as u64;
            let text = format!("{} {PREFIX}… removed", report::counted(count, "exchange"));
            reporter.tell(step, "removed", &text, json!({"exchanges": count}))?;
        }
        Action::Revoke => {
            let vhosts = machine.journal().granted.clone();
            shell.revoke(&vhosts).await?;
        }
    }
    Ok(())
}

fn tell_brought(reporter: &Reporter, step: Step, brought: &Brought) -> Result<(), Failure> {
    let what = match definitions::enumerated(&brought.counts) {
        counts if counts.is_empty() => "nothing was missing".to_owned(),
        counts => format!("imported {counts}"),
    };
    let value: serde_json::Map<String, serde_json::Value> =
        brought.counts.iter().map(|(list, count)| (list.clone(), json!(count))).collect();
    reporter.tell(step, "imported", &what, json!({"counts": value, "left_out": brought.left_out}))?;
    for entry in &brought.left_out {
        reporter.tell(step, "left-out", &format!("left out: {entry}"), json!({"text": entry}))?;
    }
    Ok(())
}
