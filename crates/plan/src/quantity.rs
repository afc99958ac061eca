//! Numbers with a name and a unit, and how people read them.

use figures::format::{Digits, scaled, significant};

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Things a second.
    PerSecond,
    /// Bytes of messages and files.
    Bytes,
    /// Bytes of memory, which people count by 1024.
    Memory,
    /// What is sent over a network.
    BitsPerSecond,
    /// What is written to a disk.
    BytesPerSecond,
    /// Processors that have nothing else to do.
    Cores,
    /// Millionths of a second.
    Micros,
    /// Time.
    Seconds,
    /// A part of a whole, 0 to 1.
    Share,
    /// Yes (1) or no (0).
    Flag,
}

impl Unit {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::PerSecond => "1/s",
            Unit::Bytes | Unit::Memory => "bytes",
            Unit::BitsPerSecond => "bit/s",
            Unit::BytesPerSecond => "bytes/s",
            Unit::Cores => "cores",
            Unit::Micros => "us",
            Unit::Seconds => "s",
            Unit::Share => "share",
            Unit::Flag => "flag",
        }
    }

    /// A number of it, as people read it.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        const DIGITS: Digits = Digits::Four;
        match self {
            Unit::Count => number(value),
            Unit::PerSecond => format!("{}/s", number(value)),
            Unit::Bytes if value < 1e6 => format!("{} B", number(value)),
            Unit::Bytes => scaled(value, 1e3, &["B", "kB", "MB", "GB", "TB", "PB"], DIGITS),
            Unit::Memory => scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"], DIGITS),
            Unit::BitsPerSecond => {
                scaled(value, 1e3, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "Pbit/s"], DIGITS)
            }
            Unit::BytesPerSecond => scaled(value, 1e3, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"], DIGITS),
            Unit::Cores => format!("{} {}", number(value), if value == 1.0 { "core" } else { "cores" }),
            Unit::Micros => format!("{} µs", number(value)),
            Unit::Seconds => duration(value),
            Unit::Share => format!("{} %", number(value * 100.0)),
            Unit::Flag => if value == 0.0 { "no" } else { "yes" }.to_owned(),
        }
    }
}

/// A number that knows what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// What people call it.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: Unit,
}

impl Quantity {
    /// A quantity.
    #[must_use]
    pub fn new(name: impl Into<String>, value: f64, unit: Unit) -> Self {
        Quantity { name: name.into(), value, unit }
    }

    /// The number and its unit.
    #[must_use]
    pub fn show(&self) -> String {
        self.unit.show(self.value)
    }
}

/// A duration in the largest unit that is whole, if there is one.
fn duration(seconds: f64) -> String {
    for (len, unit) in [(86_400.0, "d"), (3_600.0, "h"), (60.0, "min")] {
        if seconds >= len && (seconds % len == 0.0) {
            return format!("{} {unit}", number(seconds / len));
        }
    }
    format!("{} s", number(seconds))
}

fn number(value: f64) -> String {
    significant(value, Digits::Four)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(unit: Unit, value: f64, expected: &str) {
        assert_eq!(unit.show(value), expected);
    }

    #[test]
    fn numbers_have_four_digits_and_commas() {
        check(Unit::Count, 0.0, "0");
        check(Unit::Count, 0.012_34, "0.0123");
        check(Unit::Count, 1.5, "1.5");
        check(Unit::Count, 10.486, "10.49");
        check(Unit::Count, 999.97, "1,000");
        check(Unit::Count, 1_234_567.8, "1,234,568");
    }

    #[test]
    fn units_fit_the_number() {
        check(Unit::PerSecond, 30_000.0, "30,000/s");
        check(Unit::Bytes, 131_072.0, "131,072 B");
        check(Unit::Bytes, 72e9, "72 GB");
        check(Unit::Memory, 20_480.0, "20 KiB");
        check(Unit::Memory, 96.0 * 1_048_576.0, "96 MiB");
        check(Unit::BitsPerSecond, 5e9, "5 Gbit/s");
        check(Unit::BitsPerSecond, 999_999.0, "1 Mbit/s");
        check(Unit::BytesPerSecond, 0.0, "0 B/s");
        check(Unit::Cores, 1.0, "1 core");
        check(Unit::Seconds, 3_600.0, "1 h");
        check(Unit::Seconds, 90.0, "90 s");
        check(Unit::Share, 0.3, "30 %");
        check(Unit::Flag, 1.0, "yes");
    }
}
