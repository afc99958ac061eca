//! Open segments: a few file handles and their indexes, those used last.

use std::sync::Arc;

use model::ids::SegmentId;
use parking_lot::Mutex;

use crate::catalog::Segment;
use crate::file::Disk;
use crate::paths::Paths;
use crate::segment::{Footer, ReadError, SegmentFile};

/// How many segments are kept open.
const OPEN_COUNT_MAX: usize = 128;
/// How much memory their indexes take, more only if one alone does.
const INDEX_LEN_MAX: usize = 16 << 20;

/// Opens segments and keeps those open that were used last.
pub(crate) struct Handles {
    disk: Arc<dyn Disk>,
    paths: Paths,
    /// The one used last comes last.
    open: Mutex<Vec<Arc<SegmentFile>>>,
}

impl Handles {
    pub(crate) fn new(disk: Arc<dyn Disk>, paths: Paths) -> Self {
        Handles { disk, paths, open: Mutex::new(Vec::new()) }
    }

    /// The open segment. One that is damaged where it is opened has a flaw.
    pub(crate) fn get(&self, segment: &Segment) -> Result<Arc<SegmentFile>, ReadError> {
        if let Some(found) = self.find(segment.id) {
            return Ok(found);
        }
        Ok(self.renew(segment)?.0)
    }

    /// Opens a segment and reads its footer. It must say what the checkpoint says.
    pub(crate) fn open(&self, segment: &Segment) -> Result<(SegmentFile, Footer), ReadError> {
        let path = self.paths.segment(segment.id);
        let (file, footer) = SegmentFile::open(&*self.disk, &path, segment.id)?;
        if file.file_len() != segment.file_len || footer.ranges() != &*segment.ranges {
            return Err(ReadError::Corrupt { path, offset: 0, what: "another segment than the checkpoint names" });
        }
        Ok((file.sharing(segment.ranges.clone()), footer))
    }

    /// Opens a segment, damaged or not, and reads its footer if it has one.
    pub(crate) fn look(&self, segment: &Segment) -> Result<(SegmentFile, Option<Footer>), ReadError> {
        match self.open(segment) {
            Ok((file, footer)) => Ok((file, Some(footer))),
            Err(error) if !error.is_permanent() => Err(error),
            Err(error) => {
                let path = self.paths.segment(segment.id);
                SegmentFile::salvage(&*self.disk, &path, segment.id, &segment.ranges, error)
            }
        }
    }

    /// The same, and keeps it open in place of a handle that is there.
    pub(crate) fn renew(&self, segment: &Segment) -> Result<(Arc<SegmentFile>, Option<Footer>), ReadError> {
        let (file, footer) = self.look(segment)?;
        let file = Arc::new(file);
        self.keep(file.clone());
        Ok((file, footer))
    }

    /// Closes a segment that is about to be removed.
    pub(crate) fn forget(&self, id: SegmentId) {
        self.open.lock().retain(|file| file.id() != id);
    }

    fn find(&self, id: SegmentId) -> Option<Arc<SegmentFile>> {
        let mut open = self.open.lock();
        let at = open.iter().rposition(|file| file.id() == id)?;
        let found = open.remove(at);
        open.push(found.clone());
        Some(found)
    }

    fn keep(&self, file: Arc<SegmentFile>) {
        let mut open = self.open.lock();
        open.retain(|other| other.id() != file.id());
        open.push(file);
        let mut index_len: usize = open.iter().map(|file| file.index().memory_len()).sum();
        while open.len() > 1 && (open.len() > OPEN_COUNT_MAX || index_len > INDEX_LEN_MAX) {
            index_len -= open.remove(0).index().memory_len();
        }
    }
}
