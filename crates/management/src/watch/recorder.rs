//! The flight recorder: switched on and off, and saved into files when something happens that it is for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use broker::view::Alarms;
use parking_lot::Mutex;
use telemetry::trace::{SlowCall, recorder};

use super::{Watched, perfetto};
use crate::options::FlightRecorderOptions;

/// Below the data directory.
const DIR_NAME: &str = "flight-recordings";
const FILE_ENDING: &str = ".json";
/// How often it is looked whether there is a reason to save.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// Two recordings that the recorder saves without being asked are at least so far apart: what one has, the next would have again.
const SAVE_INTERVAL: Duration = Duration::from_secs(10);

/// The flight recorder of a node.
pub(crate) struct FlightRecorder {
    dir: PathBuf,
    node: String,
    pub(crate) file_count_max: usize,
    /// Bytes of all files together.
    pub(crate) total_len_max: u64,
    /// Whether requests of a point may take long.
    may_last: fn(&str) -> bool,
}

/// One file is written at a time.
static SAVING: Mutex<()> = Mutex::new(());
/// There is one recorder in a process, and one task that looks after it, whichever service has started it.
static IS_LOOKING: AtomicBool = AtomicBool::new(false);

/// A recording in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SavedRecording {
    /// The name of its file, which says when and why.
    pub(crate) name: String,
    pub(crate) len: u64,
}

impl FlightRecorder {
    /// A recorder that saves below a data directory, and keeps so many files.
    pub(crate) fn new(
        data_dir: &Path,
        node: &str,
        options: &FlightRecorderOptions,
        may_last: fn(&str) -> bool,
    ) -> FlightRecorder {
        let FlightRecorderOptions { file_count_max, total_len_max, .. } = *options;
        FlightRecorder { dir: data_dir.join(DIR_NAME), node: node.to_owned(), file_count_max, total_len_max, may_last }
    }

    /// Starts recording. Calls that take as long as this are a reason to save. To be called within a runtime.
    pub(crate) fn start(self: &Arc<Self>, watched: &Watched, slow: Duration) {
        recorder().start(slow);
        if !IS_LOOKING.swap(true, Ordering::AcqRel) {
            tokio::spawn(look(self.clone(), watched.later_alarms()));
        }
    }

    /// The recordings that are there, the oldest first.
    pub(crate) fn saved(&self) -> Vec<SavedRecording> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut saved: Vec<SavedRecording> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok().filter(|name| name.ends_with(FILE_ENDING))?;
                Some(SavedRecording { name, len: entry.metadata().ok()?.len() })
            })
            .collect();
        saved.sort_by(|one, other| one.name.cmp(&other.name));
        saved
    }

    /// The contents of one.
    pub(crate) fn read(&self, name: &str) -> Option<Vec<u8>> {
        // Only what is listed: a name cannot lead out of the directory.
        self.saved().iter().any(|saved| saved.name == name).then(|| fs::read(self.dir.join(name)).ok())?
    }

    /// The recording so far, as Perfetto reads it. None: it does not run.
    pub(crate) fn recording(&self) -> Option<Vec<u8>> {
        recorder().recording().map(|recording| perfetto(&recording, &self.node))
    }

    /// Saves the recording so far, for a reason that becomes part of the name. None: it does not run. It may take a while: not for a
    /// runtime's thread.
    pub(crate) fn save(&self, reason: &str) -> io::Result<Option<String>> {
        let _turn = SAVING.lock();
        let Some(json) = self.recording() else { return Ok(None) };
        fs::create_dir_all(&self.dir)?;
        let at = humantime::format_rfc3339_millis(SystemTime::now()).to_string().replace(':', "-");
        let name = format!("{at}-{reason}{FILE_ENDING}");
        // Whole, or not there: a reader never finds a part.
        let partial = self.dir.join("recording.partial");
        fs::write(&partial, json)?;
        fs::rename(&partial, self.dir.join(&name))?;
        self.keep_within()?;
        Ok(Some(name))
    }

    /// Deletes the oldest files, until those that are left are no more, and together no longer, than they may be. The newest stays: it is
    /// what has just been asked for.
    fn keep_within(&self) -> io::Result<()> {
        let saved = self.saved();
        let (mut count, mut len) = (saved.len(), saved.iter().map(|saved| saved.len).sum::<u64>());
        for old in saved.iter().take(saved.len().saturating_sub(1)) {
            if count <= self.file_count_max && len <= self.total_len_max {
                break;
            }
            fs::remove_file(self.dir.join(&old.name))?;
            (count, len) = (count - 1, len - old.len);
        }
        Ok(())
    }

    /// Saves on a thread of its own, and says in the log where.
    fn save_later(self: &Arc<Self>, reason: &'static str, slow: Option<SlowCall>) {
        let own = self.clone();
        let save = move || match own.save(reason) {
            Ok(Some(name)) => match slow {
                Some(SlowCall { name: call, duration }) => {
                    tracing::warn!(file = %name, %call, ?duration, "flight recording saved after a slow request");
                }
                None => tracing::warn!(file = %name, %reason, "flight recording saved"),
            },
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, %reason, "saving the flight recording failed"),
        };
        if let Err(error) = std::thread::Builder::new().name("flight recorder".to_owned()).spawn(save) {
            tracing::warn!(%error, "saving the flight recording failed");
        }
    }
}

/// Looks for reasons to save, as long as the recorder runs and there are alarms to look at.
async fn look(own: Arc<FlightRecorder>, alarms: impl Fn() -> Option<Alarms>) {
    let mut had_alarm = false;
    let mut saved_at: Option<tokio::time::Instant> = None;
    while recorder().is_running() {
        let Some(alarms) = alarms() else { break };
        let has_alarm = alarms.is_any_on();
        let slow = recorder().take_slow().filter(|slow| !(own.may_last)(slow.name));
        let reason = if has_alarm && !had_alarm { Some("alarm") } else { slow.as_ref().map(|_| "slow-request") };
        had_alarm = has_alarm;
        if let Some(reason) = reason
            && saved_at.is_none_or(|at| at.elapsed() >= SAVE_INTERVAL)
        {
            saved_at = Some(tokio::time::Instant::now());
            own.save_later(reason, slow);
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
    IS_LOOKING.store(false, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of files of these lengths, the oldest first.
    #[track_caller]
    fn check(file_count_max: usize, total_len_max: u64, lens: &[usize], left: &[u64]) {
        let scratch = std::env::temp_dir().join(format!("warren-recordings-{}", std::process::id()));
        let _ = fs::remove_dir_all(&scratch);
        let options = FlightRecorderOptions { file_count_max, total_len_max, ..FlightRecorderOptions::default() };
        let recorder = FlightRecorder::new(&scratch, "n", &options, |_| false);
        fs::create_dir_all(&recorder.dir).unwrap();
        for (number, len) in lens.iter().enumerate() {
            fs::write(recorder.dir.join(format!("2026-{number}{FILE_ENDING}")), vec![b' '; *len]).unwrap();
        }
        recorder.keep_within().unwrap();
        let found: Vec<u64> = recorder.saved().iter().map(|saved| saved.len).collect();
        let _ = fs::remove_dir_all(&scratch);
        assert_eq!(found, left);
    }

    #[test]
    fn the_oldest_recordings_go_where_all_are_too_many_or_too_long() {
        check(8, 100, &[10, 20, 30], &[10, 20, 30]);
        check(2, 100, &[10, 20, 30], &[20, 30]);
        check(8, 50, &[10, 20, 30], &[20, 30]);
        check(8, 49, &[10, 20, 30], &[30]);
        check(8, 5, &[10, 20, 30], &[30]);
        check(8, 5, &[], &[]);
    }
}
