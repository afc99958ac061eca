"""How often a message was held, from queue to queue: x-acquired-count and x-delivery-count of dead letters."""

from observing import delivery_counts
from scene import Scene

QUORUM = {"x_queue_type": "quorum"}


def _chain(s: Scene, first: dict, second: dict, third: dict = QUORUM) -> None:
    s.ch.declare("a", x_dead_letter_exchange="", x_dead_letter_routing_key="b", **first)
    s.ch.declare("b", x_dead_letter_exchange="", x_dead_letter_routing_key="c", **second)
    s.ch.declare("c", **third)
    s.ch.publish("a", "m")


def _counts(s: Scene, queue: str, times: dict[str, int]) -> None:
    """Holds the message in that queue so often, then has it die."""
    for how, count in times.items():
        for number in range(1, count + 1):
            got = s.ch.await_get(queue, no_ack=False)
            s.note(f"{queue}: before {how} {number}", delivery_counts(got))
            if how == "death":
                s.ch.reject(got)
            else:
                getattr(s.ch, how)(got, requeue=True)


def counts_of_a_dead_letter_that_failed(s: Scene):
    _chain(s, QUORUM, QUORUM)
    _counts(s, "a", {"reject": 2, "death": 1})
    _counts(s, "b", {"nack": 1, "death": 1})
    s.note("at last", delivery_counts(s.ch.await_get("c", no_ack=False)))


def counts_of_a_dead_letter_that_was_returned(s: Scene):
    _chain(s, QUORUM, QUORUM)
    _counts(s, "a", {"nack": 2, "death": 1})
    _counts(s, "b", {"nack": 2, "death": 1})
    s.note("at last", delivery_counts(s.ch.await_get("c", no_ack=False)))


def counts_of_a_dead_letter_that_was_rejected_once(s: Scene):
    _chain(s, QUORUM, QUORUM)
    _counts(s, "a", {"death": 1})
    _counts(s, "b", {"death": 1})
    s.note("at last", delivery_counts(s.ch.await_get("c", no_ack=False)))


def counts_of_a_dead_letter_of_both(s: Scene):
    _chain(s, QUORUM, QUORUM)
    _counts(s, "a", {"nack": 1, "reject": 1, "death": 1})
    _counts(s, "b", {"reject": 1, "nack": 1, "death": 1})
    _counts(s, "c", {"reject": 1, "nack": 1})
    s.note("at last", delivery_counts(s.ch.await_get("c", no_ack=False)))


def counts_of_a_dead_letter_that_expired(s: Scene):
    """Held and given back, then it expires."""
    _chain(s, {**QUORUM, "x_message_ttl": 300}, QUORUM)
    _counts(s, "a", {"nack": 1, "reject": 1})
    _counts(s, "b", {"nack": 1, "death": 1})
    s.note("at last", delivery_counts(s.ch.await_get("c", no_ack=False)))


def counts_of_a_dead_letter_by_way_of_a_classic_queue(s: Scene):
    _chain(s, QUORUM, {}, QUORUM)
    _counts(s, "a", {"nack": 1, "reject": 1, "death": 1})
    _counts(s, "b", {"nack": 1, "death": 1})
    _counts(s, "c", {"nack": 1})
    s.note("at last", delivery_counts(s.ch.await_get("c", no_ack=False)))


def counts_of_a_dead_letter_from_a_classic_queue(s: Scene):
    _chain(s, {}, QUORUM, {})
    _counts(s, "a", {"nack": 2, "death": 1})
    _counts(s, "b", {"nack": 1, "death": 1})
    _counts(s, "c", {"nack": 1})
    s.note("at last", delivery_counts(s.ch.await_get("c", no_ack=False)))


def counts_of_headers_and_deaths(s: Scene):
    """What the publisher claims goes along, or does not."""
    s.ch.declare("a", x_dead_letter_exchange="", x_dead_letter_routing_key="b", **QUORUM)
    s.ch.declare("b", **QUORUM)
    s.ch.publish("a", "m", headers={"x-delivery-count": 7, "x-acquired-count": 8})
    _counts(s, "a", {"nack": 1, "death": 1})
    _counts(s, "b", {"nack": 1})
    s.note("at last", delivery_counts(s.ch.await_get("b", no_ack=False)))


def delivery_limit_after_failures_in_another_queue(s: Scene):
    """Twice in the first queue, and then up to the limit of the second: how often it may fail there."""
    _chain(s, QUORUM, {**QUORUM, "x_delivery_limit": 3})
    _counts(s, "a", {"reject": 2, "death": 1})
    fails = 0
    while (got := s.ch.get("b", no_ack=False)) is not None or not s.ch.count("c")[0]:
        if got is not None:
            s.ch.reject(got, requeue=True)
            fails += 1
        s.ch.rest()
    s.note("fails", fails)
    dead = s.ch.await_get("c", no_ack=False)
    s.note("dead", dead.headers["x-last-death-reason"])
    s.note("at last", delivery_counts(dead))
