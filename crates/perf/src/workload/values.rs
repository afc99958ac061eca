//! Distributions, arguments and properties.

use std::time::Duration;

use super::document::Value as Written;
use super::error::Fault;
use super::table::{Field, Table};
use crate::plan::{Arguments, Distribution, Processing, Properties, Sizes, Value};

/// How one number of a distribution is read.
type Unit = fn(&Field<'_>) -> Result<f64, Fault>;

/// A number, or a table that says how numbers are spread.
pub(super) fn distribution(field: &Field<'_>, unit: Unit) -> Result<Distribution, Fault> {
    if !matches!(field.node.value, Written::Table(_)) {
        return unit(field).map(Distribution::Fixed);
    }
    let table = field.table(&["uniform", "normal", "exponential", "choice"])?;
    let mut kinds = table.fields();
    let (Some((kind, of)), None) = (kinds.next(), kinds.next()) else {
        return Err(field.fault("expected one of uniform, normal, exponential and choice"));
    };
    match kind {
        "uniform" => match of.list("two bounds")?.as_slice() {
            [low, high] => {
                let (low_value, high_value) = (unit(low)?, unit(high)?);
                if low_value > high_value {
                    return Err(low.fault("the lower bound comes first"));
                }
                Ok(Distribution::Uniform(low_value, high_value))
            }
            _ => Err(of.fault("expected two bounds, [lowest, highest]")),
        },
        "normal" => {
            let of = of.table(&["mean", "deviation"])?;
            let part = |key| of.require(key, "a normal distribution has both").and_then(|field| unit(&field));
            Ok(Distribution::Normal { mean: part("mean")?, deviation: part("deviation")? })
        }
        "exponential" => Ok(Distribution::Exponential(unit(&of)?)),
        _ => choice(&of, unit),
    }
}

/// `[1, 2, 3]`, or with weights `[[1, 90], [2, 10]]`.
fn choice(field: &Field<'_>, unit: Unit) -> Result<Distribution, Fault> {
    let items = field.list("values, or of [value, weight]")?;
    let mut choices = Vec::with_capacity(items.len());
    for item in &items {
        if !matches!(item.node.value, Written::List(_)) {
            choices.push((unit(item)?, 1.0));
            continue;
        }
        match item.list("value and weight")?.as_slice() {
            [value, weight] => choices.push((unit(value)?, weight.number()?)),
            _ => return Err(item.fault("expected [value, weight]")),
        }
    }
    if choices.iter().map(|(_, weight)| weight).sum::<f64>() <= 0.0 {
        return Err(field.fault("nothing to choose from"));
    }
    Ok(Distribution::Choice(choices))
}

pub(super) fn seconds(field: &Field<'_>) -> Result<f64, Fault> {
    field.duration().map(|duration| duration.as_secs_f64())
}

fn bytes(field: &Field<'_>) -> Result<f64, Fault> {
    field.size()
}

fn priority(field: &Field<'_>) -> Result<f64, Fault> {
    field.whole(0..=255).map(|priority| priority as f64)
}

/// How long bodies are.
pub(super) fn sizes(field: &Field<'_>) -> Result<Sizes, Fault> {
    match cycle(field)? {
        Some(pairs) => {
            let pairs: Result<Vec<_>, _> =
                pairs.iter().map(|(value, time)| Ok((value.size()? as u32, *time))).collect();
            pairs.map(Sizes::Cycle)
        }
        None => distribution(field, bytes).map(Sizes::Drawn),
    }
}

/// How long a consumer works.
pub(super) fn processing(field: &Field<'_>) -> Result<Processing, Fault> {
    match cycle(field)? {
        Some(pairs) => {
            let pairs: Result<Vec<_>, _> = pairs.iter().map(|(value, time)| Ok((value.duration()?, *time))).collect();
            pairs.map(Processing::Cycle)
        }
        None => distribution(field, seconds).map(Processing::Drawn),
    }
}

/// `{ cycle = [[value, time], …] }`, if that is what it is.
fn cycle<'a>(field: &Field<'a>) -> Result<Option<Vec<(Field<'a>, Duration)>>, Fault> {
    if field.node.get("cycle").is_none() {
        return Ok(None);
    }
    let table = field.table(&["cycle"])?;
    let Some(cycle) = table.get("cycle") else { return Ok(None) };
    let mut pairs = Vec::new();
    for item in cycle.list("[value, time]")? {
        let mut pair = item.list("a value and a time")?.into_iter();
        let (Some(value), Some(time), None) = (pair.next(), pair.next(), pair.next()) else {
            return Err(item.fault("expected [value, time]"));
        };
        pairs.push((value, time.positive_duration()?));
    }
    if pairs.is_empty() {
        return Err(cycle.fault("nothing to go through"));
    }
    Ok(Some(pairs))
}

/// Arguments or headers, in their order.
pub(super) fn arguments(table: &Table<'_>, key: &str) -> Result<Arguments, Fault> {
    let Some(field) = table.get(key) else { return Ok(Vec::new()) };
    Ok(field.open_table()?.fields().map(|(key, field)| (key.to_owned(), value(&field.node.value))).collect())
}

fn value(written: &Written) -> Value {
    match written {
        Written::Text(text) => Value::Text(text.clone()),
        Written::Int(number) => Value::Int(*number),
        Written::Float(number) => Value::Float(*number),
        Written::Bool(is) => Value::Bool(*is),
        Written::List(items) => Value::List(items.iter().map(|item| value(&item.value)).collect()),
        Written::Table(entries) => {
            Value::Table(entries.iter().map(|entry| (entry.key.clone(), value(&entry.node.value))).collect())
        }
    }
}

/// `persistent`, `priority` and `headers` of a table, and the rest of the properties below `properties`.
pub(super) fn properties(table: &Table<'_>) -> Result<Properties, Fault> {
    let mut properties = match table.get("properties") {
        Some(field) => rarer_properties(&field)?,
        None => Properties::default(),
    };
    properties.persistent = table.bool("persistent", false)?;
    properties.priority = table.get("priority").map(|field| distribution(&field, priority)).transpose()?;
    properties.headers = arguments(table, "headers")?;
    Ok(properties)
}

fn rarer_properties(field: &Field<'_>) -> Result<Properties, Fault> {
    let table = field.table(&[
        "content_type",
        "content_encoding",
        "correlation_id",
        "reply_to",
        "expiration",
        "message_id",
        "timestamp",
        "type",
        "user_id",
        "app_id",
        "cluster_id",
    ])?;
    let text = |key| table.text(key).map(|text| text.map(str::to_owned));
    let expiration = table.get("expiration").map(|field| field.duration()).transpose()?;
    let timestamp = table.get("timestamp").map(|field| field.whole(0..=u64::MAX)).transpose()?;
    Ok(Properties {
        content_type: text("content_type")?,
        content_encoding: text("content_encoding")?,
        correlation_id: text("correlation_id")?,
        reply_to: text("reply_to")?,
        expiration: expiration.map(|time| time.as_millis().to_string()),
        message_id: text("message_id")?,
        timestamp,
        kind: text("type")?,
        user_id: text("user_id")?,
        app_id: text("app_id")?,
        cluster_id: text("cluster_id")?,
        ..Properties::default()
    })
}
