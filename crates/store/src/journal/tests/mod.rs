//! The journal on a simulated disk, driven step by step: what was said to be durable is there after any failure.

mod basics;
mod damage;
mod entries;
mod failures;
mod full_disk;
mod group;
mod known_errors;
mod leading;
mod power_loss;
mod reading;
mod replicated;
mod threads;
mod truncation;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use model::ids::{JournalPosition, QueueId, QueueSeq};
use parking_lot::Mutex;

use self::group::{Group, in_both_layouts};
use super::*;
use crate::chunk::{ChunkBudget, ChunkWriter};
use crate::file::{Disk, SimDisk};

const DIR: &str = "/data/journal";

fn small_options() -> Options {
    Options {
        file_len: 64 << 10,
        unretired_len_max: 256 << 10,
        pending_len_max: 128 << 10,
        commit_len_max: 16 << 10,
        confirm_after: ConfirmAfter::Sync,
        sync_delay: Duration::from_secs(1),
        salt: 1,
    }
}

/// The seeds of a test. `STORE_SEED_FACTOR=100` tries so many times more of them.
fn seeds(first: u64, count: u64) -> std::ops::Range<u64> {
    let factor = std::env::var("STORE_SEED_FACTOR").ok().and_then(|factor| factor.parse().ok()).unwrap_or(1);
    first * 1_000_000..first * 1_000_000 + count * factor
}

/// A record as text, with its batch's end: easy to compare.
type Said = (JournalPosition, String);

fn text(record: &Record<'_>) -> String {
    match record {
        Record::Publish { content, targets } => format!("publish {} to {targets:?}", body_text(content.bytes())),
        other => format!("{other:?}"),
    }
}

/// A body, abridged.
fn body_text(body: &[u8]) -> String {
    let start = String::from_utf8_lossy(&body[..body.len().min(20)]);
    format!("{start}… ({}, {:08x})", body.len(), crc32c::crc32c(body))
}

/// An open journal, its writer and preallocator in the test's hands.
struct World {
    journal: Journal,
    writer: Writer,
    preallocator: FilePreallocator,
    /// If syncs are made beside the writer.
    syncer: Option<super::syncer::Syncer>,
    contents: ChunkWriter,
    batch: RecordBatch,
    events: Arc<Mutex<Vec<Event>>>,
    /// The group that replicates it, if the layout of replicated journals is tested.
    group: Option<Arc<Group>>,
}

impl World {
    /// Opens what the disk has. Also what replay said.
    fn open(disk: &SimDisk, options: &Options, from: JournalPosition) -> Result<(World, Vec<Said>), OpenError> {
        World::open_with(disk, options, from, ChunkWriter::new(ChunkBudget::new()))
    }

    fn open_with(
        disk: &SimDisk,
        options: &Options,
        from: JournalPosition,
        mut contents: ChunkWriter,
    ) -> Result<(World, Vec<Said>), OpenError> {
        let (recovery, said) = replay(disk, from, &mut contents)?;
        let events = Arc::new(Mutex::new(Vec::new()));
        let told = events.clone();
        let on_event: OnEvent = Arc::new(move |event| told.lock().push(event));
        let group = group::is_tested().then(|| Group::after(&recovery));
        let replication = group.clone().map(|group| group as Arc<dyn Replication>);
        let (journal, writer, preallocator) = assemble(recovery, options.clone(), on_event, replication)?;
        group.iter().for_each(|group| group.join(&writer));
        Ok((
            World { journal, writer, preallocator, syncer: None, contents, batch: RecordBatch::new(), events, group },
            said,
        ))
    }

    fn new(disk: &SimDisk, options: &Options) -> World {
        disk.create_dir(Path::new(DIR)).unwrap();
        let (world, said) = World::open(disk, options, JournalPosition::START).unwrap();
        assert!(said.is_empty());
        world
    }

    /// Publishes one message to one queue.
    fn publish(&mut self, body: &str) -> JournalPosition {
        let content = self.contents.copy(&[body.as_bytes()]);
        self.batch.publish(&content, &[(QueueId(1), QueueSeq(1))]);
        self.journal.append(&mut self.batch)
    }

    /// Commits until nothing is left or no file can be had.
    fn commit_all(&mut self) -> Result<Progress, Failed> {
        loop {
            match self.writer.commit_once()? {
                Progress::Idle => return Ok(Progress::Idle),
                Progress::Committed => {}
                // As a checkpoint does.
                Progress::Held => self.journal.want_sync(self.journal.appended()),
                Progress::NeedsFile => match self.preallocator.prepare_once() {
                    Preallocation::Done => {}
                    Preallocation::Idle => panic!("the writer waits for a file and the preallocator does nothing"),
                    Preallocation::Stalled => return Ok(Progress::NeedsFile),
                },
            }
        }
    }

    fn file_all(&mut self) {
        while self.preallocator.prepare_once() == Preallocation::Done {}
    }
}

fn replay(
    disk: &SimDisk,
    from: JournalPosition,
    contents: &mut ChunkWriter,
) -> Result<(Recovery, Vec<Said>), OpenError> {
    let mut recovery = Recovery::open(Arc::new(disk.clone()), Path::new(DIR), from, 0)?;
    let mut said = Vec::new();
    let end = recovery.replay(contents, &mut |position, record| said.push((position, text(&record))))?;
    assert!(said.last().is_none_or(|(position, _)| *position <= end));
    Ok((recovery, said))
}
