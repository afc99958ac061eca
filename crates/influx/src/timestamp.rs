//! When a point was taken.

use std::time::Duration;

/// What timestamps count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Nanoseconds: what readers expect unless the request says otherwise.
    #[default]
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl Precision {
    /// All of them.
    pub const ALL: [Precision; 4] =
        [Precision::Nanoseconds, Precision::Microseconds, Precision::Milliseconds, Precision::Seconds];

    /// The precision of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Precision> {
        Precision::ALL.into_iter().find(|precision| precision.name() == name)
    }

    /// What `precision=` calls it in a request of InfluxDB 2 and 3.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Precision::Nanoseconds => "ns",
            Precision::Microseconds => "us",
            Precision::Milliseconds => "ms",
            Precision::Seconds => "s",
        }
    }

    /// What it calls it in a request of InfluxDB 1.
    #[must_use]
    pub fn name_of_version_1(self) -> &'static str {
        match self {
            Precision::Nanoseconds => "n",
            Precision::Microseconds => "u",
            other => other.name(),
        }
    }

    /// A moment, as the time that has passed since 1970 until then.
    #[must_use]
    pub fn at(self, since_1970: Duration) -> Timestamp {
        let count = match self {
            Precision::Nanoseconds => since_1970.as_nanos(),
            Precision::Microseconds => since_1970.as_micros(),
            Precision::Milliseconds => since_1970.as_millis(),
            Precision::Seconds => since_1970.as_secs().into(),
        };
        Timestamp(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

/// A moment, in a precision that the reader knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub(crate) i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_counts_whole_units() {
        let at = Duration::new(1_700_000_001, 234_567_899);
        let counts = Precision::ALL.map(|precision| precision.at(at).0);
        assert_eq!(counts, [1_700_000_001_234_567_899, 1_700_000_001_234_567, 1_700_000_001_234, 1_700_000_001]);
    }

    #[test]
    fn a_moment_that_no_reader_knows_is_the_last_one() {
        assert_eq!(Precision::Nanoseconds.at(Duration::MAX).0, i64::MAX);
    }

    #[test]
    fn each_precision_has_its_name_in_requests() {
        assert_eq!(Precision::ALL.map(Precision::name), ["ns", "us", "ms", "s"]);
        assert_eq!(Precision::ALL.map(Precision::name_of_version_1), ["n", "u", "ms", "s"]);
        assert!(Precision::ALL.into_iter().all(|precision| Precision::parse(precision.name()) == Some(precision)));
        assert_eq!(Precision::parse("m"), None);
    }
}
