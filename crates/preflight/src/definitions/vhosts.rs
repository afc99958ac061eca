//! Virtual hosts, with what they say of themselves.

use model::arguments::QueueType;
use model::name::VhostName;
use model::vhost::VhostLimits;
use serde_json::Value;

use super::access::check_limits;
use super::expected::Expected;
use super::fields::Fields;
use super::{Judgement, Refusal};
use crate::pages;
use crate::sheet::Remark;
use crate::support::WITHOUT_STREAMS;

pub(super) fn vhost(_: &mut Expected, fields: Fields<'_>) -> Judgement {
    VhostName::parse(fields.required_text("name")?.as_bytes()).map_err(|error| Refusal::wrong(error.to_string()))?;
    let mut remarks = Vec::new();
    remarks.extend(described(fields)?);
    if let Some(metadata) = fields.said("metadata") {
        let members = match metadata {
            Value::Array(items) if items.is_empty() => None,
            _ => fields.object("metadata")?,
        };
        remarks.extend(members.map(|members| described(Fields(members))).transpose()?.flatten());
    }
    check_limits(fields, &mut |name, value| {
        VhostLimits::default().set(name, value).map_err(|error| error.to_string())
    })?;
    // It is said twice, by the virtual host and its metadata, and is one thing.
    remarks.dedup();
    Ok(remarks)
}

fn described(fields: Fields<'_>) -> Result<Option<Remark>, Refusal> {
    fields.check_words("tags")?;
    if let Some(value) = fields.said("description").filter(|value| !value.is_string()) {
        return Err(super::fields::wrong_type("description", "a string", value));
    }
    for flag in ["protected_from_deletion", "tracing"].into_iter().filter(|flag| fields.said(flag).is_some()) {
        fields.bool(flag, false)?;
    }
    let Some(value) = fields.said("default_queue_type") else { return Ok(None) };
    let name = match value.as_str() {
        // What RabbitMQ 3.11 and 3.12 write where there is none.
        Some("" | "undefined") => return Ok(None),
        Some(name) => name.to_owned(),
        None => value.to_string(),
    };
    Ok(match QueueType::parse(name.as_bytes()) {
        Some(queue_type) if queue_type.is_built() => None,
        Some(queue_type) => {
            let text = format!("the default queue type '{}' is not supported", queue_type.name());
            let refusal =
                Refusal::unsupported(text, format!("choose another default; {WITHOUT_STREAMS}"), pages::QUEUES);
            Some(refusal.into())
        }
        None => Some(Remark::different(
            format!("unknown queue type '{name}', which is ignored as a default"),
            pages::QUEUES,
        )),
    })
}
