//! Reading a document: JSON to what is to be there.

use model::parameter::GlobalParameter;
use model::policy::PolicyKind;
use serde_json::{Map, Value};

use crate::entry::{Definitions, EntryLocation, ParsedEntry};
use crate::error::DefinitionsError;
use crate::fields::{Fields, wrong_type};
use crate::findings::{Fault, Findings};
use crate::lists::is_known;
use crate::parameter::{Parameter, parameter};
use crate::permission::{permissions, topic_permission};
use crate::policy::{PolicyRequest, policy};
use crate::read_error::ReadError;
use crate::remark::Remark;
use crate::scope::Scope;
use crate::topology::{binding, exchange, queue};
use crate::user::UserRequest;
use crate::vhost::VhostEntry;

/// Warnings that one document gets.
const WARNING_COUNT_MAX: usize = 100;

/// A byte order mark, which editors put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a document.
pub fn parse(text: &[u8], scope: Scope<'_>) -> Result<Definitions, DefinitionsError> {
    match serde_json::from_slice(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)) {
        Ok(Value::Object(members)) => of_members(&members, scope),
        Ok(_) => Err(DefinitionsError("failed_to_parse_json: the document must be an object".to_owned())),
        // With line and column.
        Err(error) => Err(DefinitionsError(format!("failed_to_parse_json: {error}"))),
    }
}

fn of_members(members: &Map<String, Value>, scope: Scope<'_>) -> Result<Definitions, DefinitionsError> {
    let is_of_vhost = members.get("rabbitmq_definition_format").and_then(Value::as_str) == Some("single_virtual_host");
    if scope == Scope::Broker && is_of_vhost {
        let text = "these are the definitions of one virtual host: import them into a virtual host";
        return Err(DefinitionsError(text.to_owned()));
    }
    let mut reader = Reader { scope, warnings: Vec::new(), findings: Findings::default() };
    for name in members.keys().filter(|name| !is_known(name)) {
        reader.warn(format!("the key '{name}' is unknown and has no effect"));
    }
    let mut definitions = Definitions::default();
    if scope == Scope::Broker {
        definitions.users = reader.all(members, "users", Reader::user)?;
        definitions.vhosts = reader.all(members, "vhosts", Reader::vhost)?;
        definitions.permissions = reader.each(members, "permissions", permissions)?;
        definitions.topic_permissions = reader.each(members, "topic_permissions", topic_permission)?;
        definitions.global_parameters = reader.each(members, "global_parameters", global_parameter)?;
    }
    definitions.policies = reader.all(members, "policies", Reader::policy)?;
    if let Some(parameters) = reader.all(members, "parameters", Reader::parameter)? {
        let operator_policies = definitions.operator_policies.insert(Vec::new());
        let vhost_parameters = definitions.vhost_parameters.insert(Vec::new());
        for ParsedEntry { place, parsed } in parameters {
            match parsed {
                Parameter::Policy(parsed) if parsed.kind == PolicyKind::Operator => {
                    operator_policies.push(ParsedEntry { place, parsed });
                }
                Parameter::Policy(parsed) => {
                    definitions.policies.get_or_insert_default().push(ParsedEntry { place, parsed });
                }
                Parameter::Limits(vhost, limits) => {
                    definitions.limits.push(ParsedEntry { place, parsed: (vhost, limits) });
                }
                Parameter::OfVhost(parsed) => vhost_parameters.push(ParsedEntry { place, parsed }),
            }
        }
    }
    definitions.exchanges = reader.each(members, "exchanges", exchange)?;
    definitions.queues = reader.each(members, "queues", queue)?;
    // The default exchange has its bindings without any being made; documents of old brokers name them.
    definitions.bindings = reader.each(members, "bindings", binding)?;
    if let Some(bindings) = &mut definitions.bindings {
        bindings.retain(|binding| !binding.source.as_str().is_empty());
    }
    match reader.findings.refusal() {
        Some(refusal) if reader.findings.is_wrong() => return Err(refusal),
        _ => {}
    }
    definitions.unsupported = reader.findings.unsupported;
    definitions.warnings = reader.warnings;
    Ok(definitions)
}

struct Reader<'a> {
    scope: Scope<'a>,
    warnings: Vec<String>,
    findings: Findings,
}

impl Reader<'_> {
    fn warn(&mut self, warning: String) {
        if self.warnings.len() < WARNING_COUNT_MAX {
            self.warnings.push(warning);
        }
    }

    fn note(&mut self, place: &EntryLocation, remark: &Remark) {
        match remark {
            Remark::UnbuiltQueueType(_) => self.findings.note_part(place, &remark.to_string()),
            Remark::UselessHash | Remark::UnknownQueueType(_) => self.warn(format!("{place}: {remark}")),
        }
    }

    /// All entries of a kind that can be read; what is the matter with others is noted.
    fn each<T>(
        &mut self,
        members: &Map<String, Value>,
        kind: &'static str,
        read: impl Fn(Fields<'_>, Scope<'_>) -> Result<T, ReadError>,
    ) -> Result<Option<Vec<ParsedEntry<T>>>, DefinitionsError> {
        self.all(members, kind, |reader, fields, _| read(fields, reader.scope))
    }

    /// The same, of which something may be said.
    fn all<T>(
        &mut self,
        members: &Map<String, Value>,
        kind: &'static str,
        read: impl Fn(&mut Self, Fields<'_>, &EntryLocation) -> Result<T, ReadError>,
    ) -> Result<Option<Vec<ParsedEntry<T>>>, DefinitionsError> {
        let entries = match members.get(kind) {
            None => return Ok(None),
            Some(Value::Array(entries)) => entries,
            Some(other) => return Err(wrong_type(kind, "a list", other).into()),
        };
        let mut found = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            let Value::Object(entry) = entry else {
                let place = EntryLocation { kind, number: at + 1, name: Box::default() };
                self.findings.note(&place, Fault::from("it must be an object".to_owned()));
                continue;
            };
            let place = EntryLocation::of(kind, at + 1, entry);
            match read(self, Fields(entry), &place) {
                Ok(parsed) => found.push(ParsedEntry { place, parsed }),
                Err(error) => self.findings.note(&place, error.into()),
            }
        }
        Ok(Some(found))
    }

    fn user(&mut self, fields: Fields<'_>, place: &EntryLocation) -> Result<UserRequest, ReadError> {
        let (request, remark) = UserRequest::of_entry(fields)?;
        remark.iter().for_each(|remark| self.note(place, remark));
        Ok(request)
    }

    fn vhost(&mut self, fields: Fields<'_>, place: &EntryLocation) -> Result<VhostEntry, ReadError> {
        let (vhost, remarks) = VhostEntry::read(fields)?;
        remarks.iter().for_each(|remark| self.note(place, remark));
        Ok(vhost)
    }

    fn policy(&mut self, fields: Fields<'_>, _: &EntryLocation) -> Result<PolicyRequest, ReadError> {
        let (vhost, name) = (self.scope.vhost_of(fields)?, fields.required_text("name")?);
        policy(vhost, name, PolicyKind::User, fields).map_err(|error| self.of_policy(error, fields))
    }

    fn parameter(&mut self, fields: Fields<'_>, _: &EntryLocation) -> Result<Parameter, ReadError> {
        let component = fields.get("component").and_then(Value::as_str);
        let is_policy = matches!(component, Some("operator_policy" | "policy"));
        parameter(fields, self.scope).map_err(|error| if is_policy { self.of_policy(error, fields) } else { error })
    }

    /// Why a policy cannot be read, in RabbitMQ's words.
    fn of_policy(&self, error: ReadError, fields: Fields<'_>) -> ReadError {
        let name = fields.non_null("name").and_then(Value::as_str);
        let (Ok(vhost), Some(name)) = (self.scope.vhost_of(fields), name) else { return error };
        let text = error.in_words_of_rabbitmq();
        ReadError::Invalid(format!("{text} (vhost: \"{vhost}\" key: \"{name}\")"))
    }
}

/// Reads an entry of `global_parameters`.
fn global_parameter(fields: Fields<'_>, _: Scope<'_>) -> Result<GlobalParameter, ReadError> {
    let (name, value) = (fields.required_text("name")?, fields.required("value")?);
    Ok(GlobalParameter { name: Box::from(name), value: value.clone() })
}
