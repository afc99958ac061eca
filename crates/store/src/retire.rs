//! Moves what outlives its journal file, or its stay in memory, to segments; then retires the journal files.
//!
//! A position is chosen first. Then the old messages are collected from the queues; whatever was consumed before that is never
//! written again. They are written to segments, queue by queue, and synced; each queue is notified where its messages lie, and lets go of
//! the memory. What was consumed while they were written is settled in the segment at that moment. When everything below the position is in
//! segments a checkpoint records it, and the journal below it is recycled: see `checkpointer`.
//!
//! Messages that need not last are moved, too, when memory is short, without syncing and without a checkpoint.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use consensus::LogId;
use model::ids::{JournalPosition, Place};
use queue::PlacedMessage;

use crate::catalog::Segment;
use crate::checkpointer::Collection;
use crate::chunk::CHUNK_LEN;
use crate::file::File;
use crate::group::Lead;
use crate::queue_owner::{CollectedResidents, LaneResidents};
use crate::reserve::Purpose;
use crate::segment::{SHARED_LEN_MIN, SLOT_COUNT_MAX, SLOT_LEN, SegmentWriter, Source, WrittenSegment};
use crate::shared::Shared;
use crate::trace_points::RETIRE;
use crate::work_error::{WorkError, attempting};
use crate::{Content, QueueOwner};

/// On a full disk contents from this length on are stored once for all queues that have them: not less than naming the place takes.
const SPARING_LEN_MIN: u32 = 16;

/// What is to be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Goal {
    /// Every record up to here; nothing new if it is the position of the last checkpoint.
    pub(crate) position: JournalPosition,
    /// Of a member's journal: the entry that ends there.
    pub(crate) entry: Option<LogId>,
    /// What is in chunks with lower numbers.
    pub(crate) chunk_end: u64,
}

/// What [`Shared::retire_once`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetireReport {
    /// Messages written to segments.
    pub message_count: u64,
    /// Whether a checkpoint retired journal files.
    pub has_checkpoint: bool,
}

/// Residents of one lane that are written to one segment.
struct Part {
    lane: usize,
    residents: Range<usize>,
}

impl Shared {
    /// Whether only the reserve is left on disk.
    pub(crate) fn is_disk_full(&self) -> bool {
        self.reserve.is_in_use() || self.journal.is_reserve_in_use()
    }

    /// What should be moved now. `None`: neither journal nor memory are near their bounds.
    pub(crate) fn retire_goal(&self) -> Option<Goal> {
        let unretired_len = self.journal.unretired_len();
        let journal_len_max = self.options.journal.unretired_len_max;
        let retired_already = self.checkpointer.lock().current().position;
        let mut goal = Goal { position: retired_already, entry: None, chunk_end: 0 };
        let files = self.journal.closed_files();
        if unretired_len > journal_len_max / 2 {
            let mut left_len = unretired_len;
            for file in &files {
                if left_len <= journal_len_max / 4 {
                    break;
                }
                left_len = left_len.saturating_sub(file.used_len);
                goal.position = goal.position.max(file.end);
            }
        } else if let Some(position) = self.retirable_at_rest(retired_already) {
            goal.position = position;
        }
        let retired_len = files.iter().take_while(|file| file.end <= goal.position).map(|file| file.used_len).sum();
        if self.is_disk_full() || (goal.position > retired_already && !self.has_room_for(retired_len)) {
            // The journal can go on only in files that it has used before. One at a time: there may be no room for more, and the
            // reserve has room for what is alive in one. A second file that is written only in part retires none.
            goal.position =
                files.iter().map(|file| file.end).find(|end| *end > retired_already).unwrap_or(retired_already);
        }
        if let Some(log) = self.lead.as_ref().map(Lead::log) {
            goal.entry = files.iter().find(|file| file.end == goal.position).and_then(|file| file.last);
            if log.is_checkpoint_wanted() {
                let (entry, position) = log.committed();
                (goal.position, goal.entry) = (position, Some(entry));
            }
        }
        // On a full disk moving more than must be moved is what fills the reserve. Publishers wait; consumers make room.
        if self.memory.is_short() && !self.is_disk_full() {
            goal.chunk_end = self.memory.old_chunk_end();
        }
        (self.is_worth_a_checkpoint(goal) || goal.chunk_end > 0).then_some(goal)
    }

    /// See `reserve`.
    pub(crate) fn segment_reserve_len(&self) -> u64 {
        let file_len = self.options.journal.file_len;
        let chunks_len = self.memory.budget().open_count() * CHUNK_LEN as u64;
        self.journal.longest_file(self.options.message_len_max) + file_len + file_len / 2 + chunks_len
    }

    fn has_room_for(&self, len: u64) -> bool {
        self.dir.disk().free_space(&self.dir.paths().segments()).is_ok_and(|free| free >= len)
    }

    /// Retires what should be retired now, if anything.
    pub(crate) fn retire_once(&self, owner: &dyn QueueOwner) -> Result<Option<RetireReport>, WorkError> {
        self.reserve.want_segment(self.segment_reserve_len());
        if self.is_disk_full() {
            // What is alive in a journal file is written to a segment: without the file's room each takes more of the disk.
            self.journal.remove_surplus();
        }
        self.remove_surplus_at_rest();
        let Some(goal) = self.retire_goal() else {
            if self.is_disk_full() {
                // Nothing can be let go before the journal can write again.
                self.lend_to_journal();
            }
            return Ok(None);
        };
        let retired = self.retire(goal, owner)?;
        if goal.chunk_end > 0 && self.memory.note_moved() > 1 && retired.message_count == 0 {
            owner.unload();
        }
        self.memory.wake();
        Ok(Some(retired))
    }

    /// Moves what the goal names, and retires the journal below its position.
    pub(crate) fn retire(&self, goal: Goal, owner: &dyn QueueOwner) -> Result<RetireReport, WorkError> {
        let goal = self.at_border(goal);
        let _call = RETIRE.enter(|arguments| {
            arguments.number("position", goal.position.0);
        });
        let is_old = |content: &Content| {
            let chunk = content.chunk();
            chunk.first_position() < goal.position || chunk.number() < goal.chunk_end
        };
        let mut collected = CollectedResidents::default();
        owner.collect(&is_old, &mut collected);
        let CollectedResidents { queues, lanes, returned } = collected;
        let (mut journaled, mut transient): (Vec<_>, Vec<_>) = lanes.into_iter().partition(|lane| lane.is_journaled);
        let mut message_count = self.spill(&mut journaled, true, owner)?;
        let has_checkpoint = self.is_worth_a_checkpoint(goal);
        if has_checkpoint {
            self.checkpoint(Some(Collection { position: goal.position, entry: goal.entry, queues, returned }))?;
        }
        // Last: nothing is reserved for it, and what it may lack must not keep the journal from being retired.
        if goal.chunk_end > 0 {
            message_count += self.spill(&mut transient, false, owner)?;
        }
        self.signals.reclaim.raise();
        Ok(RetireReport { message_count, has_checkpoint })
    }

    /// A member's checkpoint reaches exactly to the end of an entry: the last known one up to the goal.
    fn at_border(&self, goal: Goal) -> Goal {
        let Some(log) = self.lead.as_ref().map(Lead::log).filter(|_| goal.entry.is_none()) else { return goal };
        let (entry, committed) = log.committed();
        // What the directory had before it belonged to the group is no entry of its log.
        let first = log.base_index();
        let ends = self.journal.closed_files().into_iter().filter_map(|file| Some((file.end, file.last?)));
        let ends = ends.filter(|(_, last)| last.index >= first);
        let known = ends.chain([(committed, entry)]).filter(|(end, _)| *end <= goal.position);
        match known.max_by_key(|(end, _)| *end) {
            Some((position, entry)) => Goal { position, entry: Some(entry), ..goal },
            None => Goal { position: self.checkpointer.lock().current().position, ..goal },
        }
    }

    /// Whether a checkpoint at the goal lets something go, or members that are new to a group can be sent it.
    fn is_worth_a_checkpoint(&self, goal: Goal) -> bool {
        let checkpointer = self.checkpointer.lock();
        let current = checkpointer.current();
        let is_other_entry = || current.base.as_ref().map(|base| base.id) != goal.entry;
        goal.position > current.position
            || (goal.entry.is_some() && goal.position == current.position && is_other_entry())
    }

    /// Writes the lanes to segments and notifies their queues. Lanes are left without what has been written.
    fn spill(&self, lanes: &mut [LaneResidents], is_journaled: bool, owner: &dyn QueueOwner) -> Result<u64, WorkError> {
        lanes.sort_by_key(|lane| (lane.queue, lane.lane));
        let mut message_count = 0;
        let mut placed = Vec::new();
        // Only one is reserved, and what it has room for is what the journal has of the same messages.
        let is_sparing = is_journaled && self.is_disk_full();
        let (len_max, shared_len_min) =
            if is_sparing { (u64::MAX, SPARING_LEN_MIN) } else { (self.options.segment_len, SHARED_LEN_MIN) };
        for SegmentPlan { parts, len } in cut(lanes, len_max, shared_len_min) {
            let written = self.write_segment(lanes, &parts, len, is_journaled, shared_len_min)?;
            let segment = Arc::new(Segment::written(written));
            self.catalog.insert(segment.clone());
            let mut slot = 0;
            for part in parts {
                let lane = &mut lanes[part.lane];
                placed.clear();
                for resident in &lane.residents[part.residents.clone()] {
                    placed.push(PlacedMessage { seq: resident.seq, place: Place { segment: segment.id, slot } });
                    slot += 1;
                }
                owner.relocate(lane.queue, lane.lane, &placed);
                message_count += placed.len() as u64;
                if part.residents.end == lane.residents.len() {
                    lane.residents = Vec::new(); // lets go of the memory
                }
            }
            segment.set_placed();
        }
        Ok(message_count)
    }

    fn write_segment(
        &self,
        lanes: &[LaneResidents],
        parts: &[Part],
        len: u64,
        is_journaled: bool,
        shared_len_min: u32,
    ) -> Result<WrittenSegment, WorkError> {
        let id = self.take_id(is_journaled)?;
        let path = self.dir.paths().segment(id);
        let mut fill = |file: Box<dyn File>| {
            let mut writer = SegmentWriter::new(id, 0, file).sharing_from(shared_len_min);
            for part in parts {
                let lane = &lanes[part.lane];
                writer.start_range(lane.queue, lane.lane);
                for resident in &lane.residents[part.residents.clone()] {
                    let content = &resident.content;
                    writer.push(resident.seq, resident.body_len, content.bytes(), source_of(content))?;
                }
            }
            writer.finish(is_journaled)
        };
        let written = if is_journaled {
            self.create_reserved(Purpose::Segment, &path, len, &mut fill)
        } else {
            self.dir.disk().create(&path).and_then(fill).inspect_err(|error| self.reserve.note(error))
        };
        written.inspect_err(|_| self.abandon(&path)).map_err(attempting("writing", &path))
    }

    fn abandon(&self, path: &Path) {
        let _ = self.dir.disk().remove(path); // an orphan at worst, which the next start removes
    }
}

fn source_of(content: &Content) -> Source {
    Source::Chunk { number: content.chunk().number(), offset: content.offset() }
}

/// What is written to one segment.
struct SegmentPlan {
    parts: Vec<Part>,
    /// About how long it becomes, rather less.
    len: u64,
}

/// Deals the messages to segments of about `len_max` bytes.
fn cut(lanes: &[LaneResidents], len_max: u64, shared_len_min: u32) -> Vec<SegmentPlan> {
    let mut segments = Vec::new();
    let mut parts = Vec::new();
    let (mut len, mut count) = (0, 0);
    let mut shared = HashSet::new();
    for (index, lane) in lanes.iter().enumerate() {
        let mut start = 0;
        for (at, resident) in lane.residents.iter().enumerate() {
            let content = &resident.content;
            let is_new = content.len() < shared_len_min || shared.insert(source_of(content));
            len += SLOT_LEN as u64 + if is_new { u64::from(content.len()) } else { 0 };
            count += 1;
            if len >= len_max || count >= SLOT_COUNT_MAX {
                parts.push(Part { lane: index, residents: start..at + 1 });
                segments.push(SegmentPlan { parts: std::mem::take(&mut parts), len });
                (start, len, count) = (at + 1, 0, 0);
                shared.clear();
            }
        }
        if start < lane.residents.len() {
            parts.push(Part { lane: index, residents: start..lane.residents.len() });
        }
    }
    if !parts.is_empty() {
        segments.push(SegmentPlan { parts, len });
    }
    segments
}
