//! `warren diagnose`: what is the matter with a broker, in plain words, and all that it follows from in one archive.
//!
//! ```text
//!  gather   looks at the API, a CPU profile between them, the system's limits
//!  samples ─► facts ─► findings ─► page     no I/O: what follows from what
//!     └ dead_letters, lengths
//!  archive  all of it in one file
//! ```

mod archive;
mod dead_letters;
mod facts;
mod findings;
mod gather;
mod lengths;
mod page;
mod samples;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::failure::Failure;
use crate::run::print_line;
use crate::target::Target;

use archive::Archive;
use gather::Files;

/// Report the problems of a running broker in plain sentences, and store all data behind the findings in one archive. For administrators.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// How long to observe the broker: growth is measured between the start and the end.
    #[arg(short, long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=300))]
    seconds: u32,
    /// The archive [default: warren-diagnose-NODE-TIME.tar.gz].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the findings only, without an archive.
    #[arg(long, conflicts_with = "output")]
    no_archive: bool,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Looks, says what it found, and writes the archive. Gives the exit status: 3 where there are warnings, 4 where there are problems.
    ///
    /// # Errors
    ///
    /// When the broker does not answer, or the archive cannot be written, in one sentence.
    pub async fn run(&self) -> Result<u8, Failure> {
        let (samples, mut files) = gather::gather(&self.target, self.seconds).await?;
        let facts = samples::facts(&samples);
        let findings = findings::findings(&facts);
        let page = page::page(&facts, &findings, &files.missing);
        match self.json {
            true => print_line(&page::json(&facts, &findings, &files.missing).to_string())?,
            false => print_line(page.trim_end())?,
        }
        let status = findings::exit_status(&findings);
        if self.no_archive {
            return Ok(status);
        }
        files.add("findings.txt", page);
        let at_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let name = format!("warren-diagnose-{}-{at_s}", plain(&facts.node));
        let path = self.output.clone().unwrap_or_else(|| format!("{name}.tar.gz").into());
        write(&path, &name, &files, at_s)
            .map_err(|error| Failure::failed(format!("{} cannot be written: {error}", path.display())))?;
        eprintln!("All of it is in {}.", path.display());
        Ok(status)
    }
}

/// Of a name what no shell and no file system minds.
fn plain(name: &str) -> String {
    name.chars()
        .map(|char| if char.is_ascii_alphanumeric() || "@-_.".contains(char) { char } else { '_' })
        .take(60)
        .collect()
}

fn write(path: &std::path::Path, folder: &str, files: &Files, at_s: u64) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    // What is in it is for the operator: names, addresses, the log.
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let mut archive = Archive::new(file, at_s);
    for (name, content) in &files.all {
        archive.add(&format!("{folder}/{name}"), content)?;
    }
    archive.finish()?.sync_all()
}
