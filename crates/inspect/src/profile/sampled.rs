//! What the broker sends of a CPU profile, and the profile that this makes.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use profile::{Cost, Frame, Profile, Unit};
use serde_json::Value;

use super::symbols::Symbols;
use crate::failure::Failure;

/// A frame: a module by its place, and an offset in its file.
type Place = Option<(usize, u64)>;

/// Names with their ticks, the most first.
pub(super) type Ticks = Vec<(String, u64)>;

/// Where stacks belong that have more frames than are kept.
const CUT: &str = "(deeper)";

/// What the broker has sent so far.
#[derive(Debug, Default)]
pub(super) struct Sampled {
    begin: Value,
    end: Value,
    threads: HashMap<u64, String>,
    stacks: HashMap<(u64, String, Vec<Place>, bool), u64>,
}

/// A file whose code the broker runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Module {
    pub(super) path: PathBuf,
    pub(super) build_id: Option<String>,
}

impl Sampled {
    /// Takes one line.
    pub(super) fn take(&mut self, line: &str) -> Result<(), Failure> {
        if line.is_empty() {
            return Ok(());
        }
        let broken = || Failure::failed("the broker sent a line that is not of a profile: is it of this version?");
        let mut line: Value = serde_json::from_str(line).map_err(|_| broken())?;
        if let Some(sample) = line.get("sample") {
            let work = sample["work"].as_str().unwrap_or("other").to_owned();
            let stack = sample["stack"].as_str().and_then(parse_stack).ok_or_else(broken)?;
            let key = (sample["thread"].as_u64().ok_or_else(broken)?, work, stack, sample["cut"] == true);
            *self.stacks.entry(key).or_default() += sample["count"].as_u64().ok_or_else(broken)?;
        } else if let Some(thread) = line.get("thread") {
            let name = thread["name"].as_str().unwrap_or_default().to_owned();
            self.threads.insert(thread["number"].as_u64().ok_or_else(broken)?, name);
        } else if line.get("begin").is_some() {
            self.begin = line["begin"].take();
        } else if line.get("end").is_some() {
            self.end = line["end"].take();
        }
        Ok(())
    }

    /// Whether the broker has said what it is.
    pub(super) fn has_begun(&self) -> bool {
        self.begin.is_object()
    }

    /// Files whose code the broker runs, by their places.
    pub(super) fn modules(&self) -> Vec<Module> {
        let modules = self.begin["modules"].as_array().into_iter().flatten();
        modules
            .map(|module| Module {
                path: module["path"].as_str().unwrap_or_default().into(),
                build_id: module["build_id"].as_str().map(str::to_owned),
            })
            .collect()
    }

    /// The broker's process, if it is on this machine.
    pub(super) fn pid(&self) -> u64 {
        self.begin["pid"].as_u64().unwrap_or_default()
    }

    /// Looks a second.
    fn rate_hz(&self) -> u64 {
        self.begin["rate_hz"].as_u64().unwrap_or(99).max(1)
    }

    /// When it began, and how long it was, in nanoseconds.
    pub(super) fn times_ns(&self) -> (u64, u64) {
        (self.begin["at_ns"].as_u64().unwrap_or_default(), self.end["time_ns"].as_u64().unwrap_or_default())
    }

    /// The profile, with the names that the files know, which are by the places of their modules.
    pub(super) fn into_profile(self, symbols: &mut [Option<Symbols<'_>>]) -> Profile {
        let modules = self.modules();
        let seconds = self.end["time_ns"].as_f64().unwrap_or_default() / 1e9;
        let title = format!(
            "CPU profile of {}, {seconds:.1} s at {} Hz",
            self.begin["node"].as_str().unwrap_or("a broker"),
            self.rate_hz()
        );
        let mut profile = Profile::new(&title, Unit::Samples { period_ns: 1_000_000_000 / self.rate_hz() });
        for ((thread, work, stack, is_cut), count) in &self.stacks {
            let thread = self.threads.get(thread).map_or("(unknown)", String::as_str);
            let mut frames = vec![Frame::thread(thread), Frame::label(work)];
            frames.extend(is_cut.then(|| Frame::work(CUT)));
            for place in stack.iter().rev() {
                push_functions(&mut frames, *place, symbols, &modules);
            }
            profile.add(&frames, Cost { weight: *count, calls: 0 });
        }
        self.notes().iter().for_each(|note| profile.note(note));
        profile
    }

    /// What the profile cost, and what is missing of it.
    fn notes(&self) -> Vec<String> {
        let Value::Object(_) = &self.end else {
            return vec!["The profile was interrupted: its cost is unknown.".to_owned()];
        };
        let number = |name: &str| self.end[name].as_f64().unwrap_or_default();
        let (handlers, session, process) = (number("handler_ns"), number("session_ns"), number("process_ns"));
        let percent = (handlers + session) / process.max(1.0) * 100.0;
        let mut notes = vec![format!(
            "Overhead: {percent:.2} % of the broker's processor time ({:.1} ms looking at threads, {:.1} ms sending).",
            handlers / 1e6,
            session / 1e6
        )];
        match self.end["reason"].as_str() {
            Some("time") | None => {}
            Some(reason) => notes.push(format!("It ended early: {reason}.")),
        }
        let (dropped, unseen) = (number("dropped"), number("unseen_threads"));
        if dropped > 0.0 {
            notes.push(format!("{dropped} samples are missing: the buffer was full."));
        }
        if unseen > 0.0 {
            notes.push(
                "Some threads are missing: there were too many, or the system had no timers for them.".to_owned(),
            );
        }
        if number("coarse_threads") > 0.0 {
            notes.push(
                "Threads were sampled only at the kernel's ticks, so short work is measured less exactly: for better samples, the \
                 broker's process needs the capability CAP_PERFMON, or kernel.perf_event_paranoid at 1 or below."
                    .to_owned(),
            );
        }
        notes
    }

    /// Ticks by thread and by kind of work, the most first.
    pub(super) fn ticks(&self) -> (Ticks, Ticks) {
        let (mut by_thread, mut by_work) = (BTreeMap::<String, u64>::new(), BTreeMap::<String, u64>::new());
        for ((thread, work, ..), count) in &self.stacks {
            let name = self.threads.get(thread).map_or("(unknown)", String::as_str);
            *by_thread.entry(name.to_owned()).or_default() += count;
            *by_work.entry(work.clone()).or_default() += count;
        }
        let sorted = |ticks: BTreeMap<String, u64>| {
            let mut ticks: Vec<_> = ticks.into_iter().collect();
            ticks.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            ticks
        };
        (sorted(by_thread), sorted(by_work))
    }
}

fn push_functions(frames: &mut Vec<Frame>, place: Place, symbols: &mut [Option<Symbols<'_>>], modules: &[Module]) {
    let Some((module, offset)) = place else {
        frames.push(Frame::work("(no file)"));
        return;
    };
    let names = symbols.get_mut(module).and_then(Option::as_mut).map(|symbols| symbols.at(offset)).unwrap_or_default();
    if names.is_empty() {
        let file = modules.get(module).and_then(|module| file_name(&module.path)).unwrap_or("(no file)");
        frames.push(Frame::work(&format!("[{file}]")));
    }
    frames.extend(names.iter().rev().map(|name| Frame::work(name)));
}

fn file_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// `0:1a2b ? 1:77`, the innermost first.
fn parse_stack(text: &str) -> Option<Vec<Place>> {
    let frame = |text: &str| match text {
        "?" => Some(None),
        _ => {
            let (module, offset) = text.split_once(':')?;
            Some(Some((module.parse().ok()?, u64::from_str_radix(offset, 16).ok()?)))
        }
    };
    text.split(' ').filter(|text| !text.is_empty()).map(frame).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &[&str] = &[
        "",
        concat!(
            r#"{"begin":{"node":"rabbit@a","pid":7,"rate_hz":100,"seconds":2,"at_ns":5,"#,
            r#""modules":[{"path":"/usr/bin/warren","build_id":"ab"},{"path":"[vdso]","build_id":null}]}}"#
        ),
        r#"{"thread":{"number":1,"name":"warren"}}"#,
        r#"{"sample":{"thread":1,"work":"connection","count":3,"stack":"1:a0 0:1b ?"}}"#,
        r#"{"sample":{"thread":1,"work":"connection","count":2,"stack":"1:a0 0:1b ?"}}"#,
        r#"{"sample":{"thread":2,"work":"other","count":1,"stack":"0:1","cut":true}}"#,
        r#"{"thread":{"number":1,"name":"tokio-runtime-w"}}"#,
        concat!(
            r#"{"end":{"reason":"the disk alarm is on","time_ns":2000000000,"samples":3,"dropped":4,"unseen_threads":0,"#,
            r#""handler_ns":1000000,"session_ns":2000000,"process_ns":300000000}}"#
        ),
    ];

    fn sampled() -> Sampled {
        let mut sampled = Sampled::default();
        LINES.iter().for_each(|line| sampled.take(line).unwrap());
        sampled
    }

    #[test]
    fn equal_stacks_are_one_and_threads_have_their_last_names() {
        let profile = sampled().into_profile(&mut []);
        assert_eq!(profile.title(), "CPU profile of rabbit@a, 2.0 s at 100 Hz");
        assert_eq!(
            profile.to_folded(),
            "(unknown)_[t];other_[l];(deeper);[warren] 1\n\
             tokio-runtime-w_[t];connection_[l];(no file);[warren];[[vdso]] 5\n"
        );
    }

    #[test]
    fn it_is_said_what_it_cost_and_what_is_missing() {
        let profile = sampled().into_profile(&mut []);
        assert_eq!(
            profile.notes(),
            [
                "Overhead: 1.00 % of the broker's processor time (1.0 ms looking at threads, 2.0 ms sending).",
                "It ended early: the disk alarm is on.",
                "4 samples are missing: the buffer was full.",
            ]
        );
        let mut coarse = sampled();
        coarse.end["coarse_threads"] = 7.into();
        assert!(
            coarse.notes()[3].starts_with("Threads were sampled only at the kernel's ticks"),
            "{:?}",
            coarse.notes()
        );
        let mut broken_off = sampled();
        broken_off.end = Value::Null;
        assert_eq!(broken_off.notes(), ["The profile was interrupted: its cost is unknown."]);
    }

    #[test]
    fn ticks_are_counted_by_thread_and_by_work() {
        let (by_thread, by_work) = sampled().ticks();
        assert_eq!(by_thread, [("tokio-runtime-w".to_owned(), 5), ("(unknown)".to_owned(), 1)]);
        assert_eq!(by_work, [("connection".to_owned(), 5), ("other".to_owned(), 1)]);
    }

    #[test]
    fn what_is_no_line_of_a_profile_is_refused() {
        for line in ["{", "x", r#"{"sample":{"thread":1,"count":1,"stack":"0:xyz"}}"#, r#"{"sample":{"stack":"0:1"}}"#]
        {
            assert!(Sampled::default().take(line).is_err(), "{line}");
        }
    }
}
