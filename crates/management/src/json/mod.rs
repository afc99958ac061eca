//! JSON, in both directions: answers are written straight into a buffer, bodies are read strictly.

mod read;
mod write;

pub(crate) use definitions::{Fields, integer_of};
pub(crate) use read::{parse_object, wrong_type};
pub(crate) use write::{Cell, Object, Writer, write_text};
