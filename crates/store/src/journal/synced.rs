//! How far the journal was synced, recorded in another place than the journal itself: a start that finds less journal knows that some is
//! missing.
//!
//! ```text
//!  file | slot | slot |                                            4096 bytes each, used in turn
//!  slot | magic "WRNSYNCD" | generation u64 | position u64 | crc32c u32 | zeros
//! ```
//!
//! The valid slot with the higher generation counts. Its position was synced before it was written; the journal may reach further. It is
//! written when the journal is closed, and while it is written to, once in [`INTERVAL`]: by a thread of its own, for which no confirm
//! waits, and which sleeps as long as nothing is synced. A file that is not there says nothing, nor does one of which neither slot is
//! valid. Nothing but the noticing depends on it, so that it cannot be written never stops anything.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::time::Duration;

use model::ids::JournalPosition;
use parking_lot::{Condvar, Mutex};

use super::journal_dir::JournalDir;
use super::positions::Positions;
use crate::file::{self, Disk, File, PAGE_LEN, read_exact_at, write_all_at};

/// How long after something was synced the file records it. What is lost of the journal's end without a trace was written in this time.
const INTERVAL: Duration = if cfg!(test) { Duration::from_millis(20) } else { Duration::from_secs(1) };
/// The file's name, beside the journal's directory.
const NAME: &str = "synced";
const MAGIC: [u8; 8] = *b"WRNSYNCD";
const RECORD_LEN: usize = 28;
const CRC_OFFSET: usize = 24;

/// The file that belongs to the journal in a directory.
pub(crate) fn path_of(journal_dir: &Path) -> PathBuf {
    journal_dir.with_file_name(NAME)
}

/// What a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncedContent {
    /// It is not there: an older version wrote the directory, or the power failed during the first start.
    Missing,
    /// Neither slot is valid, or it cannot be read.
    Damaged,
    /// All before this was synced.
    Position(JournalPosition),
}

/// Reads it.
pub(crate) fn read(disk: &dyn Disk, path: &Path) -> SyncedContent {
    let slots = match disk.open(path).and_then(|file| slots(&*file)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return SyncedContent::Missing,
        Err(_) => return SyncedContent::Damaged,
        Ok(slots) => slots,
    };
    let slot = slots.into_iter().flatten().max_by_key(|slot| slot.generation);
    slot.map_or(SyncedContent::Damaged, |slot| SyncedContent::Position(slot.position))
}

/// A whole file that says this.
pub(crate) fn file_of(position: JournalPosition) -> Vec<u8> {
    let mut bytes = Slot { generation: 1, position }.encode().to_vec();
    bytes.resize(2 * PAGE_LEN, 0);
    bytes
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    generation: u64,
    position: JournalPosition,
}

impl Slot {
    fn encode(&self) -> [u8; PAGE_LEN] {
        let mut page = [0; PAGE_LEN];
        page[..8].copy_from_slice(&MAGIC);
        page[8..16].copy_from_slice(&self.generation.to_le_bytes());
        page[16..24].copy_from_slice(&self.position.0.to_le_bytes());
        let crc = crc32c::crc32c(&page[..CRC_OFFSET]);
        page[CRC_OFFSET..RECORD_LEN].copy_from_slice(&crc.to_le_bytes());
        page
    }

    fn decode(record: &[u8; RECORD_LEN]) -> Option<Self> {
        let field = |offset: usize| record[offset..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let is_whole =
            record.starts_with(&MAGIC) && record[CRC_OFFSET..] == crc32c::crc32c(&record[..CRC_OFFSET]).to_le_bytes();
        is_whole.then_some(())?;
        Some(Slot { generation: field(8)?, position: JournalPosition(field(16)?) })
    }
}

fn slots(file: &dyn File) -> io::Result<[Option<Slot>; 2]> {
    let mut found = [None; 2];
    let len = file.len()?;
    for (slot, found) in found.iter_mut().enumerate() {
        let offset = (slot * PAGE_LEN) as u64;
        let mut record = [0; RECORD_LEN];
        if offset + RECORD_LEN as u64 <= len {
            read_exact_at(file, &mut record, offset)?;
            *found = Slot::decode(&record);
        }
    }
    Ok(found)
}

/// The open file.
pub(crate) struct SyncedFile {
    path: PathBuf,
    /// `None`: it could not be made, and this is tried again when it is to be written.
    file: Option<Box<dyn File>>,
    /// The slot that holds what was written last.
    slot: usize,
    last: Slot,
}

impl SyncedFile {
    /// Opens the existing file, if any.
    pub(crate) fn open(disk: &dyn Disk, path: &Path) -> SyncedFile {
        let last = Slot { generation: 0, position: JournalPosition::START };
        let mut synced = SyncedFile { path: path.to_owned(), file: None, slot: 0, last };
        let Ok(file) = disk.open(path) else { return synced };
        let slots = slots(&*file).unwrap_or_default().into_iter().enumerate();
        let found = slots.filter_map(|(slot, found)| Some((slot, found?)));
        if let Some((slot, last)) = found.max_by_key(|(_, found)| found.generation) {
            (synced.file, synced.slot, synced.last) = (Some(file), slot, last);
        }
        synced
    }

    /// Up to where it says that the journal is synced.
    pub(crate) fn position(&self) -> JournalPosition {
        self.last.position
    }

    /// Says that all before `position` is synced, which it must be; and no more.
    pub(crate) fn write(&mut self, disk: &dyn Disk, position: JournalPosition) -> io::Result<()> {
        let Some(file) = self.file.as_deref().filter(|file| file.is_at(&self.path).unwrap_or(true)) else {
            return self.replace(disk, position);
        };
        let next = Slot { generation: self.last.generation + 1, position };
        let slot = 1 - self.slot;
        // If this fails, the same slot is the next to be written: the other one is whole.
        write_all_at(file, &next.encode(), (slot * PAGE_LEN) as u64)?;
        file.fdatasync()?;
        (self.slot, self.last) = (slot, next);
        Ok(())
    }

    /// Puts a new file in place of this one. If that fails, this one is as it was.
    fn replace(&mut self, disk: &dyn Disk, position: JournalPosition) -> io::Result<()> {
        if let Err(error) = file::replace(disk, &self.path, &file_of(position)) {
            let _ = disk.remove(&self.path.with_extension("new")); // its room may be what is lacking
            return Err(error);
        }
        (self.slot, self.last) = (0, Slot { generation: 1, position });
        self.file = Some(disk.open(&self.path)?);
        Ok(())
    }
}

/// The file, and the thread that keeps it.
pub(crate) struct SyncedRecord {
    file: Mutex<SyncedFile>,
    /// The thread waits until something is synced: seen without a lock.
    is_resting: AtomicBool,
    is_stopping: Mutex<bool>,
    changed: Condvar,
}

impl SyncedRecord {
    pub(crate) fn new(file: SyncedFile) -> SyncedRecord {
        let (is_resting, is_stopping) = (AtomicBool::new(false), Mutex::new(false));
        SyncedRecord { file: Mutex::new(file), is_resting, is_stopping, changed: Condvar::new() }
    }

    /// More has been synced.
    pub(crate) fn note(&self) {
        // With the one in `wait`: either this sees that the thread rests, or the thread what was synced.
        fence(Ordering::SeqCst);
        if self.is_resting.load(Ordering::Relaxed) && self.is_resting.swap(false, Ordering::AcqRel) {
            let _lock = self.is_stopping.lock();
            self.changed.notify_one();
        }
    }

    /// Waits until there is something to write down. False: it is over.
    pub(crate) fn wait(&self, positions: &Positions) -> bool {
        let mut is_stopping = self.is_stopping.lock();
        self.is_resting.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if positions.flushed() > self.file.lock().position() {
            self.is_resting.store(false, Ordering::Relaxed);
        }
        while self.is_resting.load(Ordering::Relaxed) && !*is_stopping {
            self.changed.wait(&mut is_stopping);
        }
        if !*is_stopping {
            self.changed.wait_for(&mut is_stopping, INTERVAL);
        }
        !*is_stopping
    }

    pub(crate) fn stop(&self) {
        *self.is_stopping.lock() = true;
        self.changed.notify_one();
    }

    /// Makes the file anew at a start. On a full disk the one that is there must do.
    pub(crate) fn renew(&self, dir: &JournalDir, positions: &Positions) {
        let mut file = self.file.lock();
        if let Err(error) = file.replace(dir.disk(), positions.flushed()) {
            tracing::warn!(dir = %dir.display(), %error, "how far the journal is synced could not be written down");
        }
    }

    /// Writes down how far the journal is synced by now, if that is further than it says.
    pub(crate) fn update(&self, dir: &JournalDir, positions: &Positions) -> io::Result<()> {
        let mut file = self.file.lock();
        let flushed = positions.flushed();
        if flushed > file.position() { file.write(dir.disk(), flushed) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::SimDisk;

    fn path() -> PathBuf {
        path_of(Path::new("/data/journal"))
    }

    fn begun() -> (SimDisk, SyncedFile) {
        let disk = SimDisk::new(1);
        disk.create_dir(Path::new("/data")).unwrap();
        assert_eq!(read(&disk, &path()), SyncedContent::Missing);
        let mut file = SyncedFile::open(&disk, &path());
        file.write(&disk, JournalPosition(10)).unwrap();
        (disk, file)
    }

    #[track_caller]
    fn check_says(disk: &SimDisk, position: u64) {
        assert_eq!(read(disk, &path()), SyncedContent::Position(JournalPosition(position)));
    }

    #[test]
    fn what_was_written_last_counts() {
        let (disk, mut file) = begun();
        check_says(&disk, 10);
        for position in 11..15 {
            file.write(&disk, JournalPosition(position)).unwrap();
            disk.restart();
            check_says(&disk, position);
            file = SyncedFile::open(&disk, &path());
        }
    }

    #[test]
    fn a_damaged_slot_leaves_what_was_written_before() {
        for bit in 0..RECORD_LEN as u64 * 8 {
            let (disk, mut file) = begun();
            file.write(&disk, JournalPosition(20)).unwrap();
            disk.flip_bit(&path(), PAGE_LEN as u64 + bit / 8, (bit % 8) as u8);
            check_says(&disk, 10);
            disk.flip_bit(&path(), bit / 8, (bit % 8) as u8);
            assert_eq!(read(&disk, &path()), SyncedContent::Damaged);
        }
    }

    #[test]
    fn a_write_that_failed_never_takes_the_slot_that_is_whole() {
        let (disk, mut file) = begun();
        for position in [20, 30] {
            disk.fail_syncs(1);
            file.write(&disk, JournalPosition(position)).unwrap_err();
        }
        disk.flip_bit(&path(), PAGE_LEN as u64, 0);
        check_says(&disk, 10);
        file.write(&disk, JournalPosition(40)).unwrap();
        check_says(&disk, 40);
    }

    #[test]
    fn a_file_that_was_removed_is_made_again() {
        let (disk, mut file) = begun();
        disk.remove(&path()).unwrap();
        file.write(&disk, JournalPosition(20)).unwrap();
        check_says(&disk, 20);
    }
}
