//! Command lines that are not clap's: words are read, and help is written, by one table of options.
//!
//! ```text
//!  --port 5673   --port=5673   -p 5673   -p5673   -p=5673     the same; `_` in a long name is `-`
//!  -qs           -qp5673                                      several short options, the last with its value
//!  --quiet=true  --quiet=false                                a flag with its truth
//!  -                                                          a bare word
//!  --                                                         what follows are bare words
//! ```
//!
//! PerfTest's words are [`Style::CommonsCli`]: short names of several letters, long ones that are cut or have one dash.
//!
//! Deliberately absent: what an option means. The table gives each a value of the caller's ([`Opt::means`]), and the caller knows commands,
//! variables, which words go together, and how its sentences end.

mod commons;
mod help;
mod opt;
mod reader;
#[cfg(test)]
mod tests;

pub use help::{list, rows};
pub use opt::{Opt, Takes};
pub use reader::{Mistake, Reader, Said, Style, Word, is_option, read};
