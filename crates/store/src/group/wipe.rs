//! Making a directory empty: of a node that leaves its group, or that joins one and loses what it had.
//!
//! A member that lost its ballots and kept its identity would break what it has promised. So a file first records that the directory is
//! being emptied; a start that finds the file continues.

use std::io;
use std::path::Path;

use super::identity::Identity;
use crate::file::{self, Disk};
use crate::paths::Paths;

/// Says that the directory is being emptied.
const MARK: &str = "emptying";

/// Which member of which group a directory is. `None`: of none, or there is no directory.
///
/// # Errors
///
/// The disk said no, or the file is damaged: kind `InvalidData`.
pub fn identity_of(disk: &dyn Disk, dir: &Path) -> io::Result<Option<Identity>> {
    Identity::read(disk, &Paths::new(dir).group())
}

/// Removes all that a store and a member keep in a directory that neither has open. What else is in it stays, and so does what says that
/// it is a data directory.
///
/// # Errors
///
/// The disk said no. What is left is removed by [`finish_emptying`].
pub fn empty(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    file::replace(disk, &dir.join(MARK), b"")?;
    remove_all(disk, dir)
}

/// Goes on with [`empty`], if it was cut short. Says whether it was.
///
/// # Errors
///
/// The disk said no.
pub fn finish_emptying(disk: &dyn Disk, dir: &Path) -> io::Result<bool> {
    match disk.open(&dir.join(MARK)) {
        Ok(_) => remove_all(disk, dir).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn remove_all(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    let paths = Paths::new(dir);
    let folders =
        [paths.journal(), paths.checkpoints(), paths.segments(), paths.transient(), paths.reserve(), paths.arriving()];
    for folder in folders {
        let names = match disk.list(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            names => names?,
        };
        for name in names {
            disk.remove(&folder.join(name))?;
        }
        disk.remove_dir(&folder)?;
    }
    for file in [paths.manifest(), paths.synced(), paths.ballot(), paths.group()] {
        remove_if_there(disk, &file)?;
    }
    disk.sync_dir(dir)?;
    remove_if_there(disk, &dir.join(MARK))?;
    disk.sync_dir(dir)
}

fn remove_if_there(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    match disk.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use consensus::MemberId;

    use super::*;
    use crate::file::SimDisk;
    use crate::group::MemberDir;
    use crate::{Options, RecordBatch, Store};

    fn options() -> Options {
        let mut options = Options::new(PathBuf::from("/data"));
        options.journal.file_len = 1 << 20;
        options
    }

    fn id() -> MemberId {
        MemberId::new(7).unwrap()
    }

    /// A member's directory with something in it.
    fn member(disk: &SimDisk) -> Arc<dyn Disk> {
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        {
            let (store, _) = Store::open(options(), shared.clone()).unwrap();
            let mut batch = RecordBatch::new();
            batch.put(b"key", b"value");
            store.append(&mut batch);
            store.close().unwrap();
        }
        MemberDir::found(options(), &shared, 1, id(), "rabbit@a".to_owned()).unwrap();
        shared
    }

    fn check_empty(disk: &Arc<dyn Disk>) {
        assert_eq!(identity_of(&**disk, Path::new("/data")).unwrap(), None);
        MemberDir::join(options(), disk, 2, id(), "rabbit@a".to_owned()).unwrap();
    }

    #[test]
    fn a_members_directory_is_empty_afterwards() {
        let disk = member(&SimDisk::new(1));
        empty(&*disk, Path::new("/data")).unwrap();
        assert!(!finish_emptying(&*disk, Path::new("/data")).unwrap());
        check_empty(&disk);
    }

    #[test]
    fn what_was_cut_short_is_finished_wherever_that_was() {
        for count in 0.. {
            let sim = SimDisk::new(count);
            let disk = member(&sim);
            sim.cut_power_at(sim.operation_count() + count);
            let is_done = empty(&*disk, Path::new("/data")).is_ok();
            sim.restart();
            let was_begun = finish_emptying(&*disk, Path::new("/data")).unwrap();
            // The power may have failed at the last operation, when all was done.
            if was_begun || is_done || identity_of(&*disk, Path::new("/data")).unwrap().is_none() {
                check_empty(&disk);
            }
            if is_done {
                return;
            }
        }
    }
}
