//! Questions and answers.
//!
//! ```text
//!  1 call       | number u64 | name, a text | payload |     from the node that dialled
//!  2 answer     | number u64 | payload |                     to it
//!  3 no answer  | number u64 |                               the call is unknown, or failed
//! ```
//!
//! Answers come in any order.

use crate::wire::error::FrameError;
use crate::wire::frame::OutgoingFrame;
use crate::wire::lane::Lane;
use crate::wire::limits::CALL_NAME_LEN_MAX;
use crate::wire::reader::{Reader, put_text};

/// A frame of the lane of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallFrame<'a> {
    /// A question.
    Call {
        /// What the answer will have, too.
        number: u64,
        /// What is asked.
        name: &'a str,
        /// With what.
        payload: &'a [u8],
    },
    /// Its answer.
    Answer {
        /// The question's.
        number: u64,
        /// What it is.
        payload: &'a [u8],
    },
    /// There is none.
    NoAnswer {
        /// The question's.
        number: u64,
    },
}

impl<'a> CallFrame<'a> {
    /// A frame.
    ///
    /// # Panics
    ///
    /// The payload is longer than `CALL_LEN_MAX`.
    #[must_use]
    pub fn encode(&self) -> OutgoingFrame {
        OutgoingFrame::of(Lane::Calls, |to| match self {
            CallFrame::Call { number, name, payload } => {
                to.push(1);
                to.extend_from_slice(&number.to_le_bytes());
                put_text(to, name, CALL_NAME_LEN_MAX);
                to.extend_from_slice(payload);
            }
            CallFrame::Answer { number, payload } => {
                to.push(2);
                to.extend_from_slice(&number.to_le_bytes());
                to.extend_from_slice(payload);
            }
            CallFrame::NoAnswer { number } => {
                to.push(3);
                to.extend_from_slice(&number.to_le_bytes());
            }
        })
    }

    /// What a frame says.
    ///
    /// # Errors
    ///
    /// Nothing that a node sends on this lane.
    pub fn decode(body: &'a [u8]) -> Result<Self, FrameError> {
        let mut reader = Reader(body);
        let (code, number) = (reader.u8()?, reader.u64()?);
        Ok(match code {
            1 => CallFrame::Call { number, name: reader.text(CALL_NAME_LEN_MAX)?, payload: reader.rest() },
            2 => CallFrame::Answer { number, payload: reader.rest() },
            3 => {
                reader.end()?;
                CallFrame::NoAnswer { number }
            }
            _ => return Err(FrameError::Impossible("call")),
        })
    }
}
