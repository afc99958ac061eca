//! What vhosts get when they are made (`default_limits`, `default_users`, `default_policies`), and which passwords may be set
//! (`credential_validator`).

use std::collections::BTreeMap;

use super::remark::Origin;
use super::schema::access::{
    CREDENTIAL_VALIDATOR_BACKEND as BACKEND, CREDENTIAL_VALIDATOR_MIN_LENGTH as MIN_LENGTH,
    CREDENTIAL_VALIDATOR_REGEXP as REGEXP,
};
use super::value;
use super::values::Values;
use crate::name::UserName;
use crate::pattern::Pattern;
use crate::policy::{ApplyTo, PolicyDefinition, PolicyKind};
use crate::user::{CredentialValidator, Permission, Tags};
use crate::vhost::{VhostDefaults, VhostLimitDefault, VhostPolicyDefault, VhostUserDefault};
use serde_json::Value;

const POLICIES: [&str; 2] = ["default_policies", "operator"];

/// What a family's member says, by the last word of its keys.
type Members<'a> = BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>;

fn members<'a>(values: &'a Values, prefix: &[&str]) -> Members<'a> {
    let mut members = Members::new();
    for (rest, text, _) in values.below(prefix) {
        if let [id, key] = rest {
            members.entry(id).or_default().insert(key, text);
        }
    }
    members
}

/// Notes what cannot be so.
pub(super) fn check(values: &mut Values) {
    let mut problems: Vec<(Origin, String)> = Vec::new();
    for (rest, ..) in values.below(&["default_users"]) {
        let Some(name) = rest.first().filter(|name| UserName::parse(name.as_bytes()).is_err()) else { continue };
        problems.push((Origin::Default, format!("'default_users.{name}' has no name that a user can have")));
    }
    for (name, keys) in members(values, &POLICIES) {
        let policy = policy_default(name, &keys);
        let key = format!("default_policies.operator.{name}");
        if policy.definition.is_empty() {
            problems.push((Origin::Default, format!("'{key}' sets nothing")));
        } else if let Err(error) = PolicyDefinition::parse(policy.definition, PolicyKind::Operator) {
            problems.push((Origin::Default, format!("'{key}': {error}")));
        }
    }
    if is_by_pattern(&values.get(&BACKEND)) && values.find(&REGEXP).is_none() {
        problems.push((values.origin(BACKEND.name()), format!("'{}' needs '{}'", BACKEND.name(), REGEXP.name())));
    }
    for (origin, text) in problems {
        values.refuse(origin, text);
    }
}

fn is_by_pattern(backend: &str) -> bool {
    backend.ends_with("password_regexp")
}

pub(super) fn validator(values: &Values) -> CredentialValidator {
    match &*values.get(&BACKEND) {
        name if name.ends_with("min_password_length") => CredentialValidator::MinLength(values.get(&MIN_LENGTH)),
        name if is_by_pattern(name) => CredentialValidator::Pattern(values.find(&REGEXP).unwrap_or_else(Pattern::all)),
        _ => CredentialValidator::AcceptEverything,
    }
}

pub(super) fn read(values: &Values) -> VhostDefaults {
    let limits = members(values, &["default_limits", "vhosts"]);
    let users = members(values, &["default_users"]);
    VhostDefaults {
        limits: limits.values().map(limit_default).collect(),
        users: users.iter().filter_map(|(name, keys)| user_default(name, keys)).collect(),
        policies: members(values, &POLICIES).iter().map(|(name, keys)| policy_default(name, keys)).collect(),
    }
}

fn policy_default(name: &str, keys: &BTreeMap<&str, &str>) -> VhostPolicyDefault {
    VhostPolicyDefault {
        name: name.to_owned(),
        vhosts: pattern(keys.get("vhost_pattern").copied()),
        pattern: keys.get("queue_pattern").copied().unwrap_or(".*").to_owned(),
        apply_to: keys.get("apply_to").and_then(|name| ApplyTo::parse(name)).unwrap_or(ApplyTo::All),
        definition: keys.iter().filter_map(|(key, text)| setting(key, text)).collect(),
    }
}

/// A key of the configuration as a key of a policy.
fn setting(key: &str, text: &str) -> Option<(String, Value)> {
    let value = match key {
        "expires" | "message_ttl" => Value::from(value::parse_duration_ms(text)?),
        "max_length_bytes" | "max_in_memory_bytes" => Value::from(parse_size(text)?),
        "max_length" | "max_in_memory_length" | "delivery_limit" => Value::from(value::parse_integer(text)?),
        _ => return None,
    };
    Some((key.replace('_', "-"), value))
}

/// A size as RabbitMQ reads it of these keys: `kB`, `MB` and `GB` are powers of 1024, while with most others they are powers of 1000.
fn parse_size(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let binary = [("kb", 10), ("mb", 20), ("gb", 30)].into_iter().find_map(|(unit, exponent)| {
        let number: u64 = lower.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_mul(1 << exponent)
    });
    binary.or_else(|| human::parse_size(text))
}

fn limit_default(keys: &BTreeMap<&str, &str>) -> VhostLimitDefault {
    let number = |key: &str| keys.get(key).and_then(|text| text.parse::<i64>().ok());
    let mut default = VhostLimitDefault { pattern: pattern(keys.get("pattern").copied()), ..Default::default() };
    default.limits.connection_max = number("max_connections").and_then(|max| u64::try_from(max).ok());
    default.limits.queue_max = number("max_queues").and_then(|max| u64::try_from(max).ok());
    default
}

fn user_default(name: &str, keys: &BTreeMap<&str, &str>) -> Option<VhostUserDefault> {
    let of = |key: &str| pattern(keys.get(key).copied());
    Some(VhostUserDefault {
        name: UserName::parse(name.as_bytes()).ok()?,
        vhosts: of("vhost_pattern"),
        password: keys.get("password").map(|text| (*text).to_owned()),
        tags: keys.get("tags").map(|text| Tags::parse(text)).unwrap_or_default(),
        permission: Permission { configure: of("configure"), write: of("write"), read: of("read") },
    })
}

/// A pattern that the schema has checked; everything where there is none.
fn pattern(text: Option<&str>) -> Pattern {
    text.and_then(|text| Pattern::parse(text).ok()).unwrap_or_else(Pattern::all)
}

#[cfg(test)]
mod tests {

    use crate::config::Config;
    use crate::name::VhostName;

    fn parse(lines: &[&str]) -> Result<Config, String> {
        let sets: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        Config::parse(&[], &[], &sets).map(|(config, _)| config).map_err(|error| error.to_string())
    }

    fn vhost(name: &str) -> VhostName {
        VhostName::parse(name.as_bytes()).unwrap()
    }

    #[test]
    fn the_first_limits_whose_pattern_matches_count() {
        let config = parse(&[
            "default_limits.vhosts.1.pattern = ^device",
            "default_limits.vhosts.1.max_connections = 10",
            "default_limits.vhosts.1.max_queues = -1",
            "default_limits.vhosts.2.max_queues = 5",
        ])
        .unwrap();
        let limits = |name| config.vhost_defaults.limits_of(&vhost(name));
        let [device, other] = ["device-1", "other"].map(|name| limits(name).unwrap());
        assert_eq!((device.connection_max, device.queue_max), (Some(10), None));
        assert_eq!((other.connection_max, other.queue_max), (None, Some(5)));
    }

    #[test]
    fn users_are_for_the_vhosts_that_their_pattern_names() {
        let config = parse(&[
            "default_users.qa.vhost_pattern = ^qa\\.",
            "default_users.qa.tags = policymaker, monitoring",
            "default_users.qa.password = hunter2",
            "default_users.qa.read = ^shared",
            "default_users.all.configure = ^$",
        ])
        .unwrap();
        let names =
            |name| config.vhost_defaults.users_of(&vhost(name)).map(|user| user.name.to_string()).collect::<Vec<_>>();
        assert_eq!(names("qa.one"), ["all", "qa"]);
        assert_eq!(names("one"), ["all"]);
        let qa = &config.vhost_defaults.users[1];
        assert_eq!(qa.password.as_deref(), Some("hunter2"));
        assert_eq!(qa.tags.iter().collect::<Vec<_>>(), ["policymaker", "monitoring"]);
        assert_eq!((qa.permission.read.as_str(), qa.permission.write.as_str()), ("^shared", ".*"));
        assert!(!format!("{config:?}").contains("hunter2"), "passwords are not shown");
    }

    #[test]
    fn passwords_are_checked_as_the_back_end_says() {
        let check = |lines: &[&str], password| parse(lines).unwrap().credential_validator.check(password).is_ok();
        assert!(check(&[], ""));
        let by_length = ["credential_validator.validation_backend = rabbit_credential_validator_min_password_length"];
        assert!(!check(&by_length, "1234567") && check(&by_length, "12345678"));
        let by_pattern = [
            "credential_validator.validation_backend = rabbit_credential_validator_password_regexp",
            "credential_validator.regexp = ^[a-z]+$",
        ];
        assert!(check(&by_pattern, "abc") && !check(&by_pattern, "abc1"));
        let error = parse(&by_pattern[..1]).unwrap_err();
        assert!(error.contains("needs 'credential_validator.regexp'"), "{error}");
        assert!(parse(&["credential_validator.validation_backend = mine"]).is_err());
    }
}
