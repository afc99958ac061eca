//! One stream of events, as its reader takes them.

use std::collections::HashSet;
use std::sync::Arc;

use broker::{Followed, Subscription};
use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::viewer::LostRight;
use super::{FeedRequest, FeedSlot, Viewer, changes, numbers};
use crate::json::{Object, Writer};
use crate::limits::LIVE_HEARTBEAT_INTERVAL;
use crate::service::Service;
use crate::stage::Stage;
use crate::unfold::unfold;
use http_server::PIECE_LEN;
use http_server::Source;

/// A stream of events.
pub(crate) struct Feed {
    service: Arc<Service>,
    viewer: Viewer,
    wanted: FeedRequest,
    /// None: no changes are wanted.
    changes: Option<Subscription>,
    looks: Interval,
    /// When something is to be said even if there is nothing to tell.
    beat_at: Instant,
    stage: Option<watch::Receiver<Stage>>,
    /// Objects of which it was told that they are not there.
    gone: HashSet<String>,
    last_id: u64,
    has_ended: bool,
    _place: FeedSlot,
}

/// What a feed has waited for.
enum Wakeup {
    /// Numbers are due, or were at that time.
    Look(Instant),
    Change(Followed),
    Beat,
    Stop,
}

impl Feed {
    /// A feed for a viewer whose rights have been checked. What happens from here on is told.
    pub(crate) async fn open(service: Arc<Service>, mut viewer: Viewer, wanted: FeedRequest, place: FeedSlot) -> Feed {
        let changes = wanted.has_changes.then(|| service.broker.subscribe(changes::is_change));
        if changes.is_some() {
            viewer.look_around().await;
        }
        let mut looks = tokio::time::interval(wanted.interval);
        looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let stage = service.live.stage();
        Feed {
            service,
            viewer,
            wanted,
            changes,
            looks,
            beat_at: Instant::now() + LIVE_HEARTBEAT_INTERVAL,
            stage,
            gone: HashSet::new(),
            last_id: 0,
            has_ended: false,
            _place: place,
        }
    }

    /// As the body of an answer.
    pub(crate) fn into_source(self) -> Box<dyn Source> {
        unfold(self, Feed::next)
    }

    /// The next piece. None: that was all.
    async fn next(mut self) -> Option<(Bytes, Feed)> {
        if self.has_ended {
            return None;
        }
        let mut out = Vec::new();
        while out.is_empty() {
            let wakeup = self.wakeup().await;
            if let Err(lost) = self.viewer.check(&self.wanted).await {
                self.end(&lost, &mut out);
                break;
            }
            match wakeup {
                Wakeup::Stop => {
                    self.has_ended = true;
                    self.write(&mut out, "end", |members| members.cell("reason").text("the broker stops"));
                }
                Wakeup::Beat => out.extend_from_slice(b":\n\n"),
                Wakeup::Look(due) => self.look(due, &mut out),
                Wakeup::Change(followed) => self.tell_changes(followed, &mut out).await,
            }
        }
        self.beat_at = Instant::now() + LIVE_HEARTBEAT_INTERVAL;
        Some((out.into(), self))
    }

    async fn wakeup(&mut self) -> Wakeup {
        let has_looks = self.wanted.look_len() > 0;
        tokio::select! {
            biased;
            () = stopping(self.stage.as_mut()) => Wakeup::Stop,
            due = self.looks.tick(), if has_looks => Wakeup::Look(due),
            followed = next_change(self.changes.as_mut()) => Wakeup::Change(followed),
            () = tokio::time::sleep_until(self.beat_at) => Wakeup::Beat,
        }
    }

    fn end(&mut self, lost: &LostRight, out: &mut Vec<u8>) {
        self.has_ended = true;
        self.write(out, "end", |members| members.cell("reason").text(&lost.reason()));
    }

    /// Writes the numbers that are wanted. Those that were due before and not read are missed.
    fn look(&mut self, due: Instant, out: &mut Vec<u8>) {
        let late = due.elapsed().as_millis() / self.wanted.interval.as_millis().max(1);
        if let Ok(late @ 1..) = u64::try_from(late) {
            let count = late.saturating_mul(self.wanted.look_len());
            self.write(out, "missed", |members| members.cell("count").int(count));
        }
        let service = self.service.clone();
        if self.wanted.has_rates {
            self.write(out, "rates", |members| numbers::write_node(&service, members));
        }
        for name in self.wanted.vhosts.clone() {
            self.tell_object(out, "vhost", &name, None, |members| numbers::write_vhost(&service, &name, members));
        }
        for (vhost, name) in self.wanted.queues.clone() {
            self.tell_object(out, "queue", &name, Some(&vhost), |members| {
                numbers::write_queue(&service, &vhost, &name, members)
            });
        }
    }

    /// Tells of an object, or once that it is not there.
    fn tell_object(
        &mut self,
        out: &mut Vec<u8>,
        kind: &'static str,
        name: &str,
        vhost: Option<&str>,
        write: impl FnOnce(&mut Object<'_>) -> bool,
    ) {
        let key = format!("{kind} {} {name}", vhost.unwrap_or_default());
        let (start, last_id) = (out.len(), self.last_id);
        let mut is_there = false;
        self.write(out, kind, |members| is_there = write(members));
        if is_there {
            self.gone.remove(&key);
            return;
        }
        out.truncate(start);
        self.last_id = last_id;
        if self.gone.insert(key) {
            self.write(out, "gone", |members| {
                members.cell("kind").text(kind);
                if let Some(vhost) = vhost {
                    members.cell("vhost").text(vhost);
                }
                members.cell("name").text(name);
            });
        }
    }

    /// Tells what has happened, as much of it as makes one piece.
    async fn tell_changes(&mut self, first: Followed, out: &mut Vec<u8>) {
        let mut next = Some(first);
        while let Some(followed) = next {
            match followed {
                Followed::Missed(count) => self.write(out, "missed", |members| members.cell("count").int(count)),
                Followed::Event(event) => {
                    if self.viewer.sees(&event).await {
                        self.write(out, "change", |members| changes::write(&event, members));
                    }
                }
            }
            let has_room = out.len() < PIECE_LEN;
            next = self.changes.as_ref().filter(|_| has_room).and_then(Subscription::take);
        }
    }

    /// Writes one event. JSON has no line breaks outside of its texts, and none inside.
    fn write(&mut self, out: &mut Vec<u8>, name: &str, fill: impl FnOnce(&mut Object<'_>)) {
        self.last_id += 1;
        out.extend_from_slice(format!("id: {}\nevent: {name}\ndata: ", self.last_id).as_bytes());
        Writer::new(out).object(fill);
        out.extend_from_slice(b"\n\n");
    }
}

/// Ready when the server stops; never where there is none.
async fn stopping(stage: Option<&mut watch::Receiver<Stage>>) {
    match stage {
        // An error means that the server is gone.
        Some(stage) => drop(stage.wait_for(|stage| *stage >= Stage::Stopping).await),
        None => std::future::pending().await,
    }
}

async fn next_change(changes: Option<&mut Subscription>) -> Followed {
    match changes {
        Some(changes) => changes.next().await,
        None => std::future::pending().await,
    }
}
