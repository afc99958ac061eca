//! `warren trace calls`: each call of the functions that match.

use serde_json::Value;
use terminal::Interrupt;

use crate::api::Api;
use crate::failure::Failure;
use crate::run::{print_line, remark};
use crate::target::Target;

/// Where neither a rate nor a count is given: also what the broker does without being asked.
const RATE_DEFAULT: u64 = 10;
const COUNT_DEFAULT: u64 = 1_000;

#[derive(Debug, clap::Args)]
pub(super) struct Calls {
    /// The functions, with the names from `warren trace list`; * stands for any text.
    #[arg(value_name = "PATTERN")]
    pattern: String,
    /// End after this many calls [default: 1000].
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max: Option<u64>,
    /// End if more calls than this match within a second [default: 10, or no limit with --max].
    #[arg(short, long, value_name = "N/s", value_parser = rate)]
    rate: Option<u64>,
    /// Only calls with an argument of this value, such as queue=orders. If given several times, all must match.
    #[arg(short, long = "where", value_name = "ARGUMENT=VALUE")]
    conditions: Vec<String>,
    /// Also print returns, with results and durations.
    #[arg(long = "return")]
    has_returns: bool,
    /// Print decoded arguments. This is the default, unless --arity is given.
    #[arg(long, conflicts_with = "arity")]
    args: bool,
    /// Print the number of arguments instead of their values.
    #[arg(long)]
    arity: bool,
    /// Print this many bytes of message bodies. By default, bodies are not printed.
    #[arg(long, value_name = "BYTES", num_args = 0..=1, default_missing_value = "64")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=4096))]
    body: Option<u64>,
    /// Print the broker's answer: JSON, one line per event.
    #[arg(long)]
    json: bool,
}

/// `20`, `20/s`.
fn rate(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    number
        .parse()
        .ok()
        .filter(|rate| *rate > 0)
        .ok_or_else(|| format!("'{text}' is not a number of calls a second, such as 20/s"))
}

impl Calls {
    pub(super) async fn run(&self, target: &Target, interrupt: &Interrupt) -> Result<(), Failure> {
        let mut lines = Api::of(target)?.session("/api/trace/calls", &self.parameters(), interrupt).await?;
        let mut count = 0_u64;
        while let Some((line, event)) = lines.next_event().await? {
            if self.json {
                print_line(&line)?;
                continue;
            }
            match event["event"].as_str() {
                Some("end") => {
                    remark(&end(&event, ("call", count), lines.is_interrupted()));
                    return Ok(());
                }
                Some("begin") => remark(&begin(&event)),
                Some("call") => {
                    count += 1;
                    print_line(&shown(&event, self.arity))?;
                }
                _ => print_line(&shown(&event, self.arity))?,
            }
        }
        match self.json || lines.is_interrupted() {
            true => Ok(()),
            false => Err(Failure::failed("the broker closed the connection without an end message")),
        }
    }

    fn parameters(&self) -> Vec<(&'static str, Option<String>)> {
        let rate = self.rate.or(self.max.is_none().then_some(RATE_DEFAULT));
        let mut parameters = vec![
            ("pattern", Some(self.pattern.clone())),
            ("max", Some(self.max.unwrap_or(COUNT_DEFAULT).to_string())),
            ("rate", Some(rate.map_or_else(|| "none".to_owned(), |rate| rate.to_string()))),
            ("return", self.has_returns.then(|| "true".to_owned())),
            ("body", self.body.map(|len| len.to_string())),
        ];
        parameters.extend(self.conditions.iter().map(|condition| ("where", Some(condition.clone()))));
        parameters
    }
}

/// `13:14:34.086078 <connection 127.0.0.1:4711> amqp::queue.declare(vhost="/", queue="orders")`
fn shown(event: &Value, is_arity: bool) -> String {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    let head = format!("{} <{}> {}", time(text("at")), text("task"), text("call"));
    let arguments = event["arguments"].as_array();
    let arity = event["arity"].as_u64().unwrap_or_default();
    match text("event") {
        "return" => {
            let result = event["result"].as_str().map(|result| format!(" {result}")).unwrap_or_default();
            format!("{head}/{arity} -->{result} ({})", duration(event["duration_us"].as_f64().unwrap_or_default()))
        }
        _ if is_arity => format!("{head}/{arity}"),
        _ => {
            let shown: Vec<String> = arguments.into_iter().flatten().map(argument).collect();
            format!("{head}({})", shown.join(", "))
        }
    }
}

/// `queue="orders"`, of a name and a value, and of a body how long it is if that is not all.
fn argument(argument: &Value) -> String {
    let name = argument[0].as_str().unwrap_or_default();
    match argument[2].as_u64() {
        Some(len) => format!("{name}={}… ({len} bytes)", argument[1]),
        None => format!("{name}={}", argument[1]),
    }
}

/// The time of day, as it is at the broker in UTC.
fn time(at: &str) -> &str {
    at.split_once('T').map_or(at, |(_, time)| time.trim_end_matches('Z'))
}

fn duration(us: f64) -> String {
    match us {
        us if us < 1_000.0 => format!("{us:.0} µs"),
        us if us < 1_000_000.0 => format!("{:.2} ms", us / 1_000.0),
        us => format!("{:.2} s", us / 1_000_000.0),
    }
}

fn begin(event: &Value) -> String {
    let count = event["points"].as_u64().unwrap_or_default();
    let (functions, are) = if count == 1 { ("function", "is") } else { ("functions", "are") };
    format!("{count} {functions} {are} traced. Ctrl-C ends it.")
}

/// Why a trace ended, how many things it saw, and what it has cost.
pub(super) fn end(event: &Value, (what, count): (&str, u64), is_interrupted: bool) -> String {
    let number = |name: &str| event[name].as_u64().unwrap_or_default();
    let missed = match number("missed") {
        0 => String::new(),
        missed => format!(" {missed} events were dropped, because they were not read in time."),
    };
    let reason = match event["reason"].as_str() {
        _ if is_interrupted => "Ctrl-C",
        reason => reason.unwrap_or("no reason"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!(
        "Ended: {reason}. {count} {what}{plural} in all.{missed} It cost the broker {} of processor time.",
        duration(event["cost_us"].as_f64().unwrap_or_default()),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::path;

    #[test]
    fn a_call_and_its_return_are_lines_as_in_a_shell() {
        let call = json!({"event": "call", "at": "2026-11-26T13:14:34.086078Z", "task": "connection 127.0.0.1:4711",
            "call": "amqp::queue.declare", "arity": 2, "arguments": [["queue", "or\"ders"], ["durable", true], ["body", "ab", 7]]});
        assert_eq!(
            shown(&call, false),
            r#"13:14:34.086078 <connection 127.0.0.1:4711> amqp::queue.declare(queue="or\"ders", durable=true, body="ab"… (7 bytes))"#
        );
        assert_eq!(shown(&call, true), "13:14:34.086078 <connection 127.0.0.1:4711> amqp::queue.declare/2");
        let ended = json!({"event": "return", "at": "2026-11-26T13:14:34.1Z", "task": "t", "call": "a::b", "arity": 0,
            "result": "200", "duration_us": 1234.5});
        assert_eq!(shown(&ended, false), "13:14:34.1 <t> a::b/0 --> 200 (1.23 ms)");
    }

    #[test]
    fn the_end_says_why_and_what_it_cost() {
        let event = json!({"reason": "more than 10 calls a second matched", "missed": 0, "cost_us": 41.2});
        let expected =
            "Ended: more than 10 calls a second matched. 10 calls in all. It cost the broker 41 µs of processor time.";
        assert_eq!(end(&event, ("call", 10), false), expected);
        let event = json!({"reason": "its viewer ended it", "missed": 2, "cost_us": 1.0});
        let expected = "Ended: Ctrl-C. 1 event in all. 2 events were dropped, because they were not read in time. \
                        It cost the broker 1 µs of processor time.";
        assert_eq!(end(&event, ("event", 1), true), expected);
    }

    #[test]
    fn a_rate_is_a_number_a_second() {
        assert_eq!((rate("20"), rate("20/s")), (Ok(20), Ok(20)));
        for text in ["0", "20/m", "-1", "x", ""] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn who_gives_a_count_means_that_count_at_any_rate() {
        let calls = |max, rate| Calls {
            pattern: "a::*".to_owned(),
            max,
            rate,
            conditions: vec!["queue=a b".to_owned()],
            has_returns: true,
            args: false,
            arity: false,
            body: None,
            json: false,
        };
        let rest = "&return=true&where=queue%3Da%20b";
        let path = |calls: Calls| path("/api/trace/calls", &calls.parameters());
        assert_eq!(path(calls(None, None)), format!("/api/trace/calls?pattern=a%3A%3A%2A&max=1000&rate=10{rest}"));
        assert_eq!(path(calls(Some(1), None)), format!("/api/trace/calls?pattern=a%3A%3A%2A&max=1&rate=none{rest}"));
    }
}
