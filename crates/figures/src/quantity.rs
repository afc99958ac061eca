//! Times and sizes as people write them.

use std::time::Duration;

/// `10s`, `500ms`, `1h30m`, `1.5s`.
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let (number, after) = leading_number(rest)?;
        let unit_len = after.find(|character: char| !character.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_len);
        let unit_ns: f64 = match unit {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3_600e9,
            "d" => 86_400e9,
            _ => return None,
        };
        let nanoseconds = number * unit_ns;
        if nanoseconds >= u64::MAX as f64 {
            return None;
        }
        total = total.checked_add(Duration::from_nanos(nanoseconds.round() as u64))?;
        rest = after.trim_start();
    }
    Some(total)
}

/// `10 kB`, `2 MiB`, `100`.
pub fn size(text: &str) -> Option<u32> {
    let (number, unit) = leading_number(text.trim())?;
    let factor = match unit {
        "" | "B" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1_024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return None,
    };
    let bytes = number * factor;
    (bytes.fract() == 0.0 && bytes <= f64::from(u32::MAX)).then_some(bytes as u32)
}

/// A number without a sign, and what comes after it and blanks.
fn leading_number(text: &str) -> Option<(f64, &str)> {
    let end = text
        .find(|character: char| !character.is_ascii_digit() && character != '.' && character != '_')
        .unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let number: f64 = number.replace('_', "").parse().ok()?;
    Some((number, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_numbers_with_units() {
        for (text, expected) in [
            ("10s", Some(Duration::from_secs(10))),
            ("500ms", Some(Duration::from_millis(500))),
            ("2m", Some(Duration::from_secs(120))),
            ("1h30m", Some(Duration::from_secs(5_400))),
            ("1.5 s", Some(Duration::from_millis(1_500))),
            ("1_000 us", Some(Duration::from_millis(1))),
            ("10", None),
            ("", None),
            ("s", None),
            ("-1s", None),
            ("10 weeks", None),
            ("1e3s", None),
            ("999999999999d", None),
        ] {
            assert_eq!(duration(text), expected, "{text}");
        }
    }

    #[test]
    fn sizes_are_bytes_or_have_units() {
        for (text, expected) in [
            ("100", Some(100)),
            ("10 kB", Some(10_000)),
            ("2MiB", Some(2_097_152)),
            ("1.5MB", Some(1_500_000)),
            ("0.5", None),
            ("5 GiB", None),
            ("1 byte", None),
            ("-1", None),
        ] {
            assert_eq!(size(text), expected, "{text}");
        }
    }
}
