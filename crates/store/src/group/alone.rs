//! Making a member's directory that of a node alone: the last way out where the others are lost.
//!
//! The store opens any member's directory, and takes all that its log has for its own, whether it was committed or not. So nothing has to
//! be written: the directory only stops being a member's. The file that makes it one is removed first, in one durable step.

use std::io;
use std::path::Path;

use super::identity::Identity;
use super::wipe::identity_of;
use crate::directory::{DataDir, DirError};
use crate::file::Disk;
use crate::paths::Paths;
use crate::recovery::{OpenError, attempting};

/// Makes a directory that no process has open one of a node alone. Returns whose it was; `None`: it was no member's.
///
/// # Errors
///
/// A process has it open, or it is no data directory; or the disk said no: to be done again.
pub fn stand_alone(disk: &dyn Disk, dir: &Path) -> Result<Option<Identity>, OpenError> {
    let _ours = take(disk, dir)?;
    let paths = Paths::new(dir);
    let identity = match identity_of(disk, dir) {
        // It is to be removed, whatever it says.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
        found => found.map_err(attempting("reading", &paths.group()))?,
    };
    for path in [paths.group(), paths.ballot()] {
        match disk.remove(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(attempting("removing", &path))?,
        }
        disk.sync_dir(dir).map_err(attempting("syncing", dir))?;
    }
    Ok(identity)
}

/// Takes a directory that is there and is one of data.
fn take(disk: &dyn Disk, dir: &Path) -> Result<DataDir, OpenError> {
    // Opened as it is, one that is not there would be made.
    match disk.open(&dir.join("format")) {
        Ok(_) => Ok(DataDir::open(disk, dir)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(DirError::UnknownFormat { dir: dir.to_owned(), what: "the file `format` is missing" }.into())
        }
        Err(error) => Err(attempting("reading", &dir.join("format"))(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use consensus::MemberId;

    use super::*;
    use crate::file::SimDisk;
    use crate::group::MemberDir;
    use crate::{Options, RecordBatch, Store};

    fn options() -> Options {
        Options::small(Path::new("/data").to_owned(), 1)
    }

    fn put(store: &Store, key: &[u8]) {
        let mut batch = RecordBatch::new();
        batch.put(key, b"value");
        store.append(&mut batch);
    }

    /// A founder's directory with something in it.
    fn founder(disk: &SimDisk) -> Arc<dyn Disk> {
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let (store, _) = Store::open(options(), shared.clone()).unwrap();
        put(&store, b"before");
        store.close().unwrap();
        drop(store);
        MemberDir::found(options(), &shared, 1, MemberId::new(7).unwrap(), "rabbit@a".to_owned()).unwrap();
        shared
    }

    #[test]
    fn wherever_it_was_cut_short_the_directory_opens_with_all() {
        for cut in 0.. {
            let sim = SimDisk::new(cut);
            let disk = founder(&sim);
            sim.cut_power_at(sim.operation_count() + cut);
            let is_done = stand_alone(&*disk, Path::new("/data")).is_ok();
            sim.restart();
            sim.cut_power_at(u64::MAX);
            stand_alone(&*disk, Path::new("/data")).unwrap();
            assert_eq!(identity_of(&*disk, Path::new("/data")).unwrap(), None);
            let (store, found) = Store::open(options(), disk.clone()).unwrap();
            assert!(found.definitions.contains_key(&b"before"[..]), "cut at {cut}");
            drop(store);
            MemberDir::found(options(), &disk, 2, MemberId::new(8).unwrap(), "rabbit@a".to_owned()).unwrap();
            if is_done {
                return;
            }
        }
    }

    #[test]
    fn what_is_no_data_directory_is_left_as_it_is() {
        let disk = SimDisk::new(1);
        let error = stand_alone(&disk, Path::new("/data")).unwrap_err().to_string();
        assert!(error.contains("is it a Warren data directory?"), "{error}");
        assert!(disk.list(Path::new("/data")).is_err());
    }

    #[test]
    fn what_a_process_has_open_is_left_to_it() {
        let disk = founder(&SimDisk::new(1));
        let ours = DataDir::open(&*disk, Path::new("/data")).unwrap();
        let error = stand_alone(&*disk, Path::new("/data")).unwrap_err().to_string();
        assert!(error.contains("is in use by another process"), "{error}");
        drop(ours);
        assert!(stand_alone(&*disk, Path::new("/data")).unwrap().is_some());
    }
}
