//! The tree of times of a session, when its time is over.

use std::time::Duration;

use bytes::Bytes;
use http_server::Source;
use telemetry::trace::{Node, WallSession};
use tokio::time::Instant;

use super::Observer;
use crate::json::Writer;
use crate::unfold::unfold;

/// The answer of a session.
pub(crate) struct WallFeed {
    /// None: it has been answered.
    session: Option<WallSession>,
    observer: Observer,
    until: Instant,
}

impl WallFeed {
    pub(crate) fn new(session: WallSession, observer: Observer, length: Duration) -> WallFeed {
        WallFeed { session: Some(session), observer, until: Instant::now() + length }
    }

    /// As the body of an answer.
    pub(crate) fn into_source(self) -> Box<dyn Source> {
        unfold(self, WallFeed::next)
    }

    async fn next(mut self) -> Option<(Bytes, WallFeed)> {
        let session = self.session.as_ref()?;
        let reason = tokio::select! {
            biased;
            () = tokio::time::sleep_until(self.until) => None,
            reason = self.observer.look() => match reason {
                // Nothing to say yet, which tells whether the reader is there.
                None => return Some((Bytes::from_static(b"\n"), self)),
                Some(reason) => Some(reason),
            },
        };
        let mut out = Vec::new();
        write(&mut out, session, reason);
        self.session = None;
        Some((out.into(), self))
    }
}

fn write(out: &mut Vec<u8>, session: &WallSession, reason: Option<&str>) {
    let cost = session.cost();
    session.with_tree(|tree, count| {
        Writer::new(out).object(|members| {
            members.cell("seconds").float(session.age().as_secs_f64());
            members.cell("calls").int(count);
            members.cell("lost").int(tree.lost_count());
            members.cell("cost_us").float(cost.as_secs_f64() * 1e6);
            members.cell("reason").text_or_null(reason);
            members.cell("frames").list(tree.nodes(), write_frame);
        });
    });
    out.push(b'\n');
}

fn write_frame(node: &Node, writer: Writer<'_>) {
    let us = |ns: u64| ns as f64 / 1e3;
    writer.object(|members| {
        match node.parent {
            Some(parent) => members.cell("parent").int(parent.into()),
            None => members.cell("parent").null(),
        }
        members.cell("kind").text(node.kind.name());
        members.cell("name").text(&node.name);
        members.cell("holder").text_or_null(node.holder.as_deref());
        members.cell("count").int(node.count);
        members.cell("total_us").float(us(node.total_ns));
        members.cell("own_us").float(us(node.own_ns));
    });
}
