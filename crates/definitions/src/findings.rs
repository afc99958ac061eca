//! What is in the way of an import: all of it, since the operator who mends a document wants to know at once.

use std::collections::HashSet;

use model::refusal::{Refusal, RefusalKind};

use crate::entry::EntryLocation;
use crate::error::DefinitionsError;
use crate::read_error::ReadError;

/// Lines that a refusal has at most.
const LINE_COUNT_MAX: usize = 100;

/// Why an entry cannot be imported.
#[derive(Debug)]
pub struct Fault {
    /// Why.
    pub reason: String,
    /// What becomes of the rest.
    pub kind: FaultKind,
}

/// What becomes of the rest of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It makes no sense, and the document is refused.
    Wrong,
    /// It makes sense, but not here.
    Unsupported,
    /// It is imported: RabbitMQ passes the entry over, too.
    PassedOver,
}

impl FaultKind {
    /// Of an entry that makes sense somewhere, or not.
    #[must_use]
    pub fn of(is_unsupported: bool) -> FaultKind {
        if is_unsupported { FaultKind::Unsupported } else { FaultKind::Wrong }
    }
}

impl Fault {
    /// It makes sense, but not here.
    pub fn unsupported(reason: impl Into<String>) -> Fault {
        Fault { reason: reason.into(), kind: FaultKind::Unsupported }
    }

    /// Whether it makes sense, but not here.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        self.kind == FaultKind::Unsupported
    }
}

impl From<String> for Fault {
    fn from(reason: String) -> Fault {
        Fault { reason, kind: FaultKind::Wrong }
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Fault {
        Fault { kind: FaultKind::of(error.is_unsupported()), reason: error.in_words_of_rabbitmq() }
    }
}

impl From<Box<Refusal>> for Fault {
    fn from(refusal: Box<Refusal>) -> Fault {
        Fault { kind: FaultKind::of(refusal.kind == RefusalKind::NotImplemented), reason: refusal.text }
    }
}

/// All faults of a document.
#[derive(Debug, Default)]
pub struct Findings {
    wrong: Vec<String>,
    /// What makes sense, but not here.
    pub unsupported: Vec<String>,
    /// What is left out and refuses nothing.
    pub passed_over: Vec<String>,
    left_out: HashSet<(&'static str, usize)>,
}

impl Findings {
    /// Notes why an entry cannot be imported.
    pub fn note(&mut self, place: &EntryLocation, fault: Fault) {
        let text = format!("{place}: {}", fault.reason);
        match fault.kind {
            FaultKind::Wrong => self.wrong.push(text),
            FaultKind::Unsupported => {
                self.left_out.insert(place.key());
                self.unsupported.push(text);
            }
            FaultKind::PassedOver => {
                self.left_out.insert(place.key());
                if self.passed_over.len() < LINE_COUNT_MAX {
                    self.passed_over.push(format!("{text}: it was left out"));
                }
            }
        }
    }

    /// Notes that an entry cannot be had in full, but without this.
    pub fn note_part(&mut self, place: &EntryLocation, reason: &str) {
        self.unsupported.push(format!("{place}: {reason}"));
    }

    /// Whether an entry is left out.
    #[must_use]
    pub fn leaves_out(&self, place: &EntryLocation) -> bool {
        self.left_out.contains(&place.key())
    }

    /// Whether something makes no sense.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        !self.wrong.is_empty()
    }

    /// All of them, what is wrong first.
    #[must_use]
    pub fn refusal(&self) -> Option<DefinitionsError> {
        let count = self.wrong.len() + self.unsupported.len();
        let mut lines = self.wrong.iter().chain(&self.unsupported).map(String::as_str);
        match count {
            0 => None,
            1 => lines.next().map(|line| DefinitionsError(line.to_owned())),
            _ => {
                let shown: Vec<&str> = lines.take(LINE_COUNT_MAX).collect();
                let mut text = format!("{count} entries cannot be imported:\n{}", shown.join("\n"));
                if count > LINE_COUNT_MAX {
                    text.push_str(&format!("\nand {} more", count - LINE_COUNT_MAX));
                }
                Some(DefinitionsError(text))
            }
        }
    }
}
