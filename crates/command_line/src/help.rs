//! The lists of options in help.

use std::fmt::Write as _;

use crate::opt::Opt;

/// Options with what they are for, one below the other, their texts beside them and broken at `columns`. Where none has a short name,
/// there is no room for any.
#[must_use]
pub fn list<'a, M: 'a>(options: impl IntoIterator<Item = &'a Opt<M>>, columns: usize) -> String {
    let options: Vec<&Opt<M>> = options.into_iter().collect();
    let has_short = options.iter().any(|option| !option.short.is_empty());
    let names = |option: &Opt<M>| if has_short { option.names() } else { option.usage() };
    rows(options.into_iter().map(|option| (names(option), option.description())), columns)
}

/// Names, and the texts beside them, broken between words at `columns`.
#[must_use]
pub fn rows(rows: impl IntoIterator<Item = (String, String)>, columns: usize) -> String {
    let rows: Vec<(String, String)> = rows.into_iter().collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    // Two spaces before the names, and two behind them.
    let column = width + 4;
    let mut out = String::new();
    for (name, text) in rows {
        // Writing to a String cannot fail.
        let _ = write!(out, "  {name:width$}  ");
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
