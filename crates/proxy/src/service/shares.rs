//! What each thread has of what is limited for the whole proxy.

use crate::switchboard::Options;

/// How many of so many threads are of use: each needs an upstream connection.
pub(crate) fn thread_count(wanted: usize, options: &Options) -> usize {
    let upstream_connection_max =
        if options.upstream_connection_max == 0 { usize::MAX } else { options.upstream_connection_max };
    wanted.min(upstream_connection_max).max(1)
}

/// The limits of the thread of this number, of so many. Together they have what is set, but each at least one.
pub(crate) fn share(options: &Options, number: usize, thread_count: usize) -> Options {
    let share = |limit: usize| (limit / thread_count + usize::from(number < limit % thread_count)).max(1);
    Options {
        upstream_connection_max: if options.upstream_connection_max == 0 {
            0
        } else {
            share(options.upstream_connection_max)
        },
        pool_connection_max: share(options.pool_connection_max),
        asks_for_clients: true,
        ..options.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(limit: usize, threads: usize, shares: &[usize]) {
        let options = Options { upstream_connection_max: limit, pool_connection_max: limit, ..Options::default() };
        let each: Vec<Options> = (0..threads).map(|number| share(&options, number, threads)).collect();
        assert_eq!(each.iter().map(|share| share.upstream_connection_max).collect::<Vec<_>>(), shares);
        let pools: Vec<usize> = shares.iter().map(|share| *share.max(&1)).collect();
        assert_eq!(each.iter().map(|share| share.pool_connection_max).collect::<Vec<_>>(), pools);
    }

    #[test]
    fn shares_are_all_there_is() {
        check(8, 4, &[2, 2, 2, 2]);
        check(10, 4, &[3, 3, 2, 2]);
        check(4, 4, &[1, 1, 1, 1]);
        check(5, 1, &[5]);
    }

    #[test]
    fn share_of_no_limit_is_none() {
        check(0, 3, &[0, 0, 0]);
    }

    #[test]
    fn nobody_has_none() {
        check(2, 4, &[1, 1, 1, 1]);
    }

    #[test]
    fn threads_are_no_more_than_connections() {
        for (upstream_connection_max, wanted, expected) in [(0, 4, 4), (3, 4, 3), (1, 4, 1), (9, 4, 4), (9, 0, 1)] {
            assert_eq!(thread_count(wanted, &Options { upstream_connection_max, ..Options::default() }), expected);
        }
    }
}
