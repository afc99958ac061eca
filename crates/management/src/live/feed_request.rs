//! What a request asks for, and how often.

use std::time::Duration;

use crate::limits::{LIVE_OBJECT_COUNT_MAX, QUERY_PARAMETER_COUNT_MAX};
use crate::listing::Query;
use crate::path::segment;
use crate::problem::Problem;

/// The vhost and the name of a queue or an exchange.
pub(crate) type QueuePath = (String, String);

/// What a feed is to report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FeedRequest {
    /// The node's numbers.
    pub(crate) has_rates: bool,
    /// Events of objects that are created and deleted.
    pub(crate) has_changes: bool,
    pub(crate) vhosts: Vec<String>,
    pub(crate) queues: Vec<QueuePath>,
    pub(crate) exchanges: Vec<QueuePath>,
    pub(crate) connections: Vec<String>,
    pub(crate) channels: Vec<String>,
    /// What fires, and what changes of that.
    pub(crate) has_alerts: bool,
    /// Lines of the process's log.
    pub(crate) has_log: bool,
    /// Entries of the audit log.
    pub(crate) has_audit: bool,
    pub(crate) interval: Duration,
}

const INTERVAL_MAX_S: u64 = 60;

impl FeedRequest {
    /// Reads `events`, of which there may be several, and `interval`.
    pub(crate) fn parse(query: &Query, interval_default: Duration) -> Result<FeedRequest, Problem> {
        check_names(query)?;
        let longest = Duration::from_secs(INTERVAL_MAX_S);
        let interval = match query.get("interval") {
            None => interval_default.clamp(Duration::from_secs(1), longest),
            Some(text) => match text.parse() {
                Ok(seconds @ 1..=INTERVAL_MAX_S) => Duration::from_secs(seconds),
                _ => return Err(Problem::bad_request(format!("interval must be 1 to {INTERVAL_MAX_S} seconds"))),
            },
        };
        let mut wanted = FeedRequest {
            has_rates: false,
            has_changes: false,
            vhosts: Vec::new(),
            queues: Vec::new(),
            exchanges: Vec::new(),
            connections: Vec::new(),
            channels: Vec::new(),
            has_alerts: false,
            has_log: false,
            has_audit: false,
            interval,
        };
        // A space may follow a comma; one at the end of a word may be a name's.
        let words = query.all("events").flat_map(|list| list.split(',')).map(str::trim_start);
        for word in words.filter(|word| !word.is_empty()) {
            wanted.add(word).ok_or_else(|| Problem::bad_request(unknown_word(word)))?;
        }
        let has_any = [wanted.has_rates, wanted.has_changes, wanted.has_alerts, wanted.has_log, wanted.has_audit];
        if !has_any.contains(&true) && wanted.object_count() == 0 {
            return Err(Problem::bad_request(format!("events must name at least one of {PARTS}")));
        }
        if wanted.object_count() > LIVE_OBJECT_COUNT_MAX {
            return Err(Problem::bad_request(format!("events may name at most {LIVE_OBJECT_COUNT_MAX} objects")));
        }
        Ok(wanted)
    }

    /// None: there is no such event.
    fn add(&mut self, word: &str) -> Option<()> {
        match word.split_once(':') {
            None => match word.trim_end() {
                "rates" => self.has_rates = true,
                "changes" => self.has_changes = true,
                "alerts" => self.has_alerts = true,
                "log" => self.has_log = true,
                "audit" => self.has_audit = true,
                _ => return None,
            },
            Some(("vhost", name)) => add_new(&mut self.vhosts, decoded(name)?),
            Some(("queue", path)) => add_new(&mut self.queues, queue_path(path)?),
            Some(("exchange", path)) => add_new(&mut self.exchanges, queue_path(path)?),
            Some(("connection", name)) => add_new(&mut self.connections, decoded(name)?),
            Some(("channel", name)) => add_new(&mut self.channels, decoded(name)?),
            _ => return None,
        }
        Some(())
    }

    /// Objects whose numbers are wanted.
    fn object_count(&self) -> usize {
        let in_vhosts = self.vhosts.len() + self.queues.len() + self.exchanges.len();
        in_vhosts + self.connections.len() + self.channels.len()
    }

    /// Events that each look at numbers makes.
    pub(crate) fn look_len(&self) -> u64 {
        u64::from(self.has_rates) + self.object_count() as u64
    }
}

/// What can be named.
const PARTS: &str = "rates, changes, vhost:NAME, queue:VHOST/NAME, exchange:VHOST/NAME, connection:NAME, channel:NAME, \
                     alerts, log and audit";

fn add_new<T: PartialEq>(names: &mut Vec<T>, name: T) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// Refuses unknown names: a misspelt one would be ignored without notice.
fn check_names(query: &Query) -> Result<(), Problem> {
    if let Some(name) = query.names().find(|name| !matches!(*name, "events" | "interval")) {
        return Err(Problem::bad_request(format!(
            "unknown parameter '{name}': the parameters are events and interval"
        )));
    }
    if query.all("interval").nth(1).is_some() {
        return Err(Problem::bad_request("interval may be given once"));
    }
    // Those beyond are not there.
    if query.names().count() >= QUERY_PARAMETER_COUNT_MAX {
        let reason = format!(
            "fewer than {QUERY_PARAMETER_COUNT_MAX} parameters are allowed: events accepts a list separated by commas"
        );
        return Err(Problem::bad_request(reason));
    }
    Ok(())
}

fn unknown_word(word: &str) -> String {
    match word.split_once(':') {
        Some((kind @ ("queue" | "exchange"), name)) if !name.is_empty() && !name.contains('/') => {
            format!("'{word}' names no vhost: write {kind}:VHOST/NAME, or {kind}://NAME for the vhost '/'")
        }
        _ => format!("'{word}' is not one of {PARTS}"),
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

    fn parsed(query: &str) -> Result<FeedRequest, Problem> {
        FeedRequest::parse(&Query::parse(query), Duration::from_secs(5))
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
    fn lists_may_be_several_and_have_spaces() {
        let expected = parsed("events=rates,changes,vhost:/,queue://a").unwrap();
        for query in [
            "events=rates&events=changes&events=vhost:/,queue://a",
            "events=rates,%20changes%20,+vhost:/,%20queue://a",
            "events=rates%20,changes,,vhost:/&events=&events=queue://a",
        ] {
            assert_eq!(parsed(query).unwrap(), expected, "{query}");
        }
        // Of these the space may be part of the name.
        assert_eq!(parsed("events=vhost:a%20,queue:b/c%20").unwrap().queues, [("b".to_owned(), "c ".to_owned())]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let most = "events=rates&".repeat(QUERY_PARAMETER_COUNT_MAX - 1);
        assert!(parsed(&most).is_ok());
        for (query, reason) in [
            ("events=rates&intervall=1", "unknown parameter 'intervall': the parameters are events and interval"),
            ("events=rates&event=changes", "unknown parameter 'event': the parameters are events and interval"),
            ("events=rates&interval=1&interval=2", "interval may be given once"),
            (
                "events=rates&events=x",
                "'x' is not one of rates, changes, vhost:NAME, queue:VHOST/NAME, exchange:VHOST/NAME, connection:NAME, channel:NAME, \
                 alerts, log and audit",
            ),
            (
                "events=queue:orders",
                "'queue:orders' names no vhost: write queue:VHOST/NAME, or queue://NAME for the vhost '/'",
            ),
            (
                &format!("{most}events=changes"),
                "fewer than 100 parameters are allowed: events accepts a list separated by commas",
            ),
        ] {
            assert_eq!(parsed(query).unwrap_err().body.unwrap().reason, reason, "{query}");
        }
    }

    #[test]
    fn names_are_written_as_in_paths() {
        for (events, vhost, name) in [
            ("queue:shop/orders", "shop", "orders"),
            ("queue:%252F/orders", "/", "orders"),
            // Names that are not escaped.
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
