//! `warren fsck`: checks, and repairs if asked, the files of a broker that does not run.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use store::file::{Disk, RealDisk};

use crate::{FsckArgs, config_files};

/// Prints what was found and fails when something is damaged and was not repaired.
pub(crate) fn fsck(args: &FsckArgs) -> Result<()> {
    let sets: Vec<String> = args.data_dir.iter().map(|dir| format!("warren.data_dir={}", dir.display())).collect();
    let (config, _) = config_files::load(args.config.as_deref(), &sets)?;
    let dir = Path::new(&config.store.data_dir);
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let attempt = || format!("cannot check the data directory {}", dir.display());
    let report = if args.repair {
        store::fsck::repair(&disk, dir).with_context(attempt)?
    } else {
        store::fsck::check(&disk, dir).with_context(attempt)?
    };
    print!("{report}");
    if !report.is_sound() && !args.repair {
        bail!("the data directory {} is damaged; `warren fsck --repair` repairs what can be repaired", dir.display());
    }
    Ok(())
}
