//! One call, from its entry to its return.

use std::borrow::Cow;
use std::sync::Arc;

use super::arguments::{Arguments, Value};
use super::point::Point;
use super::recorder::{RECORDER_BIT, recorder};
use super::session::{self, CallsState, Entered};
use super::task::{self, Trail, now_ns};
use super::wall::FrameKind;

/// A call of a point; it returns when this is dropped. Without a session it is nothing.
#[must_use = "the call returns when this is dropped"]
#[derive(Default)]
pub struct Call(Option<Box<Watched>>);

struct Watched {
    point: &'static Point,
    trail: Arc<Trail>,
    depth: usize,
    start_ns: u64,
    /// Sessions that are told of the return, and the number by which each knows the call.
    returns: Vec<(Arc<CallsState>, u64)>,
    arity: usize,
    result: Option<String>,
    /// What the recorder keeps of the arguments; none: it does not watch.
    recorded: Option<Box<str>>,
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
        let Entered { returns, follow } = session::enter(point, bits, &arguments, &trail, start_ns);
        let depth = trail.enter(FrameKind::Call, Cow::Borrowed(point.name()), start_ns, follow);
        let recorded = (bits & RECORDER_BIT != 0).then(|| first_text(&arguments));
        Call(Some(Box::new(Watched {
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

    /// Tells the result, which is asked for if a session wants it.
    #[inline(always)]
    pub fn returns(&mut self, result: impl FnOnce() -> String) {
        if let Some(watched) = &mut self.0
            && !watched.returns.is_empty()
        {
            watched.result = Some(result());
        }
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

impl Watched {
    #[cold]
    fn end(&self) {
        let end_ns = now_ns();
        self.trail.exit(self.depth, end_ns, None);
        if let Some(text) = &self.recorded {
            recorder().record(self.point.name(), text, self.trail.id(), self.start_ns, end_ns);
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
