//! How much a user may have at once, as `rabbitmqctl set_user_limits` sets it.

/// A user's limits. None: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UserLimits {
    /// Most connections.
    pub connection_max: Option<u32>,
    /// Most channels over all its connections.
    pub channel_max: Option<u32>,
}

/// A limit that cannot be set. The texts are RabbitMQ's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// No limit has this name.
    #[error("Unrecognised terms [{{<<\"{0}\">>,{1}}}] in limits")]
    Unknown(String, i64),
    /// Limits are whole numbers; -1 means no limit.
    #[error("{name} should be number, actually was {value}")]
    NotANumber {
        /// The limit's name.
        name: String,
        /// What was given, as JSON.
        value: String,
    },
}

/// The number that means no limit.
const UNLIMITED: i64 = -1;

impl UserLimits {
    /// Names of all limits.
    pub const NAMES: [&'static str; 2] = ["max-connections", "max-channels"];

    /// Sets the limit of this name; a negative number removes it.
    pub fn set(&mut self, name: &str, value: i64) -> Result<(), LimitError> {
        *self.slot(name).ok_or_else(|| LimitError::Unknown(name.to_owned(), value))? = limit_of(value);
        Ok(())
    }

    /// Removes the limit of this name. False when there is none of this name.
    pub fn clear(&mut self, name: &str) -> bool {
        self.slot(name).map(|slot| *slot = None).is_some()
    }

    /// The limits that are set, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, i64)> {
        let [connections, channels] = Self::NAMES;
        [(connections, self.connection_max), (channels, self.channel_max)]
            .into_iter()
            .filter_map(|(name, limit)| Some((name, i64::from(limit?))))
    }

    fn slot(&mut self, name: &str) -> Option<&mut Option<u32>> {
        match name {
            "max-connections" => Some(&mut self.connection_max),
            "max-channels" => Some(&mut self.channel_max),
            _ => None,
        }
    }
}

/// The limit that a number stands for.
pub(crate) fn limit_of(value: i64) -> Option<u32> {
    if value <= UNLIMITED { None } else { Some(u32::try_from(value).unwrap_or(u32::MAX)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_number_is_no_limit() {
        let mut limits = UserLimits::default();
        limits.set("max-connections", 0).unwrap();
        limits.set("max-channels", 5).unwrap();
        assert_eq!(limits.iter().collect::<Vec<_>>(), [("max-connections", 0), ("max-channels", 5)]);
        limits.set("max-channels", -1).unwrap();
        assert!(limits.clear("max-connections"));
        assert_eq!(limits, UserLimits::default());
    }

    #[test]
    fn an_unknown_limit_is_named() {
        let error = UserLimits::default().set("max-queues", 5).unwrap_err();
        assert_eq!(error.to_string(), "Unrecognised terms [{<<\"max-queues\">>,5}] in limits");
        assert!(!UserLimits::default().clear("max-queues"));
    }
}
