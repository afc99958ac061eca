//! A vhost, as a document has it, or a request.

use model::arguments::QueueType;
use model::name::VhostName;
use model::vhost::VhostLimits;
use serde_json::{Map, Value};

use crate::fields::{Fields, words_of};
use crate::read_error::ReadError;
use crate::remark::Remark;

/// A vhost that an operator wants to be so. What is None stays as it is.
#[derive(Debug, Clone)]
pub struct VhostRequest {
    /// Its name.
    pub name: VhostName,
    /// What it is for.
    pub description: Option<String>,
    /// Its labels.
    pub tags: Option<Vec<String>>,
    /// The type of queues that are declared without one; the empty one for none.
    pub default_queue_type: Option<String>,
    /// Whether it must not be deleted.
    pub is_protected: Option<bool>,
    /// Whether its messages are traced: on this node, and until the broker ends.
    pub is_traced: Option<bool>,
}

impl VhostRequest {
    /// A vhost of this name, as it is or without metadata.
    #[must_use]
    pub fn named(name: VhostName) -> Self {
        let (description, tags, default_queue_type, is_protected, is_traced) = (None, None, None, None, None);
        VhostRequest { name, description, tags, default_queue_type, is_protected, is_traced }
    }

    /// Whether a vhost can be so; else why not.
    pub fn check(&self) -> Result<(), String> {
        match self.default_queue_type.as_deref() {
            None | Some("") => Ok(()),
            Some(name) => match QueueType::parse(name.as_bytes()) {
                Some(queue_type) if queue_type.is_built() => Ok(()),
                Some(queue_type) => Err(Remark::UnbuiltQueueType(queue_type).to_string()),
                None => Err(format!("Unsupported default queue type: {name}")),
            },
        }
    }

    /// Reads the body of a request.
    pub fn of_body(name: &str, fields: Fields<'_>) -> Result<VhostRequest, ReadError> {
        let name = VhostName::parse(name.as_bytes()).map_err(ReadError::invalid)?;
        let default_queue_type = match fields.non_null("default_queue_type") {
            None => None,
            // What old tools write for none.
            Some(Value::String(text)) if text == "undefined" => None,
            Some(Value::String(text)) if text.is_empty() => {
                return Err(ReadError::invalid("default_queue_type must not be an empty string"));
            }
            Some(Value::String(text)) if QueueType::parse(text.as_bytes()).is_some() => Some(text.clone()),
            Some(Value::String(text)) => return Err(ReadError::Invalid(format!("{text} is not a valid queue type"))),
            Some(other) => {
                return Err(ReadError::Invalid(format!("{other} is not a valid default_queue_type value")));
            }
        };
        let is_protected = fields.non_null("protected_from_deletion");
        let is_protected = is_protected.map(|_| fields.bool("protected_from_deletion", false)).transpose()?;
        let tags = fields.non_null("tags").map(|tags| words_of("tags", tags)).transpose()?;
        Ok(VhostRequest {
            description: fields.non_null_text("description")?.map(str::to_owned),
            tags: tags.map(|tags| tags.into_iter().map(str::to_owned).collect()),
            default_queue_type,
            is_protected,
            is_traced: fields.get("tracing").map(|_| fields.bool("tracing", false)).transpose()?,
            ..VhostRequest::named(name)
        })
    }
}

/// A vhost, with what it says of its limits.
#[derive(Debug)]
pub struct VhostEntry {
    /// What it is to be like.
    pub request: VhostRequest,
    /// None leaves them as they are.
    pub limits: Option<VhostLimits>,
}

impl VhostEntry {
    /// Reads an entry of a document.
    pub fn read(fields: Fields<'_>) -> Result<(VhostEntry, Vec<Remark>), ReadError> {
        let name = fields.required_text("name")?;
        let mut remarks = Vec::new();
        let own = effective(fields, &mut remarks);
        let mut request = VhostRequest::of_body(name, Fields(&own))?;
        if let Some(metadata) = Fields(&own).object("metadata")? {
            let metadata = effective(Fields(metadata), &mut remarks);
            let of_metadata = VhostRequest::of_body(name, Fields(&metadata))?;
            request.description = request.description.or(of_metadata.description);
            request.tags = request.tags.or(of_metadata.tags);
            request.default_queue_type = request.default_queue_type.or(of_metadata.default_queue_type);
            request.is_protected = request.is_protected.or(of_metadata.is_protected);
        }
        let limits = Fields(&own).limits()?.map(vhost_limits).transpose()?;
        // The vhost and its metadata say the same.
        remarks.dedup();
        Ok((VhostEntry { request, limits }, remarks))
    }
}

/// What a vhost says of itself, without what says nothing: brokers of 3.11 and 3.12 write `"undefined"` or null where they have
/// no value. As in RabbitMQ, a default type that does not exist is passed over.
fn effective(fields: Fields<'_>, remarks: &mut Vec<Remark>) -> Map<String, Value> {
    let mut members = fields.0.clone();
    members.retain(|_, value| !value.is_null());
    let remark = members.get("default_queue_type").map(|value| match value.as_str() {
        None => Some(Remark::UnknownQueueType(value.to_string())),
        Some("" | "undefined") => None,
        Some(text) => Some(match QueueType::parse(text.as_bytes()) {
            Some(queue_type) => Remark::UnbuiltQueueType(queue_type),
            None => Remark::UnknownQueueType(text.to_owned()),
        }),
    });
    if matches!(remark, Some(Some(Remark::UnbuiltQueueType(queue_type))) if queue_type.is_built()) {
        return members;
    }
    members.remove("default_queue_type");
    remarks.extend(remark.flatten());
    members
}

/// Limits of a vhost by their names.
pub(crate) fn vhost_limits(values: Vec<(&str, i64)>) -> Result<VhostLimits, ReadError> {
    let mut limits = VhostLimits::default();
    for (name, value) in values {
        limits.set(name, value).map_err(ReadError::invalid)?;
    }
    Ok(limits)
}
