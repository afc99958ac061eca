//! What the journal says: records, the batches they are appended in, and how both lie in a commit's metas.
//!
//! A record batch is what one call of `append` adds: a header, its records, and aside the contents they publish.
//!
//! ```text
//!  batch header, 16 bytes                   records, back to back
//!  | records_len u32 | 0 u32 | contents_len u64 | record | record | …
//!
//!  record header, 8 bytes                   what its kind says
//!  | kind u8 | 0 u8 | group u16 | len u32 | …                              len counts the whole record
//!
//!  1 publish         | content_len u32 | 0 u32 | (queue u64, seq u64) …      contents lie aside, in the records' order
//!  2 settle          | queue u64 | first u64 | last u64                      both included
//!  3 watermark       | queue u64 | seq u64                                   u64::MAX: open
//!  4 drop_queue      | queue u64
//!  5 put             | key_len u32 | key … | value …
//!  6 delete          | key …
//!  7 returned        | queue u64 | seq u64 | delivery_count u32 | acquired_count u32 | waits_until_ms u64
//!  8 clean_shutdown  |
//!  9 lost            | zeros …                                               `repair` put it where a damaged commit was
//! ```
//!
//! All numbers are little-endian. `group` is the Raft group the record belongs to; 0: this node only. A batch advances
//! the journal's position by the length of its header, records and contents, wherever these lie in a file.

use std::fmt;

use model::ids::{QueueId, QueueSeq};
use queue::Counts;

use crate::Returns;
use crate::chunk::Content;

/// Length of a batch's header.
pub(crate) const BATCH_HEADER_LEN: usize = 16;
/// Length of a record's header.
const RECORD_HEADER_LEN: usize = 8;
/// Length of one target of a publish.
const TARGET_LEN: usize = 16;
/// A watermark that says: everything may have been delivered.
const WATERMARK_OPEN: u64 = u64::MAX;
/// Memory for records that an emptied batch keeps.
const KEPT_LEN_MAX: usize = 256 << 10;

const PUBLISH: u8 = 1;
const SETTLE: u8 = 2;
const WATERMARK: u8 = 3;
const DROP_QUEUE: u8 = 4;
const PUT: u8 = 5;
const DELETE: u8 = 6;
const RETURNED: u8 = 7;
const CLEAN_SHUTDOWN: u8 = 8;
const LOST: u8 = 9;

/// Records to be appended together: durable together, recovered together or not at all. Reuse one, it keeps its memory.
#[derive(Debug)]
pub struct RecordBatch {
    /// The header (filled in when it is appended) and the records.
    metas: Vec<u8>,
    /// The contents, adjacent ones joined.
    runs: Vec<Content>,
    contents_len: u64,
    /// Where in `metas` the last record starts.
    last_record: usize,
    /// Some record puts or deletes a definition, or drops a queue.
    has_definitions: bool,
}

impl Default for RecordBatch {
    fn default() -> Self {
        RecordBatch {
            metas: vec![0; BATCH_HEADER_LEN],
            runs: Vec::new(),
            contents_len: 0,
            last_record: BATCH_HEADER_LEN,
            has_definitions: false,
        }
    }
}

impl RecordBatch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> RecordBatch {
        RecordBatch::default()
    }

    /// Whether it has no records.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.metas.len() == BATCH_HEADER_LEN
    }

    /// By how much it will advance the journal's position; 0 if it has no records.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u64 {
        if self.is_empty() { 0 } else { self.metas.len() as u64 + self.contents_len }
    }

    /// Forgets all records.
    pub fn clear(&mut self) {
        self.metas.truncate(BATCH_HEADER_LEN);
        self.metas.shrink_to(KEPT_LEN_MAX);
        self.runs.clear();
        self.contents_len = 0;
        self.last_record = BATCH_HEADER_LEN;
        self.has_definitions = false;
    }

    /// A message entered these queues at these positions.
    #[inline]
    pub fn publish(&mut self, content: &Content, targets: &[(QueueId, QueueSeq)]) {
        self.record(PUBLISH, 8 + TARGET_LEN * targets.len());
        self.metas.extend_from_slice(&content.len().to_le_bytes());
        self.metas.extend_from_slice(&[0; 4]);
        for (queue, seq) in targets {
            self.put_u64(queue.0);
            self.put_u64(seq.0);
        }
        self.contents_len += u64::from(content.len());
        let is_joined = self.runs.last_mut().is_some_and(|last| last.join(content));
        if !is_joined {
            self.runs.push(content.clone());
        }
    }

    /// The messages from `first` to `last` have left the queue for good: acked, rejected, expired, dropped or purged.
    #[inline]
    pub fn settle(&mut self, queue: QueueId, first: QueueSeq, last: QueueSeq) {
        assert!(first <= last, "a settled range is not empty: {first}..={last}");
        if self.extend_settle(queue, first, last) {
            return;
        }
        self.record(SETTLE, 24);
        self.put_u64(queue.0);
        self.put_u64(first.0);
        self.put_u64(last.0);
    }

    /// Lets the last record, if it settles what lies directly before `first`, settle up to `last`.
    #[inline]
    fn extend_settle(&mut self, queue: QueueId, first: QueueSeq, last: QueueSeq) -> bool {
        let Some((header, fields)) = self.metas[self.last_record..].split_first_chunk_mut::<RECORD_HEADER_LEN>() else {
            return false;
        };
        let Ok(fields) = <&mut [u8; 24]>::try_from(fields) else { return false };
        if header[0] != SETTLE
            || fields[..8] != queue.0.to_le_bytes()
            || fields[16..] != first.0.wrapping_sub(1).to_le_bytes()
        {
            return false;
        }
        fields[16..].copy_from_slice(&last.0.to_le_bytes());
        true
    }

    /// No message above `seq` has been delivered; `None`: any may have been.
    pub fn watermark(&mut self, queue: QueueId, seq: Option<QueueSeq>) {
        self.record(WATERMARK, 16);
        self.put_u64(queue.0);
        self.put_u64(seq.map_or(WATERMARK_OPEN, |seq| seq.0));
    }

    /// The queue and all its messages are deleted.
    pub fn drop_queue(&mut self, queue: QueueId) {
        self.has_definitions = true;
        self.record(DROP_QUEUE, 8);
        self.put_u64(queue.0);
    }

    /// The definition `key` is now `value`.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.has_definitions = true;
        self.record(PUT, 4 + key.len() + value.len());
        self.metas.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.metas.extend_from_slice(key);
        self.metas.extend_from_slice(value);
    }

    /// The definition `key` is deleted.
    pub fn delete(&mut self, key: &[u8]) {
        self.has_definitions = true;
        self.record(DELETE, key.len());
        self.metas.extend_from_slice(key);
    }

    /// A message came back to its queue.
    pub fn returned(&mut self, queue: QueueId, seq: QueueSeq, returns: Returns) {
        self.record(RETURNED, 32);
        self.put_u64(queue.0);
        self.put_u64(seq.0);
        let Counts { delivery_count, acquired_count } = returns.counts;
        self.put_u64(u64::from(delivery_count) | u64::from(acquired_count) << 32);
        self.put_u64(returns.waits_until_ms);
    }

    /// All state is in the journal; nothing comes after this but what the next start says.
    pub(crate) fn clean_shutdown(&mut self) {
        self.record(CLEAN_SHUTDOWN, 0);
    }

    #[inline]
    fn record(&mut self, kind: u8, len: usize) {
        let len = u32::try_from(RECORD_HEADER_LEN + len).expect("records are shorter than 4 GiB");
        self.last_record = self.metas.len();
        self.metas.extend_from_slice(&(u64::from(kind) | u64::from(len) << 32).to_le_bytes());
    }

    #[inline]
    fn put_u64(&mut self, value: u64) {
        self.metas.extend_from_slice(&value.to_le_bytes());
    }

    /// Whether it puts or deletes a definition, or drops a queue.
    #[inline]
    pub(crate) fn has_definitions(&self) -> bool {
        self.has_definitions
    }

    /// The definitions it puts (with their values) and deletes, in order.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.records().filter_map(|record| match record {
            Record::Put { key, value } => Some((key, Some(value))),
            Record::Delete { key } => Some((key, None)),
            _ => None,
        })
    }

    /// The queues it drops.
    pub(crate) fn dropped_queues(&self) -> impl Iterator<Item = QueueId> {
        self.records().filter_map(|record| if let Record::DropQueue { queue } = record { Some(queue) } else { None })
    }

    /// All records but publishes.
    fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let mut rest = &self.metas[BATCH_HEADER_LEN..];
        std::iter::from_fn(move || decode(&mut rest).ok())
            .filter_map(|decoded| if let DecodedRecord::Other(record) = decoded { Some(record) } else { None })
    }

    /// Whether it only says what became of messages, each for itself. Then it may as well be several batches, and wait for others.
    pub(crate) fn is_divisible(&self) -> bool {
        self.contents_len == 0 && !self.has_definitions
    }

    /// Whether it may be written late: no caller waits for it unless it is marked so.
    pub(crate) fn can_wait(&self) -> bool {
        self.is_divisible()
    }

    /// Its records in batches of at most this length, as far as a record is not longer.
    pub(crate) fn divide(&self, len_max: u64) -> Vec<RecordBatch> {
        let (mut parts, mut part) = (Vec::new(), RecordBatch::new());
        let mut rest = &self.metas[BATCH_HEADER_LEN..];
        while let Some((record, behind)) = cut_record(rest) {
            if !part.is_empty() && part.len() + record.len() as u64 > len_max {
                parts.push(std::mem::take(&mut part));
            }
            part.metas.extend_from_slice(record);
            rest = behind;
        }
        parts.push(part);
        parts
    }

    /// Bytes of all its contents.
    pub(crate) fn contents_len(&self) -> u64 {
        self.contents_len
    }

    /// Header and records, as a commit has them.
    pub(crate) fn metas(&mut self) -> &[u8] {
        let records_len = (self.metas.len() - BATCH_HEADER_LEN) as u64;
        assert!(u32::try_from(records_len).is_ok(), "records of a batch are shorter than 4 GiB");
        self.metas[..8].copy_from_slice(&records_len.to_le_bytes());
        self.metas[8..16].copy_from_slice(&self.contents_len.to_le_bytes());
        &self.metas
    }

    /// The contents, taken out.
    pub(crate) fn take_runs(&mut self) -> impl Iterator<Item = Content> + '_ {
        self.runs.drain(..)
    }
}

/// The first of some whole records, and those behind it.
fn cut_record(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let header = records.first_chunk::<RECORD_HEADER_LEN>()?;
    records.split_at_checked((u64::from_le_bytes(*header) >> 32) as usize)
}

/// The metas of a record batch that says nothing but that so many bytes are lost, as long as these.
pub(crate) fn lost_batch(len: usize) -> Vec<u8> {
    assert!(len >= LOST_LEN_MIN, "no record batch is so short");
    let mut metas = vec![0; len];
    metas[..8].copy_from_slice(&((len - BATCH_HEADER_LEN) as u64).to_le_bytes());
    metas[BATCH_HEADER_LEN] = LOST;
    let record_len = u32::try_from(len - BATCH_HEADER_LEN).expect("records are shorter than 4 GiB");
    metas[BATCH_HEADER_LEN + 4..][..4].copy_from_slice(&record_len.to_le_bytes());
    metas
}

/// The shortest record batch that there can be.
pub(crate) const LOST_LEN_MIN: usize = BATCH_HEADER_LEN + RECORD_HEADER_LEN;

/// One entry of the journal, as replay gives it.
#[derive(Debug, Clone)]
pub enum Record<'a> {
    /// A message entered these queues at these positions.
    Publish {
        /// Its content, in memory again.
        content: Content,
        /// The queues that it was put into.
        targets: Targets<'a>,
    },
    /// These messages have left the queue for good.
    Settle {
        /// The queue.
        queue: QueueId,
        /// The first of them.
        first: QueueSeq,
        /// The last of them, included.
        last: QueueSeq,
    },
    /// No message above has been delivered; `None`: any may have been.
    Watermark {
        /// The queue.
        queue: QueueId,
        /// The highest that may have been delivered.
        seq: Option<QueueSeq>,
    },
    /// The queue and all its messages are deleted.
    DropQueue {
        /// The queue.
        queue: QueueId,
    },
    /// A definition has this value now.
    Put {
        /// Its key.
        key: &'a [u8],
        /// Its value.
        value: &'a [u8],
    },
    /// A definition is deleted.
    Delete {
        /// Its key.
        key: &'a [u8],
    },
    /// A message came back to its queue.
    Returned {
        /// The queue.
        queue: QueueId,
        /// The message.
        seq: QueueSeq,
        /// How often it has, and until when it waits.
        returns: Returns,
    },
    /// A stop that lost nothing.
    CleanShutdown,
    /// Here were records that a repair could not save; which ones is not known.
    Lost {
        /// Bytes of journal that are lost.
        len: u64,
    },
}

/// The queues a message entered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Targets<'a>(&'a [[u8; TARGET_LEN]]);

impl Targets<'_> {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Iterator for Targets<'_> {
    type Item = (QueueId, QueueSeq);

    fn next(&mut self) -> Option<Self::Item> {
        let (target, rest) = self.0.split_first()?;
        self.0 = rest;
        let (queue, seq) = target.split_at(8);
        Some((QueueId(u64_at(queue, 0)?), QueueSeq(u64_at(seq, 0)?)))
    }
}

impl fmt::Debug for Targets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(*self).finish()
    }
}

/// Takes the first batch off `metas`: its records, and the length of their contents.
pub(crate) fn split_batch<'a>(metas: &mut &'a [u8]) -> Option<(&'a [u8], u64)> {
    let (records_len, contents_len) = (u32_at(metas, 0)? as usize, u64_at(metas, 8)?);
    let (records, rest) = metas.get(BATCH_HEADER_LEN..)?.split_at_checked(records_len)?;
    *metas = rest;
    Some((records, contents_len))
}

/// A record whose content, if it has one, is still elsewhere.
#[derive(Debug)]
pub(crate) enum DecodedRecord<'a> {
    Publish { content_len: u32, targets: Targets<'a> },
    Other(Record<'a>),
}

/// Why records could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// The kind is not one that this version knows.
    UnknownKind(u8),
    /// The lengths contradict each other. The checksum was right, so this is a fault of the program that wrote it.
    Malformed,
}

/// Takes the first record off `records`.
pub(crate) fn decode<'a>(records: &mut &'a [u8]) -> Result<DecodedRecord<'a>, DecodeError> {
    let (kind, fields) = split_record(records).ok_or(DecodeError::Malformed)?;
    decode_fields(kind, fields)?.ok_or(DecodeError::Malformed)
}

fn split_record<'a>(records: &mut &'a [u8]) -> Option<([u8; 4], &'a [u8])> {
    let len = u32_at(records, 4)? as usize;
    let (record, rest) = records.split_at_checked(len)?;
    let (header, fields) = record.split_first_chunk::<RECORD_HEADER_LEN>()?;
    *records = rest;
    let [kind, zero, group, group_high, ..] = *header;
    Some(([kind, zero, group, group_high], fields))
}

fn decode_fields([kind, reserved @ ..]: [u8; 4], fields: &[u8]) -> Result<Option<DecodedRecord<'_>>, DecodeError> {
    if reserved != [0; 3] {
        return Err(DecodeError::UnknownKind(kind)); // of a group, which only a newer version has
    }
    Ok(match kind {
        PUBLISH => decode_publish(fields),
        SETTLE => decode_settle(fields),
        WATERMARK => decode_watermark(fields),
        DROP_QUEUE => u64_at(fields, 0).map(|queue| DecodedRecord::Other(Record::DropQueue { queue: QueueId(queue) })),
        PUT => decode_put(fields),
        DELETE => Some(DecodedRecord::Other(Record::Delete { key: fields })),
        RETURNED => decode_returned(fields),
        CLEAN_SHUTDOWN => Some(DecodedRecord::Other(Record::CleanShutdown)),
        LOST => Some(DecodedRecord::Other(Record::Lost {
            len: (BATCH_HEADER_LEN + RECORD_HEADER_LEN + fields.len()) as u64,
        })),
        unknown => return Err(DecodeError::UnknownKind(unknown)),
    })
}

fn decode_publish(fields: &[u8]) -> Option<DecodedRecord<'_>> {
    let content_len = u32_at(fields, 0)?;
    let (targets, rest) = fields.get(8..)?.as_chunks();
    rest.is_empty().then_some(DecodedRecord::Publish { content_len, targets: Targets(targets) })
}

fn decode_settle(fields: &[u8]) -> Option<DecodedRecord<'_>> {
    let (first, last) = (QueueSeq(u64_at(fields, 8)?), QueueSeq(u64_at(fields, 16)?));
    (first <= last).then_some(())?;
    Some(DecodedRecord::Other(Record::Settle { queue: QueueId(u64_at(fields, 0)?), first, last }))
}

fn decode_watermark(fields: &[u8]) -> Option<DecodedRecord<'_>> {
    let seq = u64_at(fields, 8)?;
    let seq = (seq != WATERMARK_OPEN).then_some(QueueSeq(seq));
    Some(DecodedRecord::Other(Record::Watermark { queue: QueueId(u64_at(fields, 0)?), seq }))
}

fn decode_put(fields: &[u8]) -> Option<DecodedRecord<'_>> {
    let key_len = u32_at(fields, 0)? as usize;
    let (key, value) = fields.get(4..)?.split_at_checked(key_len)?;
    Some(DecodedRecord::Other(Record::Put { key, value }))
}

fn decode_returned(fields: &[u8]) -> Option<DecodedRecord<'_>> {
    let counts = Counts { delivery_count: u32_at(fields, 16)?, acquired_count: u32_at(fields, 20)? };
    let returns = Returns { counts, waits_until_ms: u64_at(fields, 24)? };
    let (queue, seq) = (QueueId(u64_at(fields, 0)?), QueueSeq(u64_at(fields, 8)?));
    Some(DecodedRecord::Other(Record::Returned { queue, seq, returns }))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}
