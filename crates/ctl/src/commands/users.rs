//! Users: their names, passwords and tags.

use serde_json::{Value, json};

use crate::command::{Command, flag, option, optional, repeated, required};
use crate::failure::{DATA, Failure, SOFTWARE};
use crate::invocation::Invocation;
use crate::listing::{self, Listing, renamed, same};
use crate::password;
use crate::reply::Reply;
use crate::step::{Ask, Source, StepResult, path, say};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("add_user", "creates a user; without a password it is read from standard input", add_user)
        .taking(&[required("username"), optional("password")])
        .with(&[flag("pre-hashed-password", "the argument is a hash from hash_password")])
        .saying("Adding user \"{username}\" ..."),
    Command::new("delete_user", "deletes a user", |input| {
        Ask::delete(path(&["users", input.text("username")])).then(|reply| match reply.status {
            // As rabbitmqctl: a user that does not exist is deleted.
            404 => crate::step::done(),
            _ => reply.done(),
        })
    })
    .taking(&[required("username")])
    .saying("Deleting user \"{username}\" ..."),
    Command::new("change_password", "changes a user's password", change_password)
        .taking(&[required("username"), optional("password")])
        .saying("Changing password for user \"{username}\" ..."),
    Command::new("clear_password", "removes a user's password, so that the user cannot log in with one", |input| {
        change(input, |user| user["password_hash"] = json!(""))
    })
    .taking(&[required("username")])
    .saying("Clearing password for user \"{username}\" ..."),
    Command::new("authenticate_user", "checks a user's password", authenticate_user)
        .taking(&[required("username"), optional("password")])
        .saying("Authenticating user \"{username}\" ..."),
    Command::new("set_user_tags", "sets a user's tags, replacing those it has", |input| {
        let tags = input.all("tag").join(",");
        change(input, move |user| user["tags"] = json!(tags))
    })
    .taking(&[required("username"), repeated("tag")])
    .saying("Setting tags for user \"{username}\" to [{tag}] ..."),
    Command::new("list_users", "lists users and their tags", |input| USERS.ask(input, "users".to_owned()))
        .saying("Listing users ..."),
    Command::new(
        "hash_password",
        "prints a salted hash for import_definitions and add_user, computed locally",
        hash_password,
    )
    .taking(&[optional("password")])
    .with(&[option("hashing-algorithm", "NAME", "SHA256 (default) or SHA512")]),
];

pub(crate) const ADMIN_COMMANDS: &[Command] =
    &[Command::new("passwords salt_and_hash", "prints a password's salted hash, computed locally", hash_password)
        .taking(&[optional("password").bare(), optional("hashing-algorithm")])];

const USERS: Listing = Listing::of(&[renamed("user", "name"), same("tags")]);

fn add_user(input: &Invocation) -> StepResult {
    let user = input.text("username").to_owned();
    if user.is_empty() {
        return Err(Failure::data("a user's name cannot be empty"));
    }
    let field = if input.has("pre-hashed-password") { "password_hash" } else { "password" };
    with_password(input, move |password| {
        let place = path(&["users", &user]);
        Ask::get(place.clone()).then(move |reply| match reply.status {
            404 => Ask::put(place, &json!({ field: password, "tags": "" })).say(
                "Done. Don't forget to grant the user permissions to some virtual hosts! See 'warren ctl help set_permissions' \
                to learn more.",
            ),
            _ => {
                reply.accepted()?;
                Err(Failure::new(SOFTWARE, format!("user \"{user}\" already exists")))
            }
        })
    })
}

fn change_password(input: &Invocation) -> StepResult {
    let user = input.text("username").to_owned();
    with_password(input, move |password| {
        change_user(&user, move |fields| {
            fields["password"] = json!(password);
            if let Some(fields) = fields.as_object_mut() {
                fields.remove("password_hash");
                fields.remove("hashing_algorithm");
            }
        })
    })
}

/// Changes something of a user and leaves the rest.
fn change(input: &Invocation, change: impl FnOnce(&mut Value) + 'static) -> StepResult {
    change_user(input.text("username"), change)
}

fn change_user(user: &str, change: impl FnOnce(&mut Value) + 'static) -> StepResult {
    let place = path(&["users", user]);
    let user = user.to_owned();
    Ask::get(place.clone()).then(move |reply| {
        let found = reply.unless(404, || Failure::no_such_user(&user))?.value()?;
        let tags: Vec<&str> = match &found["tags"] {
            Value::Array(tags) => tags.iter().filter_map(Value::as_str).collect(),
            tags => vec![tags.as_str().unwrap_or_default()],
        };
        let mut fields = json!({"password_hash": found["password_hash"], "tags": tags.join(",")});
        if let Some(algorithm) = found["hashing_algorithm"].as_str() {
            fields["hashing_algorithm"] = json!(algorithm);
        }
        change(&mut fields);
        Ask::put(place, &fields).done()
    })
}

fn authenticate_user(input: &Invocation) -> StepResult {
    let user = input.text("username").to_owned();
    with_password(input, move |password| {
        Ask::get("whoami".to_owned()).by_user(&user, &password).then(move |reply| match reply.status {
            // The password was right, but the user may not use the HTTP API.
            401 if is_known_but_not_for_http(&reply) => say("Success"),
            401 => {
                Err(Failure::new(DATA, format!("user \"{user}\" is not accepted: no such user, or another password")))
            }
            _ => {
                reply.accepted()?;
                say("Success")
            }
        })
    })
}

fn is_known_but_not_for_http(reply: &Reply) -> bool {
    reply.reason().is_some_and(|reason| reason == "Not management user")
}

fn hash_password(input: &Invocation) -> StepResult {
    let algorithm = input.optional("hashing-algorithm").unwrap_or("SHA256").to_owned();
    with_password(input, move |password| {
        say(password::hashed(&password, &algorithm).ok_or_else(|| password::unknown_algorithm(&algorithm))?)
    })
}

/// The password that was given, or the first line of what comes in.
fn with_password(input: &Invocation, next: impl FnOnce(String) -> StepResult + 'static) -> StepResult {
    if let Some(password) = input.optional("password") {
        return next(password.to_owned());
    }
    Source::Secret.then(|bytes| {
        let text = String::from_utf8_lossy(&bytes);
        match text.lines().next().filter(|line| !line.is_empty()) {
            Some(password) => next(password.to_owned()),
            None => Err(Failure::data("no password: give it as an argument or as a line of standard input")),
        }
    })
}

/// The names of all users, for what is done to each.
pub(crate) fn names(values: &[Value]) -> Vec<String> {
    values.iter().map(|value| listing::text(value, "name").to_owned()).collect()
}
