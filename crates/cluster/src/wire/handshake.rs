//! The two sides of a handshake, in the order that `wire` shows.
//!
//! ```text
//!  preamble, then frames: | len u16 | kind u8 | body |
//!
//!  1 proof     | proof |                 of the dialling node: over both preambles
//!  2 greeting  | proof | hello |         of the accepting one: over both preambles and its hello
//!  3 hello     | proof | hello |         of the dialling one: over both preambles and both hellos
//!  4 welcome
//!  5 refusal   | refusal |
//! ```
//!
//! Both nonces are in the preambles, so nothing that was heard once is of use again; the three proofs begin with three texts, so none can
//! be handed back as another. The dialling node proves itself first: for a stranger that connects, nothing is computed with the secret.

use std::sync::Arc;

use consensus::MemberId;

use crate::wire::error::FrameError;
use crate::wire::hello::{Hello, Identity, NodeName};
use crate::wire::lane::Lane;
use crate::wire::limits::{HANDSHAKE_FRAME_LEN_MAX, VERSIONS};
use crate::wire::preamble::{self, ForeignProtocol, NONCE_LEN, PREAMBLE_LEN, Versions};
use crate::wire::proof::{PROOF_LEN, Secret};
use crate::wire::refusal::Refusal;

const PROOF: u8 = 1;
const GREETING: u8 = 2;
const HELLO: u8 = 3;
const WELCOME: u8 = 4;
const REFUSAL: u8 = 5;

const OF_DIALLER: &[u8] = b"warren link: who dials has the secret";
const OF_GREETING: &[u8] = b"warren link: the hello of who accepts";
const OF_HELLO: &[u8] = b"warren link: the hello of who dials";

/// What this node brings into a handshake.
#[derive(Debug, Clone)]
pub struct Local {
    /// Its identity.
    pub identity: Identity,
    /// Which level of formats is in use here: a node that knows fewer is refused.
    pub level_wanted: u32,
    /// Whether it takes connections already.
    pub is_ready: bool,
    /// What peers have to know.
    pub secret: Secret,
    /// What it speaks.
    pub versions: Versions,
}

impl Local {
    /// One that is ready, speaks what this program does, and wants of peers no more than the first level.
    #[must_use]
    pub fn new(identity: Identity, secret: Secret) -> Self {
        Local { identity, level_wanted: 0, is_ready: true, secret, versions: VERSIONS }
    }

    fn hello(&self, clock_ms: u64, lane: Lane) -> Hello {
        Hello { identity: self.identity.clone(), clock_ms, lane }
    }
}

/// What is known of a node that says a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognition {
    /// It is a peer, with this id if that is known.
    Peer(Option<MemberId>),
    /// Nothing: it may call, and no more.
    Unknown,
}

/// The node that a dialling node expects at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedPeer {
    /// Its name.
    pub name: NodeName,
    /// Its id, if that is known.
    pub member: Option<MemberId>,
}

/// What a handshake came to: frames of the lane follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    /// The version that both speak.
    pub version: u16,
    /// What the other said of itself.
    pub theirs: Hello,
    /// What this node said.
    pub ours: Hello,
}

/// What became of the bytes that a side was fed with.
#[derive(Debug, PartialEq, Eq)]
pub struct Progress {
    /// So many were taken; what follows belongs to the lane.
    pub taken: usize,
    /// The end, if it has been reached.
    pub agreement: Option<Agreement>,
}

/// The handshake has failed. What was written until then is still sent, and the connection closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandshakeError {
    /// The other side speaks another protocol.
    Foreign(ForeignProtocol),
    /// There is no version that both speak.
    Versions {
        /// This side's.
        ours: Versions,
        /// The other's.
        theirs: Versions,
    },
    /// One refuses the other.
    Refused {
        /// Why.
        refusal: Refusal,
        /// Whether this side does.
        is_ours: bool,
    },
    /// What came makes no sense.
    Garbled(FrameError),
}

impl HandshakeError {
    /// The sentence for the operator. `remote` is a name, an address or both.
    #[must_use]
    pub fn sentence(&self, local: &NodeName, remote: &str) -> String {
        match self {
            HandshakeError::Foreign(foreign) => format!("{remote} cannot be linked with {local}: {foreign}"),
            HandshakeError::Versions { ours, theirs } => {
                format!("{remote} cannot be linked with {local}: it speaks {theirs} of the link, and {local} {ours}")
            }
            HandshakeError::Refused { refusal, is_ours: true } => refusal.sentence(local.as_str(), remote),
            HandshakeError::Refused { refusal, is_ours: false } => refusal.sentence(remote, local.as_str()),
            HandshakeError::Garbled(error) => {
                format!("{remote} cannot be linked with {local}: it sends {error} in the handshake")
            }
        }
    }
}

impl From<FrameError> for HandshakeError {
    fn from(error: FrameError) -> Self {
        HandshakeError::Garbled(error)
    }
}

/// What is next of the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Preamble,
    /// Of the accepting side: the proof, then the hello.
    Proof,
    Hello,
    /// Of the dialling side: the greeting, then the welcome.
    Greeting,
    Welcome,
    /// Nothing more.
    Over,
}

/// What both sides have in common.
#[derive(Debug)]
struct Side {
    local: Arc<Local>,
    stage: Stage,
    /// Of the next unit, what has come.
    bytes: Vec<u8>,
    ours: [u8; PREAMBLE_LEN],
    theirs: [u8; PREAMBLE_LEN],
    version: u16,
    hello: Hello,
    other: Option<Hello>,
}

impl Side {
    fn new(local: Arc<Local>, hello: Hello, nonce: &[u8; NONCE_LEN]) -> Self {
        let ours = preamble::encode(local.versions, nonce);
        Side {
            local,
            stage: Stage::Preamble,
            bytes: Vec::new(),
            ours,
            theirs: [0; PREAMBLE_LEN],
            version: 0,
            hello,
            other: None,
        }
    }

    /// How many bytes more the next unit needs, as far as is known.
    fn wanted(&self) -> usize {
        let len = match (self.stage, self.bytes.first_chunk::<2>()) {
            (Stage::Over, _) => 0,
            (Stage::Preamble, _) => PREAMBLE_LEN,
            (_, None) => 2,
            (_, Some(len)) => 2 + usize::from(u16::from_le_bytes(*len)),
        };
        len.saturating_sub(self.bytes.len())
    }

    /// Takes from `bytes` until a unit is whole, and returns it.
    fn take(&mut self, bytes: &mut &[u8]) -> Result<Option<Vec<u8>>, HandshakeError> {
        loop {
            let (taken, rest) = bytes.split_at(self.wanted().min(bytes.len()));
            self.bytes.extend_from_slice(taken);
            *bytes = rest;
            if self.stage == Stage::Preamble {
                preamble::check(&self.bytes).map_err(HandshakeError::Foreign)?;
            } else if self.bytes.len() == 2 {
                let len = usize::from(u16::from_le_bytes([self.bytes[0], self.bytes[1]]));
                if len == 0 || len > HANDSHAKE_FRAME_LEN_MAX {
                    return Err(HandshakeError::Garbled(FrameError::Impossible("length")));
                }
                if !bytes.is_empty() {
                    continue;
                }
            }
            return Ok((self.wanted() == 0).then(|| std::mem::take(&mut self.bytes)));
        }
    }

    /// Both nonces, and the dialling side's first.
    fn agree(&mut self, theirs: &[u8]) -> Result<(), HandshakeError> {
        self.theirs.copy_from_slice(theirs);
        let (ours, theirs) = (self.local.versions, preamble::versions(&self.theirs));
        self.version = ours.common(theirs).ok_or(HandshakeError::Versions { ours, theirs })?;
        Ok(())
    }

    fn refuse<T>(&mut self, refusal: Refusal, output: &mut Vec<u8>) -> Result<T, HandshakeError> {
        put_frame(output, REFUSAL, |to| refusal.encode(to));
        Err(HandshakeError::Refused { refusal, is_ours: true })
    }

    /// The body of a frame that has to be of this kind.
    fn body<'a>(&self, unit: &'a [u8], kind: u8) -> Result<&'a [u8], HandshakeError> {
        match unit.get(2..) {
            Some([found, body @ ..]) if *found == kind => Ok(body),
            Some([REFUSAL, body @ ..]) => {
                Err(HandshakeError::Refused { refusal: Refusal::decode(body)?, is_ours: false })
            }
            _ => Err(HandshakeError::Garbled(FrameError::Impossible("step"))),
        }
    }

    /// What the hello of the other side is refused for.
    fn judge(&self, theirs: &Hello, recognition: Recognition) -> Option<Refusal> {
        let (ours, theirs, lane) = (&self.local.identity, &theirs.identity, theirs.lane);
        if ours.name == theirs.name {
            let is_itself = ours.incarnation == theirs.incarnation && ours.member == theirs.member;
            return Some(if is_itself { Refusal::Itself } else { Refusal::SameName });
        }
        if let (Some(refusing), Some(refused)) = (ours.cluster, theirs.cluster)
            && refusing != refused
        {
            return Some(Refusal::Cluster { refusing, refused });
        }
        if theirs.level < self.local.level_wanted {
            return Some(Refusal::Level { known: theirs.level, wanted: self.local.level_wanted });
        }
        match (recognition, theirs.member) {
            // It may ask to be let in anew.
            (Recognition::Peer(Some(known)), Some(claimed)) if known != claimed && lane != Lane::Calls => {
                Some(Refusal::Member { known: known.get(), claimed: claimed.get() })
            }
            (Recognition::Unknown, _) if lane != Lane::Calls => Some(Refusal::NoPeer { lane }),
            _ => None,
        }
    }

    fn end(&mut self, theirs: Hello) -> Agreement {
        self.stage = Stage::Over;
        Agreement { version: self.version, theirs, ours: self.hello.clone() }
    }
}

/// The side of the node that dials.
#[derive(Debug)]
pub struct Dialler {
    side: Side,
    /// None: any node that has the secret is welcome.
    expected: Option<ExpectedPeer>,
}

impl Dialler {
    /// Begins: the preamble is appended to `output`. The nonce is used for this connection only. Without an expected node any is welcome
    /// that has the secret.
    #[must_use]
    pub fn new(
        local: Arc<Local>,
        lane: Lane,
        clock_ms: u64,
        expected: Option<ExpectedPeer>,
        nonce: &[u8; NONCE_LEN],
        output: &mut Vec<u8>,
    ) -> Self {
        let hello = local.hello(clock_ms, lane);
        let side = Side::new(local, hello, nonce);
        output.extend_from_slice(&side.ours);
        Dialler { side, expected }
    }

    /// How many bytes to read at most: not one of those that follow the handshake.
    #[must_use]
    pub fn wanted(&self) -> usize {
        self.side.wanted()
    }

    /// Takes what has come, and appends what is to be sent.
    ///
    /// # Errors
    ///
    /// There will be no link on this connection.
    pub fn feed(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> Result<Progress, HandshakeError> {
        let mut rest = bytes;
        while let Some(unit) = self.side.take(&mut rest)? {
            let agreement = self.advance(&unit, output)?;
            if agreement.is_some() {
                return Ok(Progress { taken: bytes.len() - rest.len(), agreement });
            }
        }
        Ok(Progress { taken: bytes.len() - rest.len(), agreement: None })
    }

    fn advance(&mut self, unit: &[u8], output: &mut Vec<u8>) -> Result<Option<Agreement>, HandshakeError> {
        let side = &mut self.side;
        match side.stage {
            Stage::Preamble => {
                side.agree(unit)?;
                let proof = side.local.secret.prove(&[OF_DIALLER, &side.ours, &side.theirs]);
                put_frame(output, PROOF, |to| to.extend_from_slice(&proof));
                side.stage = Stage::Greeting;
            }
            Stage::Greeting => {
                let (proof, greeting) = proof_and_hello(side.body(unit, GREETING)?)?;
                if !side.local.secret.is_proved_by(&[OF_GREETING, &side.ours, &side.theirs, greeting], proof) {
                    return side.refuse(Refusal::Secret, output);
                }
                let theirs = Hello::decode(greeting)?;
                let found = &theirs.identity.name;
                let known = self.expected.as_ref().and_then(|expected| expected.member);
                let refusal = side.judge(&theirs, Recognition::Peer(known)).or_else(|| {
                    let expected = &self.expected.as_ref()?.name;
                    let other = || Refusal::OtherName { expected: expected.clone(), found: found.clone() };
                    (expected != found).then(other)
                });
                if let Some(refusal) = refusal {
                    return side.refuse(refusal, output);
                }
                let mut hello = Vec::new();
                side.hello.encode(&mut hello);
                let said: [&[u8]; 5] = [OF_HELLO, &side.ours, &side.theirs, greeting, &hello];
                let proof = side.local.secret.prove(&said);
                put_frame(output, HELLO, |to| {
                    to.extend_from_slice(&proof);
                    to.extend_from_slice(&hello);
                });
                side.other = Some(theirs);
                side.stage = Stage::Welcome;
            }
            Stage::Welcome => {
                let body = side.body(unit, WELCOME)?;
                return match (body.is_empty(), side.other.take()) {
                    (true, Some(theirs)) => Ok(Some(side.end(theirs))),
                    _ => Err(HandshakeError::Garbled(FrameError::Impossible("welcome"))),
                };
            }
            Stage::Proof | Stage::Hello | Stage::Over => {
                return Err(HandshakeError::Garbled(FrameError::Impossible("step")));
            }
        }
        Ok(None)
    }
}

/// The side of the node that was dialled.
#[derive(Debug)]
pub struct Acceptor {
    side: Side,
    greeting: Vec<u8>,
}

impl Acceptor {
    /// Begins, and says nothing yet. The nonce is used for this connection only.
    #[must_use]
    pub fn new(local: Arc<Local>, clock_ms: u64, nonce: &[u8; NONCE_LEN]) -> Self {
        let hello = local.hello(clock_ms, Lane::Votes);
        Acceptor { side: Side::new(local, hello, nonce), greeting: Vec::new() }
    }

    /// How many bytes to read at most: not one of those that follow the handshake.
    #[must_use]
    pub fn wanted(&self) -> usize {
        self.side.wanted()
    }

    /// The dialling node, once it has proved its identity; also after it has been refused.
    #[must_use]
    pub fn dialler(&self) -> Option<&NodeName> {
        self.side.other.as_ref().map(|hello| &hello.identity.name)
    }

    /// Takes what has come, and appends what is to be sent. `recognize` says what is known of a name.
    ///
    /// # Errors
    ///
    /// There will be no link on this connection.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        recognize: &dyn Fn(&NodeName) -> Recognition,
        output: &mut Vec<u8>,
    ) -> Result<Progress, HandshakeError> {
        let mut rest = bytes;
        while let Some(unit) = self.side.take(&mut rest)? {
            let agreement = self.advance(&unit, recognize, output)?;
            if agreement.is_some() {
                return Ok(Progress { taken: bytes.len() - rest.len(), agreement });
            }
        }
        Ok(Progress { taken: bytes.len() - rest.len(), agreement: None })
    }

    fn advance(
        &mut self,
        unit: &[u8],
        recognize: &dyn Fn(&NodeName) -> Recognition,
        output: &mut Vec<u8>,
    ) -> Result<Option<Agreement>, HandshakeError> {
        let side = &mut self.side;
        match side.stage {
            Stage::Preamble => {
                // Sent also to a node that speaks no common version: it has to know ours.
                output.extend_from_slice(&side.ours);
                side.agree(unit)?;
                side.stage = Stage::Proof;
            }
            Stage::Proof => {
                let proof = side.body(unit, PROOF)?;
                if !side.local.secret.is_proved_by(&[OF_DIALLER, &side.theirs, &side.ours], proof) {
                    return side.refuse(Refusal::Secret, output);
                }
                if !side.local.is_ready {
                    return side.refuse(Refusal::NotReady, output);
                }
                side.hello.encode(&mut self.greeting);
                let proof = side.local.secret.prove(&[OF_GREETING, &side.theirs, &side.ours, &self.greeting]);
                put_frame(output, GREETING, |to| {
                    to.extend_from_slice(&proof);
                    to.extend_from_slice(&self.greeting);
                });
                side.stage = Stage::Hello;
            }
            Stage::Hello => {
                let (proof, hello) = proof_and_hello(side.body(unit, HELLO)?)?;
                let said: [&[u8]; 5] = [OF_HELLO, &side.theirs, &side.ours, &self.greeting, hello];
                if !side.local.secret.is_proved_by(&said, proof) {
                    return side.refuse(Refusal::Secret, output);
                }
                let theirs = Hello::decode(hello)?;
                side.other = Some(theirs.clone());
                if let Some(refusal) = side.judge(&theirs, recognize(&theirs.identity.name)) {
                    return side.refuse(refusal, output);
                }
                put_frame(output, WELCOME, |_| ());
                return Ok(Some(side.end(theirs)));
            }
            Stage::Greeting | Stage::Welcome | Stage::Over => {
                return Err(HandshakeError::Garbled(FrameError::Impossible("step")));
            }
        }
        Ok(None)
    }
}

fn proof_and_hello(body: &[u8]) -> Result<(&[u8], &[u8]), HandshakeError> {
    body.split_at_checked(PROOF_LEN).ok_or(HandshakeError::Garbled(FrameError::Short))
}

fn put_frame(to: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let at = to.len();
    to.extend_from_slice(&[0, 0, kind]);
    write(to);
    let len = (to.len() - at - 2) as u16;
    to[at..at + 2].copy_from_slice(&len.to_le_bytes());
}
