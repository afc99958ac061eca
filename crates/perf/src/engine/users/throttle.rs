//! Throttles: a [`Line`] each, shared by all threads of the process.
//!
//! A lock around a line is all there is to it, for two reasons against a mere atomic "next time": a turn counts from when
//! it was taken, which a late user cannot know beforehand; and of thousands that wait only the first may be woken, or
//! each turn would wake them all. The lock is held for a lookup in a small tree, once or twice a turn, never over an
//! await; it is the only thing besides failures that users of several threads share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::super::clock::now_ns;
use super::super::pacer::Timer;
use super::line::{Line, Ticket, TurnAnswer};
use crate::plan::{self, Script, Step};

/// Turns that all users of the process take together.
#[derive(Debug)]
pub(crate) struct Throttle(Mutex<Line<Waker>>);

impl Throttle {
    pub(crate) fn new(rate: f64) -> Self {
        Throttle(Mutex::new(Line::new(rate)))
    }

    /// Changes the rate, also for users that wait already.
    pub(crate) fn set_rate(&self, rate: f64) {
        let first = self.line().set_rate(rate);
        if let Some(first) = first {
            first.wake();
        }
    }

    /// Gets in line.
    pub(crate) fn enter(self: &Arc<Self>) -> Turn {
        let place = self.line().enter(now_ns(), Waker::noop().clone());
        Turn { throttle: Arc::clone(self), place, is_over: false }
    }

    fn line(&self) -> MutexGuard<'_, Line<Waker>> {
        // Nothing in there can be half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A user's place in line; dropping it gives the place up.
#[derive(Debug)]
pub(crate) struct Turn {
    throttle: Arc<Throttle>,
    place: Ticket,
    is_over: bool,
}

impl Turn {
    /// Ready when the turn is taken: with the time when it was due, and the time it was taken at.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, timer: &mut Timer) -> Poll<(u64, u64)> {
        loop {
            let mut line = self.throttle.line();
            let now = now_ns();
            match line.ask(self.place, now, cx.waker()) {
                TurnAnswer::Taken { due } => {
                    let next = line.first();
                    drop(line);
                    self.is_over = true;
                    if let Some(next) = next {
                        next.wake();
                    }
                    return Poll::Ready((due, now));
                }
                TurnAnswer::At(at) => {
                    drop(line);
                    if timer.poll_until(cx, at).is_pending() {
                        return Poll::Pending;
                    }
                    // The pacer's idea of "now" is a microsecond wide. The throttle's is not.
                    std::hint::spin_loop();
                }
                TurnAnswer::Behind => return Poll::Pending,
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let next = {
            let mut line = self.throttle.line();
            line.leave(self.place);
            line.first()
        };
        // It may not be the one that has moved up: then that one sleeps again.
        if let Some(next) = next {
            next.wake();
        }
    }
}

/// All throttles of a run, by name.
#[derive(Debug, Default)]
pub(crate) struct Throttles(HashMap<String, Arc<Throttle>>);

impl Throttles {
    /// Those that scripts use. Where they differ about one's rate, it keeps the lowest.
    pub(crate) fn of<'a>(scripts: impl Iterator<Item = &'a Script>) -> Self {
        let mut rates: HashMap<String, f64> = HashMap::new();
        let mut throttles = Throttles::default();
        for script in scripts {
            for_each_throttle(&script.steps, &mut |throttle| {
                let known =
                    throttles.0.entry(throttle.name.clone()).or_insert_with(|| Throttle::new(throttle.rate).into());
                let rate = rates.entry(throttle.name.clone()).or_insert(throttle.rate);
                if throttle.rate < *rate {
                    *rate = throttle.rate;
                    known.set_rate(throttle.rate);
                }
            });
        }
        throttles
    }

    /// The throttle of this name.
    pub(crate) fn get(&self, throttle: &plan::Throttle) -> Arc<Throttle> {
        self.0.get(&throttle.name).cloned().unwrap_or_else(|| Throttle::new(throttle.rate).into())
    }
}

fn for_each_throttle(steps: &[Step], each: &mut dyn FnMut(&plan::Throttle)) {
    for step in steps {
        match step {
            Step::Throttle(throttle) | Step::Publish { throttle: Some(throttle), .. } => each(throttle),
            Step::Repeat { steps, .. } => for_each_throttle(steps, each),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::pacer::Pacer;
    use super::*;
    use std::future::poll_fn;
    use std::rc::Rc;

    async fn taken(mut turn: Turn, mut timer: Timer) -> u64 {
        poll_fn(|cx| turn.poll(cx, &mut timer)).await.1
    }

    #[test]
    fn turns_of_several_threads_are_never_closer_than_the_rate() {
        const TURNS: usize = 50;
        let throttle = Arc::new(Throttle::new(5_000.0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let throttle = Arc::clone(&throttle);
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    let local = tokio::task::LocalSet::new();
                    local.block_on(&runtime, async {
                        let pacer = Pacer::new().unwrap();
                        let driver = tokio::task::spawn_local(Rc::clone(&pacer).run());
                        let users: Vec<_> = (0..TURNS)
                            .map(|_| {
                                let (turn, timer) = (throttle.enter(), Timer::new(&pacer));
                                tokio::task::spawn_local(taken(turn, timer))
                            })
                            .collect();
                        let mut taken = Vec::new();
                        for user in users {
                            taken.push(user.await.unwrap());
                        }
                        driver.abort();
                        taken
                    })
                })
            })
            .collect();
        let mut taken: Vec<u64> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        taken.sort_unstable();
        assert_eq!(taken.len(), 3 * TURNS);
        let shortest = taken.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
        assert!(shortest >= 200_000, "{shortest} ns");
    }

    #[test]
    fn turn_that_is_given_up_holds_nobody_up() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async {
            let pacer = Pacer::new().unwrap();
            let driver = tokio::task::spawn_local(Rc::clone(&pacer).run());
            let throttle = Arc::new(Throttle::new(1_000.0));
            taken(throttle.enter(), Timer::new(&pacer)).await;
            let given_up = throttle.enter();
            let behind = tokio::task::spawn_local(taken(throttle.enter(), Timer::new(&pacer)));
            // It is behind, and asleep, when the one before it leaves.
            tokio::task::yield_now().await;
            drop(given_up);
            behind.await.unwrap();
            driver.abort();
        });
    }

    #[test]
    fn scripts_that_differ_get_the_lower_rate() {
        let script = |rate: f64| Script {
            steps: vec![Step::Repeat {
                count: 2,
                steps: vec![Step::Throttle(plan::Throttle { name: "t".to_owned(), rate })],
            }],
        };
        let throttles = Throttles::of([script(10.0), script(2.0), script(5.0)].iter());
        let throttle = throttles.get(&plan::Throttle { name: "t".to_owned(), rate: 5.0 });
        let mut line = throttle.line();
        let [one, other] = [line.enter(0, Waker::noop().clone()), line.enter(0, Waker::noop().clone())];
        assert_eq!(line.ask(one, 0, Waker::noop()), TurnAnswer::Taken { due: 0 });
        assert_eq!(line.ask(other, 0, Waker::noop()), TurnAnswer::At(500_000_000));
    }
}
