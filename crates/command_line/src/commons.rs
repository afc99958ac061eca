//! What Apache Commons CLI's parser, which is PerfTest's, does with names and values beyond the others:
//!
//! ```text
//!  --pmess 5   -size 5     a long name may be cut, if it is still clear, and have one dash
//!  -C -1                   a word with a dash is a value if no option begins like it
//!  -u "q"                  quotes around a value are taken away: commands come out of files where no shell has done that
//! ```

use crate::opt::Opt;
use crate::reader::{Mistake, without_value};

/// The option that has this name, or is the only one that begins like it. Those that were added count where no other does.
pub(crate) fn long_named<'o, M>(options: &'o [Opt<M>], word: &str, name: &str) -> Result<Option<&'o Opt<M>>, Mistake> {
    let begins = |option: &&Opt<M>| !name.is_empty() && option.long.starts_with(name);
    let mut found: Vec<&Opt<M>> = options.iter().filter(begins).collect();
    found.sort_by_key(|option| option.is_added);
    match &found[..] {
        [] => Ok(None),
        [option, rest @ ..] if rest.iter().all(|other| other.is_added && !option.is_added) => Ok(Some(option)),
        _ => {
            let names: Vec<String> = found.into_iter().map(Opt::name).collect();
            Err(Mistake::Ambiguous { word: without_value(word).to_owned(), candidates: names.join(", ") })
        }
    }
}

/// Whether this is the beginning of a long name, or a name that was added as a whole.
pub(crate) fn begins_long_name<M>(options: &[Opt<M>], start: &str) -> bool {
    let is_named = |option: &Opt<M>| option.long == start || !option.is_added && option.long.starts_with(start);
    !start.is_empty() && options.iter().any(is_named)
}

/// Whether a word is the value of the option before it, rather than another option.
pub(crate) fn is_value<M>(options: &[Opt<M>], word: &str) -> bool {
    let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else { return true };
    let name = without_value(rest.trim_start_matches('-'));
    let is_short = |name: &str| options.iter().any(|option| option.is_short(name));
    let first = name.chars().next().map(String::from).unwrap_or_default();
    rest != "-" && !begins_long_name(options, name) && (rest.starts_with('-') || !is_short(&first) && !is_short(name))
}

/// Without the quotes around it.
pub(crate) fn unquoted(word: &str) -> &str {
    word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).filter(|word| !word.contains('"')).unwrap_or(word)
}
