//! Numbers as people read them: as many digits as matter, a unit that fits.

/// How many digits of a number matter, by the sizes from which it has none, one, two, three decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// `0.0123`, `1.23`, `123`, `12,345`.
    Three,
    /// `0.0123`, `1.234`, `123.4`, `12,345`.
    Four,
}

impl Digits {
    /// As many decimals as make so many digits.
    fn decimals(self, size: f64) -> usize {
        let limits = match self {
            Digits::Three => [99.95, 9.995, 0.9995, 0.09995],
            Digits::Four => [999.95, 99.995, 9.9995, 0.99995],
        };
        limits.iter().position(|limit| size >= *limit).unwrap_or(limits.len())
    }
}

/// A number with three significant digits and commas between thousands: `0.0123`, `1.23`, `123`, `12,345`.
pub fn number(value: f64) -> String {
    significant(value, Digits::Three)
}

/// A number with so many significant digits, and commas between thousands.
pub fn significant(value: f64, digits: Digits) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    let decimals = digits.decimals(size);
    if decimals == 0 || size == 0.0 {
        return whole(value);
    }
    // Zeros at the end say nothing.
    let text = format!("{value:.decimals$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() || text == "-" { "0".to_owned() } else { text.to_owned() }
}

/// A number in the unit that fits, each of which is `step` times the one before: `1.5 MiB`. What would be shown as 1,000 of a unit is 1 of
/// the next.
pub fn scaled(value: f64, step: f64, units: &[&str], digits: Digits) -> String {
    let (mut value, mut unit) = (value, 0);
    while value.abs() >= step - 0.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    format!("{} {}", significant(value, digits), units.get(unit).copied().unwrap_or_default())
}

/// A number rounded to a whole one, with commas between thousands.
pub fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let sign = if value < 0.0 && digits != "0" { "-" } else { "" };
    sign.to_owned() + &grouped(&digits)
}

/// A count with commas between thousands: `1,234,567`.
pub fn count(count: u64) -> String {
    grouped(&count.to_string())
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in the unit that fits: `12.3 µs`, `4.56 ms`, `1.2 s`.
pub fn time(ns: f64) -> String {
    match ns {
        ns if ns < 999.5 => format!("{} ns", number(ns)),
        ns if ns < 999.5e3 => format!("{} µs", number(ns / 1e3)),
        ns if ns < 999.5e6 => format!("{} ms", number(ns / 1e6)),
        ns => format!("{} s", number(ns / 1e9)),
    }
}

/// A size in the unit that fits.
pub fn bytes(value: f64) -> String {
    scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"], Digits::Three)
}

/// A time as on a stopwatch: `0:45`, `2:05`, `1:00:00`.
pub fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    let (hours, minutes, rest) = (whole / 3_600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{rest:02}") } else { format!("{minutes}:{rest:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let shown =
            [0.0, 0.01234, 0.1, 1.0, 1.234, 9.999, 12.34, 99.99, 123.4, 1_234.0, 1_234_567.8, -4_321.0].map(number);
        let expected = ["0", "0.0123", "0.1", "1", "1.23", "10", "12.3", "100", "123", "1,234", "1,234,568", "-4,321"];
        assert_eq!(shown, expected);
        assert_eq!(number(f64::NAN), "–");
        assert_eq!(number(0.000_01), "0");
    }

    #[test]
    fn numbers_of_plans_have_four_digits() {
        let shown = [0.0, 0.01234, 1.5, 10.486, 999.97, -1_234_567.8].map(|value| significant(value, Digits::Four));
        assert_eq!(shown, ["0", "0.0123", "1.5", "10.49", "1,000", "-1,234,568"]);
        assert_eq!(scaled(999_999.0, 1e3, &["bit/s", "kbit/s", "Mbit/s"], Digits::Four), "1 Mbit/s");
    }

    #[test]
    fn counts_have_commas() {
        assert_eq!([0, 999, 1_000, u64::MAX].map(count), ["0", "999", "1,000", "18,446,744,073,709,551,615"]);
    }

    #[test]
    fn times_have_a_unit_that_fits() {
        let shown = [12.0, 12_300.0, 999_900.0, 4_560_000.0, 1.5e9].map(time);
        assert_eq!(shown, ["12 ns", "12.3 µs", "1 ms", "4.56 ms", "1.5 s"]);
    }

    #[test]
    fn clock_shows_hours_only_where_there_are_some() {
        assert_eq!([0.0, 45.4, 125.0, 3_600.0].map(clock), ["0:00", "0:45", "2:05", "1:00:00"]);
    }

    #[test]
    fn sizes_have_a_unit_that_fits() {
        assert_eq!([12.0, 2_048.0, 1_048_570.0, 3.5e9].map(bytes), ["12 B", "2 KiB", "1 MiB", "3.26 GiB"]);
    }
}
