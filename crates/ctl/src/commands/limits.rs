//! Limits of virtual hosts and of users: how many connections, channels and queues.

use serde_json::{Map, Value, json};

use crate::command::{Command, flag, option, required};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing::{Listing, converted, json_text, same};
use crate::output::Output;
use crate::step::{Ask, Step, StepResult, done, each, path};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new(
        "set_vhost_limits",
        "sets a virtual host's limits: {\"max-connections\": 64, \"max-queues\": 100}",
        |input| {
            let vhost = input.vhost();
            let limits = limits(input)?;
            known_vhost(vhost, set_all(&["vhost-limits", vhost], &limits))
        },
    )
    .taking(&[required("definition")])
    .saying("Setting vhost limits to \"{definition}\" for vhost \"{vhost}\" ..."),
    Command::new("clear_vhost_limits", "clears a virtual host's limits", |input| {
        let vhost = input.vhost().to_owned();
        known_vhost(&vhost.clone(), clear_all("vhost-limits", vhost))
    })
    .saying("Clearing vhost \"{vhost}\" limits ..."),
    Command::new("list_vhost_limits", "shows a virtual host's limits, or with --global those of all", |input| {
        if input.has("global") {
            return OF_VHOSTS.ask(input, "vhost-limits".to_owned());
        }
        let vhost = input.vhost();
        known_vhost(vhost, one(path(&["vhost-limits", vhost])))
    })
    .with(&[flag("global", "of all virtual hosts")])
    .saying("Listing limits for vhost \"{vhost}\" ...")
    .saying_if("global", "Listing limits for all vhosts ..."),
    Command::new("set_user_limits", "sets a user's limits: {\"max-connections\": 5, \"max-channels\": 20}", |input| {
        let user = input.text("username");
        let limits = limits(input)?;
        known_user(user, set_all(&["user-limits", user], &limits))
    })
    .taking(&[required("username"), required("definition")])
    .saying("Setting user limits to \"{definition}\" for user \"{username}\" ..."),
    Command::new("clear_user_limits", "clears one of a user's limits, or all", |input| {
        let user = input.text("username").to_owned();
        known_user(
            &user.clone(),
            match input.text("limit") {
                "all" => clear_all("user-limits", user),
                limit => Ask::delete(path(&["user-limits", &user, limit])).then(|reply| match reply.status {
                    404 => done(),
                    _ => reply.done(),
                }),
            },
        )
    })
    .taking(&[required("username"), required("limit")])
    .saying("Clearing \"{limit}\" limit for user \"{username}\" ..."),
    Command::new("list_user_limits", "shows a user's limits, or with --global those of all", |input| {
        if input.has("global") {
            return OF_USERS.ask(input, "user-limits".to_owned());
        }
        let user = input.optional("user").unwrap_or("guest");
        known_user(user, one(path(&["user-limits", user])))
    })
    .with(&[option("user", "USER", "the user (default guest)"), flag("global", "of all users")])
    .saying("Listing limits for user \"{user|guest}\" ...")
    .saying_if("global", "Listing limits for all users ..."),
];

const OF_VHOSTS: Listing = Listing::of(&[same("vhost"), converted("limits", "value", json_text)]);
const OF_USERS: Listing = Listing::of(&[same("user"), converted("limits", "value", json_text)]);

fn limits(input: &Invocation) -> Result<Map<String, Value>, Failure> {
    match input.json("definition")? {
        Some(Value::Object(limits)) => Ok(limits),
        _ => Err(Failure::unavailable("limits must be a JSON object: {\"max-connections\": 64}")),
    }
}

fn set_all(place: &[&str], limits: &Map<String, Value>) -> StepResult {
    let set = |(name, value): (&String, &Value)| {
        Ask::put(path(&[place, &[name.as_str()]].concat()), &json!({"value": value}))
    };
    each(limits.iter().map(set).collect(), done)
}

fn clear_all(of: &'static str, name: String) -> StepResult {
    Ask::get(path(&[of, &name])).then(move |reply| {
        let clear = |limit: &String| Ask::delete(path(&[of, &name, limit]));
        let limits = reply.list()?;
        let limits = limits.first().and_then(|item| item["value"].as_object());
        each(limits.into_iter().flat_map(|limits| limits.keys().map(clear)).collect(), done)
    })
}

/// The limits of one, as an object.
fn one(place: String) -> StepResult {
    Ask::get(place).then(|reply| {
        let limits = reply.list()?.first().map_or(json!({}), |item| item["value"].clone());
        Ok(Step::Done(Output::Document { text: limits.to_string(), value: limits }))
    })
}

fn known_vhost(vhost: &str, next: StepResult) -> StepResult {
    let vhost = vhost.to_owned();
    Ask::get(path(&["vhosts", &vhost])).then(move |reply| {
        reply.unless(404, || Failure::no_such_vhost(&vhost))?.accepted()?;
        next
    })
}

fn known_user(user: &str, next: StepResult) -> StepResult {
    let user = user.to_owned();
    Ask::get(path(&["users", &user])).then(move |reply| {
        reply.unless(404, || Failure::no_such_user(&user))?.accepted()?;
        next
    })
}
