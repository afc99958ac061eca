//! Once a second each node asks the others how they are: what time it is there, and what their process and machine are at. Who does not
//! answer is silent, whether it is dead, stopped, or too busy.
//!
//! ```text
//!  call "vitals"   version u8 (1) ─► version u8 (1) | wall u64 | broker u64 | count u8 of numbers | key u8, number u64 each
//!                                    | count u8 of texts | key u8, text each |
//!
//!  wall    milliseconds since 1970, by the system's clock
//!  broker  the same by the time that what waits goes by, where a broker runs; else 0
//!  texts   1 data directory, 2 file of the configuration, 3 listener of HTTP: port, address, path and description in as many lines
//! ```
//!
//! What has another key is of a later version, and is skipped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::inbox::Event;
use super::shell::{Phase, Shell, clock_ms};
use crate::control::{Context, NodeFigures};
use crate::link::reader::{Reader, put_text};
use crate::link::{FrameError, Identity, NodeName};
use crate::links::{CallAnswer, CallError};
use crate::roster::Roster;

/// A node asks how another one is.
pub(super) const CALL_VITALS: &str = "vitals";

/// How often.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// An answer that took longer says nothing of the other's clock.
const ROUND_TRIP_MAX: Duration = Duration::from_millis(500);
/// Bytes of a text.
const TEXT_LEN_MAX: usize = 1024;
/// Texts of a kind.
const TEXT_COUNT_MAX: usize = 32;

const VERSION: u8 = 1;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Vitals {
    wall_ms: u64,
    broker_ms: Option<u64>,
    figures: NodeFigures,
}

type Number = (u8, fn(&mut NodeFigures) -> &mut u64);

/// Numbers by their keys.
const NUMBERS: [Number; 13] = [
    (1, |figures| &mut figures.memory_used_len),
    (2, |figures| &mut figures.memory_limit_len),
    (3, |figures| &mut figures.disk_free_len),
    (4, |figures| &mut figures.disk_free_limit_len),
    (5, |figures| &mut figures.file_count),
    (6, |figures| &mut figures.file_count_max),
    (7, |figures| &mut figures.thread_count),
    (8, |figures| &mut figures.thread_count_max),
    (9, |figures| &mut figures.connection_count),
    (10, |figures| &mut figures.waiting_task_count),
    (11, |figures| &mut figures.processor_count),
    (12, |figures| &mut figures.uptime_ms),
    (13, |figures| &mut figures.pid),
];
/// Alarms: 1 memory, 2 disk.
const ALARMS: u8 = 14;

const DATA_DIR: u8 = 1;
const CONFIG_FILE: u8 = 2;
const CONTEXT: u8 = 3;

impl Vitals {
    fn encode(mut self) -> Vec<u8> {
        let mut to = vec![VERSION];
        to.extend_from_slice(&self.wall_ms.to_le_bytes());
        to.extend_from_slice(&self.broker_ms.unwrap_or(0).to_le_bytes());
        to.push(NUMBERS.len() as u8 + 1);
        for (key, number) in NUMBERS {
            to.push(key);
            to.extend_from_slice(&number(&mut self.figures).to_le_bytes());
        }
        let figures = &self.figures;
        to.push(ALARMS);
        let alarms = u64::from(figures.is_memory_low) | u64::from(figures.is_disk_low) << 1;
        to.extend_from_slice(&alarms.to_le_bytes());
        let files = figures.config_files.iter().take(TEXT_COUNT_MAX);
        let contexts = figures.contexts.iter().take(TEXT_COUNT_MAX);
        to.push(1 + files.len() as u8 + contexts.len() as u8);
        let mut put = |key: u8, text: &str| {
            to.push(key);
            put_text(&mut to, text, TEXT_LEN_MAX);
        };
        put(DATA_DIR, &figures.data_dir);
        files.for_each(|file| put(CONFIG_FILE, file));
        for Context { description, path, ip, port } in contexts {
            put(CONTEXT, &format!("{port}\n{ip}\n{path}\n{description}"));
        }
        to
    }

    fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader(bytes);
        if reader.u8()? != VERSION {
            return Err(FrameError::Impossible("version"));
        }
        let (wall_ms, broker_ms) = (reader.u64()?, reader.u64()?);
        let mut figures = NodeFigures::default();
        for _ in 0..reader.u8()? {
            let (key, value) = (reader.u8()?, reader.u64()?);
            if key == ALARMS {
                (figures.is_memory_low, figures.is_disk_low) = (value & 1 != 0, value & 2 != 0);
            }
            if let Some((_, number)) = NUMBERS.iter().find(|(known, _)| *known == key) {
                *number(&mut figures) = value;
            }
        }
        for _ in 0..reader.u8()? {
            let (key, text) = (reader.u8()?, reader.text(TEXT_LEN_MAX)?);
            match key {
                DATA_DIR => figures.data_dir = text.to_owned(),
                CONFIG_FILE => figures.config_files.push(text.to_owned()),
                CONTEXT => figures.contexts.extend(context(text)),
                _ => {}
            }
        }
        Ok(Vitals { wall_ms, broker_ms: (broker_ms > 0).then_some(broker_ms), figures })
    }
}

fn context(text: &str) -> Option<Context> {
    let mut lines = text.splitn(4, '\n');
    let port = lines.next()?.parse().ok()?;
    let (ip, path, description) = (lines.next()?.to_owned(), lines.next()?.to_owned(), lines.next()?.to_owned());
    Some(Context { description, path, ip, port })
}

/// How far the other's clock is ahead, by an answer that took so long: it was given half way.
fn ahead_ms(theirs_ms: u64, ours_ms: u64, round_trip: Duration) -> Option<i64> {
    let ours_ms = i64::try_from(ours_ms).ok()?.checked_sub(round_trip.as_millis() as i64 / 2)?;
    (round_trip <= ROUND_TRIP_MAX).then(|| i64::try_from(theirs_ms).unwrap_or(i64::MAX).saturating_sub(ours_ms))
}

impl Shell {
    /// Asks all peers how they are, when it is time to, and looks at its own clock.
    pub(super) fn look_at_vitals(&mut self) {
        let now = Instant::now();
        if now < self.next_vitals {
            return;
        }
        self.next_vitals = now + INTERVAL;
        if let Some(broker_ms) = self.host.broker_ms() {
            self.time.is(broker_ms);
        }
        if !matches!(self.phase, Phase::Member(_)) {
            return;
        }
        self.keep_time();
        self.look_at_progress(now);
        let nodes = self.roster.iter().flat_map(Roster::iter).map(|(name, _)| name);
        let names: Vec<_> = nodes.filter(|name| **name != self.setup.name).cloned().collect();
        self.vitals.retain(|name, _| names.contains(name));
        names.iter().for_each(|name| self.ask_vitals(name));
    }

    /// The leader knows how far the others are.
    fn look_at_progress(&mut self, now: Instant) {
        let found = self.leading().map(|driver| (driver.status().last.index.0, driver.peers()));
        let Some((last, peers)) = found else {
            return self.vitals.values_mut().for_each(|vitals| vitals.behind = None);
        };
        for (name, node) in self.roster.iter().flat_map(Roster::iter) {
            let peer = peers.iter().find(|peer| peer.member == node.member);
            if let (Some(peer), Some(vitals)) = (peer, self.vitals.get_mut(name)) {
                vitals.note_progress(peer.upto.0, last, now);
            }
        }
    }

    /// Asks a peer how it is.
    pub(super) fn ask_vitals(&mut self, peer: &NodeName) {
        let asked_at = Instant::now();
        let vitals = self.vitals.entry(peer.clone()).or_default();
        if std::mem::replace(&mut vitals.is_asked, true) {
            return;
        }
        vitals.heard_at.get_or_insert(asked_at);
        let (inbox, asked) = (self.inbox.clone(), peer.clone());
        let then = move |answer| {
            inbox.put(Event::VitalsAnswered { peer: asked, asked_at, answered_at: Instant::now(), answer })
        };
        self.links.call_then(peer, CALL_VITALS, vec![VERSION], PATIENCE, then);
    }

    pub(super) fn answer_vitals(&self, from: &Identity, payload: &[u8], answer: CallAnswer) {
        let is_peer = from.cluster.is_some() && from.cluster == self.roster.as_ref().map(Roster::cluster);
        if !is_peer || payload.first().is_none_or(|version| *version < VERSION) {
            return;
        }
        let broker_ms = self.leading().and_then(|_| self.host.broker_ms());
        answer.give(&Vitals { wall_ms: clock_ms(), broker_ms, figures: self.host.figures() }.encode());
    }

    pub(super) fn vitals_answered(
        &mut self,
        peer: &NodeName,
        (asked_at, answered_at): (Instant, Instant),
        answer: Result<Vec<u8>, CallError>,
    ) {
        let is_leader = self.leader.as_ref() == Some(peer);
        let Some(of_peer) = self.vitals.get_mut(peer) else { return };
        of_peer.is_asked = false;
        let Ok(Ok(vitals)) = answer.map(|bytes| Vitals::decode(&bytes)) else { return };
        of_peer.heard_at = Some(answered_at);
        let ours_ms = clock_ms().saturating_sub(answered_at.elapsed().as_millis() as u64);
        if let Some(ahead_ms) = ahead_ms(vitals.wall_ms, ours_ms, answered_at - asked_at) {
            of_peer.clock_ahead_ms = Some(ahead_ms);
        }
        of_peer.figures = Some(Arc::new(vitals.figures));
        // What another one says that thinks it leads is old.
        if let (true, Some(broker_ms)) = (is_leader, vitals.broker_ms) {
            self.time.hear(broker_ms, asked_at, answered_at);
            self.keep_time();
        }
    }

    /// Keeps how far this machine's clock is off, for a start at which no other node says what time it is.
    fn keep_time(&mut self) {
        let Some(ahead_ms) = self.time.news(clock_ms()) else { return };
        if let Err(error) = self.files.write_ahead(ahead_ms) {
            tracing::warn!(%error, "it is not kept what time it is in the cluster");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::peer_vitals::PeerVitals;
    use super::*;

    fn vitals() -> Vitals {
        let context =
            |port| Context { description: "Management".to_owned(), path: "/".to_owned(), ip: "::".to_owned(), port };
        let mut figures = NodeFigures {
            is_disk_low: true,
            data_dir: "/var/lib/warren".to_owned(),
            config_files: vec!["/etc/a".to_owned(), "/etc/b".to_owned()],
            contexts: vec![context(15_672), context(15_692)],
            ..NodeFigures::default()
        };
        for (key, number) in NUMBERS {
            *number(&mut figures) = u64::from(key) << 33;
        }
        Vitals { wall_ms: 1_720_000_000_123, broker_ms: Some(1_720_000_300_000), figures }
    }

    #[test]
    fn vitals_are_read_as_they_were_written() {
        let bytes = vitals().encode();
        assert_eq!(Vitals::decode(&bytes).unwrap(), vitals());
        for len in 0..bytes.len() {
            assert!(Vitals::decode(&bytes[..len]).is_err(), "{len} bytes are none");
        }
    }

    #[test]
    fn what_later_versions_add_is_skipped() {
        let plain = Vitals { broker_ms: None, figures: NodeFigures::default(), ..vitals() };
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&plain.wall_ms.to_le_bytes());
        bytes.extend_from_slice(&0_u64.to_le_bytes());
        bytes.extend_from_slice(&[1, 200]);
        bytes.extend_from_slice(&7_u64.to_le_bytes());
        bytes.extend_from_slice(&[1, 200, 1, 0, b'x', b'y']);
        assert_eq!(Vitals::decode(&bytes).unwrap(), plain);
    }

    #[test]
    fn who_takes_nothing_is_told_from_who_is_late() {
        let (mut vitals, start) = (PeerVitals::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        vitals.note_progress(5, 5, at(0));
        assert_eq!(vitals.behind, None);
        vitals.note_progress(5, 7, at(1));
        vitals.note_progress(5, 9, at(3));
        assert_eq!(vitals.behind, Some((5, at(1))), "it has taken nothing since");
        vitals.note_progress(8, 20, at(4));
        assert_eq!(vitals.behind, Some((8, at(4))), "it is late, and goes on");
    }

    #[test]
    fn a_clock_is_compared_half_way() {
        let trip = Duration::from_millis(40);
        assert_eq!(ahead_ms(1_000_020, 1_000_040, trip), Some(0));
        assert_eq!(ahead_ms(4_600_020, 1_000_040, trip), Some(3_600_000));
        assert_eq!(ahead_ms(0, 3_600_020, trip), Some(-3_600_000));
        assert_eq!(ahead_ms(1_000_000, 1_000_000, Duration::from_secs(1)), None, "it took too long to say anything");
    }
}
