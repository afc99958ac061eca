//! Things that are made and removed, and probes.

use super::document::Value as Written;
use super::error::Fault;
use super::groups::Context;
use super::table::Field;
use super::values;
use crate::plan::{Churn, ChurnKind, Distribution, Probe, ProbeUser};

pub(super) const CHURN_KEYS: &[&str] =
    &["name", "kind", "workers", "rate", "lifetime", "durable", "arguments", "exchange"];
pub(super) const PROBE_KEYS: &[&str] = &["name", "path", "every", "count", "user", "password"];

impl<'a> Context<'a> {
    pub(super) fn churn(&self, field: &Field<'a>, name: &str) -> Result<Churn, Fault> {
        const WORKERS_MAX: u32 = 100_000;
        let mut table = field.table(CHURN_KEYS)?;
        table.rename("churn", name);
        let kind = table.require("kind", "what comes and goes")?;
        let kind = kind.word(&["connections", "channels", "queues", "bindings"])?;
        let allowed: &[&str] = match kind {
            "queues" => &["durable", "arguments"],
            "bindings" => &["exchange"],
            _ => &[],
        };
        for key in ["durable", "arguments", "exchange"] {
            if table.has(key) && !allowed.contains(&key) {
                let message = format!("\"{key}\" is not allowed for {kind}");
                return Err(Fault::new(table.place_of(key), message));
            }
        }
        let kind = match kind {
            "connections" => ChurnKind::Connections,
            "channels" => ChurnKind::Channels,
            "queues" => ChurnKind::Queues {
                durable: table.bool("durable", true)?,
                arguments: values::arguments(&table, "arguments")?,
            },
            _ => {
                let exchange = table.require("exchange", "what the queues are bound to")?;
                match self.topology.exchanges(&exchange)?.as_slice() {
                    [name] if !name.is_empty() => ChurnKind::Bindings { exchange: name.clone() },
                    _ => return Err(exchange.expected("one exchange other than the default exchange")),
                }
            }
        };
        let rate = match table.get("rate") {
            Some(rate) => match rate.node.value {
                Written::Text(ref text) if text == "unlimited" => None,
                Written::Int(_) | Written::Float(_) if rate.number()? > 0.0 => Some(self.scale.rate(rate.number()?)),
                _ => return Err(rate.expected("a number per second above 0, or \"unlimited\"")),
            },
            None => None,
        };
        Ok(Churn {
            name: name.to_owned(),
            kind,
            workers: self.scale.small_count(table.count("workers", 1..=WORKERS_MAX)?.unwrap_or(1)),
            rate,
            lifetime: match table.get("lifetime") {
                Some(field) => values::distribution(&field, values::seconds)?,
                None => Distribution::Fixed(0.0),
            },
        })
    }
}

/// Tasks that ask for the same at the same time.
const POLLERS_MAX: u32 = 10_000;

pub(super) fn probe(field: &Field<'_>, name: &str) -> Result<Probe, Fault> {
    let mut table = field.table(PROBE_KEYS)?;
    table.rename("probe", name);
    let path = table.require("path", "what is asked for, such as \"/api/overview\"")?;
    if !path.text()?.starts_with('/') {
        return Err(path.expected("a path below the management URL, starting with /"));
    }
    let every = table.require("every", "the time from one request to the next")?.positive_duration()?;
    let count = table.count("count", 1..=POLLERS_MAX)?.unwrap_or(1);
    let user = match (table.text("user")?, table.text("password")?) {
        (Some(user), Some(password)) => Some(ProbeUser { name: user.to_owned(), password: password.to_owned() }),
        (None, None) => None,
        (Some(_), None) => return Err(table.fault("\"user\" requires \"password\"")),
        (None, Some(_)) => return Err(Fault::new(table.place_of("password"), "\"password\" requires \"user\"")),
    };
    Ok(Probe { name: name.to_owned(), path: path.text()?.to_owned(), every, count, user })
}
