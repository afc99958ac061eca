//! Room on disk for when it is full: a segment and a checkpoint, written full of zeros ahead. (The journal keeps files of its own.)
//!
//! A full disk must not stop what frees it: consumers acknowledge, so the journal grows and must be retired, which takes a
//! segment and a checkpoint. When one of these cannot be written, the reserved file takes its name, and its blocks with
//! it. From then until the reserve is whole again the disk counts as full: the broker stops publishers. It also does as long as
//! the reserve cannot be made whole, whichever program has taken the room.
//!
//! How much is reserved:
//!
//! - Segment: as much as the longest journal file, or one that the longest message would need; half a file more, for in a segment some
//!   messages take a little more; another file for what the journal may lack meanwhile, see [`Reserve::lend`]; and for each writer
//!   of contents its chunk, for a chunk is moved as a whole. On a full disk files are retired one at a time, each to one segment.
//! - Checkpoint: four times the last one.
//!
//! What is taken and not needed is free again, and so is the journal file that was retired. The reserve takes as much of that as it needs
//! at once, before others find it.
//!
//! Another process may still be quicker, at each of several crashes. So the journal and the reserve help each other out: the journal is
//! lent what is reserved for a segment, whole or as much as its next commit needs, and gives up, for a segment or a checkpoint that has no
//! room, files that are ready and the ends of files that it will not write to again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::file::{Disk, File, PAGE_LEN};
use crate::journal::PREPARED_COUNT;
use crate::paths::Paths;

/// Of a full disk so much is left to small things: names in directories, the manifest at a start.
const LEFT_LEN: u64 = 16 << 10;

/// What a reserved file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Segment,
    Checkpoint,
}

impl Purpose {
    /// What matters most first: without a checkpoint nothing is let go.
    const ALL: [Purpose; 2] = [Purpose::Checkpoint, Purpose::Segment];

    /// What it is written to on a full disk, one if the other has no room. A checkpoint may have grown unforeseen.
    fn sources(self) -> &'static [Purpose] {
        match self {
            Purpose::Segment => &[Purpose::Segment],
            Purpose::Checkpoint => &Purpose::ALL,
        }
    }

    fn path(self, paths: &Paths) -> PathBuf {
        paths.reserve().join(match self {
            Purpose::Segment => "segment",
            Purpose::Checkpoint => "checkpoint",
        })
    }
}

/// The reserved files.
pub(crate) struct Reserve {
    disk: Arc<dyn Disk>,
    paths: Paths,
    is_kept: bool,
    /// Length of a journal file.
    file_len: u64,
    lens: Mutex<Lens>,
    is_in_use: AtomicBool,
}

/// What is wanted and what there is; 0: none.
#[derive(Debug, Clone, Copy)]
struct Lens {
    segment_wanted: u64,
    checkpoint_wanted: u64,
    segment: u64,
    checkpoint: u64,
    /// Of the last checkpoint that was made.
    last_checkpoint: u64,
    /// The next checkpoint takes less.
    checkpoint_needed: u64,
}

impl Lens {
    fn wanted(&self, purpose: Purpose) -> u64 {
        match purpose {
            Purpose::Segment => self.segment_wanted,
            Purpose::Checkpoint => self.checkpoint_wanted,
        }
    }

    fn present(&mut self, purpose: Purpose) -> &mut u64 {
        match purpose {
            Purpose::Segment => &mut self.segment,
            Purpose::Checkpoint => &mut self.checkpoint,
        }
    }
}

impl Reserve {
    /// Looks at what there is. Nothing is written before [`Reserve::refill`].
    pub(crate) fn open(disk: Arc<dyn Disk>, paths: Paths, lens: (u64, u64), is_kept: bool) -> io::Result<Self> {
        disk.create_dir(&paths.reserve())?;
        let (segment_wanted, checkpoint_wanted) = lens;
        let mut lens = Lens {
            segment_wanted,
            checkpoint_wanted,
            segment: 0,
            checkpoint: 0,
            last_checkpoint: 0,
            checkpoint_needed: 0,
        };
        for purpose in Purpose::ALL {
            match disk.open(&purpose.path(&paths)) {
                Ok(file) => *lens.present(purpose) = file.len()?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let (lens, is_in_use) = (Mutex::new(lens), AtomicBool::new(false));
        Ok(Reserve { disk, paths, is_kept, file_len: 0, lens, is_in_use })
    }

    /// For a journal with files of this length. `checkpoint_len` is the last checkpoint's length, 0 for none.
    pub(crate) fn beside(mut self, file_len: u64, checkpoint_len: u64) -> Self {
        self.file_len = file_len;
        self.lens.get_mut().checkpoint_needed = 2 * checkpoint_len;
        self
    }

    /// Creates a file and fills it with about `len` bytes; if the disk is full, does so in the reserved one, which gets its name. A file
    /// that is not filled to its end is removed.
    pub(crate) fn create<T>(
        &self,
        purpose: Purpose,
        path: &Path,
        len: u64,
        fill: &mut dyn FnMut(Box<dyn File>) -> io::Result<T>,
    ) -> io::Result<T> {
        let remove = || drop(self.disk.remove(path)); // an orphan at worst, which the next start removes
        match self.disk.create(path).and_then(|file| fill(file).inspect_err(|_| remove())) {
            Err(error) if is_full(&error) => self.create_of(purpose.sources(), path, len, fill).unwrap_or(Err(error)),
            created => created,
        }
    }

    /// As [`Reserve::create`], from the first of these that will do. `None`: none is there.
    fn create_of<T>(
        &self,
        sources: &[Purpose],
        path: &Path,
        len: u64,
        fill: &mut dyn FnMut(Box<dyn File>) -> io::Result<T>,
    ) -> Option<io::Result<T>> {
        let mut filled = None;
        for source in sources {
            let file = match self.take(*source, path, len) {
                Ok(Some(file)) => file,
                Ok(None) => continue,
                Err(error) => return Some(Err(error)),
            };
            tracing::error!(path = %path.display(), "disk is full, the reserve is being used");
            let attempt = fill(file).inspect_err(|_| drop(self.disk.remove(path)));
            let is_short = attempt.as_ref().is_err_and(is_full);
            // At once: what was not needed of it is free, and others look for just that.
            if let Err(error) = self.refill_for(*source) {
                tracing::warn!(%error, "refilling the disk reserve failed");
            }
            filled = Some(attempt);
            if !is_short {
                break;
            }
        }
        filled
    }

    /// Gives the room that is reserved for a segment to the journal, which cannot be written and so keeps a checkpoint from being made: a
    /// file of zeros of this length, or of `len_min` at least where there is less. What a checkpoint does not need is lent with it. Returns
    /// how long the file is.
    pub(crate) fn lend(&self, path: &Path, len: u64, len_min: u64) -> io::Result<Option<(Box<dyn File>, u64)>> {
        let lendable_len = self.lendable_len()?;
        let len = match lendable_len >= len {
            true => len,
            // What is alive in the files that are let go needs a segment.
            false => whole_pages(lendable_len / 2).max(len_min),
        };
        if lendable_len < len {
            return Ok(None);
        }
        self.shrink_checkpoint_for(len)?;
        let file = match self.take(Purpose::Segment, path, len)? {
            Some(file) => file,
            None if self.free_space()? >= len => self.create_synced(path)?,
            None => return Ok(None),
        };
        tracing::error!(path = %path.display(), len, "disk full, the journal continues in the reserve");
        let has_len = match file.len()? > len {
            true => file.truncate(len),
            false => file.allocate(len),
        };
        has_len.and_then(|()| file.fdatasync()).inspect_err(|_| drop(self.disk.remove(path)))?;
        Ok(Some((file, len)))
    }

    /// What is free, reserved for a segment, or for a checkpoint that does not need it.
    fn lendable_len(&self) -> io::Result<u64> {
        let lens = *self.lens.lock();
        let spare_len = lens.checkpoint.saturating_sub(lens.checkpoint_needed.max(LEFT_LEN));
        Ok(self.free_space()?.saturating_add(lens.segment).saturating_add(spare_len))
    }

    /// Lets go of what is reserved for a checkpoint and not needed, if that is what a file of this length lacks.
    fn shrink_checkpoint_for(&self, len: u64) -> io::Result<()> {
        let mut lens = self.lens.lock();
        let lacking = len.saturating_sub(self.free_space()?.saturating_add(lens.segment));
        let left = lens.checkpoint.saturating_sub(lacking);
        if lacking == 0 || left < lens.checkpoint_needed.max(LEFT_LEN) {
            return Ok(());
        }
        let file = self.disk.open(&Purpose::Checkpoint.path(&self.paths))?;
        file.truncate(left)?;
        lens.checkpoint = left;
        self.is_in_use.store(true, Ordering::Release);
        Ok(())
    }

    fn create_synced(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let file = self.disk.create(path)?;
        self.disk.sync_dir(path.parent().unwrap_or(self.paths.dir()))?;
        Ok(file)
    }

    fn free_space(&self) -> io::Result<u64> {
        self.disk.free_space(&self.paths.reserve())
    }

    /// The reserved file under another name, unless it and what is free are less than `len`: then it stays for what needs less.
    fn take(&self, purpose: Purpose, path: &Path, len: u64) -> io::Result<Option<Box<dyn File>>> {
        let mut lens = self.lens.lock();
        self.is_in_use.store(true, Ordering::Release);
        let present = *lens.present(purpose);
        if present == 0 || present.saturating_add(self.free_space()?) < len {
            return Ok(None);
        }
        let renamed = self.disk.rename(&purpose.path(&self.paths), path);
        *lens.present(purpose) = 0;
        match renamed {
            // The operator has removed it, to make room.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            renamed => renamed?,
        }
        // Before anything is written: a crash must not leave it two names.
        self.disk.sync_dir(&self.paths.reserve())?;
        self.disk.sync_dir(path.parent().unwrap_or(self.paths.dir()))?;
        Ok(Some(self.disk.open(path)?))
    }

    /// How much must be free for a file of about this length to find room in what is reserved for it.
    pub(crate) fn lacking_for(&self, purpose: Purpose, len: u64) -> u64 {
        let mut lens = *self.lens.lock();
        // Names and footers come to it, and a checkpoint's length is known only when it is written.
        let len = match purpose {
            Purpose::Segment => len + len / 4,
            Purpose::Checkpoint => lens.checkpoint_needed,
        };
        (len + LEFT_LEN).saturating_sub(*lens.present(purpose))
    }

    /// So much room there is for a segment at most.
    pub(crate) fn room_for_segment(&self) -> io::Result<u64> {
        Ok(self.free_space()?.saturating_add(self.lens.lock().segment))
    }

    /// A segment may become so long from now on.
    pub(crate) fn want_segment(&self, len: u64) {
        self.lens.lock().segment_wanted = len;
    }

    /// Looks whether there is room for all that is wanted. If not, the disk counts as full before anything has met that.
    pub(crate) fn judge(&self) -> io::Result<()> {
        let mut lens = *self.lens.lock();
        let lacking = |purpose| lens.wanted(purpose).saturating_sub(*lens.present(purpose));
        let lacking_len: u64 = Purpose::ALL.into_iter().map(lacking).sum();
        if self.is_kept && lacking_len > self.free_space()? {
            self.is_in_use.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Whether something was taken that is not there again, or found no room.
    pub(crate) fn is_in_use(&self) -> bool {
        self.is_in_use.load(Ordering::Acquire)
    }

    /// A checkpoint has become so long; the next one may be longer.
    pub(crate) fn note_checkpoint_len(&self, len: u64) {
        let mut lens = self.lens.lock();
        lens.last_checkpoint = len;
        lens.checkpoint_needed = 2 * len;
        if len > lens.checkpoint_wanted / 2 {
            lens.checkpoint_wanted = len * 4;
        }
    }

    /// Length of the last checkpoint that this process made; 0: none yet.
    pub(crate) fn checkpoint_len(&self) -> u64 {
        self.lens.lock().last_checkpoint
    }

    /// Something for which nothing is reserved found no room: the disk counts as full until there is.
    pub(crate) fn note(&self, error: &io::Error) {
        if is_full(error) {
            self.is_in_use.store(true, Ordering::Release);
        }
    }

    /// Whether [`Reserve::refill`] has something to do.
    pub(crate) fn is_wanting(&self) -> bool {
        let mut lens = *self.lens.lock();
        let is_short = |purpose| *lens.present(purpose) < lens.wanted(purpose);
        self.is_in_use() || (self.is_kept && Purpose::ALL.into_iter().any(is_short))
    }

    /// Makes the reserve whole, as far as there is room; says whether it is. The journal has so many files ready.
    pub(crate) fn refill(&self, prepared_count: usize) -> io::Result<bool> {
        let lacking = |wanted: usize| wanted.saturating_sub(prepared_count) as u64 * self.file_len;
        // When there is little room, each gets what it cannot do without before another has all that it wants. The journal's files are
        // made elsewhere.
        let stages = [
            (Purpose::Checkpoint, u64::MAX, 0),
            (Purpose::Segment, self.file_len + self.file_len / 2, lacking(1)),
            (Purpose::Segment, u64::MAX, lacking(PREPARED_COUNT)),
        ];
        for (purpose, len_max, left_len) in stages {
            if !self.refill_up_to(purpose, len_max, left_len)? {
                return Ok(false);
            }
        }
        if self.is_in_use() {
            // Else the alarm would go on again with the first message.
            if self.free_space()? < 2 * self.file_len {
                return Ok(false);
            }
            self.is_in_use.store(false, Ordering::Release);
            tracing::info!("disk has room again, the reserve is whole");
        }
        Ok(true)
    }

    /// As [`Reserve::refill`], for one purpose.
    pub(crate) fn refill_for(&self, purpose: Purpose) -> io::Result<bool> {
        self.refill_up_to(purpose, u64::MAX, 0)
    }

    /// So much is left to others.
    fn refill_up_to(&self, purpose: Purpose, len_max: u64, left_len: u64) -> io::Result<bool> {
        let (wanted, present, needed) = {
            let mut lens = self.lens.lock();
            // Without a checkpoint nothing is let go: room for one comes before small things, else these wear it down.
            let needed = if purpose == Purpose::Checkpoint { lens.checkpoint_needed.max(LEFT_LEN) } else { 0 };
            (lens.wanted(purpose).min(len_max), *lens.present(purpose), needed)
        };
        if !self.is_kept || present >= wanted {
            return Ok(true);
        }
        let free = self.free_space()?.saturating_sub(left_len);
        if free >= wanted - present {
            return self.allocate(purpose, present, wanted);
        }
        if !self.is_in_use.swap(true, Ordering::AcqRel) {
            tracing::error!(wanted, present, free, dir = %self.paths.dir().display(), "disk has no room for the reserve");
        }
        let all = present.saturating_add(free);
        let possible = whole_pages(all.saturating_sub(LEFT_LEN)).max(whole_pages(all).min(needed));
        if possible > present {
            self.allocate(purpose, present, possible)?;
        }
        Ok(false)
    }

    fn allocate(&self, purpose: Purpose, present: u64, len: u64) -> io::Result<bool> {
        let dir = self.paths.reserve();
        let path = purpose.path(&self.paths);
        let file = match self.disk.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.disk.create(&path)?,
            opened => opened?,
        };
        let allocated = file.allocate(len).and_then(|()| file.fdatasync()).and_then(|()| self.disk.sync_dir(&dir));
        match allocated {
            Err(error) if is_full(&error) => {
                // Another was quicker; tried again later.
                self.is_in_use.store(true, Ordering::Release);
                file.truncate(present)?;
                Ok(false)
            }
            Err(error) => Err(error),
            Ok(()) => {
                *self.lens.lock().present(purpose) = len;
                Ok(true)
            }
        }
    }
}

fn whole_pages(len: u64) -> u64 {
    len - len % PAGE_LEN as u64
}

/// Whether there is no room for what was to be written.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Faults, SimDisk, write_all_at};

    const DIR: &str = "/data";

    fn names(disk: &SimDisk) -> Vec<String> {
        disk.list(&Paths::new(Path::new(DIR)).reserve()).unwrap()
    }

    /// The segment came first and found no room; so neither did the next checkpoint, which would have made some.
    #[test]
    fn a_checkpoint_has_room_again_before_a_segment_has() {
        let disk = SimDisk::new(0);
        disk.set_faults(Faults { capacity: Some(60_000), ..Faults::default() });
        let paths = Paths::new(Path::new(DIR));
        let reserve = Reserve::open(Arc::new(disk.clone()), paths, (100_000, 50_000), true).unwrap();
        assert!(!reserve.refill(0).unwrap() && reserve.is_wanting());
        assert_eq!(names(&disk), ["checkpoint"]);
        disk.set_faults(Faults::default());
        assert!(reserve.refill(0).unwrap() && !reserve.is_wanting());
        assert_eq!(names(&disk), ["checkpoint", "segment"]);
    }

    /// It was made whole or not at all, and counted as there only when it was used.
    #[test]
    fn as_much_is_reserved_as_there_is_room_for_and_until_it_is_whole_the_disk_is_full() {
        let disk = SimDisk::new(0);
        disk.set_faults(Faults { capacity: Some(110_000), ..Faults::default() });
        let paths = Paths::new(Path::new(DIR));
        let reserve = Reserve::open(Arc::new(disk.clone()), paths.clone(), (100_000, 50_000), true).unwrap();
        assert!(!reserve.refill(0).unwrap() && reserve.is_in_use());
        let mut fill = |file: Box<dyn File>| write_all_at(&*file, &[1; 40_000], 0);
        disk.set_faults(Faults { capacity: Some(disk.used()), ..Faults::default() });
        let path = paths.segments().join("a");
        disk.create_dir(&paths.segments()).unwrap();
        assert!(reserve.create(Purpose::Segment, &path, 90_000, &mut fill).is_err(), "so much is not there");
        assert_eq!(names(&disk), ["checkpoint", "segment"]);
        reserve.create(Purpose::Segment, &path, 40_000, &mut fill).unwrap();
        assert_eq!(names(&disk), ["checkpoint"]);
        disk.set_faults(Faults::default());
        assert!(reserve.refill(0).unwrap() && !reserve.is_in_use());
    }

    fn reserve_of(disk: &SimDisk, wanted: (u64, u64), file_len: u64) -> Reserve {
        let paths = Paths::new(Path::new(DIR));
        disk.create_dir(&paths.segments()).unwrap();
        Reserve::open(Arc::new(disk.clone()), paths, wanted, true).unwrap().beside(file_len, 0)
    }

    fn lens(reserve: &Reserve) -> (u64, u64) {
        let lens = reserve.lens.lock();
        (lens.segment, lens.checkpoint)
    }

    fn leave(disk: &SimDisk, len: u64) {
        disk.set_faults(Faults { capacity: Some(disk.used() + len), ..Faults::default() });
    }

    #[test]
    fn with_little_room_a_checkpoint_comes_first_then_a_file_then_the_rest() {
        let disk = SimDisk::new(0);
        let reserve = reserve_of(&disk, (400_000, 50_000), 100_000);
        leave(&disk, 150_000);
        assert!(!reserve.refill(1).unwrap());
        let (segment, checkpoint) = lens(&reserve);
        assert!(checkpoint == 50_000 && (70_000..100_000).contains(&segment), "{segment}");
        // A file that the journal lacks comes before what a segment would like to have.
        leave(&disk, 300_000 - segment);
        assert!(!reserve.refill(0).unwrap());
        let (segment, _) = lens(&reserve);
        assert!(
            (150_000..250_000).contains(&segment) && disk.free_space(Path::new(DIR)).unwrap() >= 100_000,
            "{segment}"
        );
        leave(&disk, 500_000);
        assert!(!reserve.refill(2).unwrap() || disk.free_space(Path::new(DIR)).unwrap() >= 200_000);
        assert_eq!(lens(&reserve), (400_000, 50_000));
    }

    /// A start that finds the disk full did not count as full until something was written.
    #[test]
    fn a_start_sees_whether_there_is_room_for_what_the_reserve_lacks() {
        let disk = SimDisk::new(0);
        let reserve = reserve_of(&disk, (0, 50_000), 100_000);
        leave(&disk, 120_000);
        reserve.want_segment(80_000);
        reserve.judge().unwrap();
        assert!(reserve.is_in_use());
        let reserve = reserve_of(&disk, (80_000, 40_000), 100_000);
        reserve.judge().unwrap();
        assert!(!reserve.is_in_use(), "there is room for just that");
    }

    #[test]
    fn what_a_reserved_file_has_too_much_is_reserved_again_at_once() {
        let disk = SimDisk::new(0);
        let reserve = reserve_of(&disk, (100_000, 50_000), 20_000);
        assert!(reserve.refill(2).unwrap());
        leave(&disk, 0);
        let path = reserve.paths.segments().join("a");
        let mut fill = |file: Box<dyn File>| write_all_at(&*file, &[1; 30_000], 0).and_then(|()| file.truncate(30_000));
        reserve.create(Purpose::Segment, &path, 30_000, &mut fill).unwrap();
        let free = disk.free_space(Path::new(DIR)).unwrap();
        assert!(free <= LEFT_LEN + PAGE_LEN as u64 && lens(&reserve).0 + free == 70_000, "{free}");
    }

    #[test]
    fn the_journal_is_lent_a_shorter_file_where_there_is_no_room_for_a_whole_one() {
        let disk = SimDisk::new(0);
        let reserve = reserve_of(&disk, (60_000, 20_000), 100_000);
        reserve.refill(2).unwrap();
        leave(&disk, 0);
        let path = reserve.paths.segments().join("a");
        assert!(reserve.lend(&path, 100_000, 90_000).unwrap().is_none(), "what is there is less than that");
        let (file, len) = reserve.lend(&path, 100_000, 10_000).unwrap().unwrap();
        assert!(file.len().unwrap() == len && (10_000..60_000).contains(&len), "{len}");
        reserve.refill(2).unwrap();
        let (other, _) = reserve.lend(&reserve.paths.segments().join("b"), 100_000, 12_000).unwrap().unwrap();
        assert!(other.len().unwrap() >= 12_000);
    }
}
