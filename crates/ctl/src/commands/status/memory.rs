//! What memory is used for.

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::reply::Reply;
use crate::step::{Step, StepResult};

/// What bytes are shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Bytes,
    Kilo,
    Mega,
    Giga,
    Tera,
}

impl Unit {
    pub(super) fn of(input: &Invocation) -> Result<Self, Failure> {
        let said = input.optional("unit").unwrap_or("gb");
        match said.to_ascii_lowercase().as_str() {
            "b" | "byte" | "bytes" => Ok(Unit::Bytes),
            "k" | "kb" | "kilobytes" => Ok(Unit::Kilo),
            "m" | "mb" | "megabytes" => Ok(Unit::Mega),
            "g" | "gb" | "gigabytes" => Ok(Unit::Giga),
            "t" | "tb" | "terabytes" => Ok(Unit::Tera),
            _ => Err(Failure::usage(format!("the unit must be bytes, kb, mb, gb or tb, not '{said}'"))),
        }
    }

    pub(super) fn show(self, bytes: f64) -> String {
        // Four places, and no zeros at the end but one.
        let short = |value: f64| {
            let text = format!("{value:.4}");
            let text = text.trim_end_matches('0');
            if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
        };
        match self {
            Unit::Bytes => format!("{bytes:.0} bytes"),
            Unit::Kilo => format!("{} kb", short(bytes / 1e3)),
            Unit::Mega => format!("{} mb", short(bytes / 1e6)),
            Unit::Giga => format!("{} gb", short(bytes / 1e9)),
            Unit::Tera => format!("{} tb", short(bytes / 1e12)),
        }
    }
}

pub(super) fn memory_breakdown(reply: &Reply, unit: Unit) -> StepResult {
    let memory = reply.value()?;
    let mut parts: Vec<(String, f64)> = Vec::new();
    if let Some(fields) = memory["memory"].as_object() {
        parts.extend(fields.iter().filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))));
    }
    let total: f64 = parts.iter().map(|(_, bytes)| bytes).sum();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let share = |bytes: f64| if total > 0.0 { bytes / total * 100.0 } else { 0.0 };
    let line = |(name, bytes): &(String, f64)| format!("{name}: {} ({:.2}%)", unit.show(*bytes), share(*bytes));
    let text = parts.iter().map(line).collect::<Vec<_>>().join("\n");
    let value = parts.iter().map(|(name, bytes)| (name.clone(), json!({"bytes": bytes, "percentage": share(*bytes)})));
    Ok(Step::Done(Output::Document { text, value: Value::Object(value.collect()) }))
}
