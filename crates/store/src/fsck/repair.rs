//! Puts together what is left.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::ids::{JournalPosition, QueueId, QueueSeq, SegmentId};

use super::forgiving::ForgivingDisk;
use super::scan::{GoodRange, Scan, Window, content, is_settled};
use super::{Examination, ExaminedSegment, FsckError, Report, attempting, list, read_start};
use crate::bitmap::Bitmap;
use crate::checkpoint::{Checkpoint, SegmentState};
use crate::directory::format_text;
use crate::file::{self, Disk};
use crate::journal::{self, SyncedContent, read_synced};
use crate::manifest::{self, CheckpointFile, Manifest};
use crate::paths::Paths;
use crate::segment::{ContentPlace, SegmentWriter, Source, WrittenSegment};
use crate::{ChunkBudget, ChunkWriter};

/// Repairs what the examination found.
pub(super) fn repair(forgiving: &Arc<ForgivingDisk>, examination: Examination) -> Result<Report, FsckError> {
    let Examination {
        paths,
        mut report,
        has_format,
        manifest,
        is_manifest_found,
        checkpoint_to_restore,
        checkpoint,
        segments,
        is_journal_sound,
    } = examination;
    report.is_repair = true;
    let disk: &Arc<dyn Disk> = &(forgiving.clone() as Arc<dyn Disk>);
    let mut repair = Repair { disk, paths, report, quarantined: Vec::new() };
    if !has_format {
        repair.write_format()?;
    }
    if let Some((path, from)) = checkpoint_to_restore {
        repair.restore_checkpoint(&path, &from)?;
    }
    let has_checkpoint = checkpoint.is_some();
    let (mut checkpoint, generation) = match checkpoint {
        Some(checkpoint) => (checkpoint, manifest.as_ref().map_or(0, |manifest| manifest.generation)),
        None => {
            (repair.salvage_checkpoint(manifest.as_ref())?, manifest.as_ref().map_or(0, |manifest| manifest.generation))
        }
    };
    let position = manifest.as_ref().map_or(checkpoint.position, |manifest| manifest.position);
    checkpoint.position = position;

    let are_segments_sound =
        segments.iter().all(|segment| segment.scan.as_ref().is_some_and(|scan| scan.problems.is_empty()));
    repair.repair_segments(&mut checkpoint, segments, has_checkpoint)?;
    // A start reads the journal's files where they are. The others that are damaged are replaced.
    repair.fill_journal(forgiving)?;
    if !is_journal_sound {
        repair.repair_journal(&mut checkpoint)?;
    }
    let is_position_kept = manifest.is_some_and(|manifest| manifest.position == checkpoint.position);
    if !has_checkpoint || !are_segments_sound || !is_position_kept || is_manifest_found {
        repair.write_checkpoint(&checkpoint, generation)?;
    }
    repair.repair_synced();
    repair.quarantine()?;
    Ok(repair.report)
}

/// Messages that segments hold, while a checkpoint that said which ones count is damaged.
#[derive(Default)]
struct SegmentMessages {
    messages: HashSet<(QueueId, QueueSeq)>,
    /// Slots of the last segment that hold messages which another one holds too.
    known: Vec<u32>,
}

impl SegmentMessages {
    fn take_out_known(&mut self, scan: &mut Scan, state: Option<&SegmentState>) {
        self.known.clear();
        for GoodRange { queue, lane, slots } in &mut scan.ranges {
            slots.retain(|good| {
                let seq = good.header.seq;
                let is_settled = state.is_some_and(|state| is_settled(state, *queue, *lane, good.slot, seq));
                let is_known = !is_settled && !self.messages.insert((*queue, seq));
                if is_known {
                    self.known.extend(good.slot);
                }
                !is_known
            });
        }
    }
}

struct Repair<'a> {
    disk: &'a Arc<dyn Disk>,
    paths: Paths,
    report: Report,
    /// Files that nothing will refer to when the new manifest is in place.
    quarantined: Vec<PathBuf>,
}

impl Repair<'_> {
    fn write_format(&mut self) -> Result<(), FsckError> {
        let path = self.paths.dir().join("format");
        self.replace(&path, format_text().as_bytes())?;
        self.report.repaired(&path, "written again".to_owned());
        Ok(())
    }

    /// Puts a file in place of another, all of it or nothing.
    fn replace(&mut self, path: &Path, bytes: &[u8]) -> Result<(), FsckError> {
        file::replace(&**self.disk, path, bytes).map_err(attempting("writing", path))?;
        self.report.rewritten.insert(path.to_owned());
        Ok(())
    }

    /// Puts the checkpoint in place of its damaged copy, or the copy in place of the damaged checkpoint.
    fn restore_checkpoint(&mut self, path: &Path, from: &Path) -> Result<(), FsckError> {
        let Some(bytes) = read_start(&**self.disk, from, u64::MAX)? else { return Ok(()) };
        self.replace(path, &bytes)?;
        self.report.repaired(path, format!("written again from {}", from.display()));
        Ok(())
    }

    /// What can be read of a checkpoint that is damaged, or that no manifest names.
    fn salvage_checkpoint(&mut self, manifest: Option<&Manifest>) -> Result<Checkpoint, FsckError> {
        let named = manifest.and_then(|manifest| manifest.checkpoint).map(|file| file.number);
        let names = list(&**self.disk, &self.paths.checkpoints())?;
        let number_of = |name: &String| Paths::checkpoint_number(name).or_else(|| Paths::copy_number(name));
        let number = named.or_else(|| names.iter().filter_map(number_of).max());
        let mut best: Option<(PathBuf, Checkpoint)> = None;
        let paths: Vec<_> = number.into_iter().flat_map(|number| self.paths_of_checkpoint(number)).collect();
        for path in paths {
            let Some(bytes) = read_start(&**self.disk, &path, u64::MAX)? else { continue };
            self.report.repaired(&path, "taken out".to_owned());
            self.quarantined.push(path.clone());
            let salvaged = Checkpoint::salvage(&bytes);
            if best.as_ref().is_none_or(|(_, best)| best.entry_count() < salvaged.entry_count()) {
                best = Some((path, salvaged));
            }
        }
        if let Some(number) = named {
            self.report
                .repaired(&self.paths.checkpoint(number), "neither the file nor its copy is complete".to_owned());
        }
        let Some((path, checkpoint)) = best else {
            if let Some(number) = named {
                self.report.give_up(
                    &self.paths.checkpoint(number),
                    "all definitions and the states of queues, except those in the journal",
                );
                let text = "definitions and the states of queues are lost, except those in the journal".to_owned();
                self.report.repaired(&self.paths.checkpoint(number), text);
            }
            return Ok(Checkpoint::empty());
        };
        let text = format!(
            "the damaged part of the definitions and the states of queues; {} definitions and {} queues can be read, and may be wrong. \
             Consumed messages may be delivered again",
            checkpoint.definitions.len(),
            checkpoint.queues.len()
        );
        self.report.give_up(&path, &text);
        let text = format!(
            "read without its checksum: {} definitions, {} queues, {} segments; check whether they are correct",
            checkpoint.definitions.len(),
            checkpoint.queues.len(),
            checkpoint.segments.len()
        );
        self.report.repaired(&path, text);
        Ok(checkpoint)
    }

    fn paths_of_checkpoint(&self, number: u64) -> [PathBuf; 2] {
        [self.paths.checkpoint(number), self.paths.checkpoint_copy(number)]
    }

    /// Leaves in the checkpoint segments that are good, and what is left of others.
    fn repair_segments(
        &mut self,
        checkpoint: &mut Checkpoint,
        examined: Vec<ExaminedSegment>,
        has_checkpoint: bool,
    ) -> Result<(), FsckError> {
        let salvaged: BTreeMap<SegmentId, SegmentState> =
            std::mem::take(&mut checkpoint.segments).into_iter().map(|state| (state.id, state)).collect();
        let names = list(&**self.disk, &self.paths.segments())?;
        let largest = names.iter().filter_map(|name| Paths::segment_id(name)).max().unwrap_or(SegmentId(0));
        checkpoint.next_segment = checkpoint.next_segment.max(largest.0 + 1);
        let mut seen = SegmentMessages::default();
        // The newest first: where a message is in two segments, it was copied to the newer one.
        for ExaminedSegment { state, scan, lost_count } in examined.into_iter().rev() {
            let id = scan.as_ref().map(|scan| scan.id).or(state.as_ref().map(|state| state.id));
            if let Some(id) = id.filter(|_| lost_count > 0) {
                let messages = if lost_count == 1 { "message" } else { "messages" };
                self.report.give_up(&self.paths.segment(id), &format!("{lost_count} {messages}"));
            }
            let Some(mut scan) = scan else {
                if let Some(state) = state {
                    self.report.repaired(&self.paths.segment(state.id), "taken out".to_owned());
                }
                continue;
            };
            let id = scan.id;
            // Of a damaged checkpoint only that is believed which the segment's own footer says too.
            let state = state.or_else(|| salvaged.get(&id).filter(|state| scan.is_of(state)).cloned());
            if !has_checkpoint {
                seen.take_out_known(&mut scan, state.as_ref());
            }
            if scan.problems.is_empty() {
                let mut state = state.unwrap_or_else(|| scan.unsettled());
                for slot in seen.known.drain(..) {
                    state.settled.set(slot, slot + 1);
                }
                checkpoint.segments.push(state);
                continue;
            }
            let new = SegmentId(checkpoint.next_segment);
            checkpoint.next_segment += 1;
            self.rewrite(checkpoint, id, new, scan, state)?;
        }
        checkpoint.segments.sort_by_key(|state| state.id);
        let segments = self.paths.segments();
        self.disk.sync_dir(&segments).map_err(attempting("syncing", &segments))
    }

    /// Writes the good messages of a damaged segment to a new one.
    fn rewrite(
        &mut self,
        checkpoint: &mut Checkpoint,
        old: SegmentId,
        new: SegmentId,
        scan: Scan,
        state: Option<SegmentState>,
    ) -> Result<(), FsckError> {
        let (old_path, new_path) = (self.paths.segment(old), self.paths.segment(new));
        self.quarantined.push(old_path.clone());
        let kept: u64 = scan.message_count() as u64;
        self.report.repaired(&old_path, format!("{kept} intact messages were written to {}", new_path.display()));
        if kept == 0 {
            return Ok(());
        }
        let level = state.as_ref().map_or(0, |state| state.level);
        let (written, settled) = self
            .copy_good(&old_path, &new_path, (old, new, level), &scan.ranges, state.as_ref())
            .map_err(attempting("writing", &new_path))?;
        let mut bitmap = Bitmap::new(written.slot_count);
        for slot in settled {
            bitmap.set(slot, slot + 1);
        }
        let WrittenSegment { id, level, file_len, ranges, .. } = written;
        checkpoint.segments.push(SegmentState { id, level, file_len, ranges, settled: bitmap });
        Ok(())
    }

    fn copy_good(
        &self,
        old_path: &Path,
        new_path: &Path,
        (old, new, level): (SegmentId, SegmentId, u8),
        ranges: &[GoodRange],
        state: Option<&SegmentState>,
    ) -> io::Result<(WrittenSegment, Vec<u32>)> {
        let old_file = self.disk.open(old_path)?;
        let mut window = Window::new(&*old_file)?;
        let mut writer = SegmentWriter::new(new, level, self.disk.create(new_path)?);
        let mut settled = Vec::new();
        for GoodRange { queue, lane, slots } in ranges {
            writer.start_range(*queue, *lane);
            for good in slots {
                let header = good.header;
                let slot_offset = match header.stored {
                    ContentPlace::Inline => good.offset,
                    ContentPlace::Shared { slot_offset } => slot_offset,
                };
                let content = content(&mut window, good)?;
                let source = Source::Slot { segment: old, slot_offset };
                let slot = writer.push(header.seq, header.body_len, &content, source)?;
                if state.is_some_and(|state| is_settled(state, *queue, *lane, good.slot, header.seq)) {
                    settled.push(slot);
                }
            }
        }
        Ok((writer.finish(true)?, settled))
    }

    /// Makes journal files readable as a whole: zeros are what was taken for their unreadable pages.
    fn fill_journal(&mut self, forgiving: &ForgivingDisk) -> Result<(), FsckError> {
        for (path, _) in forgiving.unreadable() {
            if path.starts_with(self.paths.journal()) {
                forgiving.fill(&path).map_err(attempting("overwriting the unreadable part of", &path))?;
                self.report.repaired(&path, "the unreadable part was overwritten with zeros".to_owned());
                self.report.rewritten.insert(path);
            }
        }
        Ok(())
    }

    fn repair_journal(&mut self, checkpoint: &mut Checkpoint) -> Result<(), FsckError> {
        let dir = self.paths.journal();
        let mut contents = ChunkWriter::new(ChunkBudget::new());
        match journal::repair(self.disk, &dir, checkpoint.position, 0, &mut contents) {
            Ok(repaired) => {
                if repaired.losses.is_empty() {
                    self.report.repaired(&dir, format!("replayed from position {}", checkpoint.position));
                }
                for lost in repaired.losses {
                    let len = lost.end.0 - lost.place.position.0;
                    let what = format!("{len} bytes of records, all from {} to position {}", lost.place, lost.end);
                    self.report.give_up(&dir, &what);
                    self.report.repaired(&dir, format!("all from {} to position {} is lost", lost.place, lost.end));
                }
                self.report.rewritten.extend(repaired.rewritten);
                Ok(())
            }
            Err(journal::OpenError::Io { path, error, attempt }) => Err(FsckError::Io { attempt, path, error }),
            Err(error) => {
                // Nothing in it can be reached: what is not in segments is lost.
                let text = format!(
                    "all of it, with every message and every acknowledgement since the last checkpoint: {error}"
                );
                self.report.give_up(&dir, &text);
                self.report.repaired(&dir, format!("removed completely: {error}"));
                for name in list(&**self.disk, &dir)? {
                    self.quarantined.push(dir.join(name));
                }
                // It describes a journal that no longer exists.
                self.quarantined.push(self.paths.synced());
                checkpoint.position = JournalPosition::START;
                Ok(())
            }
        }
    }

    /// Takes out what does not say how far the journal was synced. The next start writes another.
    fn repair_synced(&mut self) {
        let path = self.paths.synced();
        if read_synced(&**self.disk, &path) == SyncedContent::Damaged {
            self.report.repaired(&path, "taken out".to_owned());
            self.quarantined.push(path);
        }
    }

    fn write_checkpoint(&mut self, checkpoint: &Checkpoint, generation: u64) -> Result<(), FsckError> {
        let dir = self.paths.checkpoints();
        let names = list(&**self.disk, &dir)?;
        let number = 1 + names.iter().filter_map(|name| Paths::checkpoint_number(name)).max().unwrap_or(0);
        let path = self.paths.checkpoint(number);
        let write = || {
            self.disk.create_dir(&dir)?;
            let written = checkpoint.write(self.disk.create(&path)?)?.finish()?;
            self.disk.sync_dir(&dir)?;
            Ok(written)
        };
        let (len, crc) = write().map_err(attempting("writing", &path))?;
        let file = CheckpointFile { number, len, crc };
        let manifest = Manifest::alone(generation + 1, Some(file), checkpoint.position);
        let manifest_path = self.paths.manifest();
        self.replace(&manifest_path, &manifest::file_of(&manifest))?;
        self.report.repaired(&manifest_path, format!("checkpoint {number} was written and is in force"));
        Ok(())
    }

    /// Moves damaged files out of the way, now that nothing refers to them.
    fn quarantine(&mut self) -> Result<(), FsckError> {
        let dir = self.paths.quarantine();
        if self.quarantined.is_empty() {
            return Ok(());
        }
        self.disk.create_dir(&dir).map_err(attempting("creating", &dir))?;
        let mut taken = list(&**self.disk, &dir)?;
        for path in std::mem::take(&mut self.quarantined) {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let mut to = name.to_owned();
            let mut copy = 1;
            while taken.contains(&to) {
                copy += 1;
                to = format!("{name}.{copy}");
            }
            let to_path = dir.join(&to);
            match self.disk.rename(&path, &to_path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                moved => moved.map_err(attempting("moving", &path))?,
            }
            let from_dir = path.parent().unwrap_or(self.paths.dir());
            self.disk.sync_dir(from_dir).map_err(attempting("syncing", from_dir))?;
            taken.push(to);
            self.report.moved.push(to_path);
        }
        self.disk.sync_dir(&dir).map_err(attempting("syncing", &dir))
    }
}
