//! The requests that took longest of late: a few are remembered, whether anything else watches or not.

use std::time::{Duration, Instant, SystemTime};

use observe::prometheus::AnswerWay;
use parking_lot::Mutex;

/// So many are remembered, for so long.
const COUNT_MAX: usize = 20;
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(3600);
/// Bytes of a path.
const PATH_LEN_MAX: usize = 256;

/// A request that took long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlowRequest {
    /// The name of its point.
    pub(crate) point: &'static str,
    /// As it was asked for, without the query: clients put secrets there.
    pub(crate) path: Box<str>,
    pub(crate) status: u16,
    pub(crate) at: SystemTime,
    pub(crate) duration: Duration,
    /// What that was spent on.
    pub(crate) way: AnswerWay,
    /// By the clock that never jumps.
    ended: Instant,
}

/// Those of a service.
#[derive(Debug, Default)]
pub(crate) struct SlowRequests(Mutex<Vec<SlowRequest>>);

impl SlowRequests {
    /// An answer has ended. It is described if it is among the slowest.
    pub(crate) fn note(
        &self,
        (began, ended): (Instant, Instant),
        point: &'static str,
        way: AnswerWay,
        describe: impl FnOnce() -> (Box<str>, u16),
    ) {
        let duration = ended.saturating_duration_since(began);
        let mut requests = self.0.lock();
        requests.retain(|request| ended.saturating_duration_since(request.ended) < KEPT_FOR);
        let is_full = requests.len() >= COUNT_MAX;
        if is_full && requests.last().is_some_and(|last| last.duration >= duration) {
            return;
        }
        let (path, status) = describe();
        let path = path[..path.floor_char_boundary(PATH_LEN_MAX)].into();
        let at = SystemTime::now() - ended.elapsed() - duration;
        let place = requests.partition_point(|request| request.duration >= duration);
        requests.insert(place, SlowRequest { point, path, status, at, duration, way, ended });
        requests.truncate(COUNT_MAX);
    }

    /// The slowest first.
    pub(crate) fn all(&self, now: Instant) -> Vec<SlowRequest> {
        let mut requests = self.0.lock().clone();
        requests.retain(|request| now.saturating_duration_since(request.ended) < KEPT_FOR);
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_of_the_last_hour_are_kept() {
        let (requests, start) = (SlowRequests::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let note = |began: u64, ms: u64, path: &str| {
            let ended = at(began) + Duration::from_millis(ms);
            requests.note((at(began), ended), "http::GET /x", AnswerWay::default(), || (path.into(), 200));
        };
        let shown =
            |now: u64| requests.all(at(now)).iter().map(|request| request.duration.as_millis()).collect::<Vec<_>>();
        note(0, 5_000, &"ü".repeat(200));
        (1..=30).for_each(|number| note(number, number * 10, "/x"));
        let expected: Vec<u128> = std::iter::once(5_000).chain((12..=30).rev().map(|number| number * 10)).collect();
        assert_eq!(shown(60), expected);
        assert_eq!(requests.all(at(60))[0].path.len(), 256);
        // Short ones are there again when the long ones are an hour ago.
        assert_eq!(shown(3_615).len(), 16);
        note(3_700, 1, "/y");
        assert_eq!(shown(3_701), [1]);
    }
}
