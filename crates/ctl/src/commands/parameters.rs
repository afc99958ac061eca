//! Runtime parameters, of virtual hosts and of the whole broker.

use serde_json::{Value, json};

use crate::command::{Command, required};
use crate::failure::Failure;
use crate::listing::{Column, Listing, converted, json_text, same};
use crate::step::{Ask, path};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("set_parameter", "sets a parameter of a virtual host's component", |input| {
        let (vhost, component, name) = (input.vhost(), input.text("component"), input.text("name"));
        let body = json!({
            "vhost": vhost, "component": component, "name": name, "value": input.json("value")?
        });
        let vhost = vhost.to_owned();
        Ask::put(path(&["parameters", component, &vhost, name]), &body)
            .then(move |reply| reply.unless(404, || Failure::no_such_vhost(&vhost))?.done())
    })
    .taking(&[required("component"), required("name"), required("value")])
    .saying(
        "Setting runtime parameter \"{name}\" for component \"{component}\" to \"{value}\" in vhost \"{vhost}\" ...",
    ),
    Command::new("clear_parameter", "removes a parameter", |input| {
        let (vhost, component, name) = (input.vhost(), input.text("component"), input.text("name"));
        let missing = format!("{component} has no parameter '{name}' in virtual host '{vhost}'");
        Ask::delete(path(&["parameters", component, vhost, name]))
            .then(move |reply| reply.unless(404, || Failure::unavailable(missing))?.done())
    })
    .taking(&[required("component"), required("name")])
    .saying("Clearing runtime parameter \"{name}\" for component \"{component}\" on vhost \"{vhost}\" ..."),
    Command::new("list_parameters", "lists a virtual host's parameters", |input| {
        let vhost = input.vhost().to_owned();
        let columns: Vec<&'static Column> = PARAMETERS.chosen(input)?;
        Ask::get("parameters".to_owned()).then(move |reply| {
            let items: Vec<Value> = reply.list()?.into_iter().filter(|item| item["vhost"] == vhost.as_str()).collect();
            crate::listing::show(&columns, &items)
        })
    })
    .saying("Listing runtime parameters for vhost \"{vhost}\" ..."),
    Command::new("set_global_parameter", "sets a parameter of the whole broker", |input| {
        let name = input.text("name");
        Ask::put(path(&["global-parameters", name]), &json!({"name": name, "value": input.json("value")?})).done()
    })
    .taking(&[required("name"), required("value")])
    .saying("Setting global runtime parameter \"{name}\" to \"{value}\" ..."),
    Command::new("clear_global_parameter", "removes a global parameter", |input| {
        let missing = format!("no global parameter '{}'", input.text("name"));
        Ask::delete(path(&["global-parameters", input.text("name")]))
            .then(move |reply| reply.unless(404, || Failure::unavailable(missing))?.done())
    })
    .taking(&[required("name")])
    .saying("Clearing global runtime parameter \"{name}\" ..."),
    Command::new("list_global_parameters", "lists parameters of the whole broker", |input| {
        GLOBAL.ask(input, "global-parameters".to_owned())
    })
    .saying("Listing global runtime parameters ..."),
];

const PARAMETERS: Listing = Listing::of(&[same("component"), same("name"), converted("value", "value", json_text)]);
const GLOBAL: Listing = Listing::of(&[same("name"), converted("value", "value", json_text)]);
