//! Histograms of latencies, and what results keep of them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use figures::latencies::value_at;
pub use figures::latencies::{LATENCY_MAX_NS, empty, record};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use crate::results::{Distribution, Percentiles};

/// Points of the percentile curve for each halving of what is left of the messages: 50 %, 25 %, 12.5 % …
const CURVE_POINTS_PER_HALVING: u32 = 8;

/// Why a kept histogram cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It is not base64.
    #[error("histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// It is not HdrHistogram's format.
    #[error("histogram is not in HdrHistogram's compressed V2 format: {0}")]
    Format(String),
}

impl Percentiles {
    /// A histogram's percentiles; `None` if nothing was recorded.
    #[must_use]
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        if histogram.is_empty() {
            return None;
        }
        let at = |quantile| value_at(histogram, quantile);
        Some(Percentiles {
            count: histogram.len(),
            min_ns: histogram.min(),
            mean_ns: histogram.mean(),
            p50_ns: at(0.5),
            p75_ns: at(0.75),
            p90_ns: at(0.9),
            p95_ns: at(0.95),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            p9999_ns: at(0.9999),
            max_ns: at(1.0),
        })
    }
}

impl Distribution {
    /// All that results keep of a histogram; `None` if nothing was recorded.
    #[must_use]
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        let percentiles = Percentiles::of(histogram)?;
        Some(Distribution { percentiles, curve: curve(histogram), histogram: encode(histogram) })
    }

    /// The histogram that it was made of.
    ///
    /// # Errors
    ///
    /// When the text is not such a histogram.
    pub fn decode(&self) -> Result<Histogram<u64>, DecodeError> {
        decode(&self.histogram)
    }

    /// The latency that a share of the messages does not exceed. `quantile` is between 0 and 1; 1 is the maximum.
    ///
    /// From the histogram, and where that cannot be read, from the curve: the next point that is not below.
    #[must_use]
    pub fn value_at_quantile(&self, quantile: f64) -> u64 {
        if quantile >= 1.0 {
            return self.percentiles.max_ns;
        }
        if let Ok(histogram) = self.decode()
            && !histogram.is_empty()
        {
            return value_at(&histogram, quantile);
        }
        let next = self.curve.iter().find(|(share, _)| *share >= quantile);
        next.map_or(self.percentiles.max_ns, |(_, ns)| *ns)
    }
}

/// A histogram as results keep it: HdrHistogram's V2 format, compressed, in base64.
#[must_use]
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).expect("a histogram within our bounds has a V2 form");
    STANDARD.encode(bytes)
}

/// Reads what [`encode`] has made.
///
/// # Errors
///
/// When the text is not such a histogram.
pub fn decode(text: &str) -> Result<Histogram<u64>, DecodeError> {
    let bytes = STANDARD.decode(text)?;
    let decoded = Deserializer::new().deserialize(&mut bytes.as_slice());
    decoded.map_err(|error| DecodeError::Format(error.to_string()))
}

/// Points of the percentile curve, equally dense on an axis of 1/(1-q): the tail is where the points are.
fn curve(histogram: &Histogram<u64>) -> Vec<(f64, u64)> {
    let mut points: Vec<(f64, u64)> = Vec::new();
    for step in histogram.iter_quantiles(CURVE_POINTS_PER_HALVING) {
        let point = (step.quantile_iterated_to(), step.value_iterated_to().min(LATENCY_MAX_NS));
        match points.last_mut() {
            // The end of the curve comes more than once.
            Some(last) if last.0 >= point.0 => last.1 = last.1.max(point.1),
            _ => points.push(point),
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = empty();
        values.into_iter().for_each(|ns| record(&mut histogram, Duration::from_nanos(ns)));
        histogram
    }

    #[track_caller]
    fn check_close(measured: u64, expected: u64) {
        let off = measured.abs_diff(expected);
        assert!(off <= expected / 1_000 + 1, "{measured} is not {expected}");
    }

    #[test]
    fn percentiles_are_exact_to_three_digits() {
        let percentiles = Percentiles::of(&of((1..=10_000).map(|i| i * 12_345))).unwrap();
        assert_eq!(percentiles.count, 10_000);
        check_close(percentiles.min_ns, 12_345);
        check_close(percentiles.p50_ns, 5_000 * 12_345);
        check_close(percentiles.p75_ns, 7_500 * 12_345);
        check_close(percentiles.p90_ns, 9_000 * 12_345);
        check_close(percentiles.p95_ns, 9_500 * 12_345);
        check_close(percentiles.p99_ns, 9_900 * 12_345);
        check_close(percentiles.p999_ns, 9_990 * 12_345);
        check_close(percentiles.p9999_ns, 9_999 * 12_345);
        check_close(percentiles.max_ns, 10_000 * 12_345);
    }

    #[test]
    fn nothing_recorded_is_no_percentiles() {
        assert_eq!(Percentiles::of(&empty()), None);
        assert_eq!(Distribution::of(&empty()), None);
    }

    #[test]
    fn more_than_an_hour_counts_as_an_hour() {
        let mut histogram = empty();
        record(&mut histogram, Duration::from_secs(7_200));
        record(&mut histogram, Duration::MAX);
        let distribution = Distribution::of(&histogram).unwrap();
        assert_eq!(distribution.percentiles.max_ns, LATENCY_MAX_NS);
        assert_eq!(distribution.percentiles.count, 2);
        assert!(distribution.curve.iter().all(|(_, ns)| *ns <= LATENCY_MAX_NS));
    }

    #[test]
    fn kept_histogram_is_read_back_whole() {
        let histogram = of([0, 1, 999, 1_000_000, 59_000_000_000, LATENCY_MAX_NS]);
        assert_eq!(decode(&encode(&histogram)).unwrap(), histogram);
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        assert!(matches!(decode("%"), Err(DecodeError::Base64(_))));
        assert!(matches!(decode(""), Err(DecodeError::Format(_))));
        assert!(matches!(decode("aGVsbG8gd29ybGQ="), Err(DecodeError::Format(_))));
    }

    #[test]
    fn curve_rises_to_the_maximum_and_is_dense_in_the_tail() {
        let distribution = Distribution::of(&of((1..=100_000).map(|i| i * 100))).unwrap();
        let curve = &distribution.curve;
        assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1), "{curve:?}");
        assert_eq!(*curve.last().unwrap(), (1.0, distribution.percentiles.max_ns));
        let tail = curve.iter().filter(|(share, _)| (0.99..0.9999).contains(share)).count();
        assert!(tail >= 30, "{tail} points between p99 and p99.99");
        assert!(curve.len() < 400, "{} points", curve.len());
    }

    #[test]
    fn any_quantile_can_be_asked_for() {
        let mut distribution = Distribution::of(&of((1..=1_000).map(|i| i * 1_000))).unwrap();
        check_close(distribution.value_at_quantile(0.42), 420_000);
        check_close(distribution.value_at_quantile(1.0), 1_000_000);
        distribution.histogram = "gone".to_owned();
        let from_curve = distribution.value_at_quantile(0.42);
        assert!((420_000..=470_000).contains(&from_curve), "{from_curve}");
    }
}
