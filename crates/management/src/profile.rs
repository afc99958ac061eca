//! A CPU profile as lines of JSON, on their way from the sampler's thread to the client that asked.
//!
//! ```text
//!  {"begin":{"node":"rabbit@a","pid":7,"rate_hz":99,…,"modules":[{"path":"/usr/bin/warren","build_id":"ab…"}]}}
//!  {"thread":{"number":3,"name":"journal"}}
//!  {"sample":{"thread":3,"work":"journal","count":1,"stack":"0:1a2b3c 0:4d5e ? 1:77"}}
//!  {"end":{"reason":"time","samples":812,…}}
//! ```
//!
//! The reason of the end is `time`, or a sentence. A stack has its innermost frame first; each is a module by its place and an offset in
//! its file, in hexadecimal, or `?`.

use std::fmt::Write as _;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use sampler::{End, Module, Sample, Session, Summary, Viewer, Wish};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::watch::Observed;

/// Bytes of lines that are sent together, unless the sampler pauses.
const PIECE_LEN: usize = 16 << 10;
/// Bytes that wait for the socket. While there are so many, samples wait in the ring.
const WAITING_LEN_MAX: usize = 256 << 10;

/// What was asked for.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) node: String,
    pub(crate) rate_hz: u32,
    pub(crate) seconds: u32,
}

/// Writes lines, on the sampler's thread.
pub(crate) struct Lines {
    about: About,
    text: String,
    pieces: UnboundedSender<Vec<u8>>,
    waiting_len: Arc<AtomicUsize>,
    reason: Reason,
}

/// Why the observer has ended it, if that was so.
type Reason = Arc<OnceLock<String>>;

/// Where lines come out, on the API's thread.
pub(crate) struct Pieces {
    pieces: UnboundedReceiver<Vec<u8>>,
    waiting_len: Arc<AtomicUsize>,
    reason: Reason,
}

/// Both ends of it.
pub(crate) fn viewer(about: About) -> (Lines, Pieces) {
    let (sender, receiver) = unbounded_channel();
    let waiting_len = Arc::new(AtomicUsize::new(0));
    let reason = Reason::default();
    let pieces = Pieces { pieces: receiver, waiting_len: waiting_len.clone(), reason: reason.clone() };
    (Lines { about, text: String::new(), pieces: sender, waiting_len, reason }, pieces)
}

impl Lines {
    fn line(&mut self, line: &serde_json::Value) {
        let _ = writeln!(self.text, "{line}");
    }
}

impl Viewer for Lines {
    fn wish(&mut self) -> Wish {
        match () {
            () if self.pieces.is_closed() => Wish::Nothing,
            () if self.waiting_len.load(Relaxed) + self.text.len() >= WAITING_LEN_MAX => Wish::Later,
            () => Wish::More,
        }
    }

    fn modules(&mut self, modules: &[Module]) {
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let modules: Vec<_> =
            modules.iter().map(|module| json!({"path": module.path, "build_id": module.build_id})).collect();
        let About { node, rate_hz, seconds } = &self.about;
        let begin = json!({
            "node": node,
            "pid": std::process::id(),
            "rate_hz": rate_hz,
            "seconds": seconds,
            "at_ns": u64::try_from(at.as_nanos()).unwrap_or(0),
            "modules": modules,
        });
        self.line(&json!({"begin": begin}));
    }

    fn thread(&mut self, number: u32, name: &str) {
        self.line(&json!({"thread": {"number": number, "name": name}}));
    }

    fn sample(&mut self, sample: &Sample<'_>) {
        let Sample { thread, work, count, stack, is_cut } = sample;
        let work = work.name();
        let _ = write!(self.text, r#"{{"sample":{{"thread":{thread},"work":"{work}","count":{count},"stack":""#);
        for (place, frame) in stack.iter().enumerate() {
            self.text.push_str(if place == 0 { "" } else { " " });
            match frame {
                Some((module, offset)) => _ = write!(self.text, "{module}:{offset:x}"),
                None => self.text.push('?'),
            }
        }
        self.text.push_str(if *is_cut { "\",\"cut\":true}}\n" } else { "\"}}\n" });
        if self.text.len() >= PIECE_LEN {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            let piece = std::mem::take(&mut self.text).into_bytes();
            self.waiting_len.fetch_add(piece.len(), Relaxed);
            // The next wish reports it when the other end is closed.
            let _ = self.pieces.send(piece);
        }
    }

    fn ended(&mut self, summary: &Summary) {
        let ended_for = self.reason.clone();
        let reason = match summary.end {
            End::Time => "time",
            End::Stopped => ended_for.get().map_or("stopped", |reason| reason),
            End::ViewerGone => "viewer gone",
        };
        let end = json!({
            "reason": reason,
            "time_ns": u64::try_from(summary.time.as_nanos()).unwrap_or(u64::MAX),
            "samples": summary.sample_count,
            "dropped": summary.dropped_count,
            "unseen_threads": summary.unseen_thread_count,
            "coarse_threads": summary.coarse_thread_count,
            "handler_ns": summary.handler_ns,
            "session_ns": summary.session_ns,
            "process_ns": summary.process_ns,
        });
        self.line(&json!({"end": end}));
        self.flush();
        let (samples, dropped) = (summary.sample_count, summary.dropped_count);
        tracing::info!(reason, samples, dropped, "CPU profile ended");
    }
}

/// The answer of a session.
pub(crate) struct Feed {
    session: Session,
    lines: Pieces,
}

impl Feed {
    pub(crate) fn new(session: Session, lines: Pieces) -> Feed {
        Feed { session, lines }
    }
}

impl Observed for Feed {
    async fn next(&mut self) -> Option<Vec<u8>> {
        let piece = self.lines.pieces.recv().await?;
        self.lines.waiting_len.fetch_sub(piece.len(), Relaxed);
        Some(piece)
    }

    async fn end(mut self, reason: &str) -> Vec<u8> {
        // An error means that there is one already.
        let _ = self.lines.reason.set(reason.to_owned());
        self.session.stop();
        let mut rest = Vec::new();
        // All of it counts as waiting, which bounds it.
        while let Some(piece) = self.lines.pieces.recv().await {
            rest.extend(piece);
        }
        rest
    }
}
