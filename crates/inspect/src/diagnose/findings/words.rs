//! How findings say numbers.

pub(super) use figures::format::count as number;

/// `1 connection` and `is`, `2,000 connections` and `are`.
pub(super) fn plural<'a>(count: u64, noun: &str, one: &'a str, many: &'a str) -> (String, &'a str) {
    (counted(count, noun), if count == 1 { one } else { many })
}

/// `1 queue`, `2,000 queues`.
pub(in crate::diagnose) fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", number(count)),
    }
}

/// Of a rate: `1,200`, `0.4`.
pub(super) fn rate(per_s: f64) -> String {
    if per_s < 9.95 { format!("{per_s:.1}").trim_end_matches(".0").to_owned() } else { number(per_s.round() as u64) }
}

/// `1.5 GiB`.
pub(in crate::diagnose) fn bytes(len: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = len as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    format!("{value:.1} {}", units[unit])
}

/// `40 ms`, `1.5 s`.
pub(in crate::diagnose) fn time(ms: f64) -> String {
    match ms {
        ..1.0 => format!("{ms:.2} ms"),
        ..10.0 => format!("{ms:.1} ms"),
        ..10_000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.0} s", ms / 1000.0),
    }
}

/// `a`, `a and b`, `a, b and 3 more`.
pub(super) fn names(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [one] => one.clone(),
        [one, two] => format!("{one} and {two}"),
        [one, two, rest @ ..] => format!("{one}, {two} and {} more", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_short() {
        assert_eq!([rate(0.4), rate(3.0), rate(1_234.6)], ["0.4", "3", "1,235"]);
        let all: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        assert_eq!([names(&all[..1]), names(&all[..2]), names(&all)], ["a", "a and b", "a, b and 2 more"]);
    }
}
