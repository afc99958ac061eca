"""Delayed retries."""

import time

from observing import delivery_counts
from scene import Scene

QUORUM = {"x_queue_type": "quorum"}


def _comes_again(s: Scene, queue: str, act: str, least_ms: int) -> dict:
    """Whether it comes again, and not before its time."""
    s.ch.publish(queue, "m")
    got = s.ch.await_get(queue, no_ack=False)
    started = time.monotonic()
    getattr(s.ch, act)(got, requeue=True)
    again = s.ch.await_get(queue)
    return {"not before its time": (time.monotonic() - started) * 1000 >= least_ms - 5, **delivery_counts(again)}


def _retry(s: Scene, kind: str, delayed: tuple[str, ...]) -> None:
    """What is delayed is so by 200 ms; what is not comes at once from a queue that delays by minutes."""
    for act in ("reject", "nack"):
        least_ms, what = (200, "delayed") if act in delayed else (200000, "at once")
        s.ch.declare(act, x_delayed_retry_type=kind, x_delayed_retry_min=least_ms, x_delayed_retry_max=1000000, **QUORUM)
        s.note(f"{act}, {what}", _comes_again(s, act, act, least_ms if act in delayed else 0))


def delayed_retry_all(s: Scene):
    _retry(s, "all", ("reject", "nack"))


def delayed_retry_failed(s: Scene):
    _retry(s, "failed", ("reject",))


def delayed_retry_returned(s: Scene):
    _retry(s, "returned", ("nack",))


def delayed_retry_disabled(s: Scene):
    _retry(s, "disabled", ())


def _delays(s: Scene, act: str, times: int) -> list[int]:
    """The milliseconds after which a message comes again that is given back so many times."""
    s.ch.publish("q", "m")
    s.ch.consume("q", prefetch=1)
    [got] = s.ch.take()
    delays_ms = []
    for _ in range(times):
        started = time.monotonic()
        getattr(s.ch, act)(got, requeue=True)
        [got] = s.ch.take()
        delays_ms.append(int((time.monotonic() - started) * 1000) + 5)
    return delays_ms


def delayed_retry_grows(s: Scene):
    """The delay is the least one times the number of deliveries that failed."""
    s.ch.declare("q", x_delayed_retry_type="all", x_delayed_retry_min=100, x_delayed_retry_max=10000, **QUORUM)
    delays_ms = _delays(s, "reject", 4)
    s.note("at least 100, 200, 300, 400", [delay >= least for delay, least in zip(delays_ms, (100, 200, 300, 400))])


def delayed_retry_grows_to_its_maximum(s: Scene):
    """Up to the most: eight times would be 3600 ms without it."""
    s.ch.declare("q", x_delayed_retry_type="all", x_delayed_retry_min=100, x_delayed_retry_max=150, **QUORUM)
    delays_ms = _delays(s, "reject", 8)
    s.note("at least 100, then 150", [delay >= least for delay, least in zip(delays_ms, (100, *[150] * 7))])
    s.note("less than 3600 together", sum(delays_ms) < 3500)


def delayed_retry_of_nack_does_not_grow(s: Scene):
    """What a nack gives back is no failed delivery, and the delay stays the least one."""
    s.ch.declare("q", x_delayed_retry_type="all", x_delayed_retry_min=100, x_delayed_retry_max=10000, **QUORUM)
    delays_ms = _delays(s, "nack", 8)
    s.note("at least 100", all(delay >= 100 for delay in delays_ms))
    s.note("less than 3600 together", sum(delays_ms) < 3500)


def delayed_retry_lets_others_pass(s: Scene):
    """What waits for its retry is not ready, and others go first."""
    s.ch.declare("q", x_delayed_retry_type="all", x_delayed_retry_min=1000, **QUORUM)
    s.ch.publish("q", "a")
    s.ch.publish("q", "b")
    got = s.ch.await_get("q", no_ack=False)
    s.ch.reject(got, requeue=True)
    s.note("meanwhile", s.ch.count("q")[0])
    s.note("first", s.ch.get("q").body)
    s.note("nothing", s.ch.get("q"))
    s.note("then", s.ch.await_get("q").body)


def delayed_retry_by_policy(s: Scene):
    s.note("policy", s.policy("p", {"delayed-retry-type": "all", "delayed-retry-min": 200, "delayed-retry-max": 1000}))
    s.ch.declare("q", **QUORUM)
    s.note("reject", _comes_again(s, "q", "reject", 200))


def delayed_retry_ends_with_the_limit(s: Scene):
    s.ch.declare("dead")
    s.ch.declare("q", x_delayed_retry_type="all", x_delayed_retry_min=50, x_delivery_limit=1, x_dead_letter_exchange="", x_dead_letter_routing_key="dead", **QUORUM)
    s.ch.publish("q", "m")
    s.ch.consume("q", prefetch=1)
    for _ in range(2):
        s.ch.reject(s.ch.take()[0], requeue=True)
    s.note("dead", s.ch.await_get("dead"))


def delayed_retry_of_closed_channel(s: Scene):
    """Whether the end of a channel delays."""
    s.ch.declare("q", x_delayed_retry_type="all", x_delayed_retry_min=400, **QUORUM)
    s.ch.publish("q", "m")
    other = s.channel()
    other.consume("q", prefetch=1)
    other.take()
    started = time.monotonic()
    other.close()
    s.ch.await_get("q")
    s.note("at once", (time.monotonic() - started) < 0.3)


def delayed_retry_without_minimum(s: Scene):
    """A type alone."""
    s.attempt("declare", lambda: s.ch.declare("q", x_delayed_retry_type="all", **QUORUM))
    s.attempt("only a maximum", lambda: s.ch.declare("r", x_delayed_retry_type="all", x_delayed_retry_max=100, **QUORUM))
    s.attempt("maximum below minimum", lambda: s.ch.declare("t", x_delayed_retry_type="all", x_delayed_retry_min=200, x_delayed_retry_max=100, **QUORUM))
    s.attempt("on a classic queue", lambda: s.ch.declare("u", x_delayed_retry_type="all"))
