//! Values as people write them: `20000`, `4KiB`, `5Gbit/s`, `10m`, `30%`, `yes`.

use crate::quantity::Unit;
use crate::setting::Setting;

/// Reads a value. The error is a sentence that names the setting.
pub(crate) fn parse(setting: &Setting, text: &str) -> Result<f64, String> {
    let text = text.trim();
    let value = read(setting.unit, text)
        .filter(|value| value.is_finite())
        .ok_or_else(|| format!("{} must be {}, not '{text}'", setting.name, kind(setting.unit)))?;
    check(setting, value)
}

/// Holds a value against what makes sense.
pub(crate) fn check(setting: &Setting, value: f64) -> Result<f64, String> {
    let (name, unit) = (setting.name, setting.unit);
    if value < setting.least {
        return Err(format!("{name} must be at least {}, not {}", unit.show(setting.least), unit.show(value)));
    }
    if value > setting.most {
        return Err(format!("{name} must be at most {}, not {}", unit.show(setting.most), unit.show(value)));
    }
    if setting.is_whole && value.fract() != 0.0 {
        return Err(format!("{name} must be an integer, not {value}"));
    }
    Ok(value)
}

fn read(unit: Unit, text: &str) -> Option<f64> {
    match unit {
        Unit::Count | Unit::Micros | Unit::Cores => number(text),
        Unit::PerSecond => number(text.strip_suffix("/s").unwrap_or(text)),
        Unit::Bytes | Unit::Memory => size(text),
        Unit::BitsPerSecond | Unit::BytesPerSecond => {
            let (number, is_bits) = bandwidth(text)?;
            Some(match (unit, is_bits) {
                (Unit::BitsPerSecond, false) => number * 8.0,
                (Unit::BytesPerSecond, true) => number / 8.0,
                _ => number,
            })
        }
        Unit::Seconds => duration(text),
        Unit::Share => match text.strip_suffix('%') {
            Some(percent) => number(percent.trim_end()).map(|percent| percent / 100.0),
            None => number(text),
        },
        Unit::Flag => match text {
            "yes" | "true" | "on" => Some(1.0),
            "no" | "false" | "off" => Some(0.0),
            _ => None,
        },
    }
}

fn kind(unit: Unit) -> &'static str {
    match unit {
        Unit::Count | Unit::Cores => "a number",
        Unit::PerSecond => "a number per second, such as 20000",
        Unit::Bytes | Unit::Memory => "a size such as 4KiB or 2MB",
        Unit::BitsPerSecond | Unit::BytesPerSecond => "a bandwidth such as 5Gbit/s or 500MB/s",
        Unit::Micros => "a number of microseconds",
        Unit::Seconds => "a time such as 90s, 10m or 2h",
        Unit::Share => "a share such as 0.3 or 30%",
        Unit::Flag => "yes or no",
    }
}

/// Digits, maybe in groups, maybe with a fraction.
fn number(text: &str) -> Option<f64> {
    let digits = text.replace(['_', ','], "");
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.chars().all(|char| char.is_ascii_digit() || char == '.');
    if is_number { digits.parse().ok() } else { None }
}

/// A number and what comes behind it.
fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|char: char| !(char.is_ascii_digit() || "._,".contains(char))).unwrap_or(text.len());
    Some((number(&text[..end])?, text[end..].trim()))
}

fn size(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    Some(number * factor(unit, "B")?)
}

/// What a unit's prefix stands for: by 1000 or, with an `i`, by 1024. The unit itself may be left out.
fn factor(text: &str, unit: &str) -> Option<f64> {
    let prefix = text.strip_suffix(unit).unwrap_or(text);
    let (prefix, step) = match prefix.strip_suffix('i') {
        Some(prefix) => (prefix, 1024_f64),
        None => (prefix, 1000.0),
    };
    let power = match prefix {
        "" => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    Some(step.powi(power))
}

/// A bandwidth, and whether it counts bits. The unit has to be there: people mean either.
fn bandwidth(text: &str) -> Option<(f64, bool)> {
    let (number, unit) = split(text)?;
    let of_bits =
        ["bit/s", "bit", "bps", "b/s"].iter().find_map(|end| unit.strip_suffix(end)).map(|prefix| (prefix, true));
    let of_bytes = || ["B/s", "B"].iter().find_map(|end| unit.strip_suffix(end)).map(|prefix| (prefix, false));
    let (prefix, is_bits) = of_bits.or_else(of_bytes)?;
    Some((number * factor(prefix, "")?, is_bits))
}

/// A time; a bare number is seconds.
fn duration(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        _ => return None,
    };
    Some(number * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::find;

    #[track_caller]
    fn check_read(name: &str, text: &str, expected: f64) {
        assert_eq!(parse(find(name).unwrap(), text), Ok(expected), "{text}");
    }

    #[track_caller]
    fn check_refused(name: &str, text: &str, expected: &str) {
        assert_eq!(parse(find(name).unwrap(), text), Err(expected.to_owned()));
    }

    #[test]
    fn values_are_read_as_people_write_them() {
        check_read("rate", "20000", 20_000.0);
        check_read("rate", "20_000/s", 20_000.0);
        check_read("rate", "0.5", 0.5);
        check_read("body", "4KiB", 4_096.0);
        check_read("body", "4 kB", 4_000.0);
        check_read("body", "1.5MB", 1_500_000.0);
        check_read("throughput", "5Gbit/s", 5e9);
        check_read("throughput", "5 Gb/s", 5e9);
        check_read("throughput", "600 MB/s", 4.8e9);
        check_read("disk-write", "500MB/s", 500e6);
        check_read("disk-write", "4Gbit/s", 500e6);
        check_read("outage", "10m", 600.0);
        check_read("outage", "1.5h", 5_400.0);
        check_read("headroom", "30 %", 0.3);
        check_read("headroom", "0.3", 0.3);
        check_read("confirms", "no", 0.0);
        check_read("memory", "32GiB", 34_359_738_368.0);
    }

    #[test]
    fn others_are_refused_with_a_sentence() {
        check_refused("rate", "fast", "rate must be a number per second, such as 20000, not 'fast'");
        check_refused("rate", "0", "rate must be at least 0.001/s, not 0/s");
        check_refused("rate", "-1", "rate must be a number per second, such as 20000, not '-1'");
        check_refused("body", "4XB", "body must be a size such as 4KiB or 2MB, not '4XB'");
        check_refused("throughput", "5", "throughput must be a bandwidth such as 5Gbit/s or 500MB/s, not '5'");
        check_refused("outage", "1y", "outage must be a time such as 90s, 10m or 2h, not '1y'");
        check_refused("headroom", "100%", "headroom must be at most 99 %, not 100 %");
        check_refused("confirms", "maybe", "confirms must be yes or no, not 'maybe'");
        check_refused("nodes", "1.5", "nodes must be an integer, not 1.5");
    }
}
