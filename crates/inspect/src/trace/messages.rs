//! `warren trace messages`: what happens to messages, as it happens, or into files on the broker.

use http_client::{Method, Request};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use terminal::Interrupt;

use super::calls::end;
use crate::api::Api;
use crate::failure::Failure;
use crate::run::{print_line, remark};
use crate::target::Target;

/// Where neither a rate nor a count is given.
const RATE_DEFAULT: u64 = 10;
const COUNT_DEFAULT: u64 = 1_000;
/// Bytes of bodies where they are asked for.
const BODY_LEN_DEFAULT: &str = "1024";

#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Messages {
    /// Only events that this connection causes, with its name from `warren ctl list_connections`.
    #[arg(long, value_name = "NAME")]
    connection: Option<String>,
    /// Only events that this user causes.
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Only events in this vhost.
    #[arg(long, value_name = "VHOST")]
    vhost: Option<String>,
    /// Only events in this queue, and messages routed to it.
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// Only messages that were published to this exchange.
    #[arg(long, value_name = "EXCHANGE")]
    exchange: Option<String>,
    /// Only messages whose routing key matches this pattern of topic exchanges: * is a word, # any number of words.
    #[arg(long, value_name = "PATTERN")]
    routing_key: Option<String>,
    /// Only the message with this message-id.
    #[arg(long, value_name = "ID")]
    message_id: Option<String>,
    /// Only messages with this header. If given several times, all must match.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    header: Vec<(String, String)>,
    /// Sample one of this many messages, with all its events.
    #[arg(long, value_name = "1/N", value_parser = sample)]
    sample: Option<u32>,
    /// Print this many bytes of bodies [1024 without a number]. By default, bodies are not printed.
    #[arg(long, value_name = "BYTES", num_args = 0..=1, default_missing_value = BODY_LEN_DEFAULT)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=65536))]
    body: Option<u64>,
    /// End if more events than this occur within a second [default: 10, or no limit with --max].
    #[arg(short, long, value_name = "N/s", value_parser = rate)]
    rate: Option<u64>,
    /// End after this many events [default: 1000].
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max: Option<u64>,
    /// Print the broker's answer: JSON, one line per event.
    #[arg(long)]
    json: bool,
    /// Make the broker write the trace to NAME.log, with rotation and also after a restart, until --stop: see /api/trace-files.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["rate", "max", "json"])]
    file: Option<String>,
    /// End the trace to this file. The file is kept.
    #[arg(long, requires = "file")]
    stop: bool,
}

/// `name=value`.
fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is not a header, such as tenant=blue"))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// `1/100`.
fn sample(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix("1/").and_then(|number| number.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| format!("'{text}' is not a fraction, such as 1/100"))
}

/// `20`, `20/s`.
fn rate(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).parse().ok().filter(|rate| (1..=10_000).contains(rate));
    number.ok_or_else(|| format!("'{text}' is not a number of events a second from 1 to 10000, such as 20/s"))
}

impl Messages {
    pub(super) async fn run(&self, target: &Target, interrupt: &Interrupt) -> Result<(), Failure> {
        let mut api = Api::of(target)?;
        if let Some(name) = &self.file {
            return interrupt.clone().or(self.file(&mut api, name)).await;
        }
        let mut lines = api.session("/api/trace/messages", &self.parameters(), interrupt).await?;
        let mut count = 0_u64;
        while let Some((line, mut event)) = lines.next_event().await? {
            if self.json {
                print_line(&line)?;
                continue;
            }
            match event["event"].as_str() {
                Some("begin") => eprintln!("Messages are traced. Ctrl-C ends it."),
                Some("missed") => {
                    remark(&format!("{} events were dropped, because they were not read in time.", event["missed"]));
                }
                Some("end") => {
                    // What was dropped has been said.
                    event["missed"] = Value::Null;
                    remark(&end(&event, ("event", count), lines.is_interrupted()));
                    return Ok(());
                }
                _ => {
                    count += 1;
                    print_line(&shown(&event))?;
                }
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
            ("connection", self.connection.clone()),
            ("user", self.user.clone()),
            ("vhost", self.vhost.clone()),
            ("queue", self.queue.clone()),
            ("exchange", self.exchange.clone()),
            ("routing_key", self.routing_key.clone()),
            ("message_id", self.message_id.clone()),
            ("sample", self.sample.map(|sample| sample.to_string())),
            ("body", self.body.map(|len| len.to_string())),
            ("max", Some(self.max.unwrap_or(COUNT_DEFAULT).to_string())),
            ("rate", Some(rate.map_or_else(|| "none".to_owned(), |rate| rate.to_string()))),
        ];
        parameters.extend(self.header.iter().map(|(name, value)| ("header", Some(format!("{name}={value}")))));
        parameters
    }

    /// Starts or ends a trace into a file.
    async fn file(&self, api: &mut Api, name: &str) -> Result<(), Failure> {
        let segment = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let vhost = self.vhost.as_deref().unwrap_or("/");
        let path = format!("/api/traces/{}/{}", segment(vhost), segment(name));
        if self.stop {
            api.ask(Request::new(Method::DELETE).below(path)).await?;
            eprintln!("The trace has ended. What it has written is /api/trace-files/{name}.log.");
            return Ok(());
        }
        api.ask(Request::new(Method::PUT).below(path).with_json(self.definition().to_string())).await?;
        eprintln!("The events of messages in vhost '{vhost}' are written to /api/trace-files/{name}.log until --stop.");
        Ok(())
    }

    fn definition(&self) -> Value {
        let texts = [
            ("connection", &self.connection),
            ("user", &self.user),
            ("queue", &self.queue),
            ("exchange", &self.exchange),
            ("routing_key", &self.routing_key),
            ("message_id", &self.message_id),
        ];
        let given = texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), json!(text.as_ref()?))));
        let mut members: Map<String, Value> = given.collect();
        members.insert("format".to_owned(), json!("events"));
        members.insert("max_payload_bytes".to_owned(), json!(self.body.unwrap_or(0)));
        if !self.header.is_empty() {
            let headers: Map<_, _> = self.header.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            members.insert("headers".to_owned(), Value::Object(headers));
        }
        if let Some(sample) = self.sample {
            members.insert("sample".to_owned(), json!(sample));
        }
        Value::Object(members)
    }
}

/// `13:14:34.086078 dead_lettered id=4711 from queue orders (rejected) to [dead] …`
fn shown(event: &Value) -> String {
    let text = |name: &str| event[name].as_str();
    let at = text("at").unwrap_or_default();
    let time = at.split_once('T').map_or(at, |(_, time)| time.trim_end_matches('Z'));
    let mut line = format!("{time} {}", text("event").unwrap_or_default().replace('_', "-"));
    let mut add = |name: &str, value: &Value| match value {
        Value::Null => {}
        Value::String(text) if is_plain(text) => line.push_str(&format!(" {name}={text}")),
        value => line.push_str(&format!(" {name}={value}")),
    };
    add("id", &event["properties"]["message_id"]);
    add("vhost", if text("vhost") == Some("/") { &Value::Null } else { &event["vhost"] });
    add("queue", &event["queue"]);
    add("position", &event["position"]);
    add("for", &event["on_behalf_of"]);
    add("to", &event["routed_queues"]);
    add("exchange", &event["exchange"]);
    add("key", &event["routing_keys"][0]);
    for name in ["reason", "refused", "redelivered", "delayed_at", "due_at", "messages", "user"] {
        if event[name] != Value::Bool(false) {
            add(name, &event[name]);
        }
    }
    add("connection", &event["connection"]);
    add("channel", &event["channel"]);
    add("bytes", &event["body_bytes"]);
    add("body", &event["body"]);
    add("body-base64", &event["body_base64"]);
    line
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(|char: char| char.is_whitespace() || char.is_control() || char == '"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_line() {
        let event = json!({"event": "dead_lettered", "at": "2026-11-26T13:14:34.086078Z", "vhost": "/", "queue": "orders",
            "position": 7, "routed_queues": ["dead"], "exchange": "", "routing_keys": ["orders"], "reason": "rejected",
            "properties": {"message_id": "4711"}, "body_bytes": 12, "redelivered": false});
        assert_eq!(
            shown(&event),
            "13:14:34.086078 dead-lettered id=4711 queue=orders position=7 to=[\"dead\"] exchange=\"\" key=orders \
             reason=rejected bytes=12"
        );
        let event = json!({"event": "delivered", "at": "x", "vhost": "a b", "redelivered": true});
        assert_eq!(shown(&event), "x delivered vhost=\"a b\" redelivered=true");
    }

    #[test]
    fn what_is_given_is_asked_for() {
        let messages = Messages {
            queue: Some("a b".to_owned()),
            header: vec![("t".to_owned(), "1".to_owned())],
            sample: Some(10),
            ..Messages::default()
        };
        let path = |messages: &Messages| crate::api::path("/api/trace/messages", &messages.parameters());
        assert_eq!(path(&messages), "/api/trace/messages?queue=a%20b&sample=10&max=1000&rate=10&header=t%3D1");
        let expected =
            json!({"format": "events", "max_payload_bytes": 0, "queue": "a b", "headers": {"t": "1"}, "sample": 10});
        assert_eq!(messages.definition(), expected);
        let counted = Messages { max: Some(5), ..Messages::default() };
        assert_eq!(path(&counted), "/api/trace/messages?max=5&rate=none");
    }

    #[test]
    fn parts_rates_and_headers_are_checked() {
        assert_eq!((sample("1/100"), rate("20/s"), pair("a=b=c")), (Ok(100), Ok(20), Ok(("a".into(), "b=c".into()))));
        assert!(sample("2/3").is_err() && sample("1/0").is_err() && rate("0").is_err() && pair("a").is_err());
    }
}
