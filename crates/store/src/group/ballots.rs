//! The ballot file of a member: two sectors, written in turn. `consensus` has their format, and says why.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consensus::{Ballot, BallotFile, MemberId, NumberedBallot, SECTOR_LEN, Sector};

use crate::file::{self, Disk, File, read_exact_at, write_all_at};

/// The open file.
pub struct Ballots {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    member: MemberId,
    /// Absent before the first ballot.
    file: Option<Box<dyn File>>,
    last: Option<NumberedBallot>,
}

impl Ballots {
    /// Opens the file, and says what is in it. One that is not there has never been written. What it says lasts when this returns: it may
    /// have been read from the page cache of a kernel that has not written it.
    pub(crate) fn open(disk: &Arc<dyn Disk>, path: &Path, member: MemberId) -> io::Result<(Self, BallotFile)> {
        let ballots = Ballots { disk: disk.clone(), path: path.to_owned(), member, file: None, last: None };
        let file = match disk.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((ballots, BallotFile::Fresh)),
            opened => opened?,
        };
        let mut sectors: [Sector; 2] = [[0; SECTOR_LEN]; 2];
        if file.len()? < 2 * SECTOR_LEN as u64 {
            return Ok((ballots, BallotFile::Damaged));
        }
        for (place, sector) in sectors.iter_mut().enumerate() {
            read_exact_at(&*file, sector, (place * SECTOR_LEN) as u64)?;
        }
        // A file has its name only when a ballot is in it.
        let found = match BallotFile::read([&sectors[0], &sectors[1]]) {
            BallotFile::Fresh => BallotFile::Damaged,
            found => found,
        };
        let BallotFile::Whole { last, .. } = found else { return Ok((ballots, found)) };
        file::replace(&**disk, path, &sectors.concat())?;
        Ok((Ballots { file: Some(disk.open(path)?), last: Some(last), ..ballots }, found))
    }

    /// Writes a ballot; it lasts when this returns.
    ///
    /// # Errors
    ///
    /// The disk said no. Whether the ballot lasts is unknown then.
    pub fn write(&mut self, ballot: Ballot) -> io::Result<()> {
        let next = match &self.last {
            Some(last) => last.next(ballot),
            None => NumberedBallot::first(self.member, ballot),
        };
        let offset = next.sector() * SECTOR_LEN;
        match &self.file {
            Some(file) => {
                write_all_at(&**file, &next.encode(), offset as u64)?;
                file.fdatasync()?;
            }
            None => {
                let mut bytes = [0; 2 * SECTOR_LEN];
                bytes[offset..offset + SECTOR_LEN].copy_from_slice(&next.encode());
                file::replace(&*self.disk, &self.path, &bytes)?;
                self.file = Some(self.disk.open(&self.path)?);
            }
        }
        self.last = Some(next);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use consensus::Term;

    use super::*;
    use crate::file::SimDisk;

    fn open(disk: &SimDisk) -> (Ballots, BallotFile) {
        let disk: Arc<dyn Disk> = Arc::new(disk.clone());
        Ballots::open(&disk, Path::new("/data/ballot"), MemberId::new(7).unwrap()).unwrap()
    }

    fn ballot(term: u64) -> Ballot {
        Ballot { term: Term(term), vote: MemberId::new(term % 3) }
    }

    #[test]
    fn what_was_written_last_is_found_whenever_the_power_goes() {
        for cut in 0.. {
            let disk = SimDisk::new(cut);
            disk.create_dir(Path::new("/data")).unwrap();
            disk.cut_power_at(disk.operation_count() + cut);
            let (mut ballots, _) = open(&disk);
            let written = (1..6).take_while(|term| ballots.write(ballot(*term)).is_ok()).last();
            let is_whole = !disk.is_cut();
            disk.restart();
            match open(&disk).1 {
                BallotFile::Whole { last, .. } => {
                    // What was being written may be there as well.
                    let term = last.ballot.term.0;
                    assert!(term == written.unwrap_or(0) || term == written.unwrap_or(0) + 1, "cut at {cut}");
                    assert_eq!(last.ballot, ballot(term));
                }
                BallotFile::Fresh => assert_eq!(written, None, "cut at {cut}"),
                BallotFile::Damaged => panic!("damaged, cut at {cut}"),
            }
            if is_whole {
                return;
            }
        }
    }

    #[test]
    fn an_empty_or_short_file_is_damage() {
        let disk = SimDisk::new(1);
        disk.create_dir(Path::new("/data")).unwrap();
        disk.create(Path::new("/data/ballot")).unwrap();
        assert_eq!(open(&disk).1, BallotFile::Damaged);
    }
}
