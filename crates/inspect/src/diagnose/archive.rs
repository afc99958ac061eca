//! The archive: ustar, gzipped, which every tar reads.
//!
//! ```text
//!  | name 100 | mode 8 | uid 8 | gid 8 | size 12 | mtime 12 | checksum 8 | kind 1 | link 100 | "ustar\0" "00" | … |   512 bytes
//!  | content, filled up to 512 bytes |   …   | 1024 zeros |
//! ```

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

const BLOCK_LEN: usize = 512;
/// Of the name in a header.
const NAME_LEN_MAX: usize = 100;

/// An archive that is being made.
pub(super) struct Archive<W: Write> {
    out: GzEncoder<W>,
    modified_at_s: u64,
}

impl<W: Write> Archive<W> {
    /// One whose files were all made at this time, in seconds since 1970.
    pub(super) fn new(out: W, modified_at_s: u64) -> Archive<W> {
        Archive { out: GzEncoder::new(out, Compression::default()), modified_at_s }
    }

    /// Adds a file. Only its owner may read it.
    pub(super) fn add(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.out.write_all(&header(name, content.len() as u64, self.modified_at_s))?;
        self.out.write_all(content)?;
        self.out.write_all(&[0; BLOCK_LEN][..content.len().next_multiple_of(BLOCK_LEN) - content.len()])
    }

    /// Ends it.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&[0; 2 * BLOCK_LEN])?;
        self.out.finish()
    }
}

fn header(name: &str, len: u64, modified_at_s: u64) -> [u8; BLOCK_LEN] {
    assert!(name.len() < NAME_LEN_MAX, "names of files in an archive are ours, and short");
    let mut header = [0; BLOCK_LEN];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, b"0000600\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{len:011o}\0").as_bytes());
    put(136, format!("{modified_at_s:011o}\0").as_bytes());
    // Counted as spaces.
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn tar_reads_what_was_written() {
        let dir = std::env::temp_dir().join(format!("warren-archive-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("a.tar.gz");
        let contents =
            [("d/empty", Vec::new()), ("d/a", b"abc".to_vec()), ("d/block", vec![7; 512]), ("d/more", vec![9; 70_001])];
        let mut archive = Archive::new(std::fs::File::create(&path).unwrap(), 1_700_000_000);
        contents.iter().for_each(|(name, content)| archive.add(name, content).unwrap());
        archive.finish().unwrap();
        let output = Command::new("tar").arg("-xzf").arg(&path).arg("-C").arg(&dir).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        for (name, content) in &contents {
            assert_eq!(std::fs::read(dir.join(name)).unwrap(), *content);
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
