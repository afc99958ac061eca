"""Whether a dead letter counts as redelivered where it arrives: its first delivery from that queue, whoever waits for it."""

from scene import Scene


def _dead_letter(s: Scene, how: dict, first: dict, second: dict, has_consumer: bool) -> None:
    name = f"{first.get('x_queue_type', 'classic')} to {second.get('x_queue_type', 'classic')}"
    ch = s.channel()
    q = ch.declare(f"{name} q", x_dead_letter_exchange="", x_dead_letter_routing_key=f"{name} d", **first)
    d = ch.declare(f"{name} d", **second)
    waiting = s.channel()
    if has_consumer:
        waiting.consume(d)
    ch.publish(q, "m")
    got = ch.await_get(q, no_ack=False)
    if how.get("again"):
        ch.reject(got, requeue=True)
        got = ch.await_get(q, no_ack=False)
    (ch.nack if how["by"] == "nack" else ch.reject)(got)
    if not has_consumer:
        ch.await_count(d, 1)
        waiting.consume(d)
    [dead] = waiting.take()
    s.note(name, dead.method.redelivered)


def _all(s: Scene, how: dict, has_consumer: bool) -> None:
    quorum = {"x_queue_type": "quorum"}
    for first in ({}, quorum):
        for second in ({}, quorum):
            _dead_letter(s, how, first, second, has_consumer)


def rejected_to_who_waits(s: Scene):
    _all(s, {"by": "reject"}, True)


def rejected_and_stored_first(s: Scene):
    _all(s, {"by": "reject"}, False)


def nacked_to_who_waits(s: Scene):
    _all(s, {"by": "nack"}, True)


def nacked_and_stored_first(s: Scene):
    _all(s, {"by": "nack"}, False)


def rejected_again_to_who_waits(s: Scene):
    _all(s, {"by": "reject", "again": True}, True)


def rejected_again_and_stored_first(s: Scene):
    _all(s, {"by": "reject", "again": True}, False)
