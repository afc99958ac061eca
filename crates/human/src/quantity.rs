//! Sizes and durations: one whole number, and maybe a unit.

/// Bytes as RabbitMQ reads them since 3.13: `k` and `kB` are 1000, `Ki` and `KiB` are 1024, in any case.
#[must_use]
pub fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = split_unit(text)?;
    let mut unit = unit.to_ascii_lowercase();
    if unit.len() > 1 && unit.ends_with('b') {
        unit.pop();
    }
    let (base, prefix) = match unit.strip_suffix('i') {
        Some(prefix) => (1024_u64, prefix),
        None => (1000, &*unit),
    };
    let power = match prefix {
        "" if unit.is_empty() => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    number.checked_mul(base.checked_pow(power)?)
}

/// A duration in milliseconds: with a unit (ms, s, m, h, d, w) in that, without one in units of `bare_unit_ms`.
#[must_use]
pub fn parse_duration_ms(text: &str, bare_unit_ms: u64) -> Option<u64> {
    let (number, unit) = split_unit(text)?;
    let unit_ms = match unit {
        "" => bare_unit_ms,
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return None,
    };
    number.checked_mul(unit_ms)
}

fn split_unit(text: &str) -> Option<(u64, &str)> {
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits_end);
    Some((number.parse().ok()?, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_size(text: &str, expected: Option<u64>) {
        assert_eq!(parse_size(text), expected, "{text}");
    }

    #[test]
    fn units_without_i_are_decimal_as_since_3_13() {
        check_size("10000000000", Some(10_000_000_000));
        for text in ["50k", "50K", "50kB", "50KB", "50kb", "50 kB"] {
            check_size(text, Some(50_000));
        }
        check_size("50MB", Some(50_000_000));
        check_size("2G", Some(2_000_000_000));
        check_size("3TB", Some(3_000_000_000_000));
        check_size("1p", Some(1_000_000_000_000_000));
    }

    #[test]
    fn units_with_i_are_binary() {
        for text in ["2Ki", "2ki", "2KiB", "2kib", "2KIB"] {
            check_size(text, Some(2048));
        }
        check_size("1MiB", Some(1 << 20));
        check_size("1Gi", Some(1 << 30));
        check_size("1PiB", Some(1 << 50));
    }

    #[test]
    fn other_texts_are_no_sizes() {
        for text in ["", "MB", "-1", "1.5GB", "1B", "1XB", "1i", "1iB", "99999999999999999999", "99999999999PB"] {
            check_size(text, None);
        }
    }

    #[test]
    fn a_duration_is_in_the_given_unit_unless_it_says_otherwise() {
        assert_eq!(parse_duration_ms("10000", 1), Some(10_000));
        assert_eq!(parse_duration_ms("90", 1000), Some(90_000));
        assert_eq!(parse_duration_ms("10s", 1), Some(10_000));
        assert_eq!(parse_duration_ms("5m", 1000), Some(300_000));
        assert_eq!(parse_duration_ms("1 h", 1), Some(3_600_000));
        assert_eq!(parse_duration_ms("1w", 1), Some(604_800_000));
        for text in ["", "s", "-1s", "1y", "1.5s", "99999999999999999999"] {
            assert_eq!(parse_duration_ms(text, 1), None, "{text}");
        }
    }
}
