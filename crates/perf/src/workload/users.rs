//! Simulated users and their scripts.
//!
//! A step is a word (`"connect"`), or a table with the step's own key first in sense, whose value is what the step is
//! about: `{ publish = "orders", size = 100 }`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::document::Value as Written;
use super::error::{Fault, suggestion};
use super::groups::{Context, settle};
use super::table::{Field, Table};
use super::values;
use crate::plan::{Distribution, Script, Sizes, Step, StepExpectation, Template, Throttle, Users};

/// How long a broker may take to answer, unless a group says otherwise.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) const USER_KEYS: &[&str] = &["name", "count", "arrival_rate", "repeat", "answer_timeout", "steps"];

/// Steps that are words.
const WORDS: [&str; 4] = ["connect", "open_channel", "cancel", "disconnect"];
/// Steps that are tables: the key that says which, and the others that it may have.
const TABLES: [(&str, &[&str]); 15] = [
    ("declare_queue", &["durable", "exclusive", "auto_delete", "arguments"]),
    ("declare_exchange", &["type", "durable"]),
    ("bind", &["exchange", "key"]),
    ("delete_queue", &[]),
    (
        "publish",
        &["exchange", "size", "persistent", "priority", "headers", "properties", "count", "confirm", "throttle"],
    ),
    ("consume", &["prefetch", "ack_every", "auto_ack", "nack"]),
    ("consume_until", &["timeout"]),
    ("wait", &[]),
    ("think", &[]),
    ("expect_queue_length", &["min", "max"]),
    ("expect_received", &["min", "max"]),
    ("expect_variable", &["value"]),
    ("http_get", &["status"]),
    ("set", &["value"]),
    ("throttle", &[]),
];

/// The names of all steps.
pub(super) fn steps() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|(kind, _)| *kind).chain(["repeat"]).chain(WORDS)
}

/// What scripts may refer to.
struct KnownNames<'a> {
    throttles: &'a BTreeMap<&'a str, f64>,
    variables: Vec<&'a str>,
}

/// `[throttles]`: turns a second, by name.
pub(super) fn throttles<'a>(workload: &Table<'a>, context: &Context<'a>) -> Result<BTreeMap<&'a str, f64>, Fault> {
    let Some(field) = workload.get("throttles") else { return Ok(BTreeMap::new()) };
    let mut throttles = BTreeMap::new();
    for (name, rate) in field.open_table()?.fields() {
        match rate.number() {
            Ok(turns) if turns > 0.0 => throttles.insert(name, context.scale.rate(turns)),
            _ => return Err(rate.expected("a number of turns per second above 0")),
        };
    }
    Ok(throttles)
}

impl<'a> Context<'a> {
    pub(super) fn users(&self, field: &Field<'a>, name: &str, throttles: &BTreeMap<&str, f64>) -> Result<Users, Fault> {
        const USERS_MAX: u32 = 10_000_000;
        let mut table = field.table(USER_KEYS)?;
        table.rename("users", name);
        let count = self.scale.small_count(table.count("count", 1..=USERS_MAX)?.unwrap_or(1));
        let arrival_rate = match table.get("arrival_rate") {
            Some(rate) => match rate.number() {
                Ok(number) if number > 0.0 => self.scale.rate(number),
                _ => return Err(rate.expected("a number of users per second above 0")),
            },
            // All within the first second.
            None => f64::from(count),
        };
        let steps = table.require("steps", "what each user does")?;
        let mut known = KnownNames { throttles, variables: vec!["user", "uuid", "queue"] };
        collect_variables(&steps, &mut known.variables);
        let mut is_connected = false;
        let script = Script { steps: known.steps(&steps, &mut is_connected)? };
        let answer_timeout = match table.get("answer_timeout") {
            Some(timeout) => timeout.positive_duration()?,
            None => ANSWER_TIMEOUT,
        };
        let repeat = table.bool("repeat", false)?;
        Ok(Users { name: name.to_owned(), count, arrival_rate, script, repeat, answer_timeout })
    }
}

/// Names that `set` steps give, wherever they are.
fn collect_variables<'a>(steps: &Field<'a>, variables: &mut Vec<&'a str>) {
    let Written::List(items) = &steps.node.value else { return };
    for item in items {
        if let Some(Written::Text(name)) = item.get("set").map(|node| &node.value) {
            variables.push(name);
        }
        if let Some(nested) = item.get("steps") {
            collect_variables(&Field::new("", nested), variables);
        }
    }
}

impl KnownNames<'_> {
    fn steps(&self, field: &Field<'_>, is_connected: &mut bool) -> Result<Vec<Step>, Fault> {
        let mut steps = Vec::new();
        for field in field.list("steps")? {
            let step = match &field.node.value {
                Written::Text(word) => word_step(word, &field)?,
                Written::Table(_) => self.table_step(&field, is_connected)?,
                _ => return Err(field.expected("a step: a word such as \"connect\", or a table")),
            };
            match step {
                Step::Connect => *is_connected = true,
                Step::Disconnect => *is_connected = false,
                _ if needs_connection(&step) && !*is_connected => {
                    return Err(field.fault("the user is not connected here: \"connect\" comes first"));
                }
                _ => {}
            }
            steps.push(step);
        }
        if steps.is_empty() {
            return Err(field.fault("the list of steps is empty"));
        }
        Ok(steps)
    }

    fn table_step(&self, field: &Field<'_>, is_connected: &mut bool) -> Result<Step, Fault> {
        // "throttle" is a step, and an option of "publish".
        let kinds: Vec<_> = TABLES.iter().filter(|(kind, _)| field.node.get(kind).is_some()).collect();
        if field.node.get("repeat").is_some() {
            return self.repeat(field, is_connected);
        }
        let Some((kind, options)) = kinds.first() else {
            let keys = field.open_table()?.fields().map(|(key, _)| key).next().unwrap_or("");
            return Err(field.fault(format!("unknown step \"{keys}\"{}", suggestion(keys, steps()))));
        };
        let allowed: Vec<&str> = std::iter::once(*kind).chain(options.iter().copied()).collect();
        let table = field.table(&allowed)?;
        let subject = table.require(kind, "the step itself")?;
        match *kind {
            "declare_queue" => Ok(Step::DeclareQueue {
                name: self.template(&subject)?,
                durable: table.bool("durable", !table.bool("exclusive", false)?)?,
                exclusive: table.bool("exclusive", false)?,
                auto_delete: table.bool("auto_delete", false)?,
                arguments: values::arguments(&table, "arguments")?,
            }),
            "declare_exchange" => Ok(Step::DeclareExchange {
                name: self.template(&subject)?,
                kind: table.text("type")?.unwrap_or("direct").to_owned(),
                durable: table.bool("durable", true)?,
            }),
            "bind" => Ok(Step::Bind {
                queue: self.template(&subject)?,
                exchange: self.template(&table.require("exchange", "what the queue is bound to")?)?,
                key: self.optional_template(&table, "key")?,
            }),
            "delete_queue" => Ok(Step::DeleteQueue { name: self.template(&subject)? }),
            "publish" => self.publish(&table, &subject),
            "consume" => Ok(Step::Consume {
                queue: self.template(&subject)?,
                prefetch: table.count("prefetch", 0..=u32::from(u16::MAX))?.unwrap_or(0) as u16,
                settle: settle(&table)?,
            }),
            "consume_until" => Ok(Step::ConsumeUntil {
                count: count_of(&subject, 1)?,
                timeout: table.duration("timeout")?.unwrap_or(Duration::from_secs(10)),
            }),
            "wait" => subject.duration().map(Step::Wait),
            "think" => values::distribution(&subject, values::seconds).map(Step::Think),
            "expect_queue_length" => {
                let (min, max) = bounds(&table, &subject, u64::from(u32::MAX))?;
                Ok(Step::Expect(StepExpectation::QueueLength {
                    queue: self.template(&subject)?,
                    min: u32::try_from(min).unwrap_or(u32::MAX),
                    max: u32::try_from(max).unwrap_or(u32::MAX),
                }))
            }
            "expect_received" => {
                if subject.node.value != Written::Bool(true) {
                    let exactly = subject.whole(0..=u64::MAX)?;
                    if let Some((key, other)) = table.fields().find(|(key, _)| key != kind) {
                        return Err(other.fault(format!("\"{key}\" cannot be used with a number")));
                    }
                    return Ok(Step::Expect(StepExpectation::Received { min: exactly, max: exactly }));
                }
                let (min, max) = bounds(&table, &subject, u64::MAX)?;
                Ok(Step::Expect(StepExpectation::Received { min, max }))
            }
            "expect_variable" => {
                let name = subject.text()?;
                self.check_variable(name, &subject)?;
                let value = self.template(&table.require("value", "what the variable should be")?)?;
                Ok(Step::Expect(StepExpectation::Variable { name: name.to_owned(), value }))
            }
            "http_get" => {
                let status = table.get("status").map(|field| field.whole(100..=599)).transpose()?;
                Ok(Step::HttpGet { url: self.template(&subject)?, status: status.unwrap_or(200) as u16 })
            }
            "set" => Ok(Step::Set {
                name: subject.text()?.to_owned(),
                value: self.template(&table.require("value", "what the variable becomes")?)?,
            }),
            _ => self.throttle(&subject).map(Step::Throttle),
        }
    }

    fn repeat(&self, field: &Field<'_>, is_connected: &mut bool) -> Result<Step, Fault> {
        let table = field.table(&["repeat", "steps"])?;
        let count = count_of(&table.require("repeat", "how often")?, 1)?;
        let steps = self.steps(&table.require("steps", "what is repeated")?, is_connected)?;
        Ok(Step::Repeat { count, steps })
    }

    fn publish(&self, table: &Table<'_>, key: &Field<'_>) -> Result<Step, Fault> {
        let throttle = table.get("throttle").map(|field| self.throttle(&field)).transpose()?;
        Ok(Step::Publish {
            exchange: self.optional_template(table, "exchange")?,
            key: self.template(key)?,
            size: match table.get("size") {
                Some(field) => values::sizes(&field)?,
                None => Sizes::Drawn(Distribution::Fixed(12.0)),
            },
            properties: values::properties(table)?,
            count: table.get("count").map(|field| count_of(&field, 1)).transpose()?.unwrap_or(1),
            confirm: table.bool("confirm", false)?,
            throttle,
        })
    }

    fn throttle(&self, field: &Field<'_>) -> Result<Throttle, Fault> {
        let name = field.text()?;
        match self.throttles.get(name) {
            Some(rate) => Ok(Throttle { name: name.to_owned(), rate: *rate }),
            None => {
                let hint = suggestion(name, self.throttles.keys().copied());
                Err(field.fault(format!("[throttles] has no \"{name}\"{hint}")))
            }
        }
    }

    fn optional_template(&self, table: &Table<'_>, key: &str) -> Result<Template, Fault> {
        table.get(key).map_or(Ok(Template::default()), |field| self.template(&field))
    }

    /// A text whose variables exist.
    fn template(&self, field: &Field<'_>) -> Result<Template, Fault> {
        let text = field.text()?;
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            rest = &rest[start + 1..];
            if let Some(after) = rest.strip_prefix('{') {
                rest = after;
                continue;
            }
            let Some(end) = rest.find('}') else {
                return Err(field.fault(format!("\"{text}\" has a {{ that no }} closes; {{{{ is a brace itself")));
            };
            self.check_variable(&rest[..end], field)?;
            rest = &rest[end + 1..];
        }
        Ok(Template(text.to_owned()))
    }

    fn check_variable(&self, name: &str, field: &Field<'_>) -> Result<(), Fault> {
        if self.variables.contains(&name) {
            return Ok(());
        }
        Err(field.fault(format!("unknown variable \"{name}\"{}", suggestion(name, self.variables.iter().copied()))))
    }
}

fn word_step(word: &str, field: &Field<'_>) -> Result<Step, Fault> {
    match word {
        "connect" => Ok(Step::Connect),
        "open_channel" => Ok(Step::OpenChannel),
        "cancel" => Ok(Step::Cancel),
        "disconnect" => Ok(Step::Disconnect),
        _ if word == "repeat" || TABLES.iter().any(|(kind, _)| *kind == word) => {
            Err(field.fault(format!("\"{word}\" needs to say more: {{ {word} = … }}")))
        }
        _ => Err(field.fault(format!("unknown step \"{word}\"{}", suggestion(word, steps())))),
    }
}

fn needs_connection(step: &Step) -> bool {
    match step {
        Step::Connect
        | Step::Wait(_)
        | Step::Think(_)
        | Step::HttpGet { .. }
        | Step::Set { .. }
        | Step::Throttle(_)
        | Step::Repeat { .. }
        | Step::Disconnect
        | Step::Expect(StepExpectation::Received { .. } | StepExpectation::Variable { .. }) => false,
        Step::OpenChannel
        | Step::DeclareQueue { .. }
        | Step::DeclareExchange { .. }
        | Step::Bind { .. }
        | Step::DeleteQueue { .. }
        | Step::Publish { .. }
        | Step::Consume { .. }
        | Step::ConsumeUntil { .. }
        | Step::Cancel
        | Step::Expect(StepExpectation::QueueLength { .. }) => true,
    }
}

fn count_of(field: &Field<'_>, least: u64) -> Result<u32, Fault> {
    field.whole(least..=u64::from(u32::MAX)).map(|count| u32::try_from(count).unwrap_or(u32::MAX))
}

/// `min` and `max`, of which there is at least one.
fn bounds(table: &Table<'_>, subject: &Field<'_>, most: u64) -> Result<(u64, u64), Fault> {
    if !table.has("min") && !table.has("max") {
        return Err(subject.fault("needs \"min\", \"max\" or both"));
    }
    let bound = |key, default| table.get(key).map_or(Ok(default), |field| field.whole(0..=most));
    let (min, max) = (bound("min", 0)?, bound("max", most)?);
    if min > max {
        return Err(Fault::new(table.place_of("min"), format!("\"min\" ({min}) must not exceed \"max\" ({max})")));
    }
    Ok((min, max))
}
