//! Making a directory that of a member: of one that founds a group with all that is in it, or of one that has nothing yet.

use std::io;
use std::sync::Arc;

use consensus::{Ballot, Base, Index, MemberId, Term};
use model::ids::JournalPosition;

use super::ballots::Ballots;
use super::found_log::{open_manifest, read_journal};
use super::identity::{Founding, Identity};
use super::member_dir::{MemberDir, MemberDirError};
use crate::file::Disk;
use crate::paths::Paths;
use crate::recovery::{OpenError, attempting};
use crate::{Options, Store};

impl MemberDir {
    /// Makes a directory the first member of a new group, with all that is in it. It must not be open.
    ///
    /// # Errors
    ///
    /// It cannot be opened, or belongs to a group already.
    pub fn found(
        options: Options,
        disk: &Arc<dyn Disk>,
        cluster: u128,
        member: MemberId,
        name: String,
    ) -> Result<(), MemberDirError> {
        let paths = Paths::new(&options.dir);
        refuse_members(&**disk, &paths)?;
        // Once as a store: whatever of the journal's end may not be on disk is then.
        let (store, _) = Store::open(options, disk.clone())?;
        let position = store.appended();
        drop(store);
        let founding = Founding { position, base: founding_base(disk, &paths, member)? };
        found_ballot(disk, &paths, member, founding.base.id.term, founding.base.id.index)?;
        let identity = Identity { cluster, member, name, founding: Some(founding) };
        identity.write(&**disk, &paths.group()).map_err(attempting("writing", &paths.group()))?;
        Ok(())
    }

    /// Makes a directory a member that has nothing yet, and is to receive all from its leader. It must not be open.
    ///
    /// # Errors
    ///
    /// It cannot be opened, is not empty, or belongs to a group already.
    pub fn join(
        options: Options,
        disk: &Arc<dyn Disk>,
        cluster: u128,
        member: MemberId,
        name: String,
    ) -> Result<(), MemberDirError> {
        let paths = Paths::new(&options.dir);
        refuse_members(&**disk, &paths)?;
        let (store, found) = Store::open(options, disk.clone())?;
        if store.appended() > JournalPosition::START || !found.definitions.is_empty() {
            return Err(MemberDirError::NotEmpty { dir: paths.dir().to_owned() });
        }
        drop(store);
        forget_ballot(&**disk, &paths)?;
        let identity = Identity { cluster, member, name, founding: None };
        identity.write(&**disk, &paths.group()).map_err(attempting("writing", &paths.group()))?;
        Ok(())
    }
}

fn refuse_members(disk: &dyn Disk, paths: &Paths) -> Result<(), MemberDirError> {
    match Identity::read(disk, &paths.group()).map_err(attempting("reading", &paths.group()))? {
        Some(identity) => Err(MemberDirError::Member { dir: paths.dir().to_owned(), cluster: identity.cluster }),
        None => Ok(()),
    }
}

/// Where the log of a new group begins: at 1; in a directory that belonged to another group before, where that one's ended, so that all
/// entries of its journal are numbered as they follow each other.
fn founding_base(disk: &Arc<dyn Disk>, paths: &Paths, member: MemberId) -> Result<Base, OpenError> {
    let manifest = open_manifest(&**disk, paths)?;
    let mut last = manifest.current().base.as_ref().map(|base| base.id).unwrap_or_default();
    read_journal(disk, paths, manifest.current(), last.index, &mut |entry| last = entry.head.id)?;
    let base = Base::of_new_group([member]);
    Ok(if last.index > base.id.index { Base { id: last, ..base } } else { base })
}

/// What a founder has promised: nothing but the term in which its log begins. What it had promised another group counts no more.
fn found_ballot(
    disk: &Arc<dyn Disk>,
    paths: &Paths,
    member: MemberId,
    term: Term,
    index: Index,
) -> Result<(), OpenError> {
    forget_ballot(&**disk, paths)?;
    if index.0 <= 1 {
        return Ok(());
    }
    let write = || Ballots::open(disk, &paths.ballot(), member)?.0.write(Ballot { term, vote: None });
    write().map_err(attempting("writing", &paths.ballot()))
}

fn forget_ballot(disk: &dyn Disk, paths: &Paths) -> Result<(), OpenError> {
    match disk.remove(&paths.ballot()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(attempting("removing", &paths.ballot())(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::file::SimDisk;
    use crate::fsck::{self, FsckError, Loss};

    #[test]
    fn a_members_directory_is_checked_and_not_repaired() {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
        let dir = Path::new("/data");
        let member = MemberId::new(1).unwrap();
        let options = Options::small(dir.to_owned(), 1);
        MemberDir::found(options, &disk, 7, member, "rabbit@a".to_owned()).unwrap();
        assert!(fsck::check(&disk, dir).unwrap().is_sound());
        assert!(matches!(fsck::repair(&disk, dir, Loss::Accepted), Err(FsckError::OfMember { .. })));
    }
}
