//! One stream of events, as its reader takes them.

use std::collections::HashSet;
use std::sync::Arc;

use alerts::Phase;
use broker::{Followed, Subscription};
use bytes::Bytes;
use observe::alerting::AlertSnapshot;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::viewer::LostRight;
use super::watched_connections::{WatchedConnections, connection_of};
use super::{FeedRequest, FeedSlot, Viewer, changes, numbers};
use crate::audit;
use crate::json::{Object, Writer};
use crate::limits::{LIVE_HEARTBEAT_INTERVAL, LIVE_LOG_INTERVAL};
use crate::routes::log::write_line;
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
    /// None: no alerts are wanted.
    alerts: Option<Subscription>,
    /// Whether the alerts that fired from the beginning have been sent.
    has_sent_alerts: bool,
    /// None: nothing of the audit log is wanted.
    audit: Option<Subscription>,
    /// The number of the last line of the log that needs no event any longer.
    last_line: u64,
    log_looks: Interval,
    connections: WatchedConnections,
    looks: Interval,
    /// When a comment is sent even if there is no event.
    beat_at: Instant,
    stage: Option<watch::Receiver<Stage>>,
    /// Objects that were reported as missing.
    reported_missing: HashSet<String>,
    last_id: u64,
    has_ended: bool,
    _place: FeedSlot,
}

/// What a feed has waited for.
enum Wakeup {
    /// Numbers are due, or were at that time.
    Look(Instant),
    Change(Followed),
    Alert(Followed),
    Audit(Followed),
    Log,
    Beat,
    Stop,
}

impl Feed {
    /// A feed for a viewer whose rights have been checked. What happens from here on is sent.
    pub(crate) async fn open(service: Arc<Service>, mut viewer: Viewer, wanted: FeedRequest, place: FeedSlot) -> Feed {
        let changes = wanted.has_changes.then(|| service.broker.subscribe(changes::is_change));
        if changes.is_some() {
            viewer.look_around().await;
        }
        let alerts = wanted.has_alerts.then(|| service.broker.subscribe(|name| name.starts_with("alert.")));
        let audit = wanted.has_audit.then(|| service.broker.subscribe(broker::is_event_kept));
        let last_line = service.process().map_or(0, |process| process.recent_lines().last_id());
        let mut log_looks = tokio::time::interval(LIVE_LOG_INTERVAL);
        log_looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut looks = tokio::time::interval(wanted.interval);
        looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let stage = service.feeds.stage();
        Feed {
            service,
            viewer,
            wanted,
            changes,
            alerts,
            has_sent_alerts: false,
            audit,
            last_line,
            log_looks,
            connections: WatchedConnections::default(),
            looks,
            beat_at: Instant::now() + LIVE_HEARTBEAT_INTERVAL,
            stage,
            reported_missing: HashSet::new(),
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
            if matches!(wakeup, Wakeup::Log) && !self.has_lines() {
                continue;
            }
            if let Err(lost) = self.viewer.check(&self.wanted).await {
                self.end(&lost, &mut out);
                break;
            }
            match wakeup {
                Wakeup::Stop => {
                    self.has_ended = true;
                    self.write(&mut out, "end", |members| members.cell("reason").text("the broker is stopping"));
                }
                Wakeup::Beat => out.extend_from_slice(b":\n\n"),
                Wakeup::Look(due) => self.look(due, &mut out),
                Wakeup::Change(followed) => self.write_changes(followed, &mut out).await,
                Wakeup::Alert(followed) => self.write_alert(&followed, &mut out),
                Wakeup::Audit(followed) => self.write_audit(followed, &mut out),
                Wakeup::Log => self.write_lines(&mut out),
            }
        }
        self.beat_at = Instant::now() + LIVE_HEARTBEAT_INTERVAL;
        Some((out.into(), self))
    }

    async fn wakeup(&mut self) -> Wakeup {
        let has_looks = self.wanted.look_len() > 0;
        let (has_log, has_news) = (self.wanted.has_log, self.wanted.has_alerts && !self.has_sent_alerts);
        tokio::select! {
            biased;
            () = stopping(self.stage.as_mut()) => Wakeup::Stop,
            due = self.looks.tick(), if has_looks => Wakeup::Look(due),
            // What fires is sent before what changes of it.
            () = std::future::ready(()), if has_news => Wakeup::Alert(Followed::Missed(0)),
            followed = next_change(self.changes.as_mut()) => Wakeup::Change(followed),
            followed = next_change(self.alerts.as_mut()) => Wakeup::Alert(followed),
            followed = next_change(self.audit.as_mut()) => Wakeup::Audit(followed),
            _ = self.log_looks.tick(), if has_log => Wakeup::Log,
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
            self.write_object(out, "vhost", &name, None, |members| numbers::write_vhost(&service, &name, members));
        }
        for (vhost, name) in self.wanted.queues.clone() {
            self.write_object(out, "queue", &name, Some(&vhost), |members| {
                numbers::write_queue(&service, &vhost, &name, members)
            });
        }
        for (vhost, name) in self.wanted.exchanges.clone() {
            self.write_object(out, "exchange", &name, Some(&vhost), |members| {
                numbers::write_exchange(&service, &vhost, &name, members)
            });
        }
        self.look_at_connections(&service, out);
    }

    /// Writes the numbers of connections and channels. One that the viewer may not see is not there for it.
    fn look_at_connections(&mut self, service: &Service, out: &mut Vec<u8>) {
        let FeedRequest { connections, channels, .. } = &self.wanted;
        let (connections, channels) = (connections.clone(), channels.clone());
        let names = connections.iter().map(String::as_str).chain(channels.iter().map(|name| connection_of(name)));
        self.connections.look_for(&service.broker, names);
        for name in connections {
            let view = self.connections.find(&service.broker, &name);
            let view = view.filter(|view| self.viewer.sees_connection(view));
            self.write_object(out, "connection", &name, None, |members| {
                view.map(|view| numbers::write_connection(service, &view, members)).is_some()
            });
        }
        for name in channels {
            let view = self.connections.find_channel(&service.broker, &name);
            let view = view.filter(|view| self.viewer.sees_connection(&view.connection));
            self.write_object(out, "channel", &name, None, |members| {
                view.map(|view| numbers::write_channel(service, &view, members)).is_some()
            });
        }
    }

    /// Writes what fires, at first, and then what has changed.
    fn write_alert(&mut self, followed: &Followed, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.has_sent_alerts, true) {
            let firing = self.service.alerting().map(|alerting| firing(&alerting.snapshot())).unwrap_or_default();
            self.write(out, "alerts", |members| {
                members.cell("firing").list(firing, |alert, writer| writer.value(&Value::Object(alert)));
            });
            return;
        }
        match followed {
            Followed::Missed(count) => self.write(out, "missed", |members| members.cell("count").int(*count)),
            Followed::Event(event) => self.write(out, "alert", |members| changes::write(event, members)),
        }
    }

    /// Writes what users did, as many of them as make one piece.
    fn write_audit(&mut self, first: Followed, out: &mut Vec<u8>) {
        let mut next = Some(first);
        while let Some(followed) = next {
            match followed {
                Followed::Missed(count) => self.write(out, "missed", |members| members.cell("count").int(count)),
                Followed::Event(event) => self.write(out, "audit", |members| {
                    members.cell("id").int(event.id);
                    audit::write(&event, members, true);
                }),
            }
            let has_room = out.len() < PIECE_LEN;
            next = self.audit.as_ref().filter(|_| has_room).and_then(Subscription::take);
        }
    }

    /// Whether something was logged that has not been sent.
    fn has_lines(&self) -> bool {
        self.service.process().is_some_and(|process| process.recent_lines().last_id() > self.last_line)
    }

    /// Writes lines of the log, as many of them as make one piece: the next ones come with the next look.
    fn write_lines(&mut self, out: &mut Vec<u8>) {
        let Some(process) = self.service.process().cloned() else { return };
        for (id, line) in process.recent_lines().after(self.last_line) {
            let missed_count = id - self.last_line - 1;
            if missed_count > 0 {
                self.write(out, "missed", |members| members.cell("count").int(missed_count));
            }
            self.last_line = id;
            self.write(out, "log", |members| write_line(id, &line, members));
            if out.len() >= PIECE_LEN {
                return self.log_looks.reset_immediately();
            }
        }
    }

    /// Writes an object, or once that it does not exist.
    fn write_object(
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
            self.reported_missing.remove(&key);
            return;
        }
        out.truncate(start);
        self.last_id = last_id;
        if self.reported_missing.insert(key) {
            self.write(out, "gone", |members| {
                members.cell("kind").text(kind);
                if let Some(vhost) = vhost {
                    members.cell("vhost").text(vhost);
                }
                members.cell("name").text(name);
            });
        }
    }

    /// Writes what has happened, as much of it as makes one piece.
    async fn write_changes(&mut self, first: Followed, out: &mut Vec<u8>) {
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

/// Alerts that fire, as `/api/alerts` has them.
fn firing(snapshot: &AlertSnapshot) -> Vec<Map<String, Value>> {
    let is_firing = |phase: &Phase| matches!(phase, Phase::Firing { .. });
    let firing = snapshot.alert_states.iter().filter(|standing| is_firing(&standing.phase));
    firing.map(|standing| standing.alert.members()).collect()
}

/// Ready when the server stops; never where there is none.
async fn stopping(stage: Option<&mut watch::Receiver<Stage>>) {
    match stage {
        // An error means that the server has stopped.
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
