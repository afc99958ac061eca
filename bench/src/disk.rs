//! What the disk and the kernel take for a small write that is to last, without any broker: `pwrite` of whole pages into a file that has
//! been written before, then `fdatasync`, as a journal does it. The floor for whatever is confirmed.

use crate::arguments::Arguments;
use crate::histogram::Histogram;
use crate::json::Object;
use crate::process;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

const FILE_LEN: u64 = 32 << 20;
const PAGE_LEN: u64 = 4096;

/// One run in one directory.
pub(crate) struct DiskFloor {
    dir: PathBuf,
    /// 0: each write as soon as the last one is synced.
    rate_per_s: f64,
    len: u64,
    measure: Duration,
}

impl DiskFloor {
    pub(crate) fn parse(arguments: &Arguments) -> Result<DiskFloor, String> {
        let floor = DiskFloor {
            dir: arguments.required("dir")?,
            rate_per_s: arguments.get("rate", 0.0)?,
            len: arguments.get("size", PAGE_LEN)?,
            measure: arguments.seconds("measure-s", 4.0)?,
        };
        if floor.len == 0 || floor.len > FILE_LEN {
            return Err(format!("--size: 1 to {FILE_LEN}"));
        }
        Ok(floor)
    }

    pub(crate) fn run(&self) -> io::Result<Object> {
        let path = self.dir.join("disk-floor");
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
        let result = self.measure(&file);
        std::fs::remove_file(&path)?;
        result
    }

    fn measure(&self, file: &File) -> io::Result<Object> {
        file.write_all_at(&vec![0; FILE_LEN as usize], 0)?;
        file.sync_all()?;
        let bytes = vec![b'.'; self.len as usize];
        let step = self.len.next_multiple_of(PAGE_LEN);
        let (mut histogram, mut offset, mut count) = (Histogram::new(), 0, 0u32);
        let own = [std::process::id()];
        let (start, cpu_before_s) = (Instant::now(), process::cpu_s(&own)?);
        let machine_cpu_before_s = process::total_cpu_s()?;
        while start.elapsed() < self.measure {
            if self.rate_per_s > 0.0 {
                let due = Duration::from_secs_f64(f64::from(count) / self.rate_per_s);
                thread::sleep(due.saturating_sub(start.elapsed()));
            }
            let from = Instant::now();
            file.write_all_at(&bytes, offset)?;
            file.sync_data()?;
            histogram.record(from.elapsed().as_nanos() as u64);
            offset = if offset + 2 * step > FILE_LEN { 0 } else { offset + step };
            count += 1;
        }
        let per_sync_us = |cpu_s: f64| cpu_s * 1e6 / f64::from(count);
        Ok(Object::new()
            .number("syncs_per_s", f64::from(count) / start.elapsed().as_secs_f64())
            .number("cpu_us_per_sync", per_sync_us(process::cpu_s(&own)? - cpu_before_s))
            .number("machine_cpu_us_per_sync", per_sync_us(process::total_cpu_s()? - machine_cpu_before_s))
            .field("sync", histogram.percentiles()))
    }
}
