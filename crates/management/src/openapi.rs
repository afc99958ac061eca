//! The description of the API by OpenAPI 3.1, made from the table of routes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::route::{Field, Kind, LOGIN_REFUSED, ObjectSchema, Operation, Parameters, Role, Route, Shape};
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
    Field::required("error", Kind::Text, "The kind of error."),
    Field::required("reason", Kind::Any, "The reason of the error."),
];

const PAGE: &[Field] = &[
    Field::required("total_count", Kind::Integer, "The number of all objects."),
    Field::required("filtered_count", Kind::Integer, "The number of objects that match the filter."),
    Field::required("item_count", Kind::Integer, "The number of objects on this page."),
    Field::required("page", Kind::Integer, "The number of this page, from 1."),
    Field::required("page_size", Kind::Integer, "The number of objects per page."),
    Field::required("page_count", Kind::Integer, "The number of pages."),
    Field::required("items", Kind::List, "The objects on this page."),
];

fn describe(route: &Route, operation: &Operation, schemas: &mut BTreeMap<String, Value>) -> Value {
    let mut parameters: Vec<Value> = path_arguments(route.path)
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}}))
        .collect();
    parameters.extend(operation.query.iter().flat_map(|group| query_parameters(*group)));
    let mut responses = Map::new();
    answers(operation, schemas, &mut responses);
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
            let mut schema = object(operation.body);
            if operation.is_strict {
                schema["additionalProperties"] = json!(false);
            }
            members.insert(
                "requestBody".to_owned(),
                json!({
                    "required": operation.body.iter().any(|field| field.is_required),
                    "content": { "application/json": { "schema": schema } },
                }),
            );
        }
        if operation.role == Role::Public {
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
        Role::Public => "everyone",
        Role::Configured => "management, or everyone where the configuration says so",
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
    let mut refusals = vec![("400", "The request is invalid."), ("404", "The object does not exist.")];
    if operation.role != Role::Public {
        refusals.extend(LOGIN_REFUSED);
    }
    refusals.extend(operation.refusals);
    refusals
}

fn query_parameters(group: Parameters) -> Vec<Value> {
    let parameter = |name: &str, kind: Kind, text: &str| json!({"name": name, "in": "query", "description": text, "schema": schema(kind)});
    match group {
        Parameters::Columns => vec![parameter(
            "columns",
            Kind::Text,
            "The fields to return, separated by commas. `a.b` is the field `b` of `a`.",
        )],
        Parameters::Sort => vec![
            parameter("sort", Kind::Text, "The fields to sort by, separated by commas."),
            parameter("sort_reverse", Kind::Boolean, "`true`: sorts in reverse order."),
        ],
        Parameters::Page => vec![
            parameter("page", Kind::Integer, "The page, from 1. Without it, all objects are returned."),
            parameter("page_size", Kind::Integer, "The number of objects per page. Default: 100; at most 500."),
            parameter("name", Kind::Text, "Returns only objects whose names contain this text. Only with `page`."),
            parameter("use_regex", Kind::Boolean, "`true`: `name` is a regular expression."),
        ],
        Parameters::Stats => vec![
            parameter("disable_stats", Kind::Boolean, "`true`: without statistics."),
            parameter(
                "enable_queue_totals",
                Kind::Boolean,
                "`true`: includes the message counts of queues, even without statistics.",
            ),
        ],
        Parameters::Other(name, text) => vec![parameter(name, Kind::Text, text)],
    }
}

fn answers(operation: &Operation, schemas: &mut BTreeMap<String, Value>, responses: &mut Map<String, Value>) {
    let mut json = |status: &str, description: &str, schema: Value| {
        let content = json!({ "application/json": { "schema": schema } });
        responses.insert(status.to_owned(), json!({"description": description, "content": content}));
    };
    let asked_for = "The requested object.";
    match &operation.answer {
        Shape::Done => {
            responses.insert("201".to_owned(), json!({"description": "The object was created."}));
            responses.insert("204".to_owned(), json!({"description": "The object existed and was updated."}));
        }
        Shape::NoContent => {
            responses.insert("204".to_owned(), json!({"description": "Done."}));
        }
        Shape::One(kind) => json("200", asked_for, selected(reference(*kind, schemas), operation)),
        Shape::Many(kind) => {
            let items = selected(reference(*kind, schemas), operation);
            json("200", asked_for, paged(json!({"type": "array", "items": items}), operation));
        }
        Shape::Object(fields) => json("200", asked_for, selected(object(fields), operation)),
        Shape::Check(fields) => {
            json("200", "The check passed.", object(fields));
            json("503", "The check failed.", object(fields));
        }
        Shape::List => json("200", asked_for, json!({"type": "array"})),
        Shape::Text => json("200", asked_for, json!({"type": "string"})),
        Shape::Page(content_type) => {
            let content = json!({ *content_type: {} });
            responses.insert("200".to_owned(), json!({"description": asked_for, "content": content}));
        }
    }
}

/// An object of which columns can be chosen: without any it is an empty list, as in RabbitMQ.
fn selected(object: Value, operation: &Operation) -> Value {
    if !operation.query.contains(&Parameters::Columns) {
        return object;
    }
    json!({"anyOf": [object, {"type": "array", "maxItems": 0, "description": "None of the object's fields was requested."}]})
}

/// A list of which pages can be asked for.
fn paged(list: Value, operation: &Operation) -> Value {
    if !operation.query.contains(&Parameters::Page) {
        return list;
    }
    let mut page = object(PAGE);
    page["properties"]["items"] = list.clone();
    json!({"anyOf": [list, page]})
}

fn reference(kind: &dyn ObjectSchema, schemas: &mut BTreeMap<String, Value>) -> Value {
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
        Kind::Number => json!({"type": "number"}),
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
        assert!(written == current, "run `make docs`");
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

    /// The schema of an answer.
    fn schema_of(path: &str, status: &str) -> Value {
        description()["paths"][path]["get"]["responses"][status]["content"]["application/json"]["schema"].clone()
    }

    #[test]
    fn an_object_without_wanted_members_is_described_as_an_empty_list() {
        let nothing =
            json!({"type": "array", "maxItems": 0, "description": "None of the object's fields was requested."});
        assert_eq!(schema_of("/api/overview", "200")["anyOf"][1], nothing);
        assert_eq!(schema_of("/api/nodes", "200")["items"]["anyOf"][1], nothing);
        assert_eq!(schema_of("/api/whoami", "200")["type"], "object");
    }

    #[test]
    fn pages_are_described_where_there_are_pages() {
        let schema = schema_of("/api/queues", "200");
        assert_eq!(schema["anyOf"][0]["type"], "array");
        assert_eq!(schema["anyOf"][1]["properties"]["items"], schema["anyOf"][0]);
        assert_eq!(schema_of("/api/permissions", "200")["type"], "array");
    }

    #[test]
    fn health_checks_are_described_with_both_outcomes() {
        let path = "/api/health/checks/alarms";
        assert_eq!(schema_of(path, "503"), schema_of(path, "200"));
        assert_eq!(schema_of("/api/version", "200"), json!({"type": "string"}));
    }

    #[test]
    fn what_else_may_be_answered_is_told() {
        let description = description();
        for (path, method, status, is_told) in [
            ("/api/login", "post", "401", true),
            ("/api/openapi.json", "get", "401", true),
            ("/api/version", "get", "401", false),
            ("/api/vhosts/{vhost}", "delete", "412", true),
            ("/api/vhosts/{vhost}", "put", "412", false),
        ] {
            let refused = &description["paths"][path][method]["responses"][status];
            assert_eq!(refused.is_object(), is_told, "{method} {path} {status}");
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
