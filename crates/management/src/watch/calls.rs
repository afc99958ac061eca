//! Each call that a session sees, as a line.

use std::future::poll_fn;
use std::task::{Context, Poll};

use http_server::PIECE_LEN;
use telemetry::trace::{Argument, CallsSession, End, Limit, TraceEvent, Tripped, Value};

use super::Observed;
use crate::json::{Object, Writer};

/// The answer of a session.
pub(crate) struct CallsFeed {
    session: CallsSession,
    /// The name of the node.
    node: String,
    has_begun: bool,
    has_ended: bool,
}

impl CallsFeed {
    pub(crate) fn new(session: CallsSession, node: String) -> CallsFeed {
        CallsFeed { session, node, has_begun: false, has_ended: false }
    }
}

impl Observed for CallsFeed {
    async fn next(&mut self) -> Option<Vec<u8>> {
        if self.has_ended {
            return None;
        }
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.has_begun, true) {
            write(&mut out, |line| {
                line.cell("event").text("begin");
                line.cell("node").text(&self.node);
                line.cell("points").int(self.session.point_count() as u64);
            });
            return Some(out);
        }
        if let Some(end) = gather(&self.session, &mut out).await {
            write_end(&mut out, &reason(&end), &self.session);
            self.has_ended = true;
        }
        Some(out)
    }

    async fn end(self, reason: &str) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.has_ended {
            write_end(&mut out, reason, &self.session);
        }
        out
    }
}

/// Waits for events, and writes those that are there, as many as make one piece.
async fn gather(session: &CallsSession, out: &mut Vec<u8>) -> Option<End> {
    poll_fn(|cx: &mut Context<'_>| {
        loop {
            match session.poll_next(cx) {
                Poll::Ready(Ok(event)) => write_event(out, &event),
                Poll::Ready(Err(end)) => return Poll::Ready(Some(end)),
                Poll::Pending if out.is_empty() => return Poll::Pending,
                Poll::Pending => return Poll::Ready(None),
            }
            if out.len() >= PIECE_LEN {
                return Poll::Ready(None);
            }
        }
    })
    .await
}

fn reason(end: &End) -> String {
    match end.tripped {
        Tripped::Rate(per_s) => format!("more than {per_s} calls matched within a second"),
        Tripped::Total(total) if total == Limit::default().total => {
            format!("{total} calls were traced, which is the limit")
        }
        Tripped::Total(1) => "1 call was traced".to_owned(),
        Tripped::Total(total) => format!("{total} calls were traced"),
    }
}

/// JSON has no line breaks outside of its texts, and none inside.
fn write(out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
    Writer::new(out).object(fill);
    out.push(b'\n');
}

fn write_end(out: &mut Vec<u8>, reason: &str, session: &CallsSession) {
    let (missed, cost) = (session.missed_count(), session.cost());
    write(out, |line| {
        line.cell("event").text("end");
        line.cell("reason").text(reason);
        line.cell("missed").int(missed);
        line.cell("cost_us").float(cost.as_secs_f64() * 1e6);
    });
}

fn write_event(out: &mut Vec<u8>, event: &TraceEvent) {
    write(out, |line| match event {
        TraceEvent::Call(call) => {
            line.cell("event").text("call");
            line.cell("at").text(&humantime::format_rfc3339_micros(call.at).to_string());
            line.cell("number").int(call.number);
            line.cell("task").text(&call.task);
            line.cell("call").text(call.point);
            line.cell("arity").int(call.arguments.list().len() as u64);
            line.cell("arguments").list(call.arguments.list(), write_argument);
        }
        TraceEvent::Return(ended) => {
            line.cell("event").text("return");
            line.cell("at").text(&humantime::format_rfc3339_micros(ended.at).to_string());
            line.cell("number").int(ended.number);
            line.cell("task").text(&ended.task);
            line.cell("call").text(ended.point);
            line.cell("arity").int(ended.arity as u64);
            line.cell("result").text_or_null(ended.result.as_deref());
            line.cell("duration_us").float(ended.duration.as_secs_f64() * 1e6);
        }
    });
}

/// A name and a value; of a body also how long it is, if that is not all.
fn write_argument(argument: &Argument, writer: Writer<'_>) {
    let of_body = match &argument.value {
        Value::Body(body, len) if (body.len() as u64) < *len => Some(*len),
        _ => None,
    };
    let value = match &argument.value {
        Value::Text(text) => serde_json::Value::from(&**text),
        Value::Number(number) => (*number).into(),
        Value::Flag(flag) => (*flag).into(),
        Value::Body(body, _) => String::from_utf8_lossy(body).into(),
    };
    let parts = [Some(serde_json::Value::from(argument.name)), Some(value), of_body.map(Into::into)];
    writer.list(parts.iter().flatten(), |part, writer| writer.value(part));
}
