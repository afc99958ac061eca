//! A disk on which a repair can be tried: reads the existing files, and keeps in memory what is written. So a repair can report what would
//! be lost before anything is.
//!
//! What is written to segments is not kept, only how much: a repair writes them and does not read them, and they are long.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::file::{Disk, File, Lock, PAGE_LEN, read_exact_at};

pub(super) struct Rehearsal {
    disk: Arc<dyn Disk>,
    /// Keeps no contents of files in there.
    segments: PathBuf,
    /// What became of names. `None`: no file has the name.
    names: Mutex<BTreeMap<PathBuf, Option<Arc<Mutex<Content>>>>>,
}

/// What is in a file.
enum Content {
    /// What is on the disk.
    Real(Box<dyn File>),
    Memory(Vec<u8>),
    /// So many bytes, which were not kept.
    Unkept(u64),
}

impl Rehearsal {
    pub(super) fn new(disk: Arc<dyn Disk>, segments: PathBuf) -> Arc<Self> {
        Arc::new(Rehearsal { disk, segments, names: Mutex::default() })
    }

    /// The file of this name, which is remembered from now on: each opener sees what others write.
    fn find(&self, path: &Path) -> io::Result<Arc<Mutex<Content>>> {
        let mut names = self.names.lock();
        match names.get(path) {
            Some(Some(content)) => return Ok(content.clone()),
            Some(None) => return Err(io::ErrorKind::NotFound.into()),
            None => {}
        }
        let content = Arc::new(Mutex::new(Content::Real(self.disk.open(path)?)));
        names.insert(path.to_owned(), Some(content.clone()));
        Ok(content)
    }
}

impl Disk for Rehearsal {
    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        Ok(Box::new(RehearsedFile(self.find(path)?)))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        match self.find(path) {
            Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) => {}
        }
        let is_kept = !path.starts_with(&self.segments);
        let content = if is_kept { Content::Memory(Vec::new()) } else { Content::Unkept(0) };
        let content = Arc::new(Mutex::new(content));
        self.names.lock().insert(path.to_owned(), Some(content.clone()));
        Ok(Box::new(RehearsedFile(content)))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.find(path)?;
        self.names.lock().insert(path.to_owned(), None);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let content = self.find(from)?;
        let mut names = self.names.lock();
        names.insert(to.to_owned(), Some(content));
        names.insert(from.to_owned(), None);
        Ok(())
    }

    fn link(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let changed = self.names.lock();
        let changed: Vec<_> = changed.iter().filter(|(path, _)| path.parent() == Some(dir)).collect();
        let mut listed = match self.disk.list(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !changed.is_empty() => Vec::new(),
            listed => listed?,
        };
        for (path, content) in changed {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            listed.retain(|listed| listed != name);
            listed.extend(content.is_some().then(|| name.to_owned()));
        }
        listed.sort_unstable();
        Ok(listed)
    }

    fn is_empty_dir(&self, dir: &Path) -> io::Result<bool> {
        Ok(self.list(dir)?.is_empty())
    }

    fn create_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove_dir(&self, _dir: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn rename_dir(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn free_space(&self, dir: &Path) -> io::Result<u64> {
        self.disk.free_space(dir)
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        self.disk.try_lock(path)
    }
}

struct RehearsedFile(Arc<Mutex<Content>>);

impl Content {
    fn len(&self) -> io::Result<u64> {
        match self {
            Content::Real(file) => file.len(),
            Content::Memory(bytes) => Ok(bytes.len() as u64),
            Content::Unkept(len) => Ok(*len),
        }
    }

    /// The bytes, to be changed. `None`: they are not kept.
    fn bytes_mut(&mut self) -> io::Result<Option<&mut Vec<u8>>> {
        if let Content::Real(file) = self {
            let mut bytes = vec![0; usize::try_from(file.len()?).map_err(io::Error::other)?];
            if read_exact_at(&**file, &mut bytes, 0).is_err() {
                // What cannot be read is about to be written over.
                for (page, bytes) in bytes.chunks_mut(PAGE_LEN).enumerate() {
                    if read_exact_at(&**file, bytes, (page * PAGE_LEN) as u64).is_err() {
                        bytes.fill(0);
                    }
                }
            }
            *self = Content::Memory(bytes);
        }
        match self {
            Content::Memory(bytes) => Ok(Some(bytes)),
            Content::Real(_) | Content::Unkept(_) => Ok(None),
        }
    }

    fn grow(&mut self, len: u64) -> io::Result<()> {
        if let Some(bytes) = self.bytes_mut()? {
            let len = usize::try_from(len).map_err(io::Error::other)?;
            bytes.resize(bytes.len().max(len), 0);
        } else if let Content::Unkept(known) = self {
            *known = len.max(*known);
        }
        Ok(())
    }
}

impl File for RehearsedFile {
    fn pwritev(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let mut content = self.0.lock();
        let len: usize = slices.iter().map(|slice| slice.len()).sum();
        content.grow(offset + len as u64)?;
        if let Some(bytes) = content.bytes_mut()? {
            let mut at = offset as usize;
            for slice in slices {
                bytes[at..at + slice.len()].copy_from_slice(slice);
                at += slice.len();
            }
        }
        Ok(len)
    }

    fn pread_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match &*self.0.lock() {
            Content::Real(file) => file.pread_at(buffer, offset),
            Content::Memory(bytes) => {
                let found = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
                let len = found.len().min(buffer.len());
                buffer[..len].copy_from_slice(&found[..len]);
                Ok(len)
            }
            Content::Unkept(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn fdatasync(&self) -> io::Result<()> {
        Ok(())
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.0.lock().grow(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.0.lock().len()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut content = self.0.lock();
        content.grow(len)?;
        if let Some(bytes) = content.bytes_mut()? {
            bytes.truncate(usize::try_from(len).map_err(io::Error::other)?);
        } else if let Content::Unkept(known) = &mut *content {
            *known = len;
        }
        Ok(())
    }

    fn is_at(&self, _path: &Path) -> io::Result<bool> {
        Ok(true)
    }
}
