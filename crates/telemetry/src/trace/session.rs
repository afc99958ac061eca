//! The observers: sessions, at most eight at a time. Each is bounded, and closed when it is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, RwLock};

use super::active::{RECORDER_BIT, set_active};
use super::arguments::{Arguments, Condition};
use super::clock::now_ns;
use super::limit::{Limit, Limiter, Tripped};
use super::pattern::Pattern;
use super::point::{self, Point};
use super::task::Trail;
use super::wall::Tree;
use super::wall_state::WallState;
use crate::backlog::{Backlog, Bound, Overflow};

/// How many sessions there are at most.
pub const SESSION_COUNT_MAX: usize = 8;

/// What a session keeps for a viewer that does not read, in bytes.
pub const SESSION_LEN_MAX: usize = 1 << 20;

const BOUND: Bound = Bound { count_max: usize::MAX, len_max: SESSION_LEN_MAX, overflow: Overflow::DropNewest };

/// The longest part of a body that a session may ask for, in bytes.
const BODY_LEN_MAX: usize = 4_096;

/// The bits of sessions that see calls, and their arguments.
static CALLS: AtomicU32 = AtomicU32::new(0);
/// The longest part of a body that a session asked for.
static BODIES: AtomicUsize = AtomicUsize::new(0);
static SESSIONS: RwLock<[Option<Watcher>; SESSION_COUNT_MAX]> = RwLock::new([const { None }; SESSION_COUNT_MAX]);

enum Watcher {
    Calls(Arc<CallsState>),
    Wall(Arc<WallState>),
}

/// How many sessions there are; the recorder is none.
#[must_use]
pub fn session_count() -> usize {
    SESSIONS.read().iter().flatten().count()
}

pub(super) fn wants_arguments(bits: u32) -> bool {
    bits & (CALLS.load(Ordering::Relaxed) | RECORDER_BIT) != 0
}

pub(super) fn body_len_max(bits: u32) -> usize {
    if bits & CALLS.load(Ordering::Relaxed) == 0 { 0 } else { BODIES.load(Ordering::Relaxed) }
}

/// Why there is no session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenError {
    /// There are as many as may be.
    TooMany,
    /// No point has such a name.
    NoPoint,
    /// A condition names an argument that none of the points has: which.
    NoArgument(String),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OpenError::TooMany => {
                write!(f, "{SESSION_COUNT_MAX} trace sessions are running, which is the maximum")
            }
            OpenError::NoPoint => f.write_str("no trace point has such a name: warren trace list names them"),
            OpenError::NoArgument(name) => {
                write!(f, "none of these trace points has an argument {name}: warren trace list names them")
            }
        }
    }
}

impl std::error::Error for OpenError {}

/// Takes a place, and watches.
fn open(points: &[&'static Point], make: impl FnOnce(u32) -> Watcher) -> Result<(), OpenError> {
    let mut sessions = SESSIONS.write();
    let place = sessions.iter().position(Option::is_none).ok_or(OpenError::TooMany)?;
    let bit = 1 << place;
    let watcher = make(bit);
    if matches!(watcher, Watcher::Calls(_)) {
        CALLS.fetch_or(bit, Ordering::SeqCst);
    }
    sessions[place] = Some(watcher);
    set_bodies(&sessions[..]);
    set_active(bit, true);
    points.iter().for_each(|point| point.watch(bit));
    Ok(())
}

fn close(bit: u32) {
    point::unwatch_all(bit);
    set_active(bit, false);
    CALLS.fetch_and(!bit, Ordering::SeqCst);
    let mut sessions = SESSIONS.write();
    sessions[bit.trailing_zeros() as usize] = None;
    set_bodies(&sessions[..]);
}

fn set_bodies(sessions: &[Option<Watcher>]) {
    let lens = sessions.iter().flatten().map(|watcher| match watcher {
        Watcher::Calls(calls) => calls.options.body_len_max,
        Watcher::Wall(_) => 0,
    });
    BODIES.store(lens.max().unwrap_or_default(), Ordering::Relaxed);
}

/// What sessions want of a call that begins.
pub(super) struct SessionsOfCall {
    /// Those that its return is reported to, and by which number.
    pub(super) returns: Vec<(Arc<CallsState>, u64)>,
    /// Those that follow it.
    pub(super) follow: Vec<Arc<WallState>>,
}

pub(super) fn enter(
    point: &'static Point,
    bits: u32,
    arguments: &Arguments,
    trail: &Trail,
    start_ns: u64,
) -> SessionsOfCall {
    let mut entered = SessionsOfCall { returns: Vec::new(), follow: Vec::new() };
    let of_sessions = bits & !RECORDER_BIT;
    if of_sessions == 0 {
        return entered;
    }
    let sessions = SESSIONS.read();
    for (place, watcher) in sessions.iter().enumerate() {
        match watcher {
            _ if of_sessions & (1 << place) == 0 => {}
            None => {}
            Some(Watcher::Calls(calls)) => {
                if let Some(number) = calls.note_call(point, arguments, trail.name(), start_ns) {
                    entered.returns.push((calls.clone(), number));
                }
            }
            Some(Watcher::Wall(wall)) if wall.pattern.matches(point.name()) => entered.follow.push(wall.clone()),
            Some(Watcher::Wall(_)) => {}
        }
    }
    entered
}

/// What a session that sees calls wants.
#[derive(Debug, Clone)]
pub struct CallsOptions {
    /// Which points.
    pub pattern: Pattern,
    /// Which of their calls: those for which all of these hold.
    pub conditions: Vec<Condition>,
    /// How many.
    pub limit: Limit,
    /// Whether returns are reported, with results and durations.
    pub has_returns: bool,
    /// How many bytes of bodies are wanted; 0: none.
    pub body_len_max: usize,
}

/// What a session sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceEvent {
    /// A call began.
    Call(CallEvent),
    /// It returned.
    Return(ReturnEvent),
}

/// A call that began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallEvent {
    /// When.
    pub at: SystemTime,
    /// The number of the call, in its session.
    pub number: u64,
    /// The task that called.
    pub task: Box<str>,
    /// The name of the point.
    pub point: &'static str,
    /// What it was given.
    pub arguments: Arguments,
}

/// A call that returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnEvent {
    /// When.
    pub at: SystemTime,
    /// The number of the call.
    pub number: u64,
    /// The task that called.
    pub task: Box<str>,
    /// The name of the point.
    pub point: &'static str,
    /// How many arguments it was given.
    pub arity: usize,
    /// What it returned, where the point reports it.
    pub result: Option<Box<str>>,
    /// How long it took.
    pub duration: Duration,
}

impl TraceEvent {
    fn len(&self) -> usize {
        size_of::<TraceEvent>()
            + match self {
                TraceEvent::Call(call) => call.task.len() + call.arguments.len(),
                TraceEvent::Return(ended) => ended.task.len() + ended.result.as_ref().map_or(0, |result| result.len()),
            }
    }
}

/// How a session ended, and what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The limit that ended it.
    pub tripped: Tripped,
    /// How many events there was no room for, because the viewer did not read.
    pub missed_count: u64,
    /// How long the broker's threads worked for the session.
    pub cost: Duration,
}

/// The state of a session that sees calls.
#[derive(Debug)]
pub(super) struct CallsState {
    bit: u32,
    options: CallsOptions,
    has_ended: AtomicBool,
    cost_ns: AtomicU64,
    seen: Mutex<SeenCalls>,
}

#[derive(Debug)]
struct SeenCalls {
    limiter: Limiter,
    events: Backlog<TraceEvent>,
    last_number: u64,
    /// Calls whose returns are to come.
    open_count: u64,
    tripped: Option<Tripped>,
    viewer: Option<Waker>,
}

impl CallsState {
    /// A call began. Returns its number if its return is to be reported to the session.
    fn note_call(
        self: &Arc<Self>,
        point: &'static Point,
        arguments: &Arguments,
        task: &str,
        start_ns: u64,
    ) -> Option<u64> {
        let options = &self.options;
        if self.has_ended.load(Ordering::Relaxed)
            || !options.conditions.iter().all(|condition| condition.holds(arguments))
        {
            return None;
        }
        let began = Instant::now();
        let mut seen = self.seen.lock();
        if let Err(tripped) = seen.limiter.count(start_ns) {
            self.end(&mut seen, tripped);
            return None;
        }
        seen.last_number += 1;
        let number = seen.last_number;
        let arguments = if options.body_len_max == 0 { arguments.without_bodies() } else { arguments.clone() };
        let call = CallEvent { at: SystemTime::now(), number, task: task.into(), point: point.name(), arguments };
        seen.push(TraceEvent::Call(call));
        seen.open_count += u64::from(options.has_returns);
        if seen.limiter.is_spent() {
            let total = options.limit.total;
            self.end(&mut seen, Tripped::Total(total));
        }
        self.count_cost(began);
        options.has_returns.then_some(number)
    }

    /// A call returned, of which the session wanted to know.
    pub(super) fn note_return(
        &self,
        number: u64,
        (point, arity): (&'static Point, usize),
        task: &str,
        result: Option<&str>,
        duration_ns: u64,
    ) {
        let began = Instant::now();
        let mut seen = self.seen.lock();
        seen.open_count = seen.open_count.saturating_sub(1);
        seen.push(TraceEvent::Return(ReturnEvent {
            at: SystemTime::now(),
            number,
            task: task.into(),
            point: point.name(),
            arity,
            result: result.map(Into::into),
            duration: Duration::from_nanos(duration_ns),
        }));
        self.count_cost(began);
    }

    fn count_cost(&self, began: Instant) {
        let ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.cost_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// No more calls are seen; returns of those that were are.
    fn end(&self, seen: &mut SeenCalls, tripped: Tripped) {
        if !self.has_ended.swap(true, Ordering::Relaxed) {
            seen.tripped = Some(tripped);
            point::unwatch_all(self.bit);
            seen.wake();
        }
    }
}

impl SeenCalls {
    fn push(&mut self, event: TraceEvent) {
        let len = event.len();
        self.events.push(event, len);
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(viewer) = self.viewer.take() {
            viewer.wake();
        }
    }
}

/// A session that sees calls. It ends when this is dropped.
#[derive(Debug)]
pub struct CallsSession(Arc<CallsState>);

impl CallsSession {
    /// Opens a session.
    ///
    /// # Errors
    ///
    /// When there are too many, or when nothing would ever be seen.
    pub fn open(mut options: CallsOptions) -> Result<CallsSession, OpenError> {
        options.body_len_max = options.body_len_max.min(BODY_LEN_MAX);
        let points = points_of(&options.pattern)?;
        let unknown = options
            .conditions
            .iter()
            .find(|condition| !points.iter().any(|point| point.arguments().contains(&condition.name())));
        if let Some(unknown) = unknown {
            return Err(OpenError::NoArgument(unknown.name().to_owned()));
        }
        let mut opened = None;
        open(&points, |bit| {
            let seen = SeenCalls {
                limiter: Limiter::new(options.limit),
                events: Backlog::new(BOUND),
                last_number: 0,
                open_count: 0,
                tripped: None,
                viewer: None,
            };
            let (has_ended, cost_ns, seen) = (AtomicBool::new(false), AtomicU64::new(0), Mutex::new(seen));
            let state = Arc::new(CallsState { bit, options, has_ended, cost_ns, seen });
            opened = Some(state.clone());
            Watcher::Calls(state)
        })?;
        opened.map(CallsSession).ok_or(OpenError::TooMany)
    }

    /// How many points it watches.
    #[must_use]
    pub fn point_count(&self) -> usize {
        point::all().iter().filter(|point| self.0.options.pattern.matches(point.name())).count()
    }

    /// The next event; how the session ended when all have been seen. After that there is nothing.
    pub fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Result<TraceEvent, End>> {
        let mut seen = self.0.seen.lock();
        if let Some(event) = seen.events.pop() {
            return Poll::Ready(Ok(event));
        }
        match seen.tripped {
            Some(tripped) if seen.open_count == 0 => {
                Poll::Ready(Err(End { tripped, missed_count: seen.events.missed_count(), cost: self.cost() }))
            }
            _ => {
                seen.viewer = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// How long the broker's threads have worked for it.
    #[must_use]
    pub fn cost(&self) -> Duration {
        Duration::from_nanos(self.0.cost_ns.load(Ordering::Relaxed))
    }

    /// How many events there was no room for.
    #[must_use]
    pub fn missed_count(&self) -> u64 {
        self.0.seen.lock().events.missed_count()
    }
}

impl Drop for CallsSession {
    fn drop(&mut self) {
        close(self.0.bit);
    }
}

/// A session that makes a tree of the times of calls, and of all that is within them. It ends when this is dropped.
#[derive(Debug)]
pub struct WallSession {
    state: Arc<WallState>,
    start_ns: u64,
}

impl WallSession {
    /// Opens a session that follows calls of the points that match.
    ///
    /// # Errors
    ///
    /// When there are too many, or when no point matches.
    pub fn open(pattern: Pattern) -> Result<WallSession, OpenError> {
        points_of(&pattern)?;
        let mut opened = None;
        open(&point::all(), |bit| {
            let state = Arc::new(WallState {
                bit,
                pattern,
                tree: Mutex::default(),
                request_count: AtomicU64::new(0),
                cost_ns: AtomicU64::new(0),
            });
            opened = Some(state.clone());
            Watcher::Wall(state)
        })?;
        let state = opened.ok_or(OpenError::TooMany)?;
        Ok(WallSession { state, start_ns: now_ns() })
    }

    /// Looks at the tree so far, and how many of the calls that it follows have ended.
    pub fn with_tree<T>(&self, look: impl FnOnce(&Tree, u64) -> T) -> T {
        look(&self.state.tree.lock(), self.state.request_count.load(Ordering::Relaxed))
    }

    /// How long the broker's threads have worked for it.
    #[must_use]
    pub fn cost(&self) -> Duration {
        Duration::from_nanos(self.state.cost_ns.load(Ordering::Relaxed))
    }

    /// How long it has run.
    #[must_use]
    pub fn age(&self) -> Duration {
        Duration::from_nanos(now_ns().saturating_sub(self.start_ns))
    }
}

impl Drop for WallSession {
    fn drop(&mut self) {
        close(self.state.bit);
    }
}

fn points_of(pattern: &Pattern) -> Result<Vec<&'static Point>, OpenError> {
    let mut points = point::all();
    points.retain(|point| pattern.matches(point.name()));
    if points.is_empty() { Err(OpenError::NoPoint) } else { Ok(points) }
}
