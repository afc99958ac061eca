//! What users may do: in a virtual host, and with routing keys on a topic exchange.

use serde_json::json;

use crate::command::{Command, optional, required};
use crate::commands::users;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing::{Listing, columns};
use crate::reply::Reply;
use crate::step::{Ask, StepResult, done, each, path};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new(
        "set_permissions",
        "sets what a user may configure, write to and read from in a virtual host",
        |input| known_user_and_vhost(input, permission(input, input.vhost())),
    )
    .taking(&[required("username"), required("configure"), required("write"), required("read")])
    .saying("Setting permissions for user \"{username}\" in vhost \"{vhost}\" ..."),
    Command::new(
        "set_permissions_globally",
        "sets a user's permissions in all virtual hosts",
        set_permissions_globally,
    )
    .taking(&[required("username"), required("configure"), required("write"), required("read")])
    .saying("Setting permissions for user \"{username}\" in all virtual hosts ..."),
    Command::new("clear_permissions", "removes a user's permissions in a virtual host", |input| {
        clear(input, path(&["permissions", input.vhost(), input.text("username")]))
    })
    .taking(&[required("username")])
    .saying("Clearing permissions for user \"{username}\" in vhost \"{vhost}\" ..."),
    Command::new("list_permissions", "lists permissions in a virtual host", |input| {
        OF_VHOST.ask(input, path(&["vhosts", input.vhost(), "permissions"]))
    })
    .saying("Listing permissions for vhost \"{vhost}\" ..."),
    Command::new("list_user_permissions", "lists a user's permissions", |input| {
        of_user(input, &OF_USER, "permissions")
    })
    .taking(&[required("username")])
    .saying("Listing permissions for user \"{username}\" ..."),
    Command::new("set_topic_permissions", "sets a user's permissions on a topic exchange", |input| {
        let body = json!({
            "exchange": input.text("exchange"), "write": input.text("write"), "read": input.text("read")
        });
        let ask = Ask::put(path(&["topic-permissions", input.vhost(), input.text("username")]), &body);
        known_user_and_vhost(input, ask)
    })
    .taking(&[required("username"), required("exchange"), required("write"), required("read")])
    .saying("Setting topic permissions on \"{exchange}\" for user \"{username}\" in vhost \"{vhost}\" ..."),
    Command::new("clear_topic_permissions", "removes a user's topic permissions, on one exchange or all", |input| {
        let (vhost, user) = (input.vhost(), input.text("username"));
        clear(
            input,
            match input.optional("exchange") {
                Some(exchange) => path(&["topic-permissions", vhost, user, exchange]),
                None => path(&["topic-permissions", vhost, user]),
            },
        )
    })
    .taking(&[required("username"), optional("exchange")])
    .saying("Clearing topic permissions for user \"{username}\" in vhost \"{vhost}\" ..."),
    Command::new("list_topic_permissions", "lists topic permissions in a virtual host", |input| {
        TOPICS_OF_VHOST.ask(input, path(&["vhosts", input.vhost(), "topic-permissions"]))
    })
    .saying("Listing topic permissions for vhost \"{vhost}\" ..."),
    Command::new("list_user_topic_permissions", "lists a user's topic permissions", |input| {
        of_user(input, &TOPICS_OF_USER, "topic-permissions")
    })
    .taking(&[required("username")])
    .saying("Listing topic permissions for user \"{username}\" ..."),
];

const OF_VHOST: Listing = Listing::of(columns! { "user" "configure" "write" "read" });
const OF_USER: Listing = Listing::of(columns! { "vhost" "configure" "write" "read" });
const TOPICS_OF_VHOST: Listing = Listing::of(columns! { "user" "exchange" "write" "read" });
const TOPICS_OF_USER: Listing = Listing::of(columns! { "vhost" "exchange" "write" "read" });

fn permission(input: &Invocation, vhost: &str) -> Ask {
    let body = json!({
        "configure": input.text("configure"), "write": input.text("write"), "read": input.text("read")
    });
    Ask::put(path(&["permissions", vhost, input.text("username")]), &body)
}

/// RabbitMQ answers alike where the user or the virtual host does not exist: another request finds out which of both.
fn known_user_and_vhost(input: &Invocation, ask: Ask) -> StepResult {
    let (user, vhost) = (input.text("username").to_owned(), input.vhost().to_owned());
    ask.then(move |reply| {
        let is_missing =
            reply.status == 404 || reply.reason().is_some_and(|reason| reason == "vhost_or_user_not_found");
        if !is_missing {
            return reply.done();
        }
        Ask::get(path(&["users", &user])).then(move |found| {
            let _ = found.unless(404, || Failure::no_such_user(&user))?;
            Err(Failure::unavailable(format!("virtual host '{vhost}' does not exist")))
        })
    })
}

fn set_permissions_globally(input: &Invocation) -> StepResult {
    let user = input.text("username").to_owned();
    // The patterns are the same everywhere.
    let body = permission(input, "").body.unwrap_or_default();
    Ask::get(path(&["users", &user])).then(move |found| {
        found.unless(404, || Failure::no_such_user(&user))?.accepted()?;
        Ask::get("vhosts".to_owned()).then(move |reply| {
            let set =
                |vhost: String| Ask::put(path(&["permissions", &vhost, &user]), &json!(null)).with_body(body.clone());
            each(users::names(&reply.list()?).into_iter().map(set).collect(), done)
        })
    })
}

/// As rabbitmqctl: what is not there is cleared, unless it is the user.
fn clear(input: &Invocation, place: String) -> StepResult {
    let user = input.text("username").to_owned();
    Ask::delete(place).then(move |reply| match reply.status {
        404 => Ask::get(path(&["users", &user]))
            .then(move |found| found.unless(404, || Failure::no_such_user(&user)).and_then(Reply::done)),
        _ => reply.done(),
    })
}

fn of_user(input: &Invocation, listing: &'static Listing, what: &str) -> StepResult {
    let user = input.text("username").to_owned();
    let columns = listing.chosen(input)?;
    Ask::get(path(&["users", &user, what])).then(move |reply| {
        let items = reply.unless(404, || Failure::no_such_user(&user))?.list()?;
        crate::listing::show(&columns, &items)
    })
}
