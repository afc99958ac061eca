//! What is measured in a round.

use std::time::Duration;

/// A part of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A new TCP connection: the kernels on both sides, and the network. The broker's process has no part in it.
    Connect,
    /// The same as this kernel measures it, from one segment to the one that answers it: without the time until this program is woken.
    Kernel,
    /// TLS on it.
    Tls,
    /// From the protocol header to `connection.open-ok` on it.
    Open,
    /// On the connection that is kept: a request that the broker answers without doing anything.
    Answer,
    /// From publishing a message to its confirm.
    Confirm,
    /// From publishing the same message to its delivery.
    Deliver,
}

pub(crate) const STAGE_COUNT: usize = 7;

impl Stage {
    /// In the order in which they are shown.
    pub(crate) const ALL: [Stage; STAGE_COUNT] =
        [Stage::Connect, Stage::Kernel, Stage::Tls, Stage::Open, Stage::Answer, Stage::Confirm, Stage::Deliver];

    /// In the line of a round, and in JSON.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Stage::Connect => "connect",
            Stage::Kernel => "kernel",
            Stage::Tls => "tls",
            Stage::Open => "open",
            Stage::Answer => "answer",
            Stage::Confirm => "confirm",
            Stage::Deliver => "deliver",
        }
    }

    /// In the table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Stage::Connect => "TCP connect",
            Stage::Kernel => "kernel's round trip",
            Stage::Tls => "TLS handshake",
            Stage::Open => "AMQP open",
            Stage::Answer => "answer without work",
            Stage::Confirm => "publish to confirm",
            Stage::Deliver => "publish to deliver",
        }
    }
}

/// How long each part of a round took. Not every connection has TLS, and not every kernel reports times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    stages: [Option<Duration>; STAGE_COUNT],
    /// Segments that the kernel had to send again, because no answer came.
    pub(crate) resent: u32,
}

impl Times {
    pub(crate) fn get(&self, stage: Stage) -> Option<Duration> {
        self.stages[stage as usize]
    }

    pub(crate) fn set(&mut self, stage: Stage, time: Duration) {
        self.stages[stage as usize] = Some(time);
    }

    /// Those that were measured, in the order of [`Stage::ALL`].
    pub(crate) fn measured(&self) -> impl Iterator<Item = (Stage, Duration)> {
        Stage::ALL.into_iter().filter_map(|stage| Some((stage, self.get(stage)?)))
    }
}

#[cfg(test)]
pub(crate) fn times_us(of: &[(Stage, u64)]) -> Times {
    let mut times = Times::default();
    of.iter().for_each(|(stage, us)| times.set(*stage, Duration::from_micros(*us)));
    times
}

#[cfg(test)]
pub(crate) fn resent(count: u32) -> Times {
    Times { resent: count, ..Times::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_comes_in_order() {
        let times = times_us(&[(Stage::Kernel, 3), (Stage::Connect, 1), (Stage::Answer, 2)]);
        let measured: Vec<(&str, u128)> =
            times.measured().map(|(stage, time)| (stage.key(), time.as_micros())).collect();
        assert_eq!(measured, [("connect", 1), ("kernel", 3), ("answer", 2)]);
        assert_eq!(times.get(Stage::Tls), None);
    }

    #[test]
    fn stages_are_in_the_order_in_which_they_are_kept() {
        assert!(Stage::ALL.iter().enumerate().all(|(at, stage)| *stage as usize == at));
    }
}
