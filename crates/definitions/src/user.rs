//! A user, as a document has it, or a request.

use base64::Engine as _;
use model::name::UserName;
use model::user::{HashingAlgorithm, PasswordHash, Tags, UserLimits};
use serde_json::Value;

use crate::fields::{Fields, wrong_type};
use crate::read_error::ReadError;
use crate::remark::Remark;

/// A user that an operator wants to be so.
#[derive(Debug, Clone)]
pub struct UserRequest {
    /// Its name.
    pub name: UserName,
    /// Its password.
    pub password: PasswordChange,
    /// Its second password.
    pub second_password: PasswordChange,
    /// Whether the first password so far stays valid as the second one.
    pub keeps_old_password: bool,
    /// Its tags; None leaves them as they are.
    pub tags: Option<Tags>,
    /// Its limits; None leaves them as they are.
    pub limits: Option<UserLimits>,
}

/// What becomes of a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasswordChange {
    /// It stays.
    Keep,
    /// It is deleted.
    Clear,
    /// It is this one.
    Plain(String),
    /// It is the one with this hash.
    Hash(PasswordHash),
}

/// The members with a password, and those with its hash.
const FIRST: (&str, &str) = ("password", "password_hash");
const SECOND: (&str, &str) = ("second_password", "second_password_hash");

impl UserRequest {
    /// A user with this password, without anything else that is new.
    #[must_use]
    pub fn named(name: UserName, password: PasswordChange) -> Self {
        let second_password = PasswordChange::Keep;
        UserRequest { name, password, second_password, keeps_old_password: false, tags: None, limits: None }
    }

    /// Reads the body of a request.
    pub fn of_body(name: &str, fields: Fields<'_>) -> Result<UserRequest, ReadError> {
        let name = UserName::parse(name.as_bytes()).map_err(ReadError::invalid)?;
        let tags = fields.get("tags").ok_or(ReadError::TagsMissing)?;
        let algorithm = || algorithm(fields.text("hashing_algorithm")?);
        // RabbitMQ, too, takes the password away where none is given. A second one stays until it is taken away by name.
        let password = password(fields, FIRST, algorithm)?.unwrap_or(PasswordChange::Clear);
        let second_password = self::password(fields, SECOND, algorithm)?.unwrap_or(PasswordChange::Keep);
        let keeps_old_password = fields.bool("keep_old_password", false)?;
        let tags = Some(tags_of(tags)?);
        Ok(UserRequest { name, password, second_password, keeps_old_password, tags, limits: None })
    }

    /// Reads an entry of a document. With a hash that cannot be one the user is imported, as by RabbitMQ, where no login by a password
    /// succeeds.
    pub fn of_entry(fields: Fields<'_>) -> Result<(UserRequest, Option<Remark>), ReadError> {
        let name = UserName::parse(fields.required_text("name")?.as_bytes()).map_err(ReadError::invalid)?;
        let tags = Some(tags_of(fields.get("tags").ok_or(ReadError::TagsMissing)?)?);
        let first_algorithm = || algorithm(fields.non_null_text("hashing_algorithm")?);
        // A second hash may have been made in another way than the first.
        let second_algorithm = || match fields.non_null_text("second_hashing_algorithm")? {
            None => first_algorithm(),
            own => algorithm(own),
        };
        let (password, remark) = match password(fields, FIRST, first_algorithm) {
            Err(ReadError::HashLength { .. }) => (PasswordChange::Clear, Some(Remark::UselessHash)),
            read => (read?.unwrap_or(PasswordChange::Clear), None),
        };
        let second_password = self::password(fields, SECOND, second_algorithm)?.unwrap_or(PasswordChange::Keep);
        let keeps_old_password = fields.bool("keep_old_password", false)?;
        let limits = fields.limits()?.map(limits_of).transpose()?;
        Ok((UserRequest { name, password, second_password, keeps_old_password, tags, limits }, remark))
    }
}

fn algorithm(name: Option<&str>) -> Result<Option<HashingAlgorithm>, ReadError> {
    let unknown = |name: &str| ReadError::Invalid(format!("unknown hashing algorithm '{name}'"));
    name.map(|name| HashingAlgorithm::parse(name).ok_or_else(|| unknown(name))).transpose()
}

/// A password, or the hash of one; an empty hash takes it away.
fn password(
    fields: Fields<'_>,
    (plain, hash): (&'static str, &'static str),
    algorithm: impl Fn() -> Result<Option<HashingAlgorithm>, ReadError>,
) -> Result<Option<PasswordChange>, ReadError> {
    match (fields.text(plain)?, fields.text(hash)?) {
        (Some(_), Some(_)) => Err(ReadError::TwoPasswords { plain, hash }),
        (Some(password), None) => Ok(Some(PasswordChange::Plain(password.to_owned()))),
        (None, Some(text)) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text);
            let bytes = bytes.map_err(|_| ReadError::NotBase64 { name: hash, text: text.to_owned() })?;
            // Versions before 3.6 write no algorithm, and RabbitMQ takes any hash for its default's, by which no login succeeds.
            let algorithm = algorithm()?.or_else(|| HashingAlgorithm::of_len(bytes.len())).unwrap_or_default();
            let parsed = PasswordHash::parse(text, algorithm);
            let parsed = parsed.map_err(|_| ReadError::HashLength { name: hash, algorithm })?;
            Ok(Some(parsed.map_or(PasswordChange::Clear, PasswordChange::Hash)))
        }
        (None, None) => Ok(None),
    }
}

/// Roles as a list of texts, or as one text with commas.
fn tags_of(value: &Value) -> Result<Tags, ReadError> {
    match value {
        Value::String(text) => Ok(Tags::parse(text)),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().ok_or_else(|| wrong_type("tags", "a list of strings", value)))
            .collect(),
        other => Err(wrong_type("tags", "a string or a list of strings", other)),
    }
}

fn limits_of(values: Vec<(&str, i64)>) -> Result<UserLimits, ReadError> {
    let mut limits = UserLimits::default();
    for (name, value) in values {
        limits.set(name, value).map_err(ReadError::invalid)?;
    }
    Ok(limits)
}
