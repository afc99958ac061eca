//! What a member has promised: its term and its vote, as bytes of two sectors that are written in turn.
//!
//! A ballot is synced before anything that rests on it leaves: a member that forgets a vote may give a second one, and then two lead in one
//! term. The file is two sectors; number `n` is written to sector `n % 2`, so a power cut spoils only the one that is being written, and
//! what is in the other has been synced. The file is made with a first ballot in it and gets its name when that is synced: so one fresh
//! sector beside a spoilt one is damage, and never a first write that was torn.
//!
//! ```text
//!  | magic "wballot1" | number u64 | term u64 | vote u64, 0 none | member u64 | crc32c u32 of all before | zeros up to 512 |
//! ```
//!
//! All numbers are little-endian. A sector of zeros has never been written.

use crate::ids::{MemberId, Term};
use crate::limits::NUMBER_MAX;

/// Bytes of a sector.
pub const SECTOR_LEN: usize = 512;
/// A sector of the ballot file.
pub type Sector = [u8; SECTOR_LEN];

const MAGIC: &[u8; 8] = b"wballot1";
/// What the checksum covers.
const COVERED_LEN: usize = 40;

/// A member's promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ballot {
    /// The highest term it has seen.
    pub term: Term,
    /// The member that it votes for in that term.
    pub vote: Option<MemberId>,
}

/// A ballot that is to be written, or was found: with its number, which says into which sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberedBallot {
    /// Counts writes, from 1.
    pub number: u64,
    /// Whose it is.
    pub member: MemberId,
    /// What it says.
    pub ballot: Ballot,
}

/// What two sectors hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BallotFile {
    /// Neither was ever written: a member that has promised nothing.
    Fresh,
    /// This was synced last. The other sector is older, fresh, or torn by a power cut while it was written: whatever was in it, no
    /// message that rested on it had left.
    Whole {
        /// The newest whole one.
        last: NumberedBallot,
        /// Whether the other one is torn.
        is_other_torn: bool,
    },
    /// Nothing whole is left, or the two cannot be of one member's file: what was promised is lost. The member must not come back
    /// under its id.
    Damaged,
}

impl NumberedBallot {
    /// The one to write after it.
    #[must_use]
    pub fn next(&self, ballot: Ballot) -> Self {
        NumberedBallot { number: self.number + 1, member: self.member, ballot }
    }

    /// The first one of a member.
    #[must_use]
    pub fn first(member: MemberId, ballot: Ballot) -> Self {
        NumberedBallot { number: 1, member, ballot }
    }

    /// Which of the two sectors it belongs into.
    #[must_use]
    pub fn sector(&self) -> usize {
        (self.number % 2) as usize
    }

    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Sector {
        let mut sector = [0; SECTOR_LEN];
        let vote = self.ballot.vote.map_or(0, MemberId::get);
        let numbers = [self.number, self.ballot.term.0, vote, self.member.get()];
        sector[..8].copy_from_slice(MAGIC);
        for (at, number) in (8..).step_by(8).zip(numbers) {
            sector[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        let checksum = crc32c::crc32c(&sector[..COVERED_LEN]);
        sector[COVERED_LEN..COVERED_LEN + 4].copy_from_slice(&checksum.to_le_bytes());
        sector
    }

    /// From the bytes of one sector, if they are whole and were meant for it.
    fn decode(sector: &Sector, place: usize) -> Option<Self> {
        let (covered, rest) = sector.split_at(COVERED_LEN);
        let (checksum, zeros) = rest.split_first_chunk::<4>()?;
        let is_whole = crc32c::crc32c(covered) == u32::from_le_bytes(*checksum) && zeros.iter().all(|byte| *byte == 0);
        let numbers = covered.strip_prefix(MAGIC)?.as_chunks::<8>().0;
        let [number, term, vote, member] = numbers else { return None };
        let [number, term, vote, member] = [number, term, vote, member].map(|bytes| u64::from_le_bytes(*bytes));
        let ballot = Ballot { term: Term(term), vote: MemberId::new(vote) };
        let found = NumberedBallot { number, member: MemberId::new(member)?, ballot };
        let is_possible = (1..=NUMBER_MAX).contains(&number) && term <= NUMBER_MAX;
        (is_whole && is_possible && found.sector() == place).then_some(found)
    }
}

impl BallotFile {
    /// What two sectors, in their order in the file, hold.
    #[must_use]
    pub fn read(sectors: [&Sector; 2]) -> Self {
        let is_fresh = |sector: &Sector| sector.iter().all(|byte| *byte == 0);
        let found = [0, 1].map(|place| NumberedBallot::decode(sectors[place], place));
        match found {
            [None, None] if sectors.into_iter().all(is_fresh) => BallotFile::Fresh,
            [None, None] => BallotFile::Damaged,
            [Some(last), None] => BallotFile::Whole { last, is_other_torn: !is_fresh(sectors[1]) },
            [None, Some(last)] => BallotFile::Whole { last, is_other_torn: !is_fresh(sectors[0]) },
            [Some(one), Some(other)] => {
                let (older, last) = if one.number < other.number { (one, other) } else { (other, one) };
                let follow = older.number + 1 == last.number
                    && older.member == last.member
                    && older.ballot.term <= last.ballot.term;
                if follow { BallotFile::Whole { last, is_other_torn: false } } else { BallotFile::Damaged }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH: Sector = [0; SECTOR_LEN];

    fn member(number: u64) -> MemberId {
        MemberId::new(number).unwrap()
    }

    fn ballots(count: u64) -> Vec<NumberedBallot> {
        let of = |term| Ballot { term: Term(term), vote: MemberId::new(term % 3) };
        let first = NumberedBallot::first(member(7), of(1));
        std::iter::successors(Some(first), |last| Some(last.next(of(last.number + 1)))).take(count as usize).collect()
    }

    /// A file after these have been written in turn.
    fn written(ballots: &[NumberedBallot]) -> [Sector; 2] {
        let mut sectors = [FRESH; 2];
        for ballot in ballots {
            sectors[ballot.sector()] = ballot.encode();
        }
        sectors
    }

    fn read(sectors: &[Sector; 2]) -> BallotFile {
        BallotFile::read([&sectors[0], &sectors[1]])
    }

    #[test]
    fn the_newest_whole_ballot_counts() {
        assert_eq!(read(&[FRESH; 2]), BallotFile::Fresh);
        for count in 1..6 {
            let ballots = ballots(count);
            let last = *ballots.last().unwrap();
            assert_eq!(read(&written(&ballots)), BallotFile::Whole { last, is_other_torn: false });
        }
    }

    #[test]
    fn a_torn_sector_leaves_the_one_before() {
        let ballots = ballots(4);
        let torn = ballots[3];
        for cut in 1..44 {
            let mut sectors = written(&ballots[..3]);
            sectors[torn.sector()][..cut].copy_from_slice(&torn.encode()[..cut]);
            match read(&sectors) {
                BallotFile::Whole { last, .. } => assert_eq!(last, ballots[2], "cut at {cut}"),
                other => panic!("cut at {cut}: {other:?}"),
            }
        }
        let mut sectors = written(&ballots);
        sectors[torn.sector()][9] ^= 1;
        assert_eq!(read(&sectors), BallotFile::Whole { last: ballots[2], is_other_torn: true });
    }

    #[test]
    fn two_bad_sectors_are_damage() {
        let mut sectors = written(&ballots(4));
        sectors.iter_mut().for_each(|sector| sector[20] ^= 0x40);
        assert_eq!(read(&sectors), BallotFile::Damaged);
        // The file had no name before its first ballot was whole.
        let mut sectors = written(&ballots(1));
        sectors[1][20] ^= 0x40;
        assert_eq!(read(&sectors), BallotFile::Damaged);
    }

    #[test]
    fn sectors_that_do_not_belong_together_are_damage() {
        let all = ballots(6);
        assert_eq!(read(&[all[1].encode(), all[4].encode()]), BallotFile::Damaged, "numbers leave a gap");
        let mut stranger = all[2];
        stranger.member = member(8);
        assert_eq!(read(&[all[1].encode(), stranger.encode()]), BallotFile::Damaged, "of two members");
        assert_eq!(read(&[all[0].encode(), all[1].encode()]), BallotFile::Damaged, "in each other's place");
    }

    #[test]
    fn any_flipped_bit_is_seen() {
        let [ballot] = ballots(1)[..] else { panic!() };
        for bit in 0..SECTOR_LEN * 8 {
            let mut sector = ballot.encode();
            sector[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(NumberedBallot::decode(&sector, ballot.sector()), None, "bit {bit}");
        }
    }
}
