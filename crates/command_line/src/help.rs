//! The lists of options in help.

use std::fmt::Write as _;

use crate::opt::Opt;

/// Options with what they are for, one below the other, the texts beside the names and broken at `columns`.
#[must_use]
pub fn list<'a, M: 'a>(options: impl IntoIterator<Item = &'a Opt<M>>, columns: usize) -> String {
    rows(options.into_iter().map(|option| (option.names(), option.description())), columns)
}

/// Names, and the texts beside them, broken between words at `columns`.
#[must_use]
pub fn rows(rows: impl IntoIterator<Item = (String, String)>, columns: usize) -> String {
    let rows: Vec<(String, String)> = rows.into_iter().collect();
    let column = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0) + 2;
    let mut out = String::new();
    for (name, text) in rows {
        // Writing to a String cannot fail.
        let _ = write!(out, "{name:column$}");
        let mut at = column;
        for word in text.split(' ') {
            let len = word.chars().count();
            if at > column && at + 1 + len > columns {
                let _ = write!(out, "\n{:column$}", "");
                at = column;
            }
            if at > column {
                out.push(' ');
                at += 1;
            }
            out.push_str(word);
            at += len;
        }
        out.push('\n');
    }
    out
}
