//! Names by pattern: `q-%d` with the numbers from 1 to 10, `q-%03d` with zeros in front.

use super::error::Fault;
use super::table::{Field, Table};

/// More names than this are a slip.
pub(super) const NAMES_MAX: u64 = 1_000_000;

/// The numbers that a pattern stands for.
pub(super) struct Numbers {
    first: u64,
    /// As many as are written.
    count: u64,
    /// As many as there are to be.
    scaled: u64,
}

impl Numbers {
    /// Reads `count`, `from` and `to`, any of which may be left out.
    pub(super) fn read(table: &Table<'_>, scale: impl Fn(u64) -> u64) -> Result<Self, Fault> {
        let whole = |key, least| table.get(key).map(|field| field.whole(least..=NAMES_MAX)).transpose();
        let (count, from, to) = (whole("count", 1)?, whole("from", 0)?, whole("to", 0)?);
        let count = match (count, from, to) {
            (Some(count), None, Some(to)) => {
                if count > to {
                    return Err(table.fault(format!("{count} numbers up to {to} would start below 1")));
                }
                return Ok(Numbers { first: to + 1 - count, count, scaled: scale(count) });
            }
            (count, from, Some(to)) => {
                let from = from.unwrap_or(1);
                if from > to {
                    return Err(table.fault(format!("\"from\" ({from}) must not exceed \"to\" ({to})")));
                }
                let between = to - from + 1;
                if count.is_some_and(|count| count != between) {
                    return Err(table.fault(format!(
                        "\"count\" does not match \"from\" and \"to\": {from} to {to} are {between} numbers"
                    )));
                }
                between
            }
            (count, _, None) => count.unwrap_or(1),
        };
        Ok(Numbers { first: from.unwrap_or(1), count, scaled: scale(count) })
    }
}

/// Spells out a pattern's names. A name that is no pattern stays the only one at any scale.
pub(super) fn names(pattern: &Field<'_>, numbers: &Numbers) -> Result<Vec<String>, Fault> {
    let text = pattern.text()?;
    let Some((before, width, after)) = split(text) else {
        if numbers.count > 1 {
            let message = format!("\"{text}\" stands for {} names and requires %d for their number", numbers.count);
            return Err(pattern.fault(message));
        }
        return Ok(vec![text.to_owned()]);
    };
    if numbers.scaled > NAMES_MAX {
        return Err(pattern.fault(format!("stands for {} names, more than {NAMES_MAX}", numbers.scaled)));
    }
    let end = numbers.first + numbers.scaled;
    Ok((numbers.first..end).map(|number| format!("{before}{number:0width$}{after}")).collect())
}

/// What is before the number, how wide it is, what is after it.
pub(super) fn split(text: &str) -> Option<(&str, usize, &str)> {
    for (start, _) in text.match_indices('%') {
        let rest = &text[start + 1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (width, after) = rest.split_at(digits);
        let is_width = width.is_empty() || (width.starts_with('0') && width.len() <= 3);
        if let Some(after) = after.strip_prefix('d')
            && is_width
        {
            return Some((&text[..start], width.parse().unwrap_or(0), after));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_where_the_pattern_says() {
        for (text, expected) in [
            ("q-%d", Some(("q-", 0, ""))),
            ("%03d.q", Some(("", 3, ".q"))),
            ("100%-%d%d", Some(("100%-", 0, "%d"))),
            ("q", None),
            ("q-%s", None),
            ("q-%3d", None),
            ("%", None),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
