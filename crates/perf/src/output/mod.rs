//! What is shown, written and served during a run.
//!
//! ```text
//!               ┌─► console         PerfTest's lines, `--metrics-format` default or compact
//!  Outputs ──►  ├─► csv             `--output-file`
//!  (open)       ├─► prometheus      `--metrics-prometheus`  ◄── metrics_server answers from it
//!               └─► influx          `--influx`              ──► influx_sender posts it, or a file
//!  results ──►      summary         the lines at the end that PerfTest does not have
//! ```
//!
//! [`Outputs::open`] opens what the options ask for.
//!
//! Formatting does no I/O; what writes is a thin shell around it. An output that can no longer write keeps quiet and reports it
//! once, in [`RunOutput::take_warning`](run_output::RunOutput::take_warning): no output is worth ending a run for.
//!
//! Lines look as PerfTest 2.22.1 writes them, letter for letter; the tests have lines that it wrote.

mod columns;
mod console;
mod csv;
mod influx;
mod influx_sender;
mod metrics_server;
mod number;
mod open;
mod outlet;
mod prometheus;
mod rows;
mod run_output;
mod stop_reason;
mod summary;

pub(crate) use columns::Unit;
pub(crate) use console::Console;
pub(crate) use csv::Csv;
pub(crate) use influx::InfluxFile;
pub(crate) use influx_sender::{InfluxSender, InfluxUrlError};
pub(crate) use metrics_server::MetricsServer;
pub(crate) use open::{ANY_ADDRESS, Outputs};
pub(crate) use prometheus::{Prometheus, SharedPrometheus};
pub(crate) use run_output::RunOutput;
pub(crate) use summary::render_summary;

#[cfg(test)]
mod testing {
    //! Samples with round numbers.

    use crate::results::{Counts, Percentiles, Sample};

    /// Percentiles in microseconds: least, and those that PerfTest shows.
    pub(crate) fn percentiles(micros: [u64; 5]) -> Percentiles {
        let [min_ns, p50_ns, p75_ns, p95_ns, p99_ns] = micros.map(|micros| micros * 1000);
        Percentiles {
            count: 20,
            min_ns,
            mean_ns: 1_000_000.0,
            p50_ns,
            p75_ns,
            p90_ns: p75_ns,
            p95_ns,
            p99_ns,
            p999_ns: p99_ns,
            p9999_ns: p99_ns,
            max_ns: p99_ns,
        }
    }

    /// An interval of a second in which as many were published, confirmed and consumed.
    pub(crate) fn sample(end_s: f64, duration_s: f64, count: u64) -> Sample {
        let counts = Counts {
            published: count,
            published_bytes: count * 12,
            confirmed: count,
            consumed: count,
            consumed_bytes: count * 12,
            ..Counts::default()
        };
        Sample { end_s, duration_s, counts, ..Sample::default() }
    }
}
