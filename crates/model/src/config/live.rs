//! The keys of streams of events over HTTP, typed.

use super::schema::warren as keys;
use super::values::Values;

/// How many streams of events there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveOptions {
    /// At a time.
    pub count_max: usize,
    /// Of these, for administrators alone.
    pub kept_for_administrators: usize,
    /// Of one user.
    pub user_count_max: usize,
    /// Of users that are no administrators, from one address.
    pub address_count_max: usize,
}

pub(super) fn read(values: &Values) -> LiveOptions {
    LiveOptions {
        count_max: values.get(&keys::LIVE_COUNT_MAX),
        kept_for_administrators: values.get(&keys::LIVE_KEPT_FOR_ADMINISTRATORS),
        user_count_max: values.get(&keys::LIVE_USER_COUNT_MAX),
        address_count_max: values.get(&keys::LIVE_ADDRESS_COUNT_MAX),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, ConfigError, Source};

    fn numbers(text: &str) -> Result<[usize; 4], ConfigError> {
        let source = Source { name: "rabbitmq.conf".to_owned(), text: text.to_owned() };
        let live = Config::parse(&[source], &[], &[])?.0.live;
        Ok([live.count_max, live.kept_for_administrators, live.user_count_max, live.address_count_max])
    }

    #[test]
    fn how_many_streams_there_may_be_is_configured() {
        assert_eq!(numbers("").unwrap(), [100, 20, 20, 50]);
        let text = "warren.live.count_max = 500\nwarren.live.kept_for_administrators = 0\n\
                    warren.live.user_count_max = 5\nwarren.live.address_count_max = 400";
        assert_eq!(numbers(text).unwrap(), [500, 0, 5, 400]);
        assert!(numbers("warren.live.user_count_max = 0").is_err());
    }
}
