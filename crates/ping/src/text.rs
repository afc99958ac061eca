//! What people read: a line when it begins, a line a round, a table at the end, and the verdict.

use std::fmt::Write as _;
use std::time::Duration;

use figures::format;
use terminal::table::{self, Column};

use crate::stage::{Stage, Times};
use crate::statistics::Statistics;
use crate::verdict::Verdict;

/// What is pinged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    /// The address, without a password.
    pub(crate) uri: String,
    /// Where its name leads.
    pub(crate) peer: String,
    /// Product and version, as the broker reports them.
    pub(crate) broker: String,
    /// Which kind of queue messages go through.
    pub(crate) queue: String,
    /// Bytes of a message's body.
    pub(crate) size: usize,
}

/// The first line.
pub(crate) fn begin(subject: &Subject) -> String {
    let Subject { uri, peer, broker, queue, size } = subject;
    format!("PING {uri} ({broker} at {peer}): {size} bytes through a {queue}\n")
}

/// A round.
pub(crate) fn round(number: u64, outcome: &Result<Times, String>) -> String {
    let mut line = format!("round={number}");
    match outcome {
        Ok(times) => {
            for (stage, time) in times.measured() {
                // Writing to a String cannot fail.
                let _ = write!(line, " {}={} ms", stage.key(), ms(time));
            }
            if times.resent > 0 {
                let _ = write!(line, " resent={}", times.resent);
            }
        }
        Err(reason) => {
            let _ = write!(line, " lost: {reason}");
        }
    }
    line.push('\n');
    line
}

/// The end: what all rounds came to, and what that means.
pub(crate) fn end(subject: &Subject, statistics: &Statistics, took: Duration, verdict: &Verdict) -> String {
    let (completed, lost) = (statistics.completed(), statistics.lost());
    let rounds = completed + lost;
    let percent = if rounds == 0 { 0.0 } else { lost as f64 * 100.0 / rounds as f64 };
    let mut text = format!(
        "\n--- {} ---\n{} {}, {} lost ({}%), {}\n",
        subject.uri,
        format::whole(rounds as f64),
        if rounds == 1 { "round" } else { "rounds" },
        format::whole(lost as f64),
        format::number(percent),
        format::time(took.as_nanos() as f64)
    );
    text.push_str(&table(statistics));
    if statistics.resent() > 0 {
        let _ = writeln!(text, "TCP segments sent again: {}", format::whole(statistics.resent() as f64));
    }
    let _ = writeln!(text, "{}", verdict.sentence);
    if let Some(budget) = &verdict.budget {
        let _ = writeln!(text, "{}", budget.sentence);
    }
    text
}

/// A row a stage, in milliseconds.
fn table(statistics: &Statistics) -> String {
    const HEAD: [&str; 8] = ["ms", "min", "p50", "p90", "p99", "max", "mean", "jitter"];
    let mut rows = vec![HEAD.map(str::to_owned)];
    for stage in Stage::ALL {
        let Some(summary) = statistics.of(stage) else { continue };
        let jitter = summary.jitter.map_or_else(|| "–".to_owned(), ms);
        let [min, p50, p90, p99, max, mean] =
            [summary.min, summary.p50, summary.p90, summary.p99, summary.max, summary.mean].map(ms);
        rows.push([stage.title().to_owned(), min, p50, p90, p99, max, mean, jitter]);
    }
    if rows.len() == 1 {
        return String::new();
    }
    let mut columns = [Column::right(0); 8];
    columns[0] = Column::left(0);
    table::rows(&columns, &rows)
}

/// Milliseconds, with as many decimals as mean something: all of a column are in the same unit.
fn ms(time: Duration) -> String {
    let ms = time.as_nanos() as f64 / 1e6;
    match ms {
        ms if ms < 10.0 => format!("{ms:.3}"),
        ms if ms < 100.0 => format!("{ms:.2}"),
        ms if ms < 1_000.0 => format!("{ms:.1}"),
        ms => format::whole(ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::{resent, times_us};
    use crate::verdict;

    fn subject() -> Subject {
        Subject {
            uri: "amqp://guest@b.example:5672".to_owned(),
            peer: "10.0.0.7:5672".to_owned(),
            broker: "RabbitMQ 4.1.0".to_owned(),
            queue: "transient queue".to_owned(),
            size: 12,
        }
    }

    #[test]
    fn beginning_says_who_is_pinged_through_what() {
        let line =
            "PING amqp://guest@b.example:5672 (RabbitMQ 4.1.0 at 10.0.0.7:5672): 12 bytes through a transient queue\n";
        assert_eq!(begin(&subject()), line);
    }

    #[test]
    fn round_is_a_line_of_what_was_measured() {
        let times = times_us(&[(Stage::Connect, 301), (Stage::Open, 12_345), (Stage::Confirm, 123_456)]);
        assert_eq!(round(7, &Ok(times)), "round=7 connect=0.301 ms open=12.35 ms confirm=123.5 ms\n");
        let mut resent = resent(2);
        resent.set(Stage::Connect, Duration::from_micros(301));
        assert_eq!(round(7, &Ok(resent)), "round=7 connect=0.301 ms resent=2\n");
        let lost = Err("no confirm within 5 s".to_owned());
        assert_eq!(round(8, &lost), "round=8 lost: no confirm within 5 s\n");
    }

    #[test]
    fn table_has_a_row_for_each_stage_that_was_measured() {
        let mut statistics = Statistics::new();
        for us in [100, 300] {
            statistics.complete(&times_us(&[
                (Stage::Connect, us),
                (Stage::Answer, 2 * us),
                (Stage::Confirm, 100 * us),
            ]));
        }
        statistics.lose();
        statistics.lose();
        let verdict = verdict::judge(&statistics, Some(Duration::from_millis(1)));
        let expected = "
--- amqp://guest@b.example:5672 ---
4 rounds, 2 lost (50%), 3 s
ms                     min    p50    p90    p99    max   mean  jitter
TCP connect          0.100  0.100  0.300  0.300  0.300  0.200   0.200
answer without work  0.200  0.200  0.600  0.600  0.600  0.400   0.400
publish to confirm   10.00  10.00  30.00  30.00  30.00  20.00   20.00
the network takes 100 µs of 10 ms: the broker's confirm is slow
p99 of publish to confirm is 30 ms, over the budget of 1 ms; 2 lost rounds cannot meet it
";
        assert_eq!(end(&subject(), &statistics, Duration::from_secs(3), &verdict), expected);
    }

    #[test]
    fn end_says_what_the_network_has_lost() {
        let mut statistics = Statistics::new();
        statistics.complete(&resent(3));
        let verdict = verdict::judge(&statistics, None);
        let end = end(&subject(), &statistics, Duration::ZERO, &verdict);
        assert!(end.contains("\nTCP segments sent again: 3\n"), "{end}");
    }

    #[test]
    fn one_round_has_no_jitter_and_none_has_no_table() {
        let mut statistics = Statistics::new();
        statistics.complete(&times_us(&[(Stage::Confirm, 1_000_000)]));
        assert_eq!(
            table(&statistics),
            "ms                    min    p50    p90    p99    max   mean  jitter\n\
             publish to confirm  1,000  1,000  1,000  1,000  1,000  1,000       –\n"
        );
        assert_eq!(table(&Statistics::new()), "");
    }

    #[test]
    fn milliseconds_keep_the_digits_that_mean_something() {
        let shown = [3, 9_999, 10_000, 99_990, 123_456, 1_234_567].map(|us| ms(Duration::from_micros(us)));
        assert_eq!(shown, ["0.003", "9.999", "10.00", "99.99", "123.5", "1,235"]);
    }
}
