//! The second copy of a checkpoint: one bad sector, or one file that is removed, must not cost all queues.
//!
//! `NNNNNNNNNNNN.copy` is the same as `NNNNNNNNNNNN.checkpoint`, byte for byte. It is made by reading that back before the manifest names
//! it, so
//! none comes into force that cannot be read. Where there is little room it is left out: then the checkpoint has no copy until the next
//! one is
//! made, or until the next start.

use std::io;
use std::path::Path;

use crate::file::{self, Disk, File, read_exact_at, write_all_at};
use crate::manifest::CheckpointFile;
use crate::paths::Paths;
use crate::recovery::{OpenError, attempting};

/// So much is copied at once.
const PIECE_LEN: u64 = if cfg!(test) { 512 } else { 1 << 20 };
/// At a checkpoint's end.
const CRC_LEN: u64 = 4;

/// Reads a file that is to be the checkpoint which the manifest names.
pub(crate) fn read(disk: &dyn Disk, path: &Path, expected: CheckpointFile) -> Result<Vec<u8>, OpenError> {
    let corrupt = |what: &str| OpenError::Corrupt { path: path.to_owned(), offset: 0, what: what.to_owned() };
    let file = match disk.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(corrupt("the manifest names it, and it is missing"));
        }
        opened => opened.map_err(attempting("opening", path))?,
    };
    let len = file.len().map_err(attempting("reading", path))?;
    if len != expected.len {
        return Err(corrupt("its length differs from the manifest"));
    }
    let mut bytes = vec![0; usize::try_from(len).map_err(|_| corrupt("it is too long"))?];
    read_exact_at(&*file, &mut bytes, 0).map_err(attempting("reading", path))?;
    let crc = bytes.last_chunk().copied().map(u32::from_le_bytes);
    if crc != Some(expected.crc) {
        return Err(corrupt("its checksum differs from the manifest"));
    }
    let content = bytes.len() - CRC_LEN as usize;
    if crc32c::crc32c(&bytes[..content]) != expected.crc { Err(corrupt("bad checksum")) } else { Ok(bytes) }
}

/// Makes the copy. An error of kind `InvalidData`: the checkpoint is not what was written.
pub(crate) fn make(disk: &dyn Disk, paths: &Paths, checkpoint: CheckpointFile) -> io::Result<()> {
    let path = paths.checkpoint_copy(checkpoint.number);
    let from = disk.open(&paths.checkpoint(checkpoint.number))?;
    let to = match disk.create(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let to = disk.open(&path)?;
            to.truncate(0)?;
            to
        }
        created => created?,
    };
    let made = copy(&*from, &*to, checkpoint).and_then(|()| to.fdatasync());
    if made.is_err() {
        let _ = disk.remove(&path); // a start takes it for what it is, and makes another
    }
    made
}

fn copy(from: &dyn File, to: &dyn File, checkpoint: CheckpointFile) -> io::Result<()> {
    let is_other = || io::Error::new(io::ErrorKind::InvalidData, "it differs from what was written");
    if from.len()? != checkpoint.len {
        return Err(is_other());
    }
    let content_len = checkpoint.len.checked_sub(CRC_LEN).ok_or_else(is_other)?;
    let (mut offset, mut crc) = (0, 0);
    let mut piece = vec![0; PIECE_LEN.min(content_len) as usize];
    while offset < content_len {
        let piece = &mut piece[..PIECE_LEN.min(content_len - offset) as usize];
        read_exact_at(from, piece, offset)?;
        write_all_at(to, piece, offset)?;
        crc = crc32c::crc32c_append(crc, piece);
        offset += piece.len() as u64;
    }
    let mut end = [0; CRC_LEN as usize];
    read_exact_at(from, &mut end, content_len)?;
    if crc != checkpoint.crc || end != crc.to_le_bytes() {
        return Err(is_other());
    }
    write_all_at(to, &end, content_len)
}

/// Whether the copy is there and as long as it should be; what is in it is looked at when it is needed.
pub(crate) fn is_there(disk: &dyn Disk, paths: &Paths, checkpoint: CheckpointFile) -> bool {
    let len = disk.open(&paths.checkpoint_copy(checkpoint.number)).and_then(|file| file.len());
    len.is_ok_and(|len| len == checkpoint.len)
}

/// Puts the copy in place of a checkpoint that is damaged.
pub(crate) fn restore(disk: &dyn Disk, paths: &Paths, checkpoint: CheckpointFile) -> Result<(), OpenError> {
    let bytes = read(disk, &paths.checkpoint_copy(checkpoint.number), checkpoint)?;
    let path = paths.checkpoint(checkpoint.number);
    file::replace(disk, &path, &bytes).map_err(attempting("writing", &path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::SimDisk;

    const PATH: &str = "/data/checkpoints/000000000007.checkpoint";

    fn check_disk() -> (SimDisk, Paths, CheckpointFile) {
        let disk = SimDisk::new(0);
        let paths = Paths::new(Path::new("/data"));
        disk.create_dir(&paths.checkpoints()).unwrap();
        let content: Vec<u8> = (0..2000u32).map(|number| number as u8).collect();
        let crc = crc32c::crc32c(&content);
        let bytes = [&content[..], &crc.to_le_bytes()].concat();
        write_all_at(&*disk.create(Path::new(PATH)).unwrap(), &bytes, 0).unwrap();
        (disk, paths, CheckpointFile { number: 7, len: bytes.len() as u64, crc })
    }

    #[test]
    fn a_copy_stands_for_a_checkpoint_that_is_damaged() {
        let (disk, paths, checkpoint) = check_disk();
        assert!(!is_there(&disk, &paths, checkpoint));
        make(&disk, &paths, checkpoint).unwrap();
        assert!(is_there(&disk, &paths, checkpoint));
        let before = read(&disk, Path::new(PATH), checkpoint).unwrap();
        disk.flip_bit(Path::new(PATH), 0, 0);
        read(&disk, Path::new(PATH), checkpoint).unwrap_err();
        restore(&disk, &paths, checkpoint).unwrap();
        assert_eq!(read(&disk, Path::new(PATH), checkpoint).unwrap(), before);
    }

    #[test]
    fn what_cannot_be_read_back_is_not_copied() {
        for offset in [0, 511, 512, 1999, 2000, 2003] {
            let (disk, paths, checkpoint) = check_disk();
            disk.flip_bit(Path::new(PATH), offset, 0);
            assert_eq!(make(&disk, &paths, checkpoint).unwrap_err().kind(), io::ErrorKind::InvalidData);
            assert!(!is_there(&disk, &paths, checkpoint));
        }
    }
}
