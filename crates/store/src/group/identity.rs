//! Which member of which group a directory is, and where the group's log begins if this directory founded it.
//!
//! ```text
//!  DIR/group | magic "WRNGROUP" | version u32 | crc32c u32 of all behind it | cluster u128 | member u64
//!            | name_len u32 | name … | 0 u8  or  1 u8 | position u64 | base …                        little-endian
//! ```
//!
//! The file is written once, when the directory becomes a member. A directory without it belongs to no group.

use std::io;
use std::path::Path;

use consensus::{Base, MemberId};
use model::ids::JournalPosition;

use crate::file::{self, Disk, read_exact_at};

const MAGIC: &[u8; 8] = b"WRNGROUP";
const VERSION: u32 = 1;
/// Magic, version and checksum.
const HEAD_LEN: usize = 16;
/// No file is longer.
const LEN_MAX: u64 = 1 << 20;

/// Which member of its group a directory is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Drawn when the group was founded; the same on all its members.
    pub cluster: u128,
    /// Drawn when this directory became a member, never given twice.
    pub member: MemberId,
    /// The node's name, for messages and for its peers to check.
    pub name: String,
    /// If this directory founded the group: where its log begins. What the journal has before is of the time before.
    pub founding: Option<Founding>,
}

/// Where a new group's log begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Founding {
    /// The journal's position.
    pub position: JournalPosition,
    /// The log's base.
    pub base: Base,
}

impl Identity {
    /// Reads the file. `None`: the directory belongs to no group.
    ///
    /// # Errors
    ///
    /// The disk said no, or the file is damaged: kind `InvalidData`.
    pub(crate) fn read(disk: &dyn Disk, path: &Path) -> io::Result<Option<Identity>> {
        let file = match disk.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut bytes = vec![0; file.len()?.min(LEN_MAX) as usize];
        read_exact_at(&*file, &mut bytes, 0)?;
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it is damaged");
        Identity::decode(&bytes).ok_or_else(damaged).map(Some)
    }

    /// Writes the file into a directory that no process has open, which is this member's from then on.
    ///
    /// # Errors
    ///
    /// The disk said no.
    #[cfg(any(test, feature = "simulation"))]
    pub fn write_into(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        self.write(disk, &crate::paths::Paths::new(dir).group())
    }

    /// Writes the file; it lasts when this returns.
    pub(crate) fn write(&self, disk: &dyn Disk, path: &Path) -> io::Result<()> {
        file::replace(disk, path, &self.encode())
    }

    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend_from_slice(&self.cluster.to_le_bytes());
        body.extend_from_slice(&self.member.get().to_le_bytes());
        body.extend_from_slice(&(self.name.len() as u32).to_le_bytes());
        body.extend_from_slice(self.name.as_bytes());
        body.push(self.founding.is_some().into());
        if let Some(Founding { position, base }) = &self.founding {
            body.extend_from_slice(&position.0.to_le_bytes());
            base.encode(&mut body);
        }
        let (version, crc) = (VERSION.to_le_bytes(), crc32c::crc32c(&body).to_le_bytes());
        [&MAGIC[..], &version, &crc, &body].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Identity> {
        let (head, mut body) = bytes.split_at_checked(HEAD_LEN)?;
        let crc = crc32c::crc32c(body).to_le_bytes();
        if head != [&MAGIC[..], &VERSION.to_le_bytes(), &crc].concat() {
            return None;
        }
        let cluster = u128::from_le_bytes(take(&mut body)?);
        let member = MemberId::new(u64::from_le_bytes(take(&mut body)?))?;
        let name_len = u32::from_le_bytes(take(&mut body)?) as usize;
        let (name, rest) = body.split_at_checked(name_len)?;
        body = rest;
        let name = String::from_utf8(name.to_vec()).ok()?;
        let founding = match take::<1>(&mut body)? {
            [0] if body.is_empty() => None,
            [1] => {
                let position = JournalPosition(u64::from_le_bytes(take(&mut body)?));
                Some(Founding { position, base: Base::decode(body).ok()? })
            }
            _ => return None,
        };
        Some(Identity { cluster, member, name, founding })
    }
}

fn take<const LEN: usize>(bytes: &mut &[u8]) -> Option<[u8; LEN]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identities() -> [Identity; 2] {
        let member = MemberId::new(7).unwrap();
        let founding = Founding { position: JournalPosition(99), base: Base::of_new_group([member]) };
        let joined = Identity { cluster: 1 << 90, member, name: "rabbit@a".to_owned(), founding: None };
        [Identity { founding: Some(founding), ..joined.clone() }, joined]
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        for identity in identities() {
            assert_eq!(Identity::decode(&identity.encode()), Some(identity));
        }
    }

    #[test]
    fn damage_is_noticed() {
        for identity in identities() {
            let bytes = identity.encode();
            for bit in 0..bytes.len() * 8 {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Identity::decode(&bytes), None, "bit {bit}");
            }
            (0..bytes.len()).for_each(|len| assert_eq!(Identity::decode(&bytes[..len]), None, "cut at {len}"));
        }
    }
}
