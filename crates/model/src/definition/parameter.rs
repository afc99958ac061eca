//! The bytes of parameters, of the whole cluster and of a vhost.

use super::codec::{Reader, Writer, read_name};
use super::kind::Kind;
use crate::name::VhostName;
use crate::parameter::{GlobalParameter, VhostParameter};

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
        Ok(GlobalParameter { name: text(names)?, value: fields.json()? })
    }
}

impl VhostParameter {
    pub(super) fn key(&self) -> Vec<u8> {
        let mut key = Writer::key(Kind::Parameter);
        key.name(self.vhost.as_str());
        key.name(&self.component);
        key.name(&self.name);
        key.finish()
    }

    pub(super) fn put_value(&self, value: &mut Writer) {
        value.json(&self.value);
    }

    pub(super) fn read(names: &mut Reader<'_>, fields: &mut Reader<'_>) -> Result<VhostParameter, &'static str> {
        let vhost = read_name!(names, VhostName);
        Ok(VhostParameter { vhost, component: text(names)?, name: text(names)?, value: fields.json()? })
    }
}

fn text(names: &mut Reader<'_>) -> Result<Box<str>, &'static str> {
    std::str::from_utf8(names.short()?).map(Box::from).map_err(|_| "a name is not valid")
}
