//! Messages as bytes: what one member sends and another reads.
//!
//! ```text
//!  | version u8 = 1 | body u8 | from u64 | to u64 | term u64 | the body |
//!
//!  1 append            | previous term u64, index u64 | committed u64 | count u16 | count times an entry |
//!     an entry         | term u64 | kind u8 | len u32 |, a change of members behind it for kind 3
//!  2 appended          | upto u64 | committed u64 |
//!  3 refused           | previous index u64 | hint term u64, index u64 | committed u64 |
//!  4 ask               | round u8 | last term u64, index u64 | committed term u64, index u64 | handed over u8 |
//!  5 vote              | round u8 | granted u8 | committed term u64, index u64 |
//!  6 heartbeat, 7 its answer   | committed u64 |
//!  8 restore           | base term u64, index u64 | members |
//!  9 campaign now      nothing
//!
//!  members             | ends itself u8 | four lists: voters, outgoing, learners, next learners |, each | count u8 | ids u64 |
//!  a change            | count u8 | count times: step u8, 1 voter, 2 learner, 3 removed | id u64 |
//! ```
//!
//! All numbers are little-endian; entries' indexes follow from `previous`. Contents of entries are not here: the link has them behind it.
//! Decoding borrows, checks what is left before every read, bounds every count, and takes only what the engine can stand on: no bytes make
//! it panic, and nothing may be left over.

use thiserror::Error;

use crate::entry::{Entry, Kind};
use crate::ids::{Index, LogId, MemberId, Term};
use crate::limits::{ENTRIES_PER_MESSAGE_MAX, MEMBERS_MAX, MESSAGE_LEN_MAX, NUMBER_MAX};
use crate::members::{Base, MemberChange, MemberStep, Members};
use crate::message::{Body, Message, Round};

const VERSION: u8 = 1;

/// The bytes are not valid: the caller closes the link, or stops reading the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// They end too early.
    #[error("the message is cut off")]
    Short,
    /// They go on.
    #[error("the message is followed by something else")]
    Long,
    /// They are of another version of this format.
    #[error("the message has version {0}")]
    Version(u8),
    /// They say what no member says.
    #[error("the message has an impossible {0}")]
    Impossible(&'static str),
}

impl Message {
    /// Appends it as bytes.
    pub fn encode(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&[VERSION, self.body.code()]);
        put(to, &[self.from.get(), self.to.get(), self.term.0]);
        self.body.encode(to);
    }

    /// Reads one, which is all there is.
    ///
    /// # Errors
    ///
    /// The bytes are not one message.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() > MESSAGE_LEN_MAX {
            return Err(DecodeError::Long);
        }
        let mut reader = Reader(bytes);
        let version = reader.byte()?;
        if version != VERSION {
            return Err(DecodeError::Version(version));
        }
        let code = reader.byte()?;
        let (from, to, term) = (reader.member()?, reader.member()?, Term(reader.number()?));
        if from == to || term.0 == 0 {
            return Err(DecodeError::Impossible("envelope"));
        }
        let body = Body::decode(code, term, &mut reader)?;
        reader.end()?;
        Ok(Message { from, to, term, body })
    }
}

impl MemberChange {
    /// Appends it as bytes; a journal has it like this, too.
    pub fn encode(&self, to: &mut Vec<u8>) {
        to.push(self.steps.len() as u8);
        for step in &self.steps {
            to.push(match step {
                MemberStep::AddVoter(_) => 1,
                MemberStep::AddLearner(_) => 2,
                MemberStep::Remove(_) => 3,
            });
            put(to, &[step.member().get()]);
        }
    }

    /// Reads one, which is all there is.
    ///
    /// # Errors
    ///
    /// The bytes are not one change.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader(bytes);
        let change = reader.change()?;
        reader.end()?;
        Ok(change)
    }
}

impl Base {
    /// Appends it as bytes; a manifest has it like this, too.
    pub fn encode(&self, to: &mut Vec<u8>) {
        put_id(to, self.id);
        to.push(self.members.ends_by_itself.into());
        let Members { voters, outgoing, learners, learners_next, .. } = &self.members;
        for list in [voters, outgoing, learners, learners_next] {
            to.push(list.len() as u8);
            list.iter().for_each(|member| put(to, &[member.get()]));
        }
    }

    /// Reads one, which is all there is.
    ///
    /// # Errors
    ///
    /// The bytes are not one base, or one that no group has.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader(bytes);
        let base = reader.base()?;
        reader.end()?;
        Ok(base)
    }
}

impl Body {
    fn code(&self) -> u8 {
        match self {
            Body::Append { .. } => 1,
            Body::Appended { .. } => 2,
            Body::Refused { .. } => 3,
            Body::Ask { .. } => 4,
            Body::Vote { .. } => 5,
            Body::Heartbeat { .. } => 6,
            Body::HeartbeatAnswer { .. } => 7,
            Body::Restore { .. } => 8,
            Body::CampaignNow => 9,
        }
    }

    fn encode(&self, to: &mut Vec<u8>) {
        match self {
            Body::Append { previous, committed, entries } => {
                put_id(to, *previous);
                put(to, &[committed.0]);
                to.extend_from_slice(&(entries.len() as u16).to_le_bytes());
                entries.iter().for_each(|entry| put_entry(to, entry));
            }
            Body::Appended { upto, committed } => put(to, &[upto.0, committed.0]),
            Body::Refused { previous, hint, committed } => {
                put(to, &[previous.0]);
                put_id(to, *hint);
                put(to, &[committed.0]);
            }
            Body::Ask { round, last, committed, is_handed_over } => {
                to.push(round_code(*round));
                put_id(to, *last);
                put_id(to, *committed);
                to.push((*is_handed_over).into());
            }
            Body::Vote { round, is_granted, committed } => {
                to.extend_from_slice(&[round_code(*round), (*is_granted).into()]);
                put_id(to, *committed);
            }
            Body::Heartbeat { committed } | Body::HeartbeatAnswer { committed } => put(to, &[committed.0]),
            Body::Restore { base } => base.encode(to),
            Body::CampaignNow => {}
        }
    }

    fn decode(code: u8, term: Term, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match code {
            1 => reader.append(term)?,
            2 => Body::Appended { upto: reader.index()?, committed: reader.index()? },
            3 => Body::Refused { previous: reader.index()?, hint: reader.id()?, committed: reader.index()? },
            4 => Body::Ask {
                round: reader.round()?,
                last: reader.id()?,
                committed: reader.id()?,
                is_handed_over: reader.flag()?,
            },
            5 => Body::Vote { round: reader.round()?, is_granted: reader.flag()?, committed: reader.id()? },
            6 => Body::Heartbeat { committed: reader.index()? },
            7 => Body::HeartbeatAnswer { committed: reader.index()? },
            8 => {
                let base = reader.base()?;
                if base.id.term > term {
                    return Err(DecodeError::Impossible("base"));
                }
                Body::Restore { base }
            }
            9 => Body::CampaignNow,
            _ => return Err(DecodeError::Impossible("body")),
        })
    }
}

fn put(to: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|number| to.extend_from_slice(&number.to_le_bytes()));
}

fn put_id(to: &mut Vec<u8>, id: LogId) {
    put(to, &[id.term.0, id.index.0]);
}

fn put_entry(to: &mut Vec<u8>, entry: &Entry) {
    put(to, &[entry.id.term.0]);
    to.push(match entry.kind {
        Kind::Empty => 1,
        Kind::Records => 2,
        Kind::Members(_) => 3,
    });
    to.extend_from_slice(&entry.len.to_le_bytes());
    if let Kind::Members(change) = &entry.kind {
        change.encode(to);
    }
}

fn round_code(round: Round) -> u8 {
    match round {
        Round::Trial => 1,
        Round::Election => 2,
    }
}

/// What is left to be read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const LEN: usize>(&mut self) -> Result<[u8; LEN], DecodeError> {
        let (taken, rest) = self.0.split_first_chunk::<LEN>().ok_or(DecodeError::Short)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn end(&self) -> Result<(), DecodeError> {
        if self.0.is_empty() { Ok(()) } else { Err(DecodeError::Long) }
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn number(&mut self) -> Result<u64, DecodeError> {
        let number = u64::from_le_bytes(self.take()?);
        if number > NUMBER_MAX { Err(DecodeError::Impossible("number")) } else { Ok(number) }
    }

    fn index(&mut self) -> Result<Index, DecodeError> {
        self.number().map(Index)
    }

    fn id(&mut self) -> Result<LogId, DecodeError> {
        Ok(LogId { term: Term(self.number()?), index: self.index()? })
    }

    fn member(&mut self) -> Result<MemberId, DecodeError> {
        MemberId::new(u64::from_le_bytes(self.take()?)).ok_or(DecodeError::Impossible("member"))
    }

    fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError::Impossible("flag")),
        }
    }

    fn round(&mut self) -> Result<Round, DecodeError> {
        match self.byte()? {
            1 => Ok(Round::Trial),
            2 => Ok(Round::Election),
            _ => Err(DecodeError::Impossible("round")),
        }
    }

    /// A count of members or of steps.
    fn count(&mut self) -> Result<usize, DecodeError> {
        let count = usize::from(self.byte()?);
        if count > MEMBERS_MAX { Err(DecodeError::Impossible("count")) } else { Ok(count) }
    }

    fn append(&mut self, term: Term) -> Result<Body, DecodeError> {
        let (previous, committed) = (self.id()?, self.index()?);
        let count = usize::from(u16::from_le_bytes(self.take()?));
        let mut entries: Vec<Entry> = Vec::with_capacity(count.min(self.0.len() / 13));
        let mut last = previous;
        for _ in 0..count {
            let entry = self.entry(last.index.next())?;
            if entry.id.term < last.term || entry.id.term > term || entry.id.index.0 > NUMBER_MAX {
                return Err(DecodeError::Impossible("order of entries"));
            }
            last = entry.id;
            entries.push(entry);
        }
        if previous.term > term {
            return Err(DecodeError::Impossible("previous entry"));
        }
        Ok(Body::Append { previous, committed, entries })
    }

    fn entry(&mut self, index: Index) -> Result<Entry, DecodeError> {
        let (term, kind, len) = (Term(self.number()?), self.byte()?, u32::from_le_bytes(self.take()?));
        let kind = match kind {
            1 => Kind::Empty,
            2 => Kind::Records,
            3 => Kind::Members(self.change()?),
            _ => return Err(DecodeError::Impossible("kind of entry")),
        };
        if term.0 == 0 || (kind != Kind::Records && len != 0) {
            return Err(DecodeError::Impossible("entry"));
        }
        Ok(Entry { id: LogId { term, index }, kind, len })
    }

    fn change(&mut self) -> Result<MemberChange, DecodeError> {
        let count = self.count()?;
        let mut steps = Vec::with_capacity(count);
        for _ in 0..count {
            let (step, member) = (self.byte()?, self.member()?);
            steps.push(match step {
                1 => MemberStep::AddVoter(member),
                2 => MemberStep::AddLearner(member),
                3 => MemberStep::Remove(member),
                _ => return Err(DecodeError::Impossible("step")),
            });
        }
        Ok(MemberChange { steps })
    }

    fn base(&mut self) -> Result<Base, DecodeError> {
        let (id, ends_by_itself) = (self.id()?, self.flag()?);
        let mut lists = [const { Vec::new() }; 4];
        for list in &mut lists {
            let count = self.count()?;
            for _ in 0..count {
                list.push(self.member()?);
            }
        }
        let [voters, outgoing, learners, learners_next] = lists;
        let members = Members { voters, outgoing, learners, learners_next, ends_by_itself };
        if id.index.0 == 0 || id.term.0 == 0 || !members.is_sound() {
            return Err(DecodeError::Impossible("base"));
        }
        Ok(Base { id, members })
    }
}

const _: () = assert!(ENTRIES_PER_MESSAGE_MAX <= u16::MAX as usize, "the count of entries has two bytes");
