//! Numbers as people read them: three digits that matter, a unit that fits.

/// A number with three significant digits and commas between thousands: `0.0123`, `1.23`, `123`, `12,345`.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    if size >= 99.95 || size == 0.0 {
        return whole(value);
    }
    // As many decimals as make three digits; zeros at the end say nothing.
    let decimals = match size {
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        size if size >= 0.09995 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() || text == "-" { "0".to_owned() } else { text.to_owned() }
}

/// A whole number with commas between thousands.
pub fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0.0 && digits != "0" {
        text.push('-');
    }
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
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
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = value;
    let mut unit = 0;
    while value.abs() >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", number(value), UNITS[unit])
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
