//! `warren fsck`: checks, and repairs if asked, the files of a broker that does not run.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use store::file::{Disk, RealDisk};
use store::fsck::Loss;

use crate::{FsckArgs, config_files};

/// Prints what was found and fails when something is damaged and was not repaired.
pub(crate) fn fsck(args: &FsckArgs) -> Result<()> {
    let (config, _) = config_files::load(args.config.as_deref(), &[])?;
    let dir = args.data_dir.as_deref().unwrap_or(Path::new(&config.store.data_dir));
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let attempt = || format!("cannot check the data directory {}", dir.display());
    let loss = if args.accept_loss { Loss::Accepted } else { Loss::Refused };
    let report = if args.repair {
        store::fsck::repair(&disk, dir, loss).with_context(attempt)?
    } else {
        store::fsck::check(&disk, dir).with_context(attempt)?
    };
    // The exit status says it, too: stdout may be closed.
    let _ = write!(io::stdout(), "{}", human::printable(&report.to_string()));
    match (report.is_sound(), args.repair) {
        (true, _) => Ok(()),
        (false, true) if report.is_refused => {
            bail!("the data directory {} was not repaired, because data would be lost", dir.display())
        }
        (false, true) => bail!("the data directory {} could not be repaired completely", dir.display()),
        (false, false) => {
            bail!(
                "the data directory {} is damaged; `warren fsck --repair` repairs what can be repaired",
                dir.display()
            )
        }
    }
}
