//! Reading a document: JSON to what is to be there.

use amqp::table::TableBuf;
use broker::{PasswordChange, PolicyRequest, UserRequest};
use model::arguments::QueueType;
use model::definition::UserPermission;
use model::document;
use model::json::to_table;
use model::name::{ExchangeName, QueueName, UserName, VhostName};
use model::parameter::{COMPONENTS, GlobalParameter, VHOST_LIMITS, VhostParameter};
use model::policy::PolicyKind;
use model::user::{HashingAlgorithm, PasswordHash, Permission, TopicPermission, UserLimits};
use model::vhost::VhostLimits;
use serde_json::{Map, Value};

use super::entry::{
    BindingEntry, Definitions, EndEntry, EntryLocation, ExchangeEntry, ParsedEntry, QueueEntry, VhostEntry,
};
use super::error::DefinitionsError;
use super::findings::{Fault, Findings};
use super::scope::Scope;
use crate::json::{Fields, wrong_type};
use crate::problem::Problem;
use crate::routes::bodies;

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
    for name in members.keys().filter(|name| !document::is_known(name)) {
        reader.warn(format!("the key '{name}' is unknown and has no effect"));
    }
    let mut definitions = Definitions::default();
    if scope == Scope::Broker {
        definitions.users = reader.all(members, "users", Reader::user)?;
        definitions.vhosts = reader.all(members, "vhosts", Reader::vhost)?;
        definitions.permissions = reader.all(members, "permissions", Reader::permission)?;
        definitions.topic_permissions = reader.all(members, "topic_permissions", Reader::topic_permission)?;
        definitions.global_parameters = reader.all(members, "global_parameters", Reader::global_parameter)?;
    }
    definitions.policies =
        reader.all(members, "policies", |reader, fields, _| reader.policy(fields, fields, PolicyKind::User))?;
    if let Some(parameters) = reader.all(members, "parameters", Reader::parameter)? {
        let operator_policies = definitions.operator_policies.insert(Vec::new());
        let vhost_parameters = definitions.vhost_parameters.insert(Vec::new());
        for ParsedEntry { place, parsed } in parameters {
            match parsed {
                Parameter::OperatorPolicy(parsed) => operator_policies.push(ParsedEntry { place, parsed }),
                Parameter::Policy(parsed) => {
                    definitions.policies.get_or_insert_default().push(ParsedEntry { place, parsed })
                }
                Parameter::Limits(vhost, limits) => {
                    definitions.limits.push(ParsedEntry { place, parsed: (vhost, limits) });
                }
                Parameter::OfVhost(parsed) => vhost_parameters.push(ParsedEntry { place, parsed }),
            }
        }
    }
    definitions.exchanges = reader.all(members, "exchanges", Reader::exchange)?;
    definitions.queues = reader.all(members, "queues", Reader::queue)?;
    // The default exchange has its bindings by itself; documents of old brokers name them.
    definitions.bindings = reader.all(members, "bindings", Reader::binding)?;
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

/// Why an entry cannot be read.
enum EntryError {
    Wrong(Problem),
    Unsupported(String),
}

impl From<Problem> for EntryError {
    fn from(problem: Problem) -> EntryError {
        EntryError::Wrong(problem)
    }
}

impl From<EntryError> for Fault {
    fn from(unread: EntryError) -> Fault {
        match unread {
            EntryError::Wrong(problem) => DefinitionsError::from(problem).0.into(),
            EntryError::Unsupported(reason) => Fault::unsupported(reason),
        }
    }
}

enum Parameter {
    OperatorPolicy(PolicyRequest),
    Policy(PolicyRequest),
    Limits(VhostName, VhostLimits),
    OfVhost(VhostParameter),
}

impl Reader<'_> {
    fn warn(&mut self, warning: String) {
        if self.warnings.len() < WARNING_COUNT_MAX {
            self.warnings.push(warning);
        }
    }

    /// All entries of a kind that can be read; what is the matter with others is noted.
    fn all<T, E: Into<EntryError>>(
        &mut self,
        members: &Map<String, Value>,
        kind: &'static str,
        read: impl Fn(&mut Self, Fields<'_>, &EntryLocation) -> Result<T, E>,
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
                self.findings.note(&place, "it must be an object".to_owned().into());
                continue;
            };
            let place = EntryLocation::of(kind, at + 1, entry);
            match read(self, Fields(entry), &place) {
                Ok(parsed) => found.push(ParsedEntry { place, parsed }),
                Err(unread) => self.findings.note(&place, Into::<EntryError>::into(unread).into()),
            }
        }
        Ok(Some(found))
    }

    /// The vhost of an entry: the one that everything is imported into, or the one that the entry names.
    fn vhost_of(&self, fields: Fields<'_>) -> Result<VhostName, Problem> {
        let name = match self.scope {
            Scope::Broker => fields.required_text("vhost")?,
            Scope::Vhost(name) => name,
        };
        VhostName::parse(name.as_bytes()).map_err(|error| Problem::bad_request(error.to_string()))
    }

    fn user(&mut self, fields: Fields<'_>, place: &EntryLocation) -> Result<UserRequest, Problem> {
        let mut readable = fields.0.clone();
        readable.retain(|name, value| name != "hashing_algorithm" || !value.is_null());
        if bodies::is_useless_hash(Fields(&readable))? {
            self.warn(format!(
                "{place}: 'password_hash' is not a hash of any password, so the user cannot log in with one"
            ));
            readable.insert("password_hash".to_owned(), "".into());
        }
        let fields = Fields(&readable);
        // A second hash may have been made in another way than the first.
        let own_algorithm = fields.text("second_password_hash")?.zip(fields.text("second_hashing_algorithm")?);
        let mut without_second = Map::new();
        let common = match own_algorithm {
            None => fields,
            Some(_) => {
                without_second.clone_from(fields.0);
                without_second.remove("second_password_hash");
                Fields(&without_second)
            }
        };
        let mut request = bodies::user(fields.required_text("name")?, common)?;
        if let Some(values) = limits_of(fields)? {
            let limits = request.limits.insert(UserLimits::default());
            for (name, value) in values {
                limits.set(&name, value).map_err(|error| Problem::bad_request(error.to_string()))?;
            }
        }
        if let Some((text, algorithm)) = own_algorithm {
            let algorithm = HashingAlgorithm::parse(algorithm)
                .ok_or_else(|| Problem::bad_request(format!("unknown hashing algorithm '{algorithm}'")))?;
            let hash = PasswordHash::parse(text, algorithm);
            let hash = hash.map_err(|error| Problem::bad_request(format!("second_{error}")))?;
            request.second_password = hash.map_or(PasswordChange::Clear, PasswordChange::Hash);
        }
        Ok(request)
    }

    fn vhost(&mut self, fields: Fields<'_>, place: &EntryLocation) -> Result<VhostEntry, Problem> {
        let name = fields.required_text("name")?;
        let own = self.readable_vhost(fields, place);
        let mut request = bodies::vhost(name, Fields(&own))?;
        if let Some(metadata) = Fields(&own).object("metadata")? {
            let metadata = self.readable_vhost(Fields(metadata), place);
            let of_metadata = bodies::vhost(name, Fields(&metadata))?;
            request.description = request.description.or(of_metadata.description);
            request.tags = request.tags.or(of_metadata.tags);
            request.default_queue_type = request.default_queue_type.or(of_metadata.default_queue_type);
            request.is_protected = request.is_protected.or(of_metadata.is_protected);
        }
        let limits = limits_of(Fields(&own))?.map(vhost_limits).transpose()?;
        Ok(VhostEntry { request, limits })
    }

    /// What a vhost says of itself, without what says nothing: brokers of 3.11 and 3.12 write `"undefined"` or null where they have
    /// no value. As in RabbitMQ, a default type that is none is passed over.
    fn readable_vhost(&mut self, fields: Fields<'_>, place: &EntryLocation) -> Map<String, Value> {
        let mut members = fields.0.clone();
        members.retain(|_, value| !value.is_null());
        let queue_type = members.get("default_queue_type").map(|value| match value.as_str() {
            None => Err(value.to_string()),
            Some("" | "undefined") => Ok(None),
            Some(text) => QueueType::parse(text.as_bytes()).map(Some).ok_or_else(|| text.to_owned()),
        });
        match queue_type {
            None => {}
            Some(Ok(Some(queue_type))) if queue_type.is_built() => {}
            Some(Ok(Some(queue_type))) => {
                let reason = format!("the queue type '{}' is not implemented", queue_type.name());
                self.findings.note_part(place, &reason);
                members.remove("default_queue_type");
            }
            Some(Ok(None)) => drop(members.remove("default_queue_type")),
            Some(Err(text)) => {
                self.warn(format!("{place}: unknown queue type '{text}', which is ignored as a default"));
                members.remove("default_queue_type");
            }
        }
        members
    }

    fn permission(&mut self, fields: Fields<'_>, _: &EntryLocation) -> Result<UserPermission, Problem> {
        let (vhost, user) = (self.vhost_of(fields)?, user_name(fields)?);
        let permission: Permission = bodies::permission(fields)?;
        Ok(UserPermission { vhost, user, permission })
    }

    fn topic_permission(&mut self, fields: Fields<'_>, _: &EntryLocation) -> Result<TopicPermission, Problem> {
        let (vhost, user) = (self.vhost_of(fields)?, user_name(fields)?);
        let exchange = exchange_name(fields.required_text("exchange")?)?;
        let (write, read) = (fields.required_text("write")?, fields.required_text("read")?);
        TopicPermission::parse(vhost, user, exchange, write, read)
            .map_err(|error| Problem::bad_request(error.to_string()))
    }

    fn global_parameter(&mut self, fields: Fields<'_>, _: &EntryLocation) -> Result<GlobalParameter, Problem> {
        let (name, value) = (fields.required_text("name")?, fields.required("value")?);
        Ok(GlobalParameter { name: Box::from(name), value: value.clone() })
    }

    /// A policy, whose name and vhost may be told apart from the rest.
    fn policy(&mut self, named: Fields<'_>, fields: Fields<'_>, kind: PolicyKind) -> Result<PolicyRequest, Problem> {
        let (vhost, name) = (self.vhost_of(named)?, named.required_text("name")?);
        bodies::policy(vhost.clone(), name, kind, fields).map_err(|problem| {
            let DefinitionsError(reason) = problem.into();
            Problem::bad_request(format!("{reason} (vhost: \"{vhost}\" key: \"{name}\")"))
        })
    }

    fn parameter(&mut self, fields: Fields<'_>, _: &EntryLocation) -> Result<Parameter, EntryError> {
        let component = fields.required_text("component")?;
        let value = fields.required("value")?;
        if COMPONENTS.contains(&component) {
            let (vhost, name) = (self.vhost_of(fields)?, fields.required_text("name")?.into());
            return Ok(Parameter::OfVhost(VhostParameter {
                vhost,
                component: component.into(),
                name,
                value: value.clone(),
            }));
        }
        if !["operator_policy", "policy", VHOST_LIMITS].contains(&component) {
            let (vhost, name) = (self.vhost_of(fields)?, fields.text("name")?.unwrap_or_default());
            return Err(EntryError::Unsupported(format!(
                "Validation failed\n\ncomponent {component} not found\n (vhost: \"{vhost}\" / component: \"{component}\" / \
                 key: \"{name}\")"
            )));
        }
        let Value::Object(members) = value else { return Err(wrong_type("value", "an object", value).into()) };
        match component {
            "operator_policy" => {
                Ok(Parameter::OperatorPolicy(self.policy(fields, Fields(members), PolicyKind::Operator)?))
            }
            "policy" => Ok(Parameter::Policy(self.policy(fields, Fields(members), PolicyKind::User)?)),
            _ => {
                let values = members.iter().map(|(name, value)| limit(name, value)).collect::<Result<_, _>>()?;
                Ok(Parameter::Limits(self.vhost_of(fields)?, vhost_limits(values)?))
            }
        }
    }

    fn exchange(&mut self, fields: Fields<'_>, _: &EntryLocation) -> Result<ExchangeEntry, Problem> {
        Ok(ExchangeEntry {
            vhost: self.vhost_of(fields)?,
            name: exchange_name(fields.required_text("name")?)?,
            kind: fields.required_text("type")?.to_owned(),
            is_durable: fields.bool("durable", true)?,
            is_auto_delete: fields.bool("auto_delete", false)?,
            is_internal: fields.bool("internal", false)?,
            arguments: arguments(fields)?,
        })
    }

    fn queue(&mut self, fields: Fields<'_>, _: &EntryLocation) -> Result<QueueEntry, Problem> {
        let mut arguments = arguments(fields)?;
        let kind = fields.get("type").filter(|kind| !kind.is_null()).map_or(Ok(None), |_| fields.text("type"))?;
        if let Some(kind) = kind.filter(|_| arguments.as_table().get("x-queue-type").is_none()) {
            let value = amqp::table::Value::LongStr(kind.as_bytes());
            arguments.set(b"x-queue-type", value).map_err(|error| Problem::bad_request(format!("{error:?}")))?;
        }
        Ok(QueueEntry {
            vhost: self.vhost_of(fields)?,
            name: queue_name(fields.required_text("name")?)?,
            is_durable: fields.bool("durable", true)?,
            is_auto_delete: fields.bool("auto_delete", false)?,
            arguments,
        })
    }

    fn binding(&mut self, fields: Fields<'_>, _: &EntryLocation) -> Result<BindingEntry, Problem> {
        let destination = fields.required_text("destination")?;
        let destination = match fields.required_text("destination_type")? {
            "queue" => EndEntry::Queue(queue_name(destination)?),
            "exchange" => EndEntry::Exchange(exchange_name(destination)?),
            other => {
                return Err(Problem::bad_request(format!("'{other}' is neither 'queue' nor 'exchange'")));
            }
        };
        Ok(BindingEntry {
            vhost: self.vhost_of(fields)?,
            source: exchange_name(fields.required_text("source")?)?,
            destination,
            routing_key: fields.text("routing_key")?.unwrap_or_default().to_owned(),
            arguments: arguments(fields)?,
        })
    }
}

/// The member `arguments` as a field table. `null` is a field without a value (`V`): so such fields are exported.
fn arguments(fields: Fields<'_>) -> Result<TableBuf, Problem> {
    let Some(members) = fields.object("arguments")? else { return Ok(TableBuf::new()) };
    to_table(members).map_err(|error| Problem::bad_request(error.to_string()))
}

fn user_name(fields: Fields<'_>) -> Result<UserName, Problem> {
    let name = fields.required_text("user")?;
    UserName::parse(name.as_bytes()).map_err(|error| Problem::bad_request(error.to_string()))
}

fn exchange_name(name: &str) -> Result<ExchangeName, Problem> {
    ExchangeName::parse(name.as_bytes()).map_err(|error| Problem::bad_request(error.to_string()))
}

fn queue_name(name: &str) -> Result<QueueName, Problem> {
    QueueName::parse(name.as_bytes()).map_err(|error| Problem::bad_request(error.to_string()))
}

fn limit(name: &str, value: &Value) -> Result<(String, i64), Problem> {
    let number = value.as_i64().ok_or_else(|| wrong_type(name, "an integer", value))?;
    Ok((name.to_owned(), number))
}

/// The member `limits`, if it is there: an object, or `[]`, as older versions wrote an empty one.
fn limits_of(fields: Fields<'_>) -> Result<Option<Vec<(String, i64)>>, Problem> {
    match fields.get("limits") {
        None => Ok(None),
        Some(Value::Object(members)) => {
            members.iter().map(|(name, value)| limit(name, value)).collect::<Result<_, _>>().map(Some)
        }
        Some(Value::Array(items)) if items.is_empty() => Ok(Some(Vec::new())),
        Some(other) => Err(wrong_type("limits", "an object", other)),
    }
}

fn vhost_limits(values: Vec<(String, i64)>) -> Result<VhostLimits, Problem> {
    let mut limits = VhostLimits::default();
    for (name, value) in values {
        limits.set(&name, value).map_err(|error| Problem::bad_request(error.to_string()))?;
    }
    Ok(limits)
}
