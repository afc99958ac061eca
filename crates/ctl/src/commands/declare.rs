//! rabbitmqadmin's `declare`: things come to be, or stay as they are.

use serde_json::{Map, Value, json};

use crate::command::{Argument, Command, flag, optional, required};
use crate::commands::{policies, vhosts};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::password;
use crate::step::{Ask, StepResult, path, remark, then_say};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("declare queue", "declares a queue", queue).also(&["queues declare"]).taking(&[
        required("name"),
        optional("type").also(&["queue-type"]),
        optional("durable"),
        optional("auto-delete"),
        optional("arguments"),
        optional("node"),
    ]),
    Command::new("declare stream", "declares a stream", stream).also(&["streams declare"]).taking(&[
        required("name"),
        optional("expiration"),
        optional("max-length-bytes"),
        optional("max-segment-length-bytes").also(&["stream-max-segment-size-bytes"]),
        optional("arguments"),
    ]),
    Command::new("declare exchange", "declares an exchange", |input| {
        let mut body = declared(input, &["auto-delete", "durable", "internal"])?;
        body.insert("type".to_owned(), json!(input.optional("type").unwrap_or("direct")));
        put(input, &["exchanges", input.vhost(), input.text("name")], &Value::Object(body), "exchange declared")
    })
    .also(&["exchanges declare"])
    .taking(&[
        required("name"),
        optional("type"),
        optional("durable"),
        optional("auto-delete"),
        optional("internal"),
        optional("arguments"),
    ]),
    Command::new("declare binding", "binds a queue or an exchange to an exchange", binding)
        .also(&["bindings declare", "exchanges bind"])
        .taking(BINDING),
    Command::new("declare vhost", "creates a virtual host", |input| {
        let mut body = vhosts::metadata(input)?;
        // A flag to the new one, a value to the old one.
        if let Some(text) = input.optional("tracing") {
            let is_on = if text.is_empty() { true } else { input.truth("tracing")?.unwrap_or(false) };
            body.insert("tracing".to_owned(), json!(is_on));
        }
        put(input, &["vhosts", input.text("name")], &Value::Object(body), "vhost declared")
    })
    .also(&["vhosts declare"])
    .taking(&[
        required("name"),
        optional("description"),
        optional("tags"),
        optional("default-queue-type"),
        optional("tracing"),
    ])
    .with(&[flag("tracing", "with tracing on")]),
    Command::new("declare user", "creates or updates a user", user).also(&["users declare"]).taking(&[
        required("name"),
        optional("password"),
        optional("password-hash"),
        optional("hashing-algorithm"),
        optional("tags"),
    ]),
    Command::new("declare permission", "sets a user's permissions in a virtual host", |input| {
        let body = json!({
            "configure": input.text("configure"), "write": input.text("write"), "read": input.text("read")
        });
        put(input, &["permissions", input.vhost(), input.text("user")], &body, "permission declared")
    })
    .also(&["declare permissions", "permissions declare"])
    .taking(&[USER, required("configure"), required("write"), required("read")]),
    Command::new("declare topic_permission", "sets a user's permissions on a topic exchange", |input| {
        let body = json!({
            "exchange": input.text("exchange"), "write": input.text("write"), "read": input.text("read")
        });
        put(input, &["topic-permissions", input.vhost(), input.text("user")], &body, "topic permission declared")
    })
    .taking(&[USER, required("exchange"), required("write"), required("read")]),
    Command::new("declare policy", "sets arguments for all queues and exchanges whose names match", |input| {
        then_say(policies::set(input, "policies"), "policy declared".to_owned())
    })
    .also(&["policies declare", "policies update", "policies set"])
    .taking(POLICY),
    Command::new("declare operator_policy", "sets limits that users' policies cannot exceed", |input| {
        then_say(policies::set(input, "operator-policies"), "operator policy declared".to_owned())
    })
    .also(&["operator_policies declare", "operator_policies update", "operator_policies set"])
    .taking(POLICY),
    Command::new("declare parameter", "sets a parameter of a component", |input| {
        let (component, name) = (input.text("component"), input.text("name"));
        let body = json!({
            "vhost": input.vhost(), "component": component, "name": name, "value": input.json("value")?
        });
        put(input, &["parameters", component, input.vhost(), name], &body, "parameter declared")
    })
    .also(&["parameters set", "parameters declare"])
    .taking(&[required("component"), required("name"), required("value")]),
    Command::new("declare global_parameter", "sets a parameter of the whole broker", |input| {
        let name = input.text("name");
        put(
            input,
            &["global-parameters", name],
            &json!({"name": name, "value": input.json("value")?}),
            "global parameter declared",
        )
    })
    .also(&["global_parameters set", "global_parameters declare"])
    .taking(&[required("name"), required("value")]),
    Command::new("declare vhost_limit", "sets a virtual host's limit: max-connections, max-queues", |input| {
        limit(input, &["vhost-limits", input.vhost(), input.text("name")], "vhost limit declared")
    })
    .also(&["vhost_limits declare"])
    .taking(&[required("name"), required("value")]),
    Command::new("declare user_limit", "sets a user's limit: max-connections, max-channels", |input| {
        limit(input, &["user-limits", input.text("user"), input.text("name")], "user limit declared")
    })
    .also(&["user_limits declare"])
    .taking(&[USER, required("name"), required("value")]),
    Command::new("rebalance queues", "spreads the leaders of replicated queues over the nodes", |_| {
        Ask::post("rebalance/queues".to_owned(), &json!({})).done()
    })
    .also(&["queues rebalance"]),
];

/// The old one and its successor disagree about its name.
pub(crate) const USER: Argument = required("user").also(&["username"]);

const POLICY: &[Argument] = &[
    required("name"),
    required("pattern"),
    required("definition"),
    optional("priority"),
    optional("apply-to").also(&["applies-to"]),
];

pub(crate) const BINDING: &[Argument] = &[
    required("source"),
    required("destination"),
    optional("destination-type"),
    optional("routing-key"),
    optional("arguments"),
    optional("properties-key"),
];

fn put(input: &Invocation, parts: &[&str], body: &Value, done: &str) -> StepResult {
    let (vhost, done) = (input.vhost().to_owned(), done.to_owned());
    let is_in_vhost = parts.contains(&vhost.as_str());
    Ask::put(path(parts), body).then(move |reply| {
        let reply = if is_in_vhost { reply.unless(404, || Failure::no_such_vhost(&vhost))? } else { reply };
        reply.accepted()?;
        remark(done)
    })
}

/// What queues and exchanges have in common.
fn declared(input: &Invocation, flags: &[&str]) -> Result<Map<String, Value>, Failure> {
    let mut body = Map::new();
    for flag in flags {
        if let Some(is_so) = input.truth(flag)? {
            body.insert(flag.replace('-', "_"), json!(is_so));
        }
    }
    body.insert("arguments".to_owned(), input.json("arguments")?.unwrap_or_else(|| json!({})));
    // As both rabbitmqadmins.
    body.entry("durable").or_insert(json!(true));
    Ok(body)
}

fn argument(body: &mut Map<String, Value>, name: &str, value: Value) {
    if let Some(Value::Object(arguments)) = body.get_mut("arguments") {
        arguments.insert(name.to_owned(), value);
    }
}

fn queue(input: &Invocation) -> StepResult {
    let mut body = declared(input, &["auto-delete", "durable"])?;
    if let Some(kind) = input.optional("type") {
        argument(&mut body, "x-queue-type", json!(kind));
    }
    if let Some(node) = input.optional("node") {
        body.insert("node".to_owned(), json!(node));
    }
    put(input, &["queues", input.vhost(), input.text("name")], &Value::Object(body), "queue declared")
}

fn stream(input: &Invocation) -> StepResult {
    let mut body = declared(input, &[])?;
    argument(&mut body, "x-queue-type", json!("stream"));
    if let Some(age) = input.optional("expiration") {
        argument(&mut body, "x-max-age", json!(age));
    }
    for (name, key) in
        [("max-length-bytes", "x-max-length-bytes"), ("max-segment-length-bytes", "x-stream-max-segment-size-bytes")]
    {
        if let Some(bytes) = input.number(name)? {
            argument(&mut body, key, json!(bytes));
        }
    }
    put(input, &["queues", input.vhost(), input.text("name")], &Value::Object(body), "stream declared")
}

/// Where bindings between two things are.
pub(crate) fn bindings(input: &Invocation) -> Result<Vec<String>, Failure> {
    let kind = match input.optional("destination-type").unwrap_or("queue") {
        "queue" | "q" => "q",
        "exchange" | "e" => "e",
        other => {
            return Err(Failure::data(format!("the destination type must be queue or exchange, not '{other}'")));
        }
    };
    let parts = ["bindings", input.vhost(), "e", input.text("source"), kind, input.text("destination")];
    Ok(parts.iter().map(|part| (*part).to_owned()).collect())
}

fn binding(input: &Invocation) -> StepResult {
    let body = json!({
        "routing_key": input.optional("routing-key").unwrap_or_default(),
        "arguments": input.json("arguments")?.unwrap_or_else(|| json!({})),
    });
    let parts = bindings(input)?;
    let missing = format!(
        "no exchange '{}' or no '{}' in virtual host '{}'",
        input.text("source"),
        input.text("destination"),
        input.vhost()
    );
    Ask::post(path(&parts.iter().map(String::as_str).collect::<Vec<_>>()), &body).then(move |reply| {
        reply.unless(404, || Failure::data(missing))?.accepted()?;
        remark("binding declared")
    })
}

fn user(input: &Invocation) -> StepResult {
    let mut body = json!({"tags": input.optional("tags").unwrap_or_default()});
    let said = |name| input.optional(name).filter(|text| !text.is_empty());
    match (said("password"), said("password-hash")) {
        (Some(_), Some(_)) => return Err(Failure::usage("password and password hash exclude each other")),
        (None, None) => return Err(Failure::usage("declare user needs password or password-hash")),
        (Some(password), None) => body["password"] = json!(password),
        (None, Some(hash)) => body["password_hash"] = json!(hash),
    }
    match (input.optional("hashing-algorithm"), said("password")) {
        (None, _) => {}
        // A server hashes by its own algorithm, so another one is for us to do.
        (Some(algorithm), Some(password)) => {
            let hash = password::hashed(password, algorithm).ok_or_else(|| password::unknown_algorithm(algorithm))?;
            body = json!({
                "tags": body["tags"], "password_hash": hash, "hashing_algorithm": password::module(algorithm),
            });
        }
        (Some(algorithm), None) => body["hashing_algorithm"] = json!(password::module(algorithm)),
    }
    Ask::put(path(&["users", input.text("name")]), &body).say("user declared")
}

fn limit(input: &Invocation, parts: &[&str], done: &str) -> StepResult {
    let text = input.text("value");
    let value: i64 =
        text.parse().map_err(|_| Failure::data(format!("a limit must be a whole number, not '{text}'")))?;
    put(input, parts, &json!({"value": value}), done)
}
