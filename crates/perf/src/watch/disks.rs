//! What disks have written, from Linux's /sys.
//!
//! A process's own counter (`write_bytes` of /proc/PID/io) counts what the process has made dirty in the page cache, by whole folios: a
//! file system with large folios makes hundreds of kilobytes of a record of four. So it is an upper bound. What the disks of its files have
//! written, for all processes, is another one.

use std::collections::BTreeSet;
use std::fs;
use std::os::linux::fs::MetadataExt as _;

/// The kernel's unit in `stat` of a block device, whatever the device's own is.
const SECTOR_LEN: u64 = 512;

/// Block devices, by major and minor number.
#[derive(Clone, Debug, Default)]
pub(super) struct Disks(BTreeSet<(u32, u32)>);

impl Disks {
    /// Those on which processes have files open now. Found once: a broker with 10,000 connections has as many descriptors to look at.
    pub(super) fn of(pids: &[u32]) -> Self {
        let descriptors = pids.iter().filter_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).ok()).flatten();
        let open = descriptors.filter_map(|descriptor| fs::metadata(descriptor.ok()?.path()).ok());
        Disks(open.filter(|file| file.is_file()).map(|file| split(file.st_dev())).collect())
    }

    /// Bytes that they have written since the system started. `None`: there are none, or one has no name (a network's, an overlay).
    pub(super) fn written(&self) -> Option<u64> {
        let written = || self.0.iter().map(|disk| written_by(*disk)).sum();
        (!self.0.is_empty()).then(written).flatten()
    }
}

/// Major and minor number, by the kernel's encoding for programs.
#[expect(clippy::cast_possible_truncation, reason = "the bits that are taken fit")]
fn split(device: u64) -> (u32, u32) {
    let major = (device >> 8 & 0xfff) | (device >> 32 & !0xfff);
    let minor = (device & 0xff) | (device >> 12 & !0xff);
    (major as u32, minor as u32)
}

fn written_by((major, minor): (u32, u32)) -> Option<u64> {
    let text = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat")).ok()?;
    let sectors: u64 = text.split_ascii_whitespace().nth(6)?.parse().ok()?;
    sectors.checked_mul(SECTOR_LEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_files_has_no_disks() {
        assert_eq!(Disks::default().written(), None);
        assert_eq!(Disks::of(&[u32::MAX]).written(), None);
    }

    #[test]
    fn device_numbers_are_split_as_the_kernel_joins_them() {
        assert_eq!(split(0xfe00), (254, 0));
        assert_eq!(split(0x0000_0000_0010_0305), (3, 0x105));
    }
}
