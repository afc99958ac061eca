//! What a request asks to be told, and how often.

use std::time::Duration;

use crate::limits::LIVE_OBJECT_COUNT_MAX;
use crate::listing::Query;
use crate::path::segment;
use crate::problem::Problem;

/// A queue's vhost and name.
pub(crate) type QueuePath = (String, String);

/// What somebody wants to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The node's numbers.
    pub(crate) has_rates: bool,
    /// What comes and goes.
    pub(crate) has_changes: bool,
    pub(crate) vhosts: Vec<String>,
    pub(crate) queues: Vec<QueuePath>,
    pub(crate) interval: Duration,
}

const INTERVAL_MAX_S: u64 = 60;

impl Wanted {
    /// Reads `events` and `interval`.
    pub(crate) fn parse(query: &Query, interval_default: Duration) -> Result<Wanted, Problem> {
        let longest = Duration::from_secs(INTERVAL_MAX_S);
        let interval = match query.get("interval") {
            None => interval_default.clamp(Duration::from_secs(1), longest),
            Some(text) => match text.parse() {
                Ok(seconds @ 1..=INTERVAL_MAX_S) => Duration::from_secs(seconds),
                _ => return Err(Problem::bad_request(format!("interval must be 1 to {INTERVAL_MAX_S} seconds"))),
            },
        };
        let mut wanted =
            Wanted { has_rates: false, has_changes: false, vhosts: Vec::new(), queues: Vec::new(), interval };
        for word in query.get("events").unwrap_or_default().split(',').filter(|word| !word.is_empty()) {
            wanted.add(word).ok_or_else(|| {
                let reason = format!("'{word}' is none of rates, changes, vhost:NAME and queue:VHOST/NAME");
                Problem::bad_request(reason)
            })?;
        }
        if !wanted.has_rates && !wanted.has_changes && wanted.object_count() == 0 {
            return Err(Problem::bad_request("events must name rates, changes, vhost:NAME or queue:VHOST/NAME"));
        }
        if wanted.object_count() > LIVE_OBJECT_COUNT_MAX {
            return Err(Problem::bad_request(format!("events may name {LIVE_OBJECT_COUNT_MAX} objects at most")));
        }
        Ok(wanted)
    }

    /// None: that is nothing that can be told.
    fn add(&mut self, word: &str) -> Option<()> {
        match word.split_once(':') {
            None if word == "rates" => self.has_rates = true,
            None if word == "changes" => self.has_changes = true,
            Some(("vhost", name)) => {
                let name = decoded(name)?;
                if !self.vhosts.contains(&name) {
                    self.vhosts.push(name);
                }
            }
            Some(("queue", path)) => {
                let queue = queue_path(path)?;
                if !self.queues.contains(&queue) {
                    self.queues.push(queue);
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Objects whose numbers are wanted.
    fn object_count(&self) -> usize {
        self.vhosts.len() + self.queues.len()
    }

    /// Events that each look at numbers makes.
    pub(crate) fn look_len(&self) -> u64 {
        u64::from(self.has_rates) + self.object_count() as u64
    }
}

/// Names are written as in paths, with `%2C` for a comma. The vhost `/`, which every broker has, may be itself: no vhost's name is empty.
fn queue_path(path: &str) -> Option<QueuePath> {
    let (vhost, queue) = match path.strip_prefix("//") {
        Some(queue) => ("/", queue),
        None => path.split_once('/')?,
    };
    Some((decoded(vhost)?, decoded(queue)?))
}

fn decoded(name: &str) -> Option<String> {
    segment(name).ok().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(query: &str) -> Result<Wanted, Problem> {
        Wanted::parse(&Query::parse(query), Duration::from_secs(5))
    }

    #[test]
    fn what_is_wanted_is_a_list() {
        let wanted = parsed("events=rates,changes,vhost:/,vhost:shop,vhost:shop&interval=7").unwrap();
        assert_eq!((wanted.has_rates, wanted.has_changes), (true, true));
        assert_eq!(wanted.vhosts, ["/", "shop"]);
        assert_eq!(wanted.interval, Duration::from_secs(7));
        assert_eq!(parsed("events=rates").unwrap().interval, Duration::from_secs(5));
    }

    #[test]
    fn names_are_written_as_in_paths() {
        for (events, vhost, name) in [
            ("queue:shop/orders", "shop", "orders"),
            ("queue:%252F/orders", "/", "orders"),
            // As who does not think of it writes it.
            ("queue:%2F/orders", "/", "orders"),
            ("queue://orders", "/", "orders"),
            ("queue:shop/a/b", "shop", "a/b"),
            ("queue:a%252Fb/x%252Cy%2525", "a/b", "x,y%"),
            ("queue%3Ashop%2Forders", "shop", "orders"),
        ] {
            let wanted = parsed(&format!("events={events}")).unwrap();
            assert_eq!(wanted.queues, [(vhost.to_owned(), name.to_owned())], "{events}");
        }
    }

    #[test]
    fn what_nobody_can_tell_is_refused() {
        for query in [
            "",
            "events=",
            "events=,",
            "events=rate",
            "events=vhost:",
            "events=queue:shop",
            "events=queue:shop/",
            "events=queue:%25zz/a",
            "events=rates&interval=0",
            "events=rates&interval=61",
            "events=rates&interval=x",
        ] {
            assert_eq!(parsed(query).map_err(|problem| problem.status.as_u16()), Err(400), "{query}");
        }
        let many = |count: usize| {
            let names: Vec<String> = (0..count).map(|n| format!("vhost:{n}")).collect();
            parsed(&format!("events={}", names.join(",")))
        };
        assert!(many(LIVE_OBJECT_COUNT_MAX).is_ok());
        assert!(many(LIVE_OBJECT_COUNT_MAX + 1).is_err());
    }
}
