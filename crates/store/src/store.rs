//! (Signatures only, for those who write against them; being replaced.)
#![allow(missing_docs, clippy::todo, unused_variables, clippy::missing_panics_doc)]

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Waker;

use model::ids::{JournalPosition, Place, QueueId, QueueSeq};
use queue::{Load, PagedRange};
use thiserror::Error;

use crate::file::Disk;
use crate::{ChunkWriter, Content, RecordBatch, RecoveredRange, Residents};

#[derive(Debug, Clone)]
pub struct Options {
    pub dir: PathBuf,
    pub chunk_len_max: u64,
    pub segment_len: u64,
}

impl Options {
    pub fn new(dir: PathBuf) -> Self {
        todo!()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Journalled,
    Transient,
}

pub struct Store {}

#[derive(Debug, Default)]
pub struct Recovered {
    pub definitions: BTreeMap<Vec<u8>, Vec<u8>>,
    pub queues: HashMap<QueueId, RecoveredQueue>,
    pub was_clean: bool,
}

#[derive(Debug)]
pub struct RecoveredQueue {
    pub next_seq: QueueSeq,
    pub watermark: Option<QueueSeq>,
    pub ranges: Vec<RecoveredRange>,
    pub messages: Vec<(QueueSeq, Content)>,
    pub returned: Vec<(QueueSeq, u32)>,
}

#[derive(Debug, Error)]
pub enum OpenError {
    #[error("todo")]
    Todo,
}

#[derive(Debug, Error)]
pub enum CloseError {
    #[error("todo")]
    Todo,
}

impl Store {
    pub fn open(options: Options, disk: Arc<dyn Disk>) -> Result<(Arc<Store>, Recovered), OpenError> {
        todo!()
    }
    pub fn start(self: &Arc<Self>, residents: Arc<dyn Residents>) {
        todo!()
    }
    pub fn close(&self) -> Result<(), CloseError> {
        todo!()
    }
    pub fn chunk_writer(&self, kind: Kind) -> ChunkWriter {
        todo!()
    }
    pub fn append(&self, batch: &mut RecordBatch) -> JournalPosition {
        todo!()
    }
    pub fn written(&self) -> JournalPosition {
        todo!()
    }
    pub fn durable(&self) -> JournalPosition {
        todo!()
    }
    pub fn when_durable(&self, position: JournalPosition, waker: Waker) {
        todo!()
    }
    pub fn is_congested(&self) -> bool {
        todo!()
    }
    pub fn when_uncongested(&self, waker: Waker) {
        todo!()
    }
    pub fn is_disk_full(&self) -> bool {
        todo!()
    }
    pub fn settle_slots(&self, places: &[Place]) {
        todo!()
    }
    pub fn settle_ranges(&self, ranges: &[PagedRange]) {
        todo!()
    }
    pub fn load(&self, queue: QueueId, load: Load) {
        todo!()
    }
}
