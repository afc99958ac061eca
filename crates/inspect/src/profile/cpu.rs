//! `warren profile cpu`: what the processors do.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use profile::{Functions, Profile};
use terminal::Interrupt;
use terminal::table::{Column, row};

use super::files;
use super::output::{self, Form};
use super::sampled::{Sampled, Ticks};
use super::symbols::Symbols;
use crate::api::{Api, path};
use crate::failure::Failure;
use crate::run::{print_line, remark};
use crate::target::Target;

/// Not 100, so that it does not keep step with what happens a hundred times a second.
const RATE_HZ: u32 = 99;
/// Threads and kinds of work that are listed.
const ROW_COUNT_MAX: usize = 12;

#[derive(Debug, clap::Args)]
pub(super) struct Cpu {
    /// The duration in seconds.
    #[arg(short, long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=300))]
    seconds: u32,
    /// The number of samples per second of a thread's CPU time.
    #[arg(long, value_name = "HZ", default_value_t = RATE_HZ, value_parser = clap::value_parser!(u32).range(1..=999))]
    rate: u32,
    /// Write a file instead of a table: .svg a flame graph, .folded or .txt folded stacks, .pb.gz for pprof, .speedscope.json.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The number of functions in the table.
    #[arg(long, value_name = "COUNT", default_value_t = 25)]
    top: usize,
    /// The broker's program, if neither this command nor a file of the running process is of the same build.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

impl Cpu {
    pub(super) async fn run(&self, target: &Target, interrupt: &Interrupt) -> Result<(), Failure> {
        // Before ten seconds have passed for nothing.
        let form = self.output.as_ref().map(|path| Form::of(path)).transpose()?;
        let sampled = sample(target, self.seconds, self.rate, self.binary.as_deref(), Some(interrupt)).await?;
        let profile = &sampled.profile;
        match (form, &self.output) {
            (Some(form), Some(path)) => output::write(path, &form.content(profile, sampled.times_ns))?,
            _ => print_line(table(profile, &sampled.ticks, self.top).trim_end())?,
        }
        profile.notes().iter().for_each(|note| remark(note));
        Ok(())
    }
}

/// A profile that was made.
pub(crate) struct CpuProfile {
    pub(crate) profile: Profile,
    times_ns: (u64, u64),
    ticks: (Ticks, Ticks),
    /// The broker's process, if it is on this machine.
    pub(crate) pid: Option<u64>,
}

/// A profile of so many seconds, as `warren profile cpu` makes it if nothing else is asked for.
pub(crate) async fn sample_briefly(target: &Target, seconds: u32) -> Result<CpuProfile, Failure> {
    sample(target, seconds, RATE_HZ, None, None).await
}

async fn sample(
    target: &Target,
    seconds: u32,
    rate_hz: u32,
    binary: Option<&Path>,
    interrupt: Option<&Interrupt>,
) -> Result<CpuProfile, Failure> {
    const CPU: &str = "/api/profile/cpu";
    let mut api = Api::of(target)?;
    api.allow(Duration::from_secs(u64::from(seconds)));
    let given = [("seconds", Some(seconds.to_string())), ("rate", Some(rate_hz.to_string()))];
    let mut lines = match interrupt {
        Some(interrupt) => api.session(CPU, &given, interrupt).await?,
        None => api.lines(&path(CPU, &given)).await?,
    };
    let mut sampled = Sampled::default();
    let mut files = Vec::new();
    while let Some(line) = lines.next().await? {
        let had_begun = sampled.has_begun();
        sampled.take(&line)?;
        if sampled.has_begun() && !had_begun {
            // A broker whose functions cannot be named is not looked at for nothing.
            files = files::read(&sampled.modules(), sampled.pid(), binary)?;
        }
    }
    let debug_files: Vec<_> = files.iter().map(|file| files::debug_file(file.as_deref()?)).collect();
    let with_debug = files.iter().zip(&debug_files);
    let mut symbols: Vec<_> = with_debug.map(|(file, debug)| Symbols::of(file.as_deref()?, debug.as_deref())).collect();
    Ok(CpuProfile {
        times_ns: sampled.times_ns(),
        ticks: sampled.ticks(),
        pid: files::is_here(&sampled.modules(), sampled.pid()).then(|| sampled.pid()),
        profile: sampled.into_profile(&mut symbols),
    })
}

/// The busiest threads, kinds of work and functions.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn table(profile: &Profile, (by_thread, by_work): &(Ticks, Ticks), count: usize) -> String {
    let total = profile.total();
    let seconds = profile.unit().nanoseconds(total).unwrap_or_default() as f64 / 1e9;
    let mut text = format!("{}: {total} samples, {seconds:.2} s of processor time\n\n", profile.title());
    let share = |ticks: u64| ticks as f64 / total.max(1) as f64 * 100.0;
    const COLUMNS: [Column; 2] = [Column::left(28), Column::left(0)];
    let _ = writeln!(text, "{}", row(&COLUMNS, &["by thread", "by kind of work"]));
    for at in 0..by_thread.len().max(by_work.len()).min(ROW_COUNT_MAX) {
        let cell = |ticks: &Ticks| {
            ticks.get(at).map(|(name, ticks)| format!("{:>6.1}%  {name}", share(*ticks))).unwrap_or_default()
        };
        let _ = writeln!(text, "{}", row(&COLUMNS, &[cell(by_thread), cell(by_work)]));
    }
    let _ = write!(text, "\n{}", Functions::of(profile).table(count));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_threads_work_and_functions() {
        let mut profile = Profile::from_folded(
            "CPU profile of a, 1.0 s at 100 Hz",
            "w_[t];journal_[l];main;sync 3\nx_[t];other_[l];main 1",
        )
        .unwrap();
        profile.note("unseen");
        let ticks =
            |names: &[(&str, u64)]| names.iter().map(|(name, ticks)| ((*name).to_owned(), *ticks)).collect::<Ticks>();
        let text = table(&profile, &(ticks(&[("w", 3), ("x", 1)]), ticks(&[("journal", 4)])), 9);
        assert_eq!(
            text,
            "CPU profile of a, 1.0 s at 100 Hz: 4 samples, 0.00 s of processor time\n\n\
             by thread                     by kind of work\n\
             \x20 75.0%  w                     100.0%  journal\n\
             \x20 25.0%  x\n\n\
             \x20            ACC              OWN  function\n\
             \x20       3  75.0%         3  75.0%  sync\n\
             \x20       4 100.0%         1  25.0%  main\n"
        );
    }
}
