//! The rules of the house, read off the sources. The tests in `tests/it` hold the workspace to them; nothing of this reaches the binary.
//!
//! `workspace` finds the files, `lexer` separates code from comments and tests from the rest, `modules` draws the arrows between
//! the files of a crate, `rules` finds what breaks a rule, and `ceilings` has how much of that is still allowed.

pub mod ceilings;
pub mod lexer;
pub mod modules;
pub mod rules;
pub mod workspace;
