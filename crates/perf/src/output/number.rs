//! Numbers as PerfTest writes them.

/// A rate: nothing is `0`, less than 1 has two places, less than 10 has one, and what is more is cut to a whole number.
pub(super) fn rate(per_s: f64) -> String {
    if per_s == 0.0 {
        "0".to_owned()
    } else if per_s < 1.0 {
        format!("{:.2}", half_up(per_s, 100.0))
    } else if per_s < 10.0 {
        format!("{:.1}", half_up(per_s, 10.0))
    } else {
        format!("{:.0}", per_s.floor())
    }
}

/// Seconds with three places. PerfTest has them in 32 bits, which shows after a few hours.
pub(super) fn time(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "fewer digits are wanted")]
    let seconds = seconds as f32;
    format!("{seconds:.3}")
}

/// Rounds as Java's formatter does: half is rounded up, where Rust's rounds to the even digit.
fn half_up(number: f64, factor: f64) -> f64 {
    (number * factor).round() / factor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_fewer_places_the_larger_they_are() {
        for (per_s, expected) in [
            (0.0, "0"),
            (0.59, "0.59"),
            (0.9995, "1.00"),
            (1.0, "1.0"),
            (9.25, "9.3"),
            (9.96, "10.0"),
            (10.0, "10"),
            (18.9, "18"),
            (123_456.7, "123456"),
        ] {
            assert_eq!(rate(per_s), expected);
        }
    }

    #[test]
    fn time_has_three_places() {
        assert_eq!(time(1.0011), "1.001");
        assert_eq!(time(40_000.001), "40000.000");
    }
}
