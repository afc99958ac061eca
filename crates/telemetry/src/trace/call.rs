//! One call, from its entry to its return.

use std::borrow::Cow;
use std::sync::Arc;

use super::active::RECORDER_BIT;
use super::arguments::{Arguments, Value};
use super::clock::now_ns;
use super::pending_answer::PendingAnswer;
use super::point::Point;
use super::recorder::recorder;
use super::session::{self, CallsState, SessionsOfCall};
use super::task::{self, Follower, Trail};
use super::wall::FrameKind;

/// A call of a point; it returns when this is dropped. Without a session it is nothing.
#[must_use = "the call returns when this is dropped"]
#[derive(Default)]
pub struct Call(Option<Box<CallRecord>>);

/// What is known of a call while a session watches.
pub(super) struct CallRecord {
    point: &'static Point,
    trail: Arc<Trail>,
    depth: usize,
    start_ns: u64,
    /// Sessions that the return is reported to, and the number by which each knows the call.
    returns: Vec<(Arc<CallsState>, u64)>,
    arity: usize,
    result: Option<String>,
    /// What the recorder keeps of the arguments; none: it does not watch.
    recorded: Option<Box<str>>,
}

impl Point {
    /// A call begins; it returns when what this gives is dropped. `fill` is called only if a session watches.
    #[inline(always)]
    pub fn enter(&'static self, fill: impl FnOnce(&mut Arguments)) -> Call {
        if self.is_watched() { Call::watched(self, fill) } else { Call::unwatched() }
    }
}

impl Call {
    /// A call that no session watches.
    #[inline(always)]
    pub fn unwatched() -> Call {
        Call(None)
    }

    #[cold]
    pub(super) fn watched(point: &'static Point, fill: impl FnOnce(&mut Arguments)) -> Call {
        let (bits, start_ns) = (point.sessions(), now_ns());
        let mut arguments = Arguments::with_bodies(session::body_len_max(bits));
        if session::wants_arguments(bits) {
            fill(&mut arguments);
        }
        let trail = task::current();
        let SessionsOfCall { returns, follow } = session::enter(point, bits, &arguments, &trail, start_ns);
        let depth = trail.enter(FrameKind::Call, Cow::Borrowed(point.name()), start_ns, follow);
        let recorded = (bits & RECORDER_BIT != 0).then(|| first_text(&arguments));
        Call(Some(Box::new(CallRecord {
            point,
            trail,
            depth,
            start_ns,
            returns,
            arity: arguments.list().len(),
            result: None,
            recorded,
        })))
    }

    /// Whether a session watches it.
    #[inline(always)]
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.0.is_some()
    }

    /// Reports the result, which is asked for if a session wants it.
    #[inline(always)]
    pub fn returns(&mut self, result: impl FnOnce() -> String) {
        if let Some(watched) = &mut self.0 {
            watched.returns(result);
        }
    }

    /// Its own work is over, and it is answered later: until then what this gives follows it. None: no session watches it, or as many are
    /// followed as may be; then it has ended.
    pub fn answered_later(mut self) -> Option<PendingAnswer> {
        self.0.take().and_then(PendingAnswer::follow)
    }
}

impl Drop for Call {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(watched) = self.0.take() {
            watched.end();
        }
    }
}

impl CallRecord {
    pub(super) fn trail(&self) -> &Arc<Trail> {
        &self.trail
    }

    pub(super) fn point_name(&self) -> &'static str {
        self.point.name()
    }

    /// Whether a session wants to know of its answer.
    pub(super) fn is_wanted(&self) -> bool {
        !self.returns.is_empty() || self.trail.is_followed(self.depth)
    }

    /// Whether the recorder watches it.
    pub(super) fn is_recorded(&self) -> bool {
        self.recorded.is_some()
    }

    pub(super) fn returns(&mut self, result: impl FnOnce() -> String) {
        if !self.returns.is_empty() {
            self.result = Some(result());
        }
    }

    /// Adds a remark to its result.
    pub(super) fn remark(&mut self, remark: &str) {
        if let Some(result) = &mut self.result {
            *result = format!("{result} ({remark})");
        }
    }

    /// It leaves its task: its work is over. Gives the profiles that follow it.
    pub(super) fn leave(&self, now_ns: u64) -> Vec<Follower> {
        if let Some(text) = &self.recorded {
            recorder().record(self.point.name(), text, self.trail.id(), self.start_ns, now_ns);
        }
        self.trail.leave(self.depth, now_ns)
    }

    /// It has left its task, and was answered.
    pub(super) fn answered(&self, end_ns: u64) {
        self.trail.answered();
        if let Some(text) = &self.recorded {
            recorder().record_answered(self.point.name(), text, self.trail.id(), self.start_ns, end_ns);
        }
        self.report(end_ns);
    }

    #[cold]
    pub(super) fn end(&self) {
        let end_ns = now_ns();
        self.trail.exit(self.depth, end_ns, None);
        if let Some(text) = &self.recorded {
            recorder().record(self.point.name(), text, self.trail.id(), self.start_ns, end_ns);
        }
        self.report(end_ns);
    }

    /// Reports to the sessions that want to know that it is over.
    fn report(&self, end_ns: u64) {
        if self.recorded.is_some() {
            recorder().note_request(self.point.name(), end_ns.saturating_sub(self.start_ns));
        }
        for (session, number) in &self.returns {
            let duration_ns = end_ns.saturating_sub(self.start_ns);
            session.note_return(
                *number,
                (self.point, self.arity),
                self.trail.name(),
                self.result.as_deref(),
                duration_ns,
            );
        }
    }
}

/// The first argument that is text: what the call is about.
fn first_text(arguments: &Arguments) -> Box<str> {
    let texts = arguments.list().iter().find_map(|argument| match &argument.value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    });
    texts.unwrap_or_default()
}
