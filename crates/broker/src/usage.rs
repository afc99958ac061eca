//! How many connections and channels each user has, for its limits: counted when one is opened and when it ends, so that no client
//! has to go through all connections to open one more.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    Connection,
    Channel,
}

/// All users that have anything open.
#[derive(Debug, Default)]
pub(crate) struct Usages(Arc<Mutex<HashMap<Arc<str>, Usage>>>);

#[derive(Debug, Default)]
struct Usage {
    connection_count: u32,
    channel_count: u32,
}

impl Usage {
    fn of(&mut self, counted: Counted) -> &mut u32 {
        match counted {
            Counted::Connection => &mut self.connection_count,
            Counted::Channel => &mut self.channel_count,
        }
    }
}

/// The place of a connection or a channel among its user's. Dropped, it is free again, whichever way it ends.
#[derive(Debug)]
pub(crate) struct Permit {
    usages: Arc<Mutex<HashMap<Arc<str>, Usage>>>,
    user: Arc<str>,
    counted: Counted,
}

impl Usages {
    /// Takes a place. The error is the limit, where there are as many as may be.
    pub(crate) fn take(&self, user: &str, counted: Counted, count_max: Option<u32>) -> Result<Permit, u32> {
        let mut usages = self.0.lock();
        let user = match usages.get_key_value(user) {
            Some((user, _)) => user.clone(),
            None => Arc::from(user),
        };
        let count = usages.get_mut(&user).map_or(0, |usage| *usage.of(counted));
        if let Some(count_max) = count_max
            && count >= count_max
        {
            return Err(count_max);
        }
        *usages.entry(user.clone()).or_default().of(counted) += 1;
        Ok(Permit { usages: self.0.clone(), user, counted })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut usages = self.usages.lock();
        let Some(usage) = usages.get_mut(&self.user) else { return };
        *usage.of(self.counted) -= 1;
        if usage.connection_count == 0 && usage.channel_count == 0 {
            usages.remove(&self.user);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_for_each_user_and_kind() {
        let usages = Usages::default();
        let first = usages.take("ann", Counted::Channel, Some(1)).unwrap();
        assert_eq!(usages.take("ann", Counted::Channel, Some(1)).unwrap_err(), 1);
        let _others = usages.take("bob", Counted::Channel, Some(1)).unwrap();
        let _connection = usages.take("ann", Counted::Connection, Some(1)).unwrap();
        drop(first);
        assert!(usages.take("ann", Counted::Channel, Some(1)).is_ok());
        assert_eq!(usages.take("ann", Counted::Channel, Some(0)).unwrap_err(), 0);
    }

    #[test]
    fn users_without_anything_are_not_kept() {
        let usages = Usages::default();
        assert!(usages.take("ann", Counted::Connection, Some(0)).is_err());
        let permits: Vec<Permit> = (0..3).map(|_| usages.take("ann", Counted::Channel, None).unwrap()).collect();
        assert_eq!(usages.0.lock().len(), 1);
        drop(permits);
        assert!(usages.0.lock().is_empty());
    }
}
