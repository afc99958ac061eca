//! The last calls and waits of all points, in a ring of fixed size: what an aircraft has for its last minutes.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use super::active::{RECORDER_BIT, set_active};
use super::clock::now_ns;
use super::point;
use super::wall::FrameKind;

/// What it takes while it runs, in bytes.
pub const RECORDER_LEN: usize = 8 << 20;

/// How many tasks' names are kept, and how long one is at most.
const NAME_COUNT_MAX: usize = 4_096;
const NAME_LEN_MAX: usize = 96;

/// What is kept of a call's first argument.
const TEXT_LEN: usize = 27;
/// In the place of its length: the time is that until the answer.
const ANSWERED: u8 = 1 << 7;

const ENTRY_COUNT: usize = (RECORDER_LEN - NAME_COUNT_MAX * (NAME_LEN_MAX + 32)) / size_of::<Entry>();

/// One call or wait.
#[derive(Clone, Copy)]
struct Entry {
    name: &'static str,
    start_ns: u64,
    duration_ns: u64,
    task: u32,
    text_len: u8,
    text: [u8; TEXT_LEN],
}

impl Entry {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text[..usize::from(self.text_len & !ANSWERED)]).into_owned()
    }

    fn end_ns(&self) -> u64 {
        self.start_ns + self.duration_ns
    }

    fn moment(&self, now: SystemTime, now_ns: u64) -> Moment {
        Moment {
            name: self.name,
            text: self.text(),
            task: self.task,
            at: now - Duration::from_nanos(now_ns.saturating_sub(self.start_ns)),
            duration: Duration::from_nanos(self.duration_ns),
            is_answered: self.text_len & ANSWERED != 0,
        }
    }
}

/// The ring.
pub struct Recorder(Mutex<Option<Ring>>);

/// A request that took long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowCall {
    /// The name of its point.
    pub name: &'static str,
    /// How long it took.
    pub duration: Duration,
}

/// A request that was recorded, and what it waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The request.
    pub call: Moment,
    /// The name of its task.
    pub task: Box<str>,
    /// The longest first.
    pub waits: Vec<RecordedWait>,
}

/// All waits of one kind within a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedWait {
    /// What for: `lock`, `disk`, `socket`, `task`.
    pub kind: &'static str,
    /// The beginning of the name of the lock's holder, if it is known.
    pub holder: String,
    /// How long they were together.
    pub duration: Duration,
}

/// Families of points that are requests of clients.
const REQUESTS: [&str; 2] = ["http::", "amqp::"];

fn is_wait(name: &str) -> bool {
    [FrameKind::Lock, FrameKind::Disk, FrameKind::Socket, FrameKind::Task].iter().any(|kind| kind.name() == name)
}

fn is_request(name: &str) -> bool {
    REQUESTS.iter().any(|family| name.starts_with(family))
}

impl RecordedRequest {
    fn note_wait(&mut self, wait: &Entry) {
        let (kind, holder, duration) = (wait.name, wait.text(), Duration::from_nanos(wait.duration_ns));
        match self.waits.iter_mut().find(|known| known.kind == kind && known.holder == holder) {
            Some(known) => known.duration += duration,
            None => self.waits.push(RecordedWait { kind, holder, duration }),
        }
        self.waits.sort_by_key(|wait| std::cmp::Reverse(wait.duration));
    }
}

struct Ring {
    /// Requests that take so long are slow.
    slow_ns: u64,
    slow: Option<SlowCall>,
    entries: Vec<Entry>,
    /// Where the next one is written, once it is full.
    next: usize,
    names: VecDeque<(u32, Box<str>)>,
}

impl Ring {
    fn new(entries: Vec<Entry>, slow_ns: u64) -> Ring {
        Ring { entries, next: 0, names: VecDeque::new(), slow_ns, slow: None }
    }
}

/// A call or a wait that was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The point's name, or the kind of the wait.
    pub name: &'static str,
    /// What it was about: the beginning of its first argument, or of the name of a lock's holder.
    pub text: String,
    /// The task, by its number.
    pub task: u32,
    /// When it began.
    pub at: SystemTime,
    /// How long it took.
    pub duration: Duration,
    /// That is the time until its answer, for which others did not wait: its work is a moment of its own.
    pub is_answered: bool,
}

/// What was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// By the time of their ends.
    pub moments: Vec<Moment>,
    /// The names of tasks, by number.
    pub tasks: Vec<(u32, Box<str>)>,
}

/// The recorder of this process. It is off until it is started.
#[must_use]
pub fn recorder() -> &'static Recorder {
    static RECORDER: Recorder = Recorder(Mutex::new(None));
    &RECORDER
}

impl Recorder {
    /// Starts recording, if it does not run. Requests that take so long are slow from now on.
    pub fn start(&self, slow: Duration) {
        let mut ring = self.0.lock();
        let slow_ns = u64::try_from(slow.as_nanos()).unwrap_or(u64::MAX);
        if let Some(ring) = &mut *ring {
            ring.slow_ns = slow_ns;
        } else {
            *ring = Some(Ring::new(Vec::with_capacity(ENTRY_COUNT), slow_ns));
            set_active(RECORDER_BIT, true);
            point::all().iter().for_each(|point| point.watch(RECORDER_BIT));
        }
    }

    /// Stops, and forgets.
    pub fn stop(&self) {
        point::unwatch_all(RECORDER_BIT);
        set_active(RECORDER_BIT, false);
        *self.0.lock() = None;
    }

    /// Whether it runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.0.lock().is_some()
    }

    /// The recording so far. None: it does not run.
    #[must_use]
    pub fn recording(&self) -> Option<Recording> {
        let (now, now_ns) = (SystemTime::now(), now_ns());
        let ring = self.0.lock();
        let ring = ring.as_ref()?;
        let (newer, older) = ring.entries.split_at(ring.next.min(ring.entries.len()));
        let moments = older.iter().chain(newer).map(|entry| entry.moment(now, now_ns));
        Some(Recording { moments: moments.collect(), tasks: ring.names.iter().cloned().collect() })
    }

    /// The requests that took longest of those that are there and wanted, by the names of their points. None: it does not run.
    pub fn slowest(&self, count: usize, is_wanted: impl Fn(&'static str) -> bool) -> Option<Vec<RecordedRequest>> {
        let (now, now_ns) = (SystemTime::now(), now_ns());
        let ring = self.0.lock();
        let ring = ring.as_ref()?;
        let mut slowest: Vec<&Entry> = Vec::with_capacity(count + 1);
        for entry in ring.entries.iter().filter(|entry| is_request(entry.name)) {
            let is_slow =
                slowest.len() < count || slowest.last().is_some_and(|last| last.duration_ns < entry.duration_ns);
            if is_slow && is_wanted(entry.name) {
                // A method that was answered later is there twice: its work, and all until the answer.
                let is_same = |other: &&Entry| {
                    (other.name, other.task, other.start_ns) == (entry.name, entry.task, entry.start_ns)
                };
                if let Some(place) = slowest.iter().position(is_same) {
                    if slowest[place].duration_ns >= entry.duration_ns {
                        continue;
                    }
                    slowest.remove(place);
                }
                let place = slowest.partition_point(|other| other.duration_ns >= entry.duration_ns);
                slowest.insert(place, entry);
                slowest.truncate(count);
            }
        }
        let mut requests: Vec<(u64, RecordedRequest)> = slowest
            .iter()
            .map(|entry| {
                let name = ring.names.iter().find(|(task, _)| *task == entry.task).map(|(_, name)| name.clone());
                let call = entry.moment(now, now_ns);
                (entry.start_ns, RecordedRequest { call, task: name.unwrap_or_default(), waits: Vec::new() })
            })
            .collect();
        for wait in ring.entries.iter().filter(|entry| is_wait(entry.name)) {
            for (start_ns, request) in &mut requests {
                let end_ns = *start_ns + request.call.duration.as_nanos() as u64;
                if wait.task == request.call.task && wait.start_ns >= *start_ns && wait.end_ns() <= end_ns {
                    request.note_wait(wait);
                }
            }
        }
        Some(requests.into_iter().map(|(_, request)| request).collect())
    }

    pub(super) fn record(&self, name: &'static str, text: &str, task: u32, start_ns: u64, end_ns: u64) {
        self.put(name, (text, 0), task, start_ns, end_ns);
    }

    /// The same of the time until a call was answered whose work has been recorded.
    pub(super) fn record_answered(&self, name: &'static str, text: &str, task: u32, start_ns: u64, end_ns: u64) {
        self.put(name, (text, ANSWERED), task, start_ns, end_ns);
    }

    fn put(&self, name: &'static str, (text, flag): (&str, u8), task: u32, start_ns: u64, end_ns: u64) {
        let mut ring = self.0.lock();
        let Some(ring) = &mut *ring else { return };
        let cut = &text[..text.floor_char_boundary(TEXT_LEN)];
        let mut entry = Entry {
            name,
            start_ns,
            duration_ns: end_ns.saturating_sub(start_ns),
            task,
            text_len: u8::try_from(cut.len()).unwrap_or_default() | flag,
            text: [0; TEXT_LEN],
        };
        entry.text[..cut.len()].copy_from_slice(cut.as_bytes());
        if ring.entries.len() < ENTRY_COUNT {
            ring.entries.push(entry);
        } else {
            ring.entries[ring.next] = entry;
            ring.next = (ring.next + 1) % ENTRY_COUNT;
        }
    }

    /// The last slow request since this was asked for.
    pub fn take_slow(&self) -> Option<SlowCall> {
        self.0.lock().as_mut().and_then(|ring| ring.slow.take())
    }

    pub(super) fn note_request(&self, name: &'static str, duration_ns: u64) {
        if let Some(ring) = &mut *self.0.lock()
            && duration_ns >= ring.slow_ns
            && is_request(name)
        {
            ring.slow = Some(SlowCall { name, duration: Duration::from_nanos(duration_ns) });
        }
    }

    pub(super) fn name_task(&self, task: u32, name: &str) {
        if let Some(ring) = &mut *self.0.lock() {
            if ring.names.len() == NAME_COUNT_MAX {
                ring.names.pop_front();
            }
            ring.names.push_back((task, name[..name.floor_char_boundary(NAME_LEN_MAX)].into()));
        }
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("is_running", &self.is_running()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_64_bytes_and_the_ring_has_its_size() {
        assert_eq!(size_of::<Entry>(), 64);
        const { assert!(ENTRY_COUNT > 100_000) };
        const { assert!(ENTRY_COUNT * size_of::<Entry>() + NAME_COUNT_MAX * (NAME_LEN_MAX + 32) <= RECORDER_LEN) };
    }

    #[test]
    fn the_slowest_requests_are_there_with_what_they_waited_for() {
        let recorder = Recorder(Mutex::new(None));
        assert_eq!(recorder.slowest(2, |_| true), None);
        *recorder.0.lock() = Some(Ring::new(Vec::new(), u64::MAX));
        assert_eq!(recorder.slowest(2, |_| true), Some(Vec::new()));
        recorder.name_task(7, "request of a");
        let ms = 1_000_000;
        recorder.record("http::GET /api/top", "", 7, 0, 9_000 * ms);
        recorder.record("routing::route", "", 7, 0, 5_000 * ms);
        for (holder, start, end) in [("a::b", 110, 130), ("", 150, 155), ("a::b", 160, 170), ("a::b", 190, 210)] {
            recorder.record(FrameKind::Lock.name(), holder, 7, start * ms, end * ms);
        }
        recorder.record(FrameKind::Disk.name(), "", 8, 120 * ms, 130 * ms);
        recorder.record("http::GET /api/queues", "/", 7, 100 * ms, 200 * ms);
        recorder.record("amqp::queue.declare", "", 8, 100 * ms, 150 * ms);
        recorder.record_answered("amqp::queue.declare", "", 8, 100 * ms, 160 * ms);
        recorder.record("amqp::queue.declare", "", 8, 200 * ms, 220 * ms);
        let slowest = recorder.slowest(2, |name| name != "http::GET /api/top").unwrap();
        let shown: Vec<_> = slowest
            .iter()
            .map(|request| {
                let waits = request.waits.iter().map(|wait| (wait.kind, &*wait.holder, wait.duration.as_millis()));
                (request.call.name, &*request.task, request.call.duration.as_millis(), waits.collect::<Vec<_>>())
            })
            .collect();
        let expected = [
            ("http::GET /api/queues", "request of a", 100, vec![("lock", "a::b", 30), ("lock", "", 5)]),
            ("amqp::queue.declare", "", 60, vec![("disk", "", 10)]),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_last_ones_are_kept_in_order() {
        let recorder = Recorder(Mutex::new(Some(Ring::new(Vec::new(), u64::MAX))));
        let count = ENTRY_COUNT as u64 + 3;
        for number in 0..count {
            recorder.record("x", &"ü".repeat(20), 1, number, number + 1);
        }
        let moments = recorder.recording().expect("it runs").moments;
        assert_eq!(moments.len(), ENTRY_COUNT);
        assert!(moments.is_sorted_by_key(|moment| moment.at));
        assert_eq!(moments[0].text, "ü".repeat(13));
        for task in 0..5_000 {
            recorder.name_task(task, "a task");
        }
        assert_eq!(recorder.recording().expect("it runs").tasks[0].0, 5_000 - 4_096);
        recorder.0.lock().take();
        recorder.record("x", "", 1, 0, 1);
        assert_eq!(recorder.recording(), None);
    }
}
