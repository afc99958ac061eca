//! A task of its own that is one call of a point, across all of its awaits.

use std::future::{Future, poll_fn};
use std::pin::pin;

use super::active::is_active;
use super::arguments::Arguments;
use super::pending_answer::PendingAnswer;
use super::point::Point;
use super::task::{TaskGuard, Trail};

/// What is followed: the name of the task, the arguments of its call, and what is reported of its result.
pub struct CallDescription<N, A, R> {
    /// The task's name.
    pub name: N,
    /// Fills in the arguments.
    pub arguments: A,
    /// Describes the result.
    pub result: R,
}

/// A task of its own that is one call of a point, across all of its awaits. What it gives beside its output follows it until it is
/// answered; none where nothing looks.
pub async fn follow<F, N, A, R>(
    point: &'static Point,
    followed: CallDescription<N, A, R>,
    future: F,
) -> (F::Output, Option<PendingAnswer>)
where
    F: Future,
    N: FnOnce() -> String,
    A: FnOnce(&mut Arguments),
    R: FnOnce(&F::Output) -> String,
{
    if !is_active() {
        return (future.await, None);
    }
    let CallDescription { name, arguments, result } = followed;
    let trail = Trail::new(name(), false);
    let mut call = {
        let _running = TaskGuard::enter(trail.clone());
        point.enter(arguments)
    };
    let mut future = pin!(future);
    let output = poll_fn(|cx| {
        let _running = TaskGuard::enter(trail.clone());
        trail.resume();
        let polled = future.as_mut().poll(cx);
        if polled.is_pending() {
            trail.park();
        }
        polled
    })
    .await;
    call.returns(|| result(&output));
    let _running = TaskGuard::enter(trail);
    (output, call.answered_later())
}
