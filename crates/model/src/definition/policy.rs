//! A policy's bytes.

use super::codec::{Reader, Writer, read_name};
use super::kind::Kind;
use crate::name::VhostName;
use crate::policy::{ApplyTo, Policy, PolicyDefinition, PolicyKind};

impl Policy {
    pub(super) fn key(&self) -> Vec<u8> {
        let mut key = Writer::key(Kind::Policy);
        key.name(self.vhost.as_str());
        key.u8(match self.kind {
            PolicyKind::User => b'u',
            PolicyKind::Operator => b'o',
        });
        key.name(&self.name);
        key.finish()
    }

    pub(super) fn put_value(&self, value: &mut Writer) {
        value.text(self.pattern.as_str());
        value.u8(self.apply_to as u8);
        value.i64(self.priority);
        value.json(&serde_json::Value::Object(self.definition.settings().clone()));
    }

    pub(super) fn read(names: &mut Reader<'_>, fields: &mut Reader<'_>) -> Result<Policy, &'static str> {
        let vhost = read_name!(names, VhostName);
        let kind = match names.u8()? {
            b'u' => PolicyKind::User,
            b'o' => PolicyKind::Operator,
            _ => return Err("the kind of policy is unknown"),
        };
        let name = std::str::from_utf8(names.short()?).map_err(|_| "a name is not valid")?;
        let name = Policy::parse_name(name).map_err(|_| "a name is not valid")?;
        let pattern = Policy::parse_pattern(fields.text()?).map_err(|_| "a pattern is not valid")?;
        let apply_to = ApplyTo::from_byte(fields.u8()?).ok_or("what it applies to is unknown")?;
        let priority = fields.i64()?;
        let serde_json::Value::Object(settings) = fields.json()? else { return Err("the settings are not an object") };
        let definition = PolicyDefinition::from_stored(settings);
        Ok(Policy { vhost, name, kind, pattern, apply_to, priority, definition })
    }
}
