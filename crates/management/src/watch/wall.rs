//! The tree of times of a session, when its time is over.

use std::time::Duration;

use telemetry::trace::{Node, WallSession};
use tokio::time::Instant;

use super::Observed;
use crate::json::Writer;

/// The answer of a session.
pub(crate) struct WallFeed {
    /// None: it has been sent.
    session: Option<WallSession>,
    /// The name of the node.
    node: String,
    until: Instant,
}

impl WallFeed {
    pub(crate) fn new(session: WallSession, node: String, length: Duration) -> WallFeed {
        WallFeed { session: Some(session), node, until: Instant::now() + length }
    }
}

impl Observed for WallFeed {
    async fn next(&mut self) -> Option<Vec<u8>> {
        self.session.as_ref()?;
        tokio::time::sleep_until(self.until).await;
        self.session.take().map(|session| written(&session, &self.node, None))
    }

    async fn end(self, reason: &str) -> Vec<u8> {
        self.session.map(|session| written(&session, &self.node, Some(reason))).unwrap_or_default()
    }
}

fn written(session: &WallSession, node: &str, reason: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    let cost = session.cost();
    session.with_tree(|tree, count| {
        Writer::new(&mut out).object(|members| {
            members.cell("node").text(node);
            members.cell("seconds").float(session.age().as_secs_f64());
            members.cell("calls").int(count);
            members.cell("lost").int(tree.lost_count());
            members.cell("cost_us").float(cost.as_secs_f64() * 1e6);
            members.cell("reason").text_or_null(reason);
            members.cell("frames").list(tree.nodes(), write_frame);
        });
    });
    out.push(b'\n');
    out
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
