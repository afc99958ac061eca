//! Which task makes a call. A task may move from thread to thread; what it does is followed across its awaits.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use parking_lot::Mutex;

use super::active::is_active;
use super::clock::now_ns;
use super::recorder;
use super::wall::{Cursor, FrameKind, Tree};
use super::wall_state::WallState;

/// How many calls that have ended are kept of a thread, for tasks that wait for it.
const ENDED_COUNT_MAX: usize = 256;

/// What is known of a task while sessions watch.
pub(super) struct Trail {
    id: u32,
    name: Box<str>,
    /// Others wait for it: its calls are kept for a while.
    is_thread: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Calls and waits that are open, the innermost last.
    open: Vec<OpenFrame>,
    /// Since when it has not been polled, in a call that waits for nothing that is known.
    parked_ns: Option<u64>,
    /// Profiles of a call that is open.
    followers: Vec<Follower>,
    /// Calls that have left `open` and wait for their answers.
    unanswered_count: usize,
    ended: VecDeque<PastFrame>,
}

impl State {
    /// Profiles are charged with the time since then: it was spent for them.
    fn charge(&self, since_ns: u64) {
        if !self.followers.is_empty() {
            let cost_ns = now_ns().saturating_sub(since_ns);
            self.followers.iter().for_each(|follower| follower.session.note_cost(cost_ns));
        }
    }

    /// Keeps a frame that has ended for a while.
    fn keep(&mut self, ended: PastFrame) {
        if self.ended.len() == ENDED_COUNT_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(ended);
    }
}

struct OpenFrame {
    kind: FrameKind,
    name: Cow<'static, str>,
    start_ns: u64,
}

/// A profile that follows this task, from a call that it was asked for.
pub(super) struct Follower {
    session: Arc<WallState>,
    cursor: Cursor,
    /// How many frames were open before.
    above: usize,
}

impl Follower {
    /// A wait that is over, below the call, and what others did meanwhile.
    pub(super) fn note_wait(
        &mut self,
        kind: FrameKind,
        name: Cow<'static, str>,
        (start_ns, end_ns): (u64, u64),
        calls: &[PastFrame],
    ) {
        let mut tree = self.session.tree.lock();
        self.cursor.enter(&mut tree, kind, name, start_ns);
        note_elsewhere(calls, &mut self.cursor, &mut tree, start_ns, end_ns);
        self.cursor.exit(&mut tree, end_ns);
    }

    /// Work for it took so long.
    pub(super) fn note_cost(&self, cost_ns: u64) {
        self.session.note_cost(cost_ns);
    }

    /// The call that it follows has ended.
    pub(super) fn end(mut self, end_ns: u64) {
        let mut tree = self.session.tree.lock();
        while self.cursor.exit(&mut tree, end_ns).is_some() {}
        drop(tree);
        self.session.note_request();
    }
}

/// A call or a wait that has ended.
#[derive(Debug, Clone)]
pub(super) struct PastFrame {
    kind: FrameKind,
    name: Cow<'static, str>,
    depth: usize,
    start_ns: u64,
    end_ns: u64,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Trail>>> = const { RefCell::new(None) };
    static OF_THREAD: OnceCell<Arc<Trail>> = const { OnceCell::new() };
}

/// The threads that have made calls, by name.
static THREADS: LazyLock<Mutex<HashMap<Box<str>, Arc<Trail>>>> = LazyLock::new(Mutex::default);

impl Trail {
    pub(super) fn new(name: String, is_thread: bool) -> Arc<Trail> {
        static LAST_ID: AtomicU32 = AtomicU32::new(0);
        let id = LAST_ID.fetch_add(1, Ordering::Relaxed);
        let name = name.into_boxed_str();
        recorder::recorder().name_task(id, &name);
        Arc::new(Trail { id, name, is_thread, state: Mutex::default() })
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The innermost call that is open.
    pub(super) fn innermost_call(&self) -> Option<Cow<'static, str>> {
        let state = self.state.lock();
        state.open.iter().rev().find(|frame| frame.kind == FrameKind::Call).map(|frame| frame.name.clone())
    }

    /// A frame begins. Returns its depth. Profiles that are to follow from here begin with it.
    pub(super) fn enter(
        &self,
        kind: FrameKind,
        name: Cow<'static, str>,
        now_ns: u64,
        follow: Vec<Arc<WallState>>,
    ) -> usize {
        let mut state = self.state.lock();
        let depth = state.open.len();
        for session in follow {
            if !state.followers.iter().any(|follower| Arc::ptr_eq(&follower.session, &session)) {
                state.followers.push(Follower { session, cursor: Cursor::default(), above: depth });
            }
        }
        for follower in &mut state.followers {
            follower.cursor.enter(&mut follower.session.tree.lock(), kind, name.clone(), now_ns);
        }
        state.open.push(OpenFrame { kind, name, start_ns: now_ns });
        state.charge(now_ns);
        depth
    }

    /// The frame of a depth ends, and what is still open below it.
    pub(super) fn exit(&self, depth: usize, now_ns: u64, waited_for: Option<&Worker>) {
        // Before the locks of this task: the other one may be about to look at this one.
        let elsewhere = waited_for.map(|worker| worker.calls(&self.state, depth, now_ns)).unwrap_or_default();
        let mut guard = self.state.lock();
        let state = &mut *guard;
        while state.open.len() > depth {
            let Some(frame) = state.open.pop() else { break };
            let depth = state.open.len();
            for follower in &mut state.followers {
                if follower.cursor.depth() + follower.above <= depth {
                    continue;
                }
                let mut tree = follower.session.tree.lock();
                if let Some(worker) = waited_for {
                    if let Some((node, holder)) = follower.cursor.innermost().zip(worker.holder.as_deref()) {
                        tree.set_holder(node, holder);
                    }
                    note_elsewhere(&elsewhere, &mut follower.cursor, &mut tree, frame.start_ns, now_ns);
                }
                follower.cursor.exit(&mut tree, now_ns);
                if follower.cursor.depth() == 0 {
                    follower.session.note_request();
                }
            }
            state.charge(now_ns);
            state.followers.retain(|follower| follower.cursor.depth() > 0);
            if self.is_thread || state.unanswered_count > 0 {
                state.keep(PastFrame::of(frame, depth, now_ns));
            }
        }
    }

    /// The work of the innermost call is over, of this depth, and its answer is to come. Gives the profiles that began with it; those that
    /// began further out continue without it.
    pub(super) fn leave(&self, depth: usize, now_ns: u64) -> Vec<Follower> {
        // What is open below it has ended: nothing should be.
        self.exit(depth + 1, now_ns, None);
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let leaving = state.followers.extract_if(.., |follower| follower.above == depth).collect();
        for follower in &mut state.followers {
            follower.cursor.exit(&mut follower.session.tree.lock(), now_ns);
        }
        state.unanswered_count += 1;
        if let Some(frame) = state.open.pop() {
            state.keep(PastFrame::of(frame, depth, now_ns));
        }
        leaving
    }

    /// A call that had left was answered.
    pub(super) fn answered(&self) {
        let mut state = self.state.lock();
        state.unanswered_count = state.unanswered_count.saturating_sub(1);
        if state.unanswered_count == 0 && !self.is_thread {
            state.ended = VecDeque::new();
        }
    }

    /// It is not polled from now on. What it waits for is known if a wait is open.
    pub(super) fn park(&self) {
        let mut state = self.state.lock();
        if state.open.last().is_some_and(|frame| frame.kind == FrameKind::Call) {
            state.parked_ns = Some(now_ns());
        }
    }

    /// It is polled again.
    pub(super) fn resume(&self) {
        let mut state = self.state.lock();
        let Some(parked_ns) = state.parked_ns.take() else { return };
        let total_ns = now_ns().saturating_sub(parked_ns);
        for follower in &mut state.followers {
            let mut tree = follower.session.tree.lock();
            follower.cursor.note(&mut tree, FrameKind::Task, Cow::Borrowed("not polled"), total_ns);
        }
    }

    /// What it did in a time, outermost calls first: those that have ended and those that are open. But for calls of a name, and what is
    /// below them.
    fn calls_within(&self, start_ns: u64, end_ns: u64, but_for: Option<&str>) -> Vec<PastFrame> {
        let is_meant = |name: &str| but_for.is_none_or(|other| name != other);
        let state = self.state.lock();
        let mut calls = Vec::new();
        // Those below a call have ended before it.
        let mut left_out: Option<usize> = None;
        for call in state.ended.iter().rev().take_while(|call| call.end_ns > start_ns) {
            if left_out.is_some_and(|depth| call.depth > depth) {
                continue;
            }
            left_out = (!is_meant(&call.name)).then_some(call.depth);
            if left_out.is_none() && call.start_ns < end_ns {
                calls.push(call.clone());
            }
        }
        let open =
            state.open.iter().enumerate().take_while(|(_, frame)| is_meant(&frame.name) && frame.start_ns < end_ns);
        calls.extend(open.map(|(depth, frame)| PastFrame {
            kind: frame.kind,
            name: frame.name.clone(),
            depth,
            start_ns: frame.start_ns,
            end_ns,
        }));
        calls.sort_by_key(|call| (call.start_ns, call.depth));
        calls
    }

    /// Whether a profile follows the call of this depth.
    pub(super) fn is_followed(&self, depth: usize) -> bool {
        self.state.lock().followers.iter().any(|follower| follower.above == depth)
    }
}

impl PastFrame {
    fn of(frame: OpenFrame, depth: usize, end_ns: u64) -> PastFrame {
        PastFrame { kind: frame.kind, name: frame.name, depth, start_ns: frame.start_ns, end_ns }
    }

    /// What it is to a task that waited meanwhile.
    fn kind_elsewhere(&self) -> FrameKind {
        if self.kind == FrameKind::Call { FrameKind::Elsewhere } else { self.kind }
    }
}

/// The one that is waited for.
#[derive(Default)]
pub(super) struct Worker {
    /// The holder of what is waited for.
    pub(super) holder: Option<String>,
    /// The tasks whose calls are what is waited for: those of the first that has made any meanwhile.
    tasks: Vec<Arc<Trail>>,
    /// Calls of this name are not.
    but_for: Option<&'static str>,
}

impl Worker {
    /// A task that has a lock.
    pub(super) fn holder(task: Option<String>) -> Worker {
        Worker { holder: task, ..Worker::default() }
    }

    /// The threads of these names that have made calls.
    pub(super) fn threads(names: &[&str]) -> Worker {
        if names.is_empty() {
            return Worker::default();
        }
        let known = THREADS.lock();
        Worker { tasks: names.iter().filter_map(|name| known.get(*name).cloned()).collect(), ..Worker::default() }
    }

    /// A task, but for its calls of a name.
    pub(super) fn task(trail: Arc<Trail>, but_for: &'static str) -> Worker {
        Worker { tasks: vec![trail], but_for: Some(but_for), ..Worker::default() }
    }

    /// What was done in a time.
    pub(super) fn calls_within(&self, start_ns: u64, end_ns: u64) -> Vec<PastFrame> {
        let mut calls = self.tasks.iter().map(|task| task.calls_within(start_ns, end_ns, self.but_for));
        calls.find(|calls| !calls.is_empty()).unwrap_or_default()
    }

    /// What was done since a frame of a task began.
    fn calls(&self, of: &Mutex<State>, depth: usize, now_ns: u64) -> Vec<PastFrame> {
        if self.tasks.is_empty() {
            return Vec::new();
        }
        let start_ns = {
            let state = of.lock();
            if state.followers.is_empty() {
                return Vec::new();
            }
            state.open.get(depth).map_or(now_ns, |frame| frame.start_ns)
        };
        self.calls_within(start_ns, now_ns)
    }
}

/// Notes calls of another task in the time of a wait, below it.
fn note_elsewhere(calls: &[PastFrame], cursor: &mut Cursor, tree: &mut Tree, start_ns: u64, end_ns: u64) {
    let mut open: Vec<(usize, u64)> = Vec::new();
    for call in calls {
        while let Some((depth, ended_ns)) = open.last().copied()
            && (depth >= call.depth || ended_ns <= call.start_ns)
        {
            cursor.exit(tree, ended_ns);
            open.pop();
        }
        cursor.enter(tree, call.kind_elsewhere(), call.name.clone(), call.start_ns.max(start_ns));
        open.push((call.depth, call.end_ns.min(end_ns)));
    }
    while let Some((_, ended_ns)) = open.pop() {
        cursor.exit(tree, ended_ns);
    }
}

/// The task that runs: one that was entered, else the thread.
pub(super) fn current() -> Arc<Trail> {
    CURRENT.with_borrow(Clone::clone).unwrap_or_else(|| {
        OF_THREAD.with(|own| {
            own.get_or_init(|| {
                let name = std::thread::current().name().unwrap_or("a thread").to_owned();
                let trail = Trail::new(name.clone(), true);
                THREADS.lock().insert(name.into(), trail.clone());
                trail
            })
            .clone()
        })
    })
}

/// A task of the program, to be known as one wherever it runs: a connection.
#[derive(Default)]
pub struct Task(OnceLock<Arc<Trail>>);

impl Task {
    /// A task that has made no call yet.
    #[must_use]
    pub const fn new() -> Task {
        Task(OnceLock::new())
    }

    /// Until what this gives is dropped, this thread runs the task. Its name is asked for if a session looks.
    #[inline(always)]
    pub fn enter(&self, name: impl FnOnce() -> String) -> TaskGuard {
        if is_active() { self.enter_watched(name) } else { TaskGuard(None) }
    }

    #[cold]
    fn enter_watched(&self, name: impl FnOnce() -> String) -> TaskGuard {
        TaskGuard::enter(self.0.get_or_init(|| Trail::new(name(), false)).clone())
    }
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Task").field(&self.0.get().map(|trail| &*trail.name)).finish()
    }
}

/// While it lives, this thread runs a task.
#[derive(Default)]
#[must_use = "the task is left when this is dropped"]
pub struct TaskGuard(Option<Option<Arc<Trail>>>);

impl TaskGuard {
    pub(super) fn enter(trail: Arc<Trail>) -> TaskGuard {
        TaskGuard(Some(CURRENT.replace(Some(trail))))
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        if let Some(before) = self.0.take() {
            CURRENT.set(before);
        }
    }
}
