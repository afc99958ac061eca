"""Messages that overtake others."""

from scene import Scene


def highest_first(s: Scene):
    """Higher priorities first, each in its order; none is 0, above the maximum is the maximum."""
    s.ch.declare("q", x_max_priority=5)
    for body, priority in (("none", None), ("0", 0), ("1", 1), ("5", 5), ("3", 3), ("9", 9), ("255", 255), ("5 too", 5), ("1 too", 1), ("none too", None)):
        s.ch.publish("q", body, priority=priority)
    s.note("order", s.ch.drain("q"))


def property_is_kept(s: Scene):
    """The property reaches the consumer as it was sent, also above the maximum."""
    s.ch.declare("q", x_max_priority=2)
    s.ch.publish("q", "m", priority=200)
    s.note("get", s.ch.get("q"))


def maxima(s: Scene):
    for value in (1, 255, 256, 0, -1, 10**10, "5", True, 2.5, None):
        s.attempt(f"{value!r}", lambda each=value: s.ch.declare(f"q{each}", x_max_priority=each))
    s.ch.declare("most", x_max_priority=255)
    for priority in (254, 255, 0, 128):
        s.ch.publish("most", f"{priority}", priority=priority)
    s.note("order of 255", s.ch.drain("most"))


def without_the_argument(s: Scene):
    """A queue without priorities ignores them."""
    s.ch.declare("q")
    for priority in (1, 5, 3):
        s.ch.publish("q", f"{priority}", priority=priority)
    s.note("order", s.ch.drain("q"))


def not_by_policy(s: Scene):
    s.note("policy", s.ask_for_policy("p", {"max-priority": 5}).json)


def redeclare(s: Scene):
    s.ch.declare("q", x_max_priority=5)
    s.attempt("the same", lambda: s.ch.declare("q", x_max_priority=5))
    s.attempt("another", lambda: s.ch.declare("q", x_max_priority=6))
    s.attempt("none", lambda: s.ch.declare("q"))
    s.ch.declare("r")
    s.attempt("some where there was none", lambda: s.ch.declare("r", x_max_priority=5))


def requeued_goes_to_its_place(s: Scene):
    """A requeued message is before younger ones of its priority, and after higher ones."""
    s.ch.declare("q", x_max_priority=5)
    s.ch.publish("q", "a1", priority=1)
    s.ch.publish("q", "b1", priority=1)
    got = s.ch.get("q", no_ack=False)
    s.note("got", got.body)
    s.ch.publish("q", "c1", priority=1)
    s.ch.publish("q", "d5", priority=5)
    s.ch.nack(got, requeue=True)
    s.ch.await_count("q", 4)
    s.note("order", s.ch.drain("q"))


def consumer_with_prefetch(s: Scene):
    """What is delivered already is not overtaken; the next free place gets the highest."""
    s.ch.declare("q", x_max_priority=5)
    s.ch.consume("q", prefetch=1)
    s.ch.publish("q", "low 1", priority=1)
    [first] = s.ch.take()
    for body, priority in (("low 2", 1), ("high", 5), ("middle", 3)):
        s.ch.publish("q", body, priority=priority)
    s.ch.ack(first)
    order = [first.body]
    for _ in range(3):
        [got] = s.ch.take()
        order.append(got.body)
        s.ch.ack(got)
    s.note("order", order)


def consumer_comes_later(s: Scene):
    s.ch.declare("q", x_max_priority=3)
    for priority in (1, 3, 2, 1, 3):
        s.ch.publish("q", f"{priority}", priority=priority)
    s.ch.consume("q", no_ack=True)
    s.note("order", s.ch.bodies(5))


def count_and_purge(s: Scene):
    """All priorities are counted together."""
    s.ch.declare("q", x_max_priority=3)
    for priority in (1, 3, 2):
        s.ch.publish("q", "m", priority=priority)
    s.note("count", s.ch.count("q"))
    s.note("left", s.ch.get("q").method.message_count)
    s.note("purged", s.ch.purge("q"))


def redelivered_flag(s: Scene):
    """The flag of each message for itself."""
    s.ch.declare("q", x_max_priority=3)
    s.ch.publish("q", "low", priority=1)
    s.ch.nack(s.ch.get("q", no_ack=False), requeue=True)
    s.ch.publish("q", "high", priority=3)
    s.ch.await_count("q", 2)
    s.note("first", s.ch.get("q"))
    s.note("second", s.ch.get("q"))


def dead_letter_keeps_its_priority(s: Scene):
    s.ch.declare("dead", x_max_priority=3)
    s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    for body, priority in (("low", 1), ("high", 3)):
        s.ch.publish("q", body, priority=priority)
        s.ch.nack(s.ch.get("q", no_ack=False))
        s.ch.rest(0.03)
    s.ch.await_count("dead", 2)
    s.note("order", s.ch.drain("dead"))


def quorum_highest_first(s: Scene):
    """Quorum queues always have them: 32 of them, strictly; none is 4, above is the highest."""
    s.ch.declare("q", x_queue_type="quorum")
    for body, priority in (("none", None), ("4", 4), ("5", 5), ("3", 3), ("0", 0), ("31", 31), ("32", 32), ("255", 255), ("30", 30), ("none too", None)):
        s.ch.publish("q", body, priority=priority)
    s.note("order", s.ch.drain("q"))


def quorum_max_priority_argument(s: Scene):
    s.attempt("declare", lambda: s.ch.declare("q", x_queue_type="quorum", x_max_priority=5))


def quorum_returned_keep_their_order(s: Scene):
    """Returned messages come before all others, in the order of their return, whatever their priority."""
    s.ch.declare("q", x_queue_type="quorum")
    for body, priority in (("low", 1), ("middle", 10), ("high", 20)):
        s.ch.publish("q", body, priority=priority)
    got = [s.ch.await_get("q", no_ack=False) for _ in range(3)]
    s.note("got", [each.body for each in got])
    for each in (got[1], got[2], got[0]):
        s.ch.nack(each, requeue=True)
    s.ch.publish("q", "new high", priority=31)
    s.ch.await_count("q", 4)
    s.note("order", s.ch.drain("q"))


def quorum_property_is_kept(s: Scene):
    s.ch.declare("q", x_queue_type="quorum")
    s.ch.publish("q", "m", priority=200)
    s.note("get", s.ch.await_get("q"))


def quorum_expiry(s: Scene):
    """Whether an expired message of low priority waits behind a live one of high priority."""
    s.ch.declare("dead")
    s.ch.declare("q", x_queue_type="quorum", x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.ch.publish("q", "high", priority=20)
    s.ch.publish("q", "low", priority=1, expiration="50")
    s.note("dead", s.ch.await_count("dead", 1))
    s.note("ready", s.ch.count("q"))


def quorum_max_length_drops(s: Scene):
    """Which one is dropped."""
    s.ch.declare("dead")
    s.ch.declare("q", x_queue_type="quorum", x_max_length=2, x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    for body, priority in (("low", 1), ("high", 20), ("middle", 10), ("low too", 1)):
        s.ch.publish("q", body, priority=priority)
    s.ch.await_count("dead", 2)
    s.note("dead", s.ch.drain("dead"))
    s.note("stay", s.ch.drain("q"))
