//! A node's answer to the question how it is.
//!
//! ```text
//!  call "vitals"   version u8 (1) ─► version u8 (1) | wall u64 | broker u64 | count u8 of numbers | key u8, number u64 each
//!                                    | count u8 of texts | key u8, text each |
//!
//!  wall    milliseconds since 1970, by the system's clock
//!  broker  the same by the time by which waiting messages fall due, where a broker runs; else 0
//!  texts   1 data directory, 2 file of the configuration, 3 listener of HTTP: port, address, path and description in as many lines
//! ```
//!
//! What has another key is of a later version, and is skipped.

use crate::control::{Context, NodeFigures};
use crate::wire::FrameError;
use crate::wire::reader::{Reader, put_text};

/// Bytes of a text.
const TEXT_LEN_MAX: usize = 1024;
/// Texts of a kind.
const TEXT_COUNT_MAX: usize = 32;

const VERSION: u8 = 1;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Vitals {
    /// What the system's clock shows.
    pub(crate) wall_ms: u64,
    /// The broker's time, where one runs.
    pub(crate) broker_ms: Option<u64>,
    pub(crate) figures: NodeFigures,
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
    /// The question.
    pub(crate) fn question() -> Vec<u8> {
        vec![VERSION]
    }

    /// Whether a node asks in a way that this one can answer.
    pub(crate) fn is_question(payload: &[u8]) -> bool {
        payload.first().is_some_and(|version| *version >= VERSION)
    }

    pub(crate) fn encode(mut self) -> Vec<u8> {
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

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
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

#[cfg(test)]
mod tests {
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
}
