//! A file's bytes: those that a program sees, and those that would survive.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::operations::PAGE_LEN;
use crate::Random;

/// Pages may tear at multiples of this.
const SECTOR_LEN: usize = 512;

#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    pub(super) cached: Vec<u8>,
    pub(super) durable: Vec<u8>,
    /// Pages written since the last sync, with each version they had. A page that differs from the durable one and is
    /// not here was dropped by a failed sync: no later sync writes it.
    pub(super) dirty: BTreeMap<usize, Vec<Vec<u8>>>,
    pub(super) unreadable: Vec<Range<u64>>,
    /// How many names it has.
    pub(super) link_count: u32,
}

impl Inode {
    pub(super) fn write(&mut self, bytes: &[u8], offset: usize) {
        // A sector that is written anew can be read again.
        let end = (offset + bytes.len()) as u64;
        self.unreadable.retain(|bad| bad.start < offset as u64 || end < bad.end);
        self.cached[offset..offset + bytes.len()].copy_from_slice(bytes);
        for page in offset / PAGE_LEN..(offset + bytes.len()).div_ceil(PAGE_LEN) {
            let end = self.cached.len().min((page + 1) * PAGE_LEN);
            let mut version = self.cached[page * PAGE_LEN..end].to_vec();
            version.resize(PAGE_LEN, 0);
            self.dirty.entry(page).or_default().push(version);
        }
    }

    pub(super) fn persist(&mut self, page: usize, bytes: &[u8]) {
        let start = page * PAGE_LEN;
        let end = self.durable.len().min(start + PAGE_LEN);
        if start < end {
            self.durable[start..end].copy_from_slice(&bytes[..end - start]);
        }
    }

    pub(super) fn sync(&mut self) {
        self.durable.resize(self.cached.len(), 0);
        for (page, versions) in std::mem::take(&mut self.dirty) {
            self.persist(page, versions.last().expect("a dirty page was written"));
        }
    }

    /// What the kernel may do when writing back fails: pages written, still dirty, or clean though not written.
    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        let len = self.durable.len().max(self.cached.len());
        self.durable.resize(len, 0);
        for (page, versions) in std::mem::take(&mut self.dirty) {
            match random.below(3) {
                0 => self.persist(page, versions.last().expect("a dirty page was written")),
                1 => drop(self.dirty.insert(page, versions)),
                _ => {}
            }
        }
    }

    pub(super) fn survive(&mut self, random: &mut Random) {
        if self.cached.len() != self.durable.len() && random.percent(50) {
            self.durable.resize(self.cached.len(), 0);
        }
        for (page, versions) in std::mem::take(&mut self.dirty) {
            let survivor = random.below(versions.len() as u64 + 1) as usize;
            if survivor == 0 {
                continue;
            }
            self.persist(page, &versions[survivor - 1]);
            if let Some(next) = versions.get(survivor).filter(|_| random.percent(25)) {
                self.tear(page, next, random);
            } else if survivor == 1 && random.percent(10) {
                self.tear(page, &[0; PAGE_LEN], random);
            }
        }
        self.cached = self.durable.clone();
    }

    /// Overwrites some sectors of a page.
    pub(super) fn tear(&mut self, page: usize, other: &[u8], random: &mut Random) {
        let start = page * PAGE_LEN;
        for offset in (0..PAGE_LEN).step_by(SECTOR_LEN).filter(|_| random.percent(50)) {
            let range = start + offset..start + offset + SECTOR_LEN;
            if let Some(sector) = self.durable.get_mut(range) {
                sector.copy_from_slice(&other[offset..offset + SECTOR_LEN]);
            }
        }
    }
}
