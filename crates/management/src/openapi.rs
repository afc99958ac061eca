//! The description of the API by OpenAPI 3.1, made from the table of routes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::route::{Described, Field, Kind, Operation, Parameters, Role, Route, Shape};
use crate::routes;

/// The whole description.
#[must_use]
pub fn description() -> Value {
    let mut schemas = BTreeMap::new();
    let mut paths = Map::new();
    for route in routes::all() {
        let mut methods = Map::new();
        for operation in route.operations {
            methods.insert(operation.method.name().to_lowercase(), describe(route, operation, &mut schemas));
        }
        paths.insert(route.path.to_owned(), Value::Object(methods));
    }
    schemas.insert("Error".to_owned(), object(ERROR));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Warren's management API",
            "description": "RabbitMQ's management API. Paths are percent-encoded: the vhost `/` is `%2F`.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "http://localhost:15672" }],
        "security": [{ "basic": [] }, { "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "basic": { "type": "http", "scheme": "basic" },
                "bearer": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT" },
            },
            "schemas": schemas,
        },
    })
}

const ERROR: &[Field] = &[
    Field::required("error", Kind::Text, "What kind of error."),
    Field::required("reason", Kind::Any, "What is wrong."),
];

fn describe(route: &Route, operation: &Operation, schemas: &mut BTreeMap<String, Value>) -> Value {
    let mut parameters: Vec<Value> = path_arguments(route.path)
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect();
    parameters.extend(operation.query.iter().flat_map(|group| query_parameters(*group)));
    let mut responses = Map::new();
    answers(&operation.answer, schemas, &mut responses);
    for (status, what) in refusals(operation) {
        responses.insert(
            status.to_owned(),
            json!({
                "description": what,
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
            }),
        );
    }
    let mut described = json!({
        "summary": operation.summary,
        "operationId": operation_id(route, operation),
        "tags": [tag(route.path)],
        "parameters": parameters,
        "responses": responses,
        "x-role": role(operation.role),
    });
    if let Some(members) = described.as_object_mut() {
        if !operation.body.is_empty() {
            let schema = object(operation.body);
            members.insert(
                "requestBody".to_owned(),
                json!({
                    "required": operation.body.iter().any(|field| field.is_required),
                    "content": { "application/json": { "schema": schema } },
                }),
            );
        }
        if operation.role == Role::Anybody {
            members.insert("security".to_owned(), json!([]));
        }
    }
    described
}

fn path_arguments(path: &'static str) -> impl Iterator<Item = &'static str> {
    path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}

fn operation_id(route: &Route, operation: &Operation) -> String {
    let words = route.path.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.filter(|word| *word != "api").map(str::to_lowercase).collect();
    let path = if words.is_empty() { "root".to_owned() } else { words.join("_") };
    let prefix = if route.path.starts_with("/api") { "api_" } else { "" };
    format!("{}_{prefix}{path}", operation.method.name().to_lowercase())
}

fn tag(path: &str) -> &str {
    path.split('/').find(|segment| !segment.is_empty() && *segment != "api").unwrap_or("api")
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Anybody => "anybody",
        Role::Management => "management",
        Role::InVhost => "management, with permissions in the vhost",
        Role::Policymaker => "policymaker",
        Role::PolicymakerInVhost => "policymaker, with permissions in the vhost",
        Role::Monitoring | Role::MonitoringOfObject => "monitoring",
        Role::Administrator => "administrator",
        Role::MonitoringOrInVhost => "monitoring, or management with permissions in the vhost",
        Role::AdministratorInVhost => "administrator, with permissions in the vhost",
    }
}

fn refusals(operation: &Operation) -> Vec<(&'static str, &'static str)> {
    let mut refusals = vec![("400", "The request makes no sense."), ("404", "There is no such thing.")];
    if operation.role != Role::Anybody {
        refusals.push(("401", "Nobody is logged in, or somebody who may not do this."));
    }
    refusals
}

fn query_parameters(group: Parameters) -> Vec<Value> {
    let parameter = |name: &str, kind: Kind, text: &str| json!({"name": name, "in": "query", "description": text, "schema": schema(kind)});
    match group {
        Parameters::Columns => vec![parameter(
            "columns",
            Kind::Text,
            "Members that are wanted, with commas between them; `a.b` is the member `b` of `a`.",
        )],
        Parameters::Sort => vec![
            parameter("sort", Kind::Text, "Members to sort by, with commas between them."),
            parameter("sort_reverse", Kind::Boolean, "`true`: from the last to the first."),
        ],
        Parameters::Page => vec![
            parameter("page", Kind::Integer, "Which page, from 1. Without it there are no pages."),
            parameter("page_size", Kind::Integer, "How many objects on a page: 100 unless said, 500 at most."),
            parameter("name", Kind::Text, "A part of the names that are wanted; only with `page`."),
            parameter("use_regex", Kind::Boolean, "`true`: `name` is a regular expression."),
        ],
        Parameters::Stats => vec![
            parameter("disable_stats", Kind::Boolean, "`true`: without statistics."),
            parameter("enable_queue_totals", Kind::Boolean, "`true`: then still with the counts of queues' messages."),
        ],
        Parameters::Other(name, text) => vec![parameter(name, Kind::Text, text)],
    }
}

fn answers(shape: &Shape, schemas: &mut BTreeMap<String, Value>, responses: &mut Map<String, Value>) {
    let mut json = |schema: Value| {
        let content = json!({ "application/json": { "schema": schema } });
        responses.insert("200".to_owned(), json!({"description": "What was asked for.", "content": content}));
    };
    match shape {
        Shape::Done => {
            responses.insert("201".to_owned(), json!({"description": "It is new."}));
            responses.insert("204".to_owned(), json!({"description": "It was there, and is as asked for now."}));
        }
        Shape::NoContent => {
            responses.insert("204".to_owned(), json!({"description": "Done."}));
        }
        Shape::One(kind) => json(reference(*kind, schemas)),
        Shape::Many(kind) => {
            let items = reference(*kind, schemas);
            json(json!({"type": "array", "items": items}));
        }
        Shape::Object(fields) => json(object(fields)),
        Shape::List => json(json!({"type": "array"})),
        Shape::Page(content_type) => {
            let content = json!({ *content_type: {} });
            responses.insert("200".to_owned(), json!({"description": "What was asked for.", "content": content}));
        }
    }
}

fn reference(kind: &dyn Described, schemas: &mut BTreeMap<String, Value>) -> Value {
    schemas.entry(kind.title().to_owned()).or_insert_with(|| {
        let members: Map<String, Value> =
            kind.members().into_iter().map(|(name, kind)| (name.to_owned(), schema(kind))).collect();
        json!({"type": "object", "properties": members})
    });
    json!({"$ref": format!("#/components/schemas/{}", kind.title())})
}

fn object(fields: &[Field]) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let mut property = schema(field.kind);
        if let Some(members) = property.as_object_mut() {
            members.insert("description".to_owned(), field.text.into());
        }
        properties.insert(field.name.to_owned(), property);
    }
    let required: Vec<&str> = fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
    let mut object = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        object["required"] = required.into();
    }
    object
}

fn schema(kind: Kind) -> Value {
    match kind {
        Kind::Text => json!({"type": ["string", "null"]}),
        Kind::Integer => json!({"type": "integer"}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Object => json!({"type": "object"}),
        Kind::List => json!({"type": "array"}),
        Kind::Any => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_checked_in_description_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        let written = std::fs::read_to_string(path).unwrap_or_default();
        let current = format!("{:#}\n", description());
        assert!(written == current, "run `cargo run -p management --example openapi > docs/openapi.json`");
    }

    #[test]
    fn every_operation_has_an_id_of_its_own() {
        let mut ids = BTreeSet::new();
        for route in routes::all() {
            for operation in route.operations {
                let id = operation_id(route, operation);
                assert!(ids.insert(id.clone()), "{id}");
            }
        }
    }

    #[test]
    fn every_reference_leads_to_a_schema() {
        let description = description();
        let schemas = description["components"]["schemas"].as_object().unwrap();
        let text = description.to_string();
        for (at, _) in text.match_indices("#/components/schemas/") {
            let name: String = text[at + 21..].chars().take_while(char::is_ascii_alphanumeric).collect();
            assert!(schemas.contains_key(&name), "{name}");
        }
    }
}
