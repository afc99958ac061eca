//! A vhost's bytes.

use super::codec::{Reader, Writer, read_name};
use super::kind::Kind;
use crate::name::VhostName;
use crate::vhost::{Vhost, VhostLimits, VhostMetadata};

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
        value.u8(u8::from(self.is_protected));
        let VhostLimits { connection_max, queue_max, publish_rate_max_per_s, publish_bytes_max_per_s } = self.limits;
        for limit in [connection_max, queue_max, publish_rate_max_per_s, publish_bytes_max_per_s] {
            value.limit(limit);
        }
    }

    pub(super) fn read(version: u8, names: &mut Reader<'_>, fields: &mut Reader<'_>) -> Result<Vhost, &'static str> {
        let name = read_name!(names, VhostName);
        let description = fields.text()?.to_owned();
        let tags = fields.list(|fields| fields.text().map(str::to_owned))?;
        let default_queue_type = Some(fields.text()?.to_owned()).filter(|text| !text.is_empty());
        let metadata = VhostMetadata { description, tags, default_queue_type };
        if version == 1 {
            return Ok(Vhost { metadata, ..Vhost::new(name) });
        }
        let is_protected = fields.flags(1)? != 0;
        let limits = VhostLimits {
            connection_max: fields.limit()?,
            queue_max: fields.limit()?,
            publish_rate_max_per_s: fields.limit()?,
            publish_bytes_max_per_s: fields.limit()?,
        };
        Ok(Vhost { name, metadata, is_protected, limits })
    }
}
