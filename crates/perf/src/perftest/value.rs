//! Texts to values. Each function gives the end of an error sentence: what the value should have been.

use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

use super::limits::SECONDS_MAX;
use crate::plan::{Arguments, Value};

type Parsed<T> = Result<T, String>;

/// A number of any kind.
pub(super) fn number<T: FromStr>(text: &str, what: &str) -> Parsed<T> {
    text.trim().parse().map_err(|_| format!("is not {what}"))
}

/// A rate: not negative, maybe with a fraction.
pub(super) fn rate(text: &str) -> Parsed<f64> {
    match text.trim().parse::<f64>() {
        Ok(rate) if rate.is_finite() => Ok(rate),
        _ => Err("is not a number of messages a second".to_owned()),
    }
}

/// `true` is true, whatever the case; anything else is false, as in PerfTest.
pub(super) fn boolean(text: &str) -> bool {
    text.eq_ignore_ascii_case("true")
}

/// Seconds, at least 0.1, to the millisecond.
pub(super) fn publishing_interval(text: &str) -> Parsed<Duration> {
    let interval = seconds(text)?;
    let interval = Duration::from_millis(u64::try_from(interval.as_millis()).unwrap_or(u64::MAX));
    if interval < Duration::from_millis(100) {
        return Err("is less than 0.1 seconds".to_owned());
    }
    Ok(interval)
}

/// Seconds, maybe with a fraction.
pub(super) fn seconds(text: &str) -> Parsed<Duration> {
    let seconds: f64 = text.trim().parse().map_err(|_| "is not a number of seconds".to_owned())?;
    let duration = Duration::try_from_secs_f64(seconds).ok().filter(|duration| duration.as_secs() <= SECONDS_MAX);
    duration.ok_or_else(|| "is not a number of seconds".to_owned())
}

/// Seconds, maybe with a fraction; less than 0 means that there is no limit.
pub(super) fn seconds_or_none(text: &str) -> Parsed<Option<Duration>> {
    let is_none = text.trim().parse::<f64>().is_ok_and(|seconds| seconds < 0.0);
    if is_none { Ok(None) } else { seconds(text).map(Some) }
}

/// Whole seconds, where 0 or less means that there is no limit.
pub(super) fn seconds_limit(text: &str) -> Parsed<Option<Duration>> {
    let seconds: i64 = number(text, "a whole number of seconds")?;
    match u64::try_from(seconds) {
        Ok(seconds) if seconds > SECONDS_MAX => Err(format!("is more than {SECONDS_MAX} seconds")),
        Ok(seconds) if seconds > 0 => Ok(Some(Duration::from_secs(seconds))),
        _ => Ok(None),
    }
}

/// A number from 0 to `max`.
pub(super) fn count(text: &str, max: u32) -> Parsed<u32> {
    let count: Option<u32> = text.trim().parse().ok();
    count.filter(|count| *count <= max).ok_or_else(|| match max {
        u32::MAX => "is not a number, 0 or more".to_owned(),
        max => format!("is not a number from 0 to {max}"),
    })
}

/// `VALUE:SECONDS`.
pub(super) fn stretch(text: &str) -> Parsed<(u32, Duration)> {
    let parsed = text.split_once(':').and_then(|(value, seconds)| {
        let seconds: u32 = seconds.trim().parse().ok().filter(|seconds| *seconds > 0)?;
        Some((value.trim().parse().ok()?, Duration::from_secs(seconds.into())))
    });
    parsed.ok_or_else(|| "is not VALUE:SECONDS, two whole numbers, the second more than 0".to_owned())
}

/// `key=value,key=value`. Whole numbers are numbers, and the two arguments that PerfTest knows have their own types.
/// Of a key that comes twice the last value counts.
pub(super) fn pairs(text: &str) -> Parsed<Arguments> {
    let mut pairs = Arguments::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("is not key=value, separated by commas: '{part}' has no '='"))?;
        let value = match key {
            "x-dead-letter-exchange" if value == "amq.default" => Value::Text(String::new()),
            "x-single-active-consumer" => Value::Bool(boolean(value)),
            _ => value.parse().map_or_else(|_| Value::Text(value.to_owned()), Value::Int),
        };
        put(&mut pairs, key, value);
    }
    Ok(pairs)
}

/// Pairs whose keys may be properties of a message; those that are numbers have to be.
pub(super) fn message_properties(text: &str) -> Parsed<Arguments> {
    let mut pairs = pairs(text)?;
    for (key, value) in &mut pairs {
        let (range, what) = match key.as_str() {
            "priority" => (0..=255, "a number from 0 to 255"),
            "deliveryMode" => (1..=2, "1 or 2"),
            "timestamp" => {
                if let Value::Text(text) = value
                    && let Some(at) = iso_instant_ms(text)
                {
                    *value = Value::Int(at);
                }
                (0..=i64::MAX, "a time such as 2026-01-31T12:00:00Z, or a number of milliseconds since 1970")
            }
            _ => continue,
        };
        if !matches!(value, Value::Int(number) if range.contains(number)) {
            return Err(format!("has a {key} that is not {what}"));
        }
    }
    Ok(pairs)
}

/// An ISO 8601 date and time with its offset, as Java writes them: `2026-01-31T12:00:00Z`, `2026-01-31T14:00+02:00`. In
/// milliseconds since 1970.
fn iso_instant_ms(text: &str) -> Option<i64> {
    let text = text.trim().to_ascii_uppercase();
    let at = text.rfind(['Z', '+', '-'])?;
    let (local, offset) = text.split_at(at);
    let (_, time) = local.split_once('T')?;
    // Seconds may be left out.
    let seconds = if time.matches(':').count() == 1 { ":00" } else { "" };
    let local = humantime::parse_rfc3339(&format!("{local}{seconds}Z")).ok()?;
    let local_ms = i64::try_from(local.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?;
    local_ms.checked_sub(iso_offset_ms(offset)?)
}

/// `Z`, `+02:00`, `-05:30`: what a clock there is ahead, up to 18 hours.
fn iso_offset_ms(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let mut minutes = 0;
    for (part, factor) in text.get(1..)?.splitn(2, ':').zip([60, 1]) {
        let number: i64 = part.parse().ok().filter(|number| part.len() == 2 && (0..60).contains(number))?;
        minutes += number * factor;
    }
    (minutes <= 18 * 60).then_some(sign * minutes * 60_000)
}

/// Sets an argument, in its place if it is there already.
pub(super) fn put(pairs: &mut Arguments, key: &str, value: Value) {
    match pairs.iter_mut().find(|(known, _)| known == key) {
        Some((_, known)) => *known = value,
        None => pairs.push((key.to_owned(), value)),
    }
}

/// `key=value,key=value`, all texts.
pub(super) fn texts(text: &str) -> Parsed<Vec<(String, String)>> {
    text.split(',')
        .filter(|part| !part.trim().is_empty())
        .map(|part| match part.split_once('=') {
            Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
            None => Err(format!("is not key=value, separated by commas: '{part}' has no '='")),
        })
        .collect()
}

/// Bytes, with `kb`, `mb`, `gb` or `tb` for powers of 1000.
pub(super) fn byte_len(text: &str) -> Parsed<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (digits, unit) = lower.split_at(digits);
    let factor: Option<u64> = match unit {
        "" => Some(1),
        "kb" => Some(1_000),
        "mb" => Some(1_000_000),
        "gb" => Some(1_000_000_000),
        "tb" => Some(1_000_000_000_000),
        _ => None,
    };
    let bytes = digits.parse::<u64>().ok().zip(factor).and_then(|(count, factor)| count.checked_mul(factor));
    bytes.filter(|bytes| i64::try_from(*bytes).is_ok()).ok_or_else(|| "is not a size such as 100gb, 50mb".to_owned())
}

/// An ISO 8601 duration of days and less, `P5DT8H10M30S`, in whole seconds.
pub(super) fn iso_duration(text: &str) -> Parsed<u64> {
    let seconds = iso_seconds(&text.trim().to_ascii_uppercase());
    match seconds {
        Some(0) => Err("is not a duration: it must be more than a second".to_owned()),
        Some(seconds) => Ok(seconds),
        None => Err("is not a duration such as PT15M, PT10H, P5DT8H".to_owned()),
    }
}

fn iso_seconds(text: &str) -> Option<u64> {
    let text = text.strip_prefix('P')?;
    let (days, time) = match text.split_once('T') {
        Some((_, "")) => return None,
        Some((days, time)) => (days, time),
        None => (text, ""),
    };
    let mut total: u64 = 0;
    if !days.is_empty() {
        total = days.strip_suffix('D')?.parse::<u64>().ok()?.checked_mul(86_400)?;
    }
    let mut rest = time;
    for (unit, factor) in [('H', 3600), ('M', 60)] {
        if let Some((count, after)) = rest.split_once(unit) {
            total = total.checked_add(count.parse::<u64>().ok()?.checked_mul(factor)?)?;
            rest = after;
        }
    }
    if !rest.is_empty() {
        let whole = rest.strip_suffix('S')?.split('.').next()?;
        total = total.checked_add(whole.parse().ok()?)?;
    }
    (!text.is_empty()).then_some(total)
}

/// `30` or `30-60`, in seconds.
pub(super) fn interval_range(text: &str) -> Parsed<(Duration, Duration)> {
    let parse = |text: &str| text.trim().parse::<u32>().ok().map(|seconds| Duration::from_secs(seconds.into()));
    let range = match text.split_once('-') {
        None => parse(text).map(|interval| (interval, interval)),
        Some((min, max)) => parse(min).zip(parse(max)),
    };
    match range {
        Some((min, max)) if min <= max => Ok((min, max)),
        Some(_) => Err("ends before it begins".to_owned()),
        None => Err("is not a number of seconds such as 30, nor a range such as 30-60".to_owned()),
    }
}

/// Where a consumer of a stream starts.
pub(super) fn stream_offset(text: &str) -> Parsed<StreamOffset> {
    let lower = text.trim().to_ascii_lowercase();
    if matches!(lower.as_str(), "first" | "last" | "next") {
        return Ok(StreamOffset::Named(lower));
    }
    if let Ok(offset) = lower.parse::<i64>()
        && offset >= 0
    {
        return Ok(StreamOffset::Number(offset));
    }
    instant(&lower).map(StreamOffset::Time).ok_or_else(|| {
        "is not a stream offset: first, last, next, a number, or a time such as 2022-06-03T07:45:54Z".to_owned()
    })
}

/// Where a consumer of a stream starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamOffset {
    /// `first`, `last` or `next`.
    Named(String),
    /// An offset.
    Number(i64),
    /// Seconds since 1970.
    Time(u64),
}

/// `2022-06-03T07:45:54Z` or `…+02:00`, as seconds since 1970.
fn instant(lower: &str) -> Option<u64> {
    let (date, time) = lower.split_once('t')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let zone_at = time.find(['z', '+', '-'])?;
    let (clock, zone) = time.split_at(zone_at);
    let mut clock = clock.splitn(3, ':');
    let hour: i64 = clock.next()?.parse().ok().filter(|hour| (0..24).contains(hour))?;
    let minute: i64 = clock.next()?.parse().ok().filter(|minute| (0..60).contains(minute))?;
    let second: f64 =
        clock.next().map_or(Some(0.0), |second| second.parse().ok()).filter(|s| (0.0..61.0).contains(s))?;
    let offset = match zone {
        "z" => 0,
        _ => {
            let (sign, rest) = zone.split_at(1);
            let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "0"));
            let hours: i64 = hours.parse().ok().filter(|hours| (0..=18).contains(hours))?;
            let minutes: i64 = minutes.parse().ok().filter(|minutes| (0..60).contains(minutes))?;
            let seconds = hours * 3600 + minutes * 60;
            if sign == "-" { -seconds } else { seconds }
        }
    };
    #[expect(clippy::cast_possible_truncation, reason = "less than 61")]
    let second = second as i64;
    let total = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    u64::try_from(total).ok()
}

/// Days of the Gregorian calendar, counted in years that begin in March, so that the leap day is the last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year;
    days - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1000() {
        assert_eq!(byte_len("20gb"), Ok(20_000_000_000));
        assert_eq!(byte_len("100"), Ok(100));
        assert_eq!(byte_len("5KB"), Ok(5_000));
        for wrong in ["", "gb", "1.5gb", "-1", "20gib", "99999999999tb"] {
            assert!(byte_len(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_are_iso_8601() {
        assert_eq!(iso_duration("PT10M30S"), Ok(630));
        assert_eq!(iso_duration("P5DT8H"), Ok(460_800));
        assert_eq!(iso_duration("P1D"), Ok(86_400));
        for wrong in ["", "P", "PT", "10m", "PT0S", "PT-5M", "P1DT"] {
            assert!(iso_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_recovery_interval_is_a_number_or_a_range() {
        assert_eq!(interval_range("30"), Ok((Duration::from_secs(30), Duration::from_secs(30))));
        assert_eq!(interval_range("5-10"), Ok((Duration::from_secs(5), Duration::from_secs(10))));
        assert_eq!(interval_range("10-5"), Err("ends before it begins".to_owned()));
        assert!(interval_range("5-x").is_err());
    }

    #[test]
    fn a_stream_offset_may_be_a_time() {
        assert_eq!(stream_offset("First"), Ok(StreamOffset::Named("first".to_owned())));
        assert_eq!(stream_offset("42"), Ok(StreamOffset::Number(42)));
        assert_eq!(stream_offset("2022-06-03T07:45:54Z"), Ok(StreamOffset::Time(1_654_242_354)));
        assert_eq!(stream_offset("2022-06-03T09:45:54+02:00"), Ok(StreamOffset::Time(1_654_242_354)));
        assert_eq!(stream_offset("2000-02-29T00:00:00Z"), Ok(StreamOffset::Time(951_782_400)));
        for wrong in ["soon", "-1", "2022-13-03T07:45:54Z", "2022-06-03", "", "2022-06-03T07:45:54+9999999999999999"] {
            assert!(stream_offset(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn pairs_have_types() {
        let pairs = pairs(
            "x-max-length=10,x-overflow=drop-head,x-single-active-consumer=TRUE,x-dead-letter-exchange=amq.default,x-max-length=20",
        );
        let expected: Arguments = vec![
            ("x-max-length".to_owned(), Value::Int(20)),
            ("x-overflow".to_owned(), Value::Text("drop-head".to_owned())),
            ("x-single-active-consumer".to_owned(), Value::Bool(true)),
            ("x-dead-letter-exchange".to_owned(), Value::Text(String::new())),
        ];
        assert_eq!(pairs, Ok(expected));
        assert!(super::pairs("x-max-length").is_err());
    }

    #[test]
    fn a_stretch_is_two_numbers() {
        assert_eq!(stretch("100:60"), Ok((100, Duration::from_secs(60))));
        assert_eq!(stretch("0:1"), Ok((0, Duration::from_secs(1))));
        for wrong in ["10", "a:b", "10:0", "-1:5", "1:2:3", ":"] {
            assert!(stretch(wrong).is_err(), "{wrong}");
        }
    }
}
