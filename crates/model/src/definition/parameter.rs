//! A global parameter's bytes.

use super::Kind;
use super::codec::{Reader, Writer};
use crate::parameter::GlobalParameter;

impl GlobalParameter {
    pub(super) fn key(&self) -> Vec<u8> {
        let mut key = Writer::key(Kind::GlobalParameter);
        key.name(&self.name);
        key.finish()
    }

    pub(super) fn put_value(&self, value: &mut Writer) {
        value.json(&self.value);
    }

    pub(super) fn read(names: &mut Reader<'_>, fields: &mut Reader<'_>) -> Result<GlobalParameter, &'static str> {
        let name = std::str::from_utf8(names.short()?).map_err(|_| "a name is not valid")?;
        Ok(GlobalParameter { name: Box::from(name), value: fields.json()? })
    }
}
