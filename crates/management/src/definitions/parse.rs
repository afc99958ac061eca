//! Reading a document: JSON to what is to be there.

use amqp::table::TableBuf;
use broker::{PasswordChange, PolicyRequest, UserRequest, VhostRequest};
use model::arguments::ExchangeType;
use model::definition::UserPermission;
use model::name::{ExchangeName, QueueName, UserName, VhostName};
use model::parameter::{GlobalParameter, VHOST_LIMITS};
use model::policy::PolicyKind;
use model::user::{Permission, TopicPermission, UserLimits};
use model::vhost::VhostLimits;
use serde_json::{Map, Value};

use super::{DefinitionsError, Scope};
use crate::json::{Fields, wrong_type};
use crate::problem::Problem;
use crate::routes::bodies;

/// A document that makes sense. What it does not mention at all is None, which pruning leaves alone.
#[derive(Debug, Default)]
pub struct Definitions {
    pub(super) users: Option<Vec<UserRequest>>,
    pub(super) vhosts: Option<Vec<VhostEntry>>,
    pub(super) permissions: Option<Vec<UserPermission>>,
    pub(super) topic_permissions: Option<Vec<TopicPermission>>,
    pub(super) global_parameters: Option<Vec<GlobalParameter>>,
    pub(super) policies: Option<Vec<PolicyRequest>>,
    /// Operators' policies and limits of vhosts: RabbitMQ writes them as parameters.
    pub(super) operator_policies: Option<Vec<PolicyRequest>>,
    pub(super) limits: Vec<(VhostName, VhostLimits)>,
    pub(super) exchanges: Option<Vec<ExchangeEntry>>,
    pub(super) queues: Option<Vec<QueueEntry>>,
    pub(super) bindings: Option<Vec<BindingEntry>>,
    /// Keys that mean nothing here, with where they are.
    pub warnings: Vec<String>,
}

#[derive(Debug)]
pub(super) struct VhostEntry {
    pub(super) request: VhostRequest,
    pub(super) limits: Option<VhostLimits>,
}

#[derive(Debug)]
pub(super) struct ExchangeEntry {
    pub(super) vhost: VhostName,
    pub(super) name: ExchangeName,
    pub(super) kind: String,
    pub(super) is_durable: bool,
    pub(super) is_auto_delete: bool,
    pub(super) is_internal: bool,
    pub(super) arguments: TableBuf,
}

#[derive(Debug)]
pub(super) struct QueueEntry {
    pub(super) vhost: VhostName,
    pub(super) name: QueueName,
    pub(super) is_durable: bool,
    pub(super) is_auto_delete: bool,
    pub(super) arguments: TableBuf,
}

#[derive(Debug)]
pub(super) struct BindingEntry {
    pub(super) vhost: VhostName,
    pub(super) source: ExchangeName,
    pub(super) destination: EndEntry,
    pub(super) routing_key: String,
    pub(super) arguments: TableBuf,
}

#[derive(Debug)]
pub(super) enum EndEntry {
    Queue(QueueName),
    Exchange(ExchangeName),
}

/// Keys that say what a document is and define nothing.
const ABOUT: [&str; 12] = [
    "rabbit_version",
    "rabbitmq_version",
    "product_name",
    "product_version",
    "explanation",
    "rabbitmq_definition_format",
    "original_cluster_name",
    "original_vhost_name",
    "description",
    "metadata",
    "limits",
    "default_queue_type",
];
/// Keys that define something.
const KINDS: [&str; 10] = [
    "users",
    "vhosts",
    "permissions",
    "topic_permissions",
    "global_parameters",
    "policies",
    "parameters",
    "exchanges",
    "queues",
    "bindings",
];
/// Warnings that one document gets.
const WARNING_COUNT_MAX: usize = 100;

/// Reads a document.
pub fn parse(text: &[u8], scope: Scope<'_>) -> Result<Definitions, DefinitionsError> {
    match serde_json::from_slice(text) {
        Ok(Value::Object(members)) => of_members(&members, scope),
        _ => Err(DefinitionsError("failed_to_parse_json".to_owned())),
    }
}

fn of_members(members: &Map<String, Value>, scope: Scope<'_>) -> Result<Definitions, DefinitionsError> {
    let is_of_vhost = members.get("rabbitmq_definition_format").and_then(Value::as_str) == Some("single_virtual_host");
    if scope == Scope::Broker && is_of_vhost {
        let text = "these are the definitions of one virtual host: import them into a virtual host";
        return Err(DefinitionsError(text.to_owned()));
    }
    let mut reader = Reader { scope, warnings: Vec::new() };
    for name in members.keys().filter(|name| !KINDS.contains(&&***name) && !ABOUT.contains(&&***name)) {
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
        reader.all(members, "policies", |reader, fields| reader.policy(fields, fields, PolicyKind::User))?;
    if let Some(parameters) = reader.all(members, "parameters", Reader::parameter)? {
        let operator_policies = definitions.operator_policies.insert(Vec::new());
        for parameter in parameters {
            match parameter {
                Parameter::OperatorPolicy(policy) => operator_policies.push(policy),
                Parameter::Policy(policy) => definitions.policies.get_or_insert_default().push(policy),
                Parameter::Limits(vhost, limits) => definitions.limits.push((vhost, limits)),
            }
        }
    }
    definitions.exchanges = reader.all(members, "exchanges", Reader::exchange)?;
    definitions.queues = reader.all(members, "queues", Reader::queue)?;
    definitions.bindings = reader.all(members, "bindings", Reader::binding)?;
    definitions.warnings = reader.warnings;
    Ok(definitions)
}

struct Reader<'a> {
    scope: Scope<'a>,
    warnings: Vec<String>,
}

enum Parameter {
    OperatorPolicy(PolicyRequest),
    Policy(PolicyRequest),
    Limits(VhostName, VhostLimits),
}

impl Reader<'_> {
    fn warn(&mut self, warning: String) {
        if self.warnings.len() < WARNING_COUNT_MAX {
            self.warnings.push(warning);
        }
    }

    /// All entries of a kind.
    fn all<T>(
        &mut self,
        members: &Map<String, Value>,
        kind: &str,
        read: impl Fn(&mut Self, Fields<'_>) -> Result<T, Problem>,
    ) -> Result<Option<Vec<T>>, DefinitionsError> {
        let entries = match members.get(kind) {
            None => return Ok(None),
            Some(Value::Array(entries)) => entries,
            Some(other) => return Err(wrong_type(kind, "a list", other).into()),
        };
        let mut found = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            let Value::Object(entry) = entry else {
                return Err(DefinitionsError(format!("{kind}, entry {}: it must be an object", at + 1)));
            };
            let read = read(self, Fields(entry)).map_err(|problem| {
                let DefinitionsError(reason) = problem.into();
                DefinitionsError(format!("{kind}, entry {}: {reason}", at + 1))
            });
            found.push(read?);
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

    fn user(&mut self, fields: Fields<'_>) -> Result<UserRequest, Problem> {
        let mut request = bodies::user(fields.required_text("name")?, fields)?;
        let mut limits = UserLimits::default();
        for (name, value) in limits_of(fields)? {
            limits.set(&name, value).map_err(|error| Problem::bad_request(error.to_string()))?;
        }
        request.limits = Some(limits);
        if request.second_password == PasswordChange::Clear && fields.get("second_password_hash").is_none() {
            request.second_password = PasswordChange::Keep;
        }
        Ok(request)
    }

    fn vhost(&mut self, fields: Fields<'_>) -> Result<VhostEntry, Problem> {
        let name = fields.required_text("name")?;
        let mut request = bodies::vhost(name, fields)?;
        if let Some(metadata) = fields.object("metadata")? {
            let of_metadata = bodies::vhost(name, Fields(metadata))?;
            request.description = request.description.or(of_metadata.description);
            request.tags = request.tags.or(of_metadata.tags);
            request.default_queue_type = request.default_queue_type.or(of_metadata.default_queue_type);
            request.is_protected = request.is_protected.or(of_metadata.is_protected);
        }
        let limits = match fields.get("limits") {
            None => None,
            Some(_) => Some(vhost_limits(limits_of(fields)?)?),
        };
        Ok(VhostEntry { request, limits })
    }

    fn permission(&mut self, fields: Fields<'_>) -> Result<UserPermission, Problem> {
        let (vhost, user) = (self.vhost_of(fields)?, user_name(fields)?);
        let permission: Permission = bodies::permission(fields)?;
        Ok(UserPermission { vhost, user, permission })
    }

    fn topic_permission(&mut self, fields: Fields<'_>) -> Result<TopicPermission, Problem> {
        let (vhost, user) = (self.vhost_of(fields)?, user_name(fields)?);
        let exchange = exchange_name(fields.required_text("exchange")?)?;
        let (write, read) = (fields.required_text("write")?, fields.required_text("read")?);
        TopicPermission::parse(vhost, user, exchange, write, read)
            .map_err(|error| Problem::bad_request(error.to_string()))
    }

    fn global_parameter(&mut self, fields: Fields<'_>) -> Result<GlobalParameter, Problem> {
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

    fn parameter(&mut self, fields: Fields<'_>) -> Result<Parameter, Problem> {
        let component = fields.required_text("component")?;
        let value = fields.required("value")?;
        let Value::Object(members) = value else { return Err(wrong_type("value", "an object", value)) };
        match component {
            "operator_policy" => {
                self.policy(fields, Fields(members), PolicyKind::Operator).map(Parameter::OperatorPolicy)
            }
            "policy" => self.policy(fields, Fields(members), PolicyKind::User).map(Parameter::Policy),
            VHOST_LIMITS => {
                let values = members.iter().map(|(name, value)| limit(name, value)).collect::<Result<_, _>>()?;
                Ok(Parameter::Limits(self.vhost_of(fields)?, vhost_limits(values)?))
            }
            other => {
                let (vhost, name) = (self.vhost_of(fields)?, fields.text("name")?.unwrap_or_default());
                Err(Problem::bad_request(format!(
                    "Validation failed\n\ncomponent {other} not found\n (vhost: \"{vhost}\" / component: \"{other}\" / \
                     key: \"{name}\")"
                )))
            }
        }
    }

    fn exchange(&mut self, fields: Fields<'_>) -> Result<ExchangeEntry, Problem> {
        Ok(ExchangeEntry {
            vhost: self.vhost_of(fields)?,
            name: exchange_name(fields.required_text("name")?)?,
            kind: exchange_type(fields.required_text("type")?)?,
            is_durable: fields.bool("durable", true)?,
            is_auto_delete: fields.bool("auto_delete", false)?,
            is_internal: fields.bool("internal", false)?,
            arguments: bodies::arguments(fields)?,
        })
    }

    fn queue(&mut self, fields: Fields<'_>) -> Result<QueueEntry, Problem> {
        let mut arguments = bodies::arguments(fields)?;
        if let Some(kind) = fields.text("type")?.filter(|_| arguments.as_table().get("x-queue-type").is_none()) {
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

    fn binding(&mut self, fields: Fields<'_>) -> Result<BindingEntry, Problem> {
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
            arguments: bodies::arguments(fields)?,
        })
    }
}

fn user_name(fields: Fields<'_>) -> Result<UserName, Problem> {
    let name = fields.required_text("user")?;
    UserName::parse(name.as_bytes()).map_err(|error| Problem::bad_request(error.to_string()))
}

fn exchange_name(name: &str) -> Result<ExchangeName, Problem> {
    ExchangeName::parse(name.as_bytes()).map_err(|error| Problem::bad_request(error.to_string()))
}

/// Refused here, before anything is made, also of an exchange that is there already and stays as it is.
fn exchange_type(name: &str) -> Result<String, Problem> {
    ExchangeType::parse(name.as_bytes()).map_err(|error| Problem::bad_request(error.to_string()))?;
    Ok(name.to_owned())
}

fn queue_name(name: &str) -> Result<QueueName, Problem> {
    QueueName::parse(name.as_bytes()).map_err(|error| Problem::bad_request(error.to_string()))
}

fn limit(name: &str, value: &Value) -> Result<(String, i64), Problem> {
    let number = value.as_i64().ok_or_else(|| wrong_type(name, "an integer", value))?;
    Ok((name.to_owned(), number))
}

/// The member `limits`: an object, or as older versions wrote it, a list of names and values.
fn limits_of(fields: Fields<'_>) -> Result<Vec<(String, i64)>, Problem> {
    match fields.get("limits") {
        None => Ok(Vec::new()),
        Some(Value::Object(members)) => members.iter().map(|(name, value)| limit(name, value)).collect(),
        Some(Value::Array(items)) if items.is_empty() => Ok(Vec::new()),
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
