//! rabbitmqadmin's `declare`: things come to be, or stay as they are.

use serde_json::{Map, Value, json};

use crate::command::{Argument, Command, flag, optional, required};
use crate::commands::{policies, vhosts};
use crate::failure::Failure;
use crate::given::Given;
use crate::password;
use crate::step::{Ask, Started, path, remark, then_say};

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
    Command::new("declare exchange", "declares an exchange", |given| {
        let mut body = declared(given, &["auto-delete", "durable", "internal"])?;
        body.insert("type".to_owned(), json!(given.optional("type").unwrap_or("direct")));
        put(given, &["exchanges", given.vhost(), given.text("name")], &Value::Object(body), "exchange declared")
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
    Command::new("declare vhost", "creates a virtual host", |given| {
        let mut body = vhosts::metadata(given)?;
        // A flag to the new one, a value to the old one.
        if let Some(text) = given.optional("tracing") {
            let is_on = if text.is_empty() { true } else { given.truth("tracing")?.unwrap_or(false) };
            body.insert("tracing".to_owned(), json!(is_on));
        }
        put(given, &["vhosts", given.text("name")], &Value::Object(body), "vhost declared")
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
    Command::new("declare user", "creates a user, or changes one", user).also(&["users declare"]).taking(&[
        required("name"),
        optional("password"),
        optional("password-hash"),
        optional("hashing-algorithm"),
        optional("tags"),
    ]),
    Command::new("declare permission", "says what a user may configure, write to and read from", |given| {
        let body = json!({
            "configure": given.text("configure"), "write": given.text("write"), "read": given.text("read")
        });
        put(given, &["permissions", given.vhost(), given.text("user")], &body, "permission declared")
    })
    .also(&["declare permissions", "permissions declare"])
    .taking(&[USER, required("configure"), required("write"), required("read")]),
    Command::new("declare topic_permission", "says which routing keys a user may use on a topic exchange", |given| {
        let body = json!({
            "exchange": given.text("exchange"), "write": given.text("write"), "read": given.text("read")
        });
        put(given, &["topic-permissions", given.vhost(), given.text("user")], &body, "topic permission declared")
    })
    .taking(&[USER, required("exchange"), required("write"), required("read")]),
    Command::new("declare policy", "sets arguments for all queues and exchanges whose names fit", |given| {
        then_say(policies::set(given, "policies"), "policy declared".to_owned())
    })
    .also(&["policies declare", "policies update", "policies set"])
    .taking(POLICY),
    Command::new("declare operator_policy", "sets limits that users' policies cannot exceed", |given| {
        then_say(policies::set(given, "operator-policies"), "operator policy declared".to_owned())
    })
    .also(&["operator_policies declare", "operator_policies update", "operator_policies set"])
    .taking(POLICY),
    Command::new("declare parameter", "sets a parameter of a component", |given| {
        let (component, name) = (given.text("component"), given.text("name"));
        let body = json!({
            "vhost": given.vhost(), "component": component, "name": name, "value": given.json("value")?
        });
        put(given, &["parameters", component, given.vhost(), name], &body, "parameter declared")
    })
    .also(&["parameters set", "parameters declare"])
    .taking(&[required("component"), required("name"), required("value")]),
    Command::new("declare global_parameter", "sets a parameter of the whole broker", |given| {
        let name = given.text("name");
        put(
            given,
            &["global-parameters", name],
            &json!({"name": name, "value": given.json("value")?}),
            "global parameter declared",
        )
    })
    .also(&["global_parameters set", "global_parameters declare"])
    .taking(&[required("name"), required("value")]),
    Command::new("declare vhost_limit", "sets a virtual host's limit: max-connections, max-queues", |given| {
        limit(given, &["vhost-limits", given.vhost(), given.text("name")], "vhost limit declared")
    })
    .also(&["vhost_limits declare"])
    .taking(&[required("name"), required("value")]),
    Command::new("declare user_limit", "sets a user's limit: max-connections, max-channels", |given| {
        limit(given, &["user-limits", given.text("user"), given.text("name")], "user limit declared")
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

fn put(given: &Given, parts: &[&str], body: &Value, done: &str) -> Started {
    let (vhost, done) = (given.vhost().to_owned(), done.to_owned());
    let is_in_vhost = parts.contains(&vhost.as_str());
    Ask::put(path(parts), body).then(move |reply| {
        let reply = if is_in_vhost { reply.unless(404, || Failure::no_such_vhost(&vhost))? } else { reply };
        reply.accepted()?;
        remark(done)
    })
}

/// What queues and exchanges have in common.
fn declared(given: &Given, flags: &[&str]) -> Result<Map<String, Value>, Failure> {
    let mut body = Map::new();
    for flag in flags {
        if let Some(is_so) = given.truth(flag)? {
            body.insert(flag.replace('-', "_"), json!(is_so));
        }
    }
    body.insert("arguments".to_owned(), given.json("arguments")?.unwrap_or_else(|| json!({})));
    // As both rabbitmqadmins.
    body.entry("durable").or_insert(json!(true));
    Ok(body)
}

fn argument(body: &mut Map<String, Value>, name: &str, value: Value) {
    if let Some(Value::Object(arguments)) = body.get_mut("arguments") {
        arguments.insert(name.to_owned(), value);
    }
}

fn queue(given: &Given) -> Started {
    let mut body = declared(given, &["auto-delete", "durable"])?;
    if let Some(kind) = given.optional("type") {
        argument(&mut body, "x-queue-type", json!(kind));
    }
    if let Some(node) = given.optional("node") {
        body.insert("node".to_owned(), json!(node));
    }
    put(given, &["queues", given.vhost(), given.text("name")], &Value::Object(body), "queue declared")
}

fn stream(given: &Given) -> Started {
    let mut body = declared(given, &[])?;
    argument(&mut body, "x-queue-type", json!("stream"));
    if let Some(age) = given.optional("expiration") {
        argument(&mut body, "x-max-age", json!(age));
    }
    for (name, key) in
        [("max-length-bytes", "x-max-length-bytes"), ("max-segment-length-bytes", "x-stream-max-segment-size-bytes")]
    {
        if let Some(bytes) = given.number(name)? {
            argument(&mut body, key, json!(bytes));
        }
    }
    put(given, &["queues", given.vhost(), given.text("name")], &Value::Object(body), "stream declared")
}

/// Where bindings between two things are.
pub(crate) fn bindings(given: &Given) -> Result<Vec<String>, Failure> {
    let kind = match given.optional("destination-type").unwrap_or("queue") {
        "queue" | "q" => "q",
        "exchange" | "e" => "e",
        other => {
            return Err(Failure::data(format!(
                "the destination type has to be queue or exchange, and '{other}' is neither"
            )));
        }
    };
    let parts = ["bindings", given.vhost(), "e", given.text("source"), kind, given.text("destination")];
    Ok(parts.iter().map(|part| (*part).to_owned()).collect())
}

fn binding(given: &Given) -> Started {
    let body = json!({
        "routing_key": given.optional("routing-key").unwrap_or_default(),
        "arguments": given.json("arguments")?.unwrap_or_else(|| json!({})),
    });
    let parts = bindings(given)?;
    let missing = format!(
        "there is no exchange '{}' or no '{}' in virtual host '{}'",
        given.text("source"),
        given.text("destination"),
        given.vhost()
    );
    Ask::post(path(&parts.iter().map(String::as_str).collect::<Vec<_>>()), &body).then(move |reply| {
        reply.unless(404, || Failure::data(missing))?.accepted()?;
        remark("binding declared")
    })
}

fn user(given: &Given) -> Started {
    let mut body = json!({"tags": given.optional("tags").unwrap_or_default()});
    let said = |name| given.optional(name).filter(|text| !text.is_empty());
    match (said("password"), said("password-hash")) {
        (Some(_), Some(_)) => return Err(Failure::usage("a user has a password or a password hash, and not both")),
        (None, None) => return Err(Failure::usage("declare user needs password or password-hash")),
        (Some(password), None) => body["password"] = json!(password),
        (None, Some(hash)) => body["password_hash"] = json!(hash),
    }
    match (given.optional("hashing-algorithm"), said("password")) {
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
    Ask::put(path(&["users", given.text("name")]), &body).say("user declared")
}

fn limit(given: &Given, parts: &[&str], done: &str) -> Started {
    let text = given.text("value");
    let value: i64 =
        text.parse().map_err(|_| Failure::data(format!("a limit has to be a whole number, and '{text}' is none")))?;
    put(given, parts, &json!({"value": value}), done)
}
