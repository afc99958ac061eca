//! A vhost's bytes.

use super::Kind;
use super::codec::{Reader, Writer, read_name};
use crate::name::VhostName;
use crate::vhost::{Vhost, VhostMetadata};

impl Vhost {
    pub(super) fn key(&self) -> Vec<u8> {
        let mut key = Writer::key(Kind::Vhost);
        key.name(self.name.as_str());
        key.finish()
    }

    pub(super) fn put_value(&self, value: &mut Writer) {
        let VhostMetadata { description, tags, default_queue_type } = &self.metadata;
        value.text(description);
        value.len(tags.len());
        tags.iter().for_each(|tag| value.text(tag));
        value.text(default_queue_type.as_deref().unwrap_or_default());
    }

    pub(super) fn read(names: &mut Reader<'_>, fields: &mut Reader<'_>) -> Result<Vhost, &'static str> {
        let name = read_name!(names, VhostName);
        let description = fields.text()?.to_owned();
        let tags = fields.list(|fields| fields.text().map(str::to_owned))?;
        let default_queue_type = Some(fields.text()?.to_owned()).filter(|text| !text.is_empty());
        Ok(Vhost { name, metadata: VhostMetadata { description, tags, default_queue_type } })
    }
}
