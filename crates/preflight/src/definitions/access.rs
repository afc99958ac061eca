//! Users and what they may do.

use base64::Engine as _;
use model::name::{ExchangeName, UserName, VhostName};
use model::user::{HashingAlgorithm, PasswordHash, PasswordHashError, Permission, TopicPermission, UserLimits};
use serde_json::Value;

use super::expected::Expected;
use super::fields::{Fields, wrong_type};
use super::{Judgement, Refusal};
use crate::pages;
use crate::sheet::Remark;

pub(super) fn user(_: &mut Expected, fields: Fields<'_>) -> Judgement {
    UserName::parse(fields.required_text("name")?.as_bytes()).map_err(|error| Refusal::wrong(error.to_string()))?;
    if fields.required("tags")?.is_null() {
        return Err(wrong_type("tags", "a string or a list of strings", &Value::Null));
    }
    fields.check_words("tags")?;
    let algorithm = algorithm(fields, "hashing_algorithm")?;
    let hash = password(fields, "password", "password_hash", algorithm)?;
    let second = match fields.0.contains_key("second_password_hash") {
        true => self::algorithm(fields, "second_hashing_algorithm")?.or(algorithm),
        false => None,
    };
    let second_hash = password(fields, "second_password", "second_password_hash", second)?;
    second_hash.map_err(|error| Refusal::wrong(format!("second_{error}")))?;
    check_limits(fields, &mut |name, value| UserLimits::default().set(name, value).map_err(|error| error.to_string()))?;
    let useless = |_| {
        let text = "'password_hash' has an invalid length: as in RabbitMQ, logins with a password fail";
        let advice =
            "give the user a password, or a hash from `warren ctl hash_password`: 4 bytes of salt, then the hash";
        Remark::different(text, pages::USERS).advising(advice)
    };
    Ok(hash.err().map(useless).into_iter().collect())
}

fn algorithm(fields: Fields<'_>, name: &str) -> Result<Option<HashingAlgorithm>, Refusal> {
    let Some(value) = fields.said(name) else { return Ok(None) };
    let text = value.as_str().ok_or_else(|| wrong_type(name, "a string", value))?;
    HashingAlgorithm::parse(text).map(Some).ok_or_else(|| Refusal::wrong(format!("unknown hashing algorithm '{text}'")))
}

/// What is said of a password, and whether a hash can be one of the algorithm's. Versions before 3.6 write a hash and no algorithm: its
/// length tells which.
fn password(
    fields: Fields<'_>,
    plain: &str,
    hash: &str,
    algorithm: Option<HashingAlgorithm>,
) -> Result<Result<(), PasswordHashError>, Refusal> {
    match (fields.text(plain)?, fields.text(hash)?) {
        (Some(_), Some(_)) => Err(Refusal::wrong(format!("'{plain}' and '{hash}' exclude each other"))),
        (_, None) => Ok(Ok(())),
        (None, Some(text)) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text);
            let bytes = bytes.map_err(|_| Refusal::wrong(format!("'{hash}' is not valid base64")))?;
            let algorithm = algorithm.or_else(|| HashingAlgorithm::of_len(bytes.len())).unwrap_or_default();
            Ok(PasswordHash::parse(text, algorithm).map(drop))
        }
    }
}

/// The member `limits`: an object, or `[]` for an empty one.
pub(super) fn check_limits(
    fields: Fields<'_>,
    set: &mut dyn FnMut(&str, i64) -> Result<(), String>,
) -> Result<(), Refusal> {
    match fields.0.get("limits") {
        None => Ok(()),
        Some(Value::Object(members)) => members.iter().try_for_each(|(name, value)| {
            let number = value.as_i64().ok_or_else(|| wrong_type(name, "an integer", value))?;
            set(name, number).map_err(Refusal::wrong)
        }),
        Some(Value::Array(items)) if items.is_empty() => Ok(()),
        Some(other) => Err(wrong_type("limits", "an object", other)),
    }
}

pub(super) fn permission(expected: &mut Expected, fields: Fields<'_>) -> Judgement {
    let (vhost, user) = (expected.vhost_of(fields)?, fields.required_text("user")?);
    let [configure, write, read] = ["configure", "write", "read"].map(|name| fields.required_text(name));
    Permission::parse(configure?, write?, read?).map_err(|error| Refusal::wrong(error.to_string()))?;
    expected.check_vhost(&vhost)?;
    expected.check_user(user)?;
    Ok(Vec::new())
}

pub(super) fn topic_permission(expected: &mut Expected, fields: Fields<'_>) -> Judgement {
    let (vhost, user) = (expected.vhost_of(fields)?, fields.required_text("user")?);
    let wrong = |error: &dyn std::fmt::Display| Refusal::wrong(error.to_string());
    let exchange = ExchangeName::parse(fields.required_text("exchange")?.as_bytes()).map_err(|error| wrong(&error))?;
    let (write, read) = (fields.required_text("write")?, fields.required_text("read")?);
    let vhost_name = VhostName::parse(vhost.as_bytes()).map_err(|error| wrong(&error))?;
    let user_name = UserName::parse(user.as_bytes()).map_err(|error| wrong(&error))?;
    TopicPermission::parse(vhost_name, user_name, exchange, write, read).map_err(|error| wrong(&error))?;
    expected.check_vhost(&vhost)?;
    expected.check_user(user)?;
    Ok(Vec::new())
}
