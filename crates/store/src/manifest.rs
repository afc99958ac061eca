//! The manifest says which checkpoint is in force and where the journal's replay begins. Switching it is what makes a checkpoint count.
//!
//! ```text
//!  file | slot | slot |                                                               4096 bytes each, used in turn
//!  slot | magic "WRNMANIF" | generation u64 | checkpoint u64 | checkpoint_len u64 | position u64
//!       | checkpoint crc32c u32 | crc32c u32 | zeros |
//!
//!  of a member of a group:
//!       | magic "WRNMANI2" | generation u64 | checkpoint u64 | checkpoint_len u64 | position u64
//!       | checkpoint crc32c u32 | base_len u32 | journal_generation_min u64 | base … | crc32c u32 | zeros |
//! ```
//!
//! A member's manifest says beside the position which entry of the group's log ends there and which the members were then
//! (`consensus::Base`). Journal files of lower generations than `journal_generation_min` hold nothing: a switch to files that another
//! member shipped lets go of the whole journal at once. A manifest that never had such a base is written as it always was.
//!
//! The valid slot with the higher generation is in force. A new one is written over the other and synced, so that a torn
//! write leaves the old one. `checkpoint` is a file's number, 0 for none: a store that never made one. The last CRC
//! covers what precedes it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use consensus::Base;
use model::ids::JournalPosition;
use thiserror::Error;

use crate::file::{self, Disk, File, read_exact_at, write_all_at};
use crate::reserve::is_full;
use crate::varint::Reader;

pub(crate) const SLOT_LEN: usize = 4096;
const RECORD_LEN: usize = 48;
const MAGIC: [u8; 8] = *b"WRNMANIF";
const MAGIC_OF_MEMBER: [u8; 8] = *b"WRNMANI2";
/// Where a member's base begins.
const BASE_OFFSET: usize = 56;

/// What a slot says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) generation: u64,
    pub(crate) checkpoint: Option<CheckpointFile>,
    /// Replay begins here.
    pub(crate) position: JournalPosition,
    /// Of a member of a group: which entry ends there.
    pub(crate) base: Option<Arc<Base>>,
    /// Journal files of lower generations hold nothing.
    pub(crate) journal_generation_min: u64,
}

/// Names a checkpoint and what it must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CheckpointFile {
    pub(crate) number: u64,
    pub(crate) len: u64,
    pub(crate) crc: u32,
}

impl Manifest {
    pub(crate) const FIRST: Manifest = Manifest::alone(1, None, JournalPosition::START);

    /// Of a store that belongs to no group.
    pub(crate) const fn alone(generation: u64, checkpoint: Option<CheckpointFile>, position: JournalPosition) -> Self {
        Manifest { generation, checkpoint, position, base: None, journal_generation_min: 0 }
    }

    fn encode(&self) -> [u8; SLOT_LEN] {
        let file = self.checkpoint.unwrap_or(CheckpointFile { number: 0, len: 0, crc: 0 });
        let mut out = [0; SLOT_LEN];
        out[..8].copy_from_slice(if self.base.is_some() { &MAGIC_OF_MEMBER } else { &MAGIC });
        out[8..16].copy_from_slice(&self.generation.to_le_bytes());
        out[16..24].copy_from_slice(&file.number.to_le_bytes());
        out[24..32].copy_from_slice(&file.len.to_le_bytes());
        out[32..40].copy_from_slice(&self.position.0.to_le_bytes());
        out[40..44].copy_from_slice(&file.crc.to_le_bytes());
        let Some(base) = &self.base else {
            let crc = crc32c::crc32c(&out[..44]);
            out[44..48].copy_from_slice(&crc.to_le_bytes());
            return out;
        };
        let mut bytes = Vec::new();
        base.encode(&mut bytes);
        let end = BASE_OFFSET + bytes.len();
        out[44..48].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        out[48..56].copy_from_slice(&self.journal_generation_min.to_le_bytes());
        out[BASE_OFFSET..end].copy_from_slice(&bytes);
        let crc = crc32c::crc32c(&out[..end]);
        out[end..end + 4].copy_from_slice(&crc.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(&MAGIC_OF_MEMBER) { Self::decode_of_member(bytes) } else { Self::decode_alone(bytes) }
    }

    fn decode_alone(bytes: &[u8]) -> Option<Self> {
        let record = bytes.get(..RECORD_LEN)?;
        let mut reader = Reader::new(record);
        let magic: [u8; 8] = reader.array().ok()?;
        let generation = reader.u64().ok()?;
        let (number, len) = (reader.u64().ok()?, reader.u64().ok()?);
        let position = JournalPosition(reader.u64().ok()?);
        let file_crc = reader.u32().ok()?;
        let crc = reader.u32().ok()?;
        if magic != MAGIC || crc != crc32c::crc32c(&record[..RECORD_LEN - 4]) {
            return None;
        }
        let checkpoint = (number != 0).then_some(CheckpointFile { number, len, crc: file_crc });
        Some(Manifest::alone(generation, checkpoint, position))
    }

    fn decode_of_member(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes.get(8..)?);
        let generation = reader.u64().ok()?;
        let (number, len) = (reader.u64().ok()?, reader.u64().ok()?);
        let position = JournalPosition(reader.u64().ok()?);
        let (file_crc, base_len) = (reader.u32().ok()?, reader.u32().ok()?);
        let journal_generation_min = reader.u64().ok()?;
        let end = BASE_OFFSET.checked_add(base_len as usize)?;
        let crc = bytes.get(end..)?.first_chunk().map(|crc| u32::from_le_bytes(*crc))?;
        if crc != crc32c::crc32c(&bytes[..end]) {
            return None;
        }
        let base = Some(Arc::new(Base::decode(&bytes[BASE_OFFSET..end]).ok()?));
        let checkpoint = (number != 0).then_some(CheckpointFile { number, len, crc: file_crc });
        Some(Manifest { generation, checkpoint, position, base, journal_generation_min })
    }
}

/// Why the manifest could not be read.
#[derive(Debug, Error)]
pub(crate) enum ManifestError {
    /// There is none.
    #[error("the manifest is missing")]
    Missing,
    /// Neither slot is valid.
    #[error("neither of the manifest's two slots is valid")]
    Invalid,
    /// The disk said no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The open manifest.
pub(crate) struct ManifestFile {
    file: Box<dyn File>,
    current: Manifest,
    /// The slot that holds `current`; never written to while it does.
    slot: usize,
    /// A higher generation may be on disk: a switch to it failed half-way.
    generation_max: u64,
}

impl ManifestFile {
    /// Makes the manifest of a new store, in place of what has the name. It lasts when this returns.
    pub(crate) fn create(disk: &dyn Disk, path: &Path) -> io::Result<Self> {
        let file = match disk.create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => disk.open(path)?,
            created => created?,
        };
        write_all_at(&*file, &file_of(&Manifest::FIRST), 0)?;
        file.fdatasync()?;
        disk.sync_dir(path.parent().unwrap_or(Path::new("/")))?;
        Ok(ManifestFile { file, current: Manifest::FIRST, slot: 0, generation_max: 1 })
    }

    pub(crate) fn open(disk: &dyn Disk, path: &Path) -> Result<Self, ManifestError> {
        let file = match disk.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ManifestError::Missing),
            opened => opened?,
        };
        let found = slots(&*file)?.into_iter().enumerate().filter_map(|(slot, found)| Some((slot, found?)));
        let (slot, current) = found.max_by_key(|(_, found)| found.generation).ok_or(ManifestError::Invalid)?;
        let generation_max = current.generation;
        Ok(ManifestFile { file, current, slot, generation_max })
    }

    /// Whether it is the file that the next start finds.
    pub(crate) fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.file.is_at(path)
    }

    pub(crate) fn current(&self) -> &Manifest {
        &self.current
    }

    /// Makes what is in force last. It may have been read from the page cache of a kernel that has failed to write it; or it lasts, and
    /// the other slot names files that no longer exist. So neither slot may be torn, and all is written to another file.
    pub(crate) fn write_again(&mut self, disk: &dyn Disk, path: &Path) -> io::Result<()> {
        match file::replace(disk, path, &file_of(&self.current)) {
            // It cannot be done now; the kernel may still have it to write.
            Err(error) if is_full(&error) => return self.file.fdatasync(),
            replaced => replaced?,
        }
        (self.file, self.slot, self.generation_max) = (disk.open(path)?, 0, self.current.generation);
        Ok(())
    }

    /// Puts a checkpoint in force; of a member of a group, with the entry that ends at the position. If it fails, either may be in force
    /// after a restart: what both name must be kept.
    pub(crate) fn switch(
        &mut self,
        checkpoint: CheckpointFile,
        position: JournalPosition,
        base: Option<Arc<Base>>,
    ) -> io::Result<()> {
        assert!(position >= self.current.position, "replay would start where the journal has been recycled");
        assert!(base.is_some() || self.current.base.is_none(), "a member's checkpoint has a base");
        let journal_generation_min = self.current.journal_generation_min;
        self.put_in_force(Manifest {
            generation: 0,
            checkpoint: Some(checkpoint),
            position,
            base,
            journal_generation_min,
        })
    }

    /// Puts in force what another member shipped. The journal's files of lower generations than this no longer count.
    pub(crate) fn restore(
        &mut self,
        checkpoint: CheckpointFile,
        position: JournalPosition,
        base: Arc<Base>,
        journal_generation_min: u64,
    ) -> io::Result<()> {
        let base = Some(base);
        self.put_in_force(Manifest {
            generation: 0,
            checkpoint: Some(checkpoint),
            position,
            base,
            journal_generation_min,
        })
    }

    fn put_in_force(&mut self, next: Manifest) -> io::Result<()> {
        self.generation_max += 1;
        let next = Manifest { generation: self.generation_max, ..next };
        let slot = 1 - self.slot;
        write_all_at(&*self.file, &next.encode(), (slot * SLOT_LEN) as u64)?;
        self.file.fdatasync()?;
        (self.current, self.slot) = (next, slot);
        Ok(())
    }
}

/// A whole manifest that says nothing but this.
pub(crate) fn file_of(manifest: &Manifest) -> Vec<u8> {
    let mut bytes = manifest.encode().to_vec();
    bytes.resize(2 * SLOT_LEN, 0);
    bytes
}

/// What the two slots say, as far as they are valid.
pub(crate) fn slots(file: &dyn File) -> io::Result<[Option<Manifest>; 2]> {
    let mut found = [None, None];
    let len = file.len()?;
    for (slot, found) in found.iter_mut().enumerate() {
        let offset = (slot * SLOT_LEN) as u64;
        let mut record = vec![0; len.saturating_sub(offset).min(SLOT_LEN as u64) as usize];
        read_exact_at(file, &mut record, offset)?;
        *found = Manifest::decode(&record);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::file::SimDisk;

    fn path() -> PathBuf {
        PathBuf::from("/data/manifest")
    }

    fn created() -> SimDisk {
        let disk = SimDisk::new(1);
        disk.create_dir(Path::new("/data")).unwrap();
        ManifestFile::create(&disk, &path()).unwrap();
        disk
    }

    fn checkpoint(number: u64) -> CheckpointFile {
        CheckpointFile { number, len: number * 100, crc: number as u32 }
    }

    fn open(disk: &SimDisk) -> ManifestFile {
        ManifestFile::open(disk, &path()).unwrap()
    }

    #[test]
    fn the_last_switch_is_in_force() {
        let disk = created();
        assert_eq!(*open(&disk).current(), Manifest::FIRST);
        for number in 1..6 {
            let mut manifest = open(&disk);
            manifest.switch(checkpoint(number), JournalPosition(number * 10), None).unwrap();
            assert_eq!(open(&disk).current(), manifest.current());
            assert_eq!(open(&disk).current().checkpoint, Some(checkpoint(number)));
        }
    }

    fn base(index: u64) -> Arc<Base> {
        let voters = [1, 2, 3].into_iter().filter_map(consensus::MemberId::new);
        Arc::new(Base { id: consensus::LogId::new(index, index), ..Base::of_new_group(voters) })
    }

    #[test]
    fn a_members_manifest_says_which_entry_ends_at_the_position() {
        let disk = created();
        let mut manifest = open(&disk);
        manifest.switch(checkpoint(1), JournalPosition(10), Some(base(7))).unwrap();
        assert_eq!(*open(&disk).current(), *manifest.current());
        assert_eq!(open(&disk).current().base, Some(base(7)));
        manifest.restore(checkpoint(2), JournalPosition(5), base(9), 30).unwrap();
        assert_eq!(*open(&disk).current(), *manifest.current());
        // What was shipped stays in force under the next checkpoints.
        manifest.switch(checkpoint(3), JournalPosition(6), Some(base(11))).unwrap();
        let found = open(&disk).current().clone();
        assert_eq!(
            (found.position, found.base, found.journal_generation_min),
            (JournalPosition(6), Some(base(11)), 30)
        );
    }

    #[test]
    fn every_flipped_bit_of_a_members_manifest_is_noticed() {
        let disk = created();
        open(&disk).switch(checkpoint(1), JournalPosition(1), Some(base(1))).unwrap();
        let before = open(&disk).current().clone();
        open(&disk).switch(checkpoint(2), JournalPosition(2), Some(base(2))).unwrap();
        for bit in 0..(BASE_OFFSET as u64 + 48) * 8 {
            disk.flip_bit(&path(), bit / 8, (bit % 8) as u8);
            assert_eq!(*open(&disk).current(), before, "bit {bit}");
            disk.flip_bit(&path(), bit / 8, (bit % 8) as u8);
        }
    }

    #[test]
    fn a_torn_switch_leaves_the_one_before() {
        for bit in 0..RECORD_LEN as u64 * 8 {
            let disk = created();
            open(&disk).switch(checkpoint(1), JournalPosition(1), None).unwrap();
            let before = open(&disk).current().clone();
            open(&disk).switch(checkpoint(2), JournalPosition(2), None).unwrap();
            disk.flip_bit(&path(), bit / 8, (bit % 8) as u8);
            assert_eq!(*open(&disk).current(), before, "bit {bit}");
        }
    }

    #[test]
    fn after_a_failed_switch_the_one_in_force_is_not_overwritten() {
        let disk = created();
        let mut manifest = open(&disk);
        manifest.switch(checkpoint(1), JournalPosition(1), None).unwrap();
        let before = manifest.current().clone();
        disk.fail_syncs(1);
        manifest.switch(checkpoint(2), JournalPosition(2), None).unwrap_err();
        disk.fail_syncs(1);
        manifest.switch(checkpoint(3), JournalPosition(3), None).unwrap_err();
        let slots = slots(&*disk.open(&path()).unwrap()).unwrap();
        assert!(slots.contains(&Some(before)), "{slots:?}");
        manifest.switch(checkpoint(4), JournalPosition(4), None).unwrap();
        assert_eq!(open(&disk).current().checkpoint, Some(checkpoint(4)));
    }

    #[test]
    fn nothing_valid_is_told_from_nothing_there() {
        let disk = created();
        disk.flip_bit(&path(), 3, 1);
        assert!(matches!(ManifestFile::open(&disk, &path()), Err(ManifestError::Invalid)));
        disk.remove(&path()).unwrap();
        assert!(matches!(ManifestFile::open(&disk, &path()), Err(ManifestError::Missing)));
    }
}
