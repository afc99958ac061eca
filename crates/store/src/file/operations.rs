//! What a disk and its files can do, and what is made of that.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};

/// What alignment makes a write replace whole pages: no read before it, and no synced page ever written again.
pub(crate) const PAGE_LEN: usize = 4096;

/// The most slices that one `pwritev` takes (Linux's `IOV_MAX`).
const SLICE_COUNT_MAX: usize = 1024;

/// A place for files.
pub trait Disk: Send + Sync {
    /// Opens an existing file for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Box<dyn File>>;
    /// Creates a file for reading and writing. Fails if the name exists. The name is durable after [`Disk::sync_dir`].
    fn create(&self, path: &Path) -> io::Result<Box<dyn File>>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Gives a file another name, in place of what had that name. Lasts after the new name's directory is synced, and after that the old
    /// name's.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name, which must be free. Lasts after the directory of that name is synced. Fails where the two
    /// directories are not on one file system, or it knows no such thing.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// The names of the files in a directory, sorted. Names that are not UTF-8 are not ours and are left out.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Whether nothing at all is in a directory.
    fn is_empty_dir(&self, dir: &Path) -> io::Result<bool>;
    /// Creates a directory and those above it, and syncs the new names. It may exist already.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// Removes a directory in which nothing is.
    fn remove_dir(&self, dir: &Path) -> io::Result<()>;
    /// Gives a directory another name beside its own, which must be free. Lasts after the directory that both are in is synced.
    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes the names in a directory last.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// How many bytes may still be written to the file system that holds `dir`.
    fn free_space(&self, dir: &Path) -> io::Result<u64>;
    /// The one path of an existing file, from the root on and through no link. A disk without links knows no other.
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
    /// Takes the lock of a file, which is created if need be. `None`: another process has it.
    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>>;
}

/// An open file. All operations name their offset, so one handle serves many threads.
pub trait File: Send + Sync {
    /// Writes some of the slices' bytes one after the other, at least one byte unless there is none. See [`write_all_vectored_at`].
    fn pwritev(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize>;
    /// Reads some bytes; none only at the end of the file. See [`read_exact_at`].
    fn pread_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Makes all that was written last, and the file's length.
    fn fdatasync(&self) -> io::Result<()>;
    /// Makes the file at least `len` long, its new part zeros that really are on disk: writing there later changes no
    /// metadata, and so costs `fdatasync` half. Does not sync.
    fn allocate(&self, len: u64) -> io::Result<()>;
    /// The file's length.
    fn len(&self) -> io::Result<u64>;
    /// Whether the file is empty.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Sets the file's length.
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// Whether this file is the one that is found under the name, and not another or none.
    fn is_at(&self, path: &Path) -> io::Result<bool>;
}

/// A lock that is held until it is dropped or the process ends.
pub trait Lock: Send + Sync {
    /// Whether the file that is locked is still the one of this name. If not, another process can take the lock.
    fn is_at(&self, path: &Path) -> io::Result<bool>;
}

/// Writes all of `bytes`.
pub fn write_all_at(file: &dyn File, bytes: &[u8], offset: u64) -> io::Result<()> {
    write_all_vectored_at(file, &mut [IoSlice::new(bytes)], offset)
}

/// Writes all of the slices, one after the other, in as few calls as can be. The slices are used up.
pub(crate) fn write_all_vectored_at(file: &dyn File, slices: &mut [IoSlice<'_>], offset: u64) -> io::Result<()> {
    let mut rest = slices;
    let mut offset = offset;
    IoSlice::advance_slices(&mut rest, 0); // drops empty slices at the front
    while !rest.is_empty() {
        match file.pwritev(&rest[..rest.len().min(SLICE_COUNT_MAX)], offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                offset += written as u64;
                IoSlice::advance_slices(&mut rest, written);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether the directory of a file does not exist, or nothing there may be changed: no wait mends that.
pub(crate) fn is_out_of_reach(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied | ReadOnlyFilesystem)
}

/// Puts a file in place of another or of none: all of it or nothing, whenever the power fails. Lasts when this returns.
pub(crate) fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    match disk.remove(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = disk.create(&new)?;
    let written = write_all_at(file.as_ref(), bytes, 0).and_then(|()| file.fdatasync());
    drop(file);
    // On a full disk others need what little it took.
    written.inspect_err(|_| drop(disk.remove(&new)))?;
    disk.rename(&new, path)?;
    disk.sync_dir(path.parent().unwrap_or(Path::new("/")))
}

/// Fills `buffer`; a file that ends before is an error of kind `UnexpectedEof`.
pub fn read_exact_at(file: &dyn File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.pread_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
