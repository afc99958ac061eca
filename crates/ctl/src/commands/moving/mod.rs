//! Shovels and federation: what moves messages between brokers. Runtime parameters, said by names.

mod verification;

use serde_json::{Map, Value, json};

use crate::command::{Argument, Command, flag, optional, required};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing;
use crate::output::Output;
use crate::step::{Ask, Step, StepResult, path, remark};

pub(crate) use verification::COMMANDS as VERIFICATION_COMMANDS;

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("shovels list_all", "lists shovels and their states", |_| all("shovels".to_owned())),
    Command::new("shovels list", "lists a virtual host's shovels", |input| all(path(&["shovels", input.vhost()]))),
    Command::new("shovels declare_amqp091", "declares a shovel between AMQP 0-9-1 queues and exchanges", shovel)
        .taking(&[
            required("name").short("n"),
            required("source-uri"),
            required("destination-uri"),
            optional("source-queue"),
            optional("source-exchange"),
            optional("source-exchange-routing-key"),
            optional("destination-queue"),
            optional("destination-exchange"),
            optional("destination-exchange-routing-key"),
            optional("ack-mode"),
            optional("reconnect-delay"),
            optional("publish-properties"),
        ])
        .with(&[
            flag("predeclared-source", "the shovel does not declare the source"),
            flag("predeclared-destination", "nor the destination"),
        ]),
    Command::new("shovels declare_amqp10", "declares a shovel between AMQP 1.0 addresses", shovel_10).taking(&[
        required("name").short("n"),
        required("source-uri"),
        required("destination-uri"),
        required("source-address"),
        required("destination-address"),
        optional("ack-mode"),
        optional("reconnect-delay"),
    ]),
    Command::new("shovels delete", "deletes a shovel", |input| delete(input, "shovel", "shovel deleted"))
        .also(&["delete shovel"])
        .taking(&[required("name")])
        .with(&[flag("idempotently", "no error if the object does not exist")]),
    Command::new("federation list_all_upstreams", "lists federation upstreams", |_| {
        all("parameters/federation-upstream".to_owned())
    }),
    Command::new("federation list_all_links", "lists federation links and their states", |_| {
        all("federation-links".to_owned())
    }),
    Command::new("federation declare_upstream", "declares an upstream for exchanges and queues", upstream)
        .also(&["federation declare_upstream_for_queues", "federation declare_upstream_for_exchanges"])
        .taking(&[
            required("name"),
            required("uri"),
            optional("reconnect-delay"),
            optional("trust-user-id"),
            optional("prefetch-count"),
            optional("ack-mode"),
            optional("queue-name"),
            optional("consumer-tag"),
            optional("exchange-name"),
            optional("queue-type"),
            optional("max-hops"),
            optional("bind-using-nowait"),
            optional("resource-cleanup-mode"),
            optional("channel-use-mode"),
            optional("ttl"),
            optional("message-ttl"),
        ]),
    Command::new("federation delete_upstream", "deletes an upstream", |input| {
        delete(input, "federation-upstream", "upstream deleted")
    })
    .taking(NAME)
    .with(&[flag("idempotently", "no error if the object does not exist")]),
];

/// rabbitmqctl's, with the plugins.
pub(crate) const CTL_COMMANDS: &[Command] = &[
    Command::new("shovel_status", "lists shovels and their states", |_| all("shovels".to_owned())),
    Command::new("delete_shovel", "deletes a shovel", |input| delete(input, "shovel", "shovel deleted"))
        .taking(&[required("name")]),
    Command::new("restart_shovel", "restarts a shovel", |input| order(input, Ask::delete, "restart", "restarted"))
        .taking(NAME),
    Command::new("pause_shovel", "has a shovel wait, also after a restart (not in RabbitMQ)", |input| {
        order(input, |place| Ask::put(place, &json!({})), "pause", "paused")
    })
    .taking(NAME),
    Command::new("resume_shovel", "resumes a paused shovel (not in RabbitMQ)", |input| {
        order(input, |place| Ask::put(place, &json!({})), "resume", "resumed")
    })
    .taking(NAME),
    Command::new("federation_status", "lists federation links and their states", |input| {
        all(if input.has("only-down") { "federation-links/state/down" } else { "federation-links" }.to_owned())
    })
    .with(&[flag("only-down", "only those that do not run")]),
    Command::new(
        "restart_federation_link",
        "restarts a federation link, by the id that federation_status shows",
        |input| restart_link(input.text("id").to_owned()),
    )
    .taking(&[required("id")])
    .saying("Restarting federation link {id}..."),
];

const NAME: &[Argument] = &[required("name")];

/// Only a server with the plugin knows these.
fn all(place: String) -> StepResult {
    Ask::get(place).then(|reply| {
        let items = reply.unless(404, no_plugin)?.list()?;
        Ok(Step::Done(Output::Table(super::list::all_columns(&items, 2))))
    })
}

fn no_plugin() -> Failure {
    Failure::unavailable("the server has no shovels or no federation: a RabbitMQ needs the plugin for it")
}

/// A parameter's value, of what was given.
struct Fields<'a> {
    input: &'a Invocation,
    fields: Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn of(input: &'a Invocation) -> Self {
        Fields { input, fields: Map::new() }
    }

    fn put(&mut self, key: &str, value: Value) {
        self.fields.insert(key.to_owned(), value);
    }

    fn text(&mut self, name: &str, key: &str) {
        if let Some(text) = self.input.optional(name) {
            self.put(key, json!(text));
        }
    }

    fn number(&mut self, name: &str, key: &str) -> Result<(), Failure> {
        if let Some(number) = self.input.number(name)? {
            self.put(key, json!(number));
        }
        Ok(())
    }

    fn truth(&mut self, name: &str, key: &str) -> Result<(), Failure> {
        if let Some(is_so) = self.input.truth(name)? {
            self.put(key, json!(is_so));
        }
        Ok(())
    }

    fn declare(self, component: &str, done: &str) -> StepResult {
        let (vhost, name) = (self.input.vhost(), self.input.text("name"));
        let body = json!({"vhost": vhost, "component": component, "name": name, "value": self.fields});
        Ask::put(path(&["parameters", component, vhost, name]), &body).say(done)
    }
}

fn shovel(input: &Invocation) -> StepResult {
    let mut fields = Fields::of(input);
    for (side, short) in [("source", "src"), ("destination", "dest")] {
        let (queue, exchange) = (format!("{side}-queue"), format!("{side}-exchange"));
        if input.optional(&queue).is_some() == input.optional(&exchange).is_some() {
            return Err(Failure::usage(format!("a shovel needs either --{queue} or --{exchange}")));
        }
        fields.put(&format!("{short}-protocol"), json!("amqp091"));
        fields.text(&format!("{side}-uri"), &format!("{short}-uri"));
        fields.text(&queue, &format!("{short}-queue"));
        fields.text(&exchange, &format!("{short}-exchange"));
        fields.text(&format!("{side}-exchange-routing-key"), &format!("{short}-exchange-key"));
        if input.has(&format!("predeclared-{side}")) {
            fields.put(&format!("{short}-predeclared"), json!(true));
        }
    }
    if let Some(properties) = input.json("publish-properties")? {
        fields.put("dest-publish-properties", properties);
    }
    fields.text("ack-mode", "ack-mode");
    fields.number("reconnect-delay", "reconnect-delay")?;
    fields.declare("shovel", "shovel declared")
}

fn shovel_10(input: &Invocation) -> StepResult {
    let mut fields = Fields::of(input);
    for (side, short) in [("source", "src"), ("destination", "dest")] {
        fields.put(&format!("{short}-protocol"), json!("amqp10"));
        fields.text(&format!("{side}-uri"), &format!("{short}-uri"));
        fields.text(&format!("{side}-address"), &format!("{short}-address"));
    }
    fields.text("ack-mode", "ack-mode");
    fields.number("reconnect-delay", "reconnect-delay")?;
    fields.declare("shovel", "shovel declared")
}

fn upstream(input: &Invocation) -> StepResult {
    let mut fields = Fields::of(input);
    for (name, key) in [
        ("uri", "uri"),
        ("ack-mode", "ack-mode"),
        ("queue-name", "queue"),
        ("consumer-tag", "consumer-tag"),
        ("exchange-name", "exchange"),
        ("queue-type", "queue-type"),
        ("resource-cleanup-mode", "resource-cleanup-mode"),
        ("channel-use-mode", "channel-use-mode"),
    ] {
        fields.text(name, key);
    }
    for (name, key) in [
        ("reconnect-delay", "reconnect-delay"),
        ("prefetch-count", "prefetch-count"),
        ("max-hops", "max-hops"),
        ("ttl", "expires"),
        ("message-ttl", "message-ttl"),
    ] {
        fields.number(name, key)?;
    }
    fields.truth("trust-user-id", "trust-user-id")?;
    fields.truth("bind-using-nowait", "bind-nowait")?;
    fields.declare("federation-upstream", "upstream declared")
}

/// Sends an order to a running shovel.
fn order(input: &Invocation, ask: impl FnOnce(String) -> Ask, what: &str, done: &str) -> StepResult {
    let (name, vhost) = (input.text("name"), input.vhost());
    let missing = format!("no shovel '{name}' in virtual host '{vhost}'");
    let done = format!("shovel '{name}' was {done}");
    ask(path(&["shovels", "vhost", vhost, name, what])).then(move |reply| {
        reply.unless(404, || Failure::data(missing))?.accepted()?;
        remark(done)
    })
}

/// The server wants the link's vhost and node, too.
fn restart_link(id: String) -> StepResult {
    Ask::get("federation-links".to_owned()).then(move |reply| {
        let links = reply.unless(404, no_plugin)?.list()?;
        let link = links
            .iter()
            .find(|link| link["id"] == id)
            .ok_or_else(|| Failure::data(format!("no federation link '{id}'")))?;
        let place = path(&[
            "federation-links",
            "vhost",
            listing::text(link, "vhost"),
            &id,
            listing::text(link, "node"),
            "restart",
        ]);
        Ask::delete(place).then(move |reply| {
            reply.accepted()?;
            remark(format!("federation link '{id}' was restarted"))
        })
    })
}

fn delete(input: &Invocation, component: &str, done: &str) -> StepResult {
    let (is_idempotent, done) = (input.has("idempotently"), done.to_owned());
    let missing = format!("{component} has no parameter '{}' in virtual host '{}'", input.text("name"), input.vhost());
    Ask::delete(path(&["parameters", component, input.vhost(), input.text("name")])).then(move |reply| {
        if !(reply.status == 404 && is_idempotent) {
            reply.unless(404, || Failure::data(missing))?.accepted()?;
        }
        remark(done)
    })
}
