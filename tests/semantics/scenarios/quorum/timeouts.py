"""Consumers that hold a message for too long."""

from observing import delivery_counts
from scene import Scene

QUORUM = {"x_queue_type": "quorum"}


def consumer_timeout(s: Scene):
    """Who holds a message for too long is cancelled, and the message goes to the next one."""
    s.ch.declare("q", x_consumer_timeout=300, **QUORUM)
    holder = s.channel()
    holder.consume("q", "holder", prefetch=1)
    s.ch.publish("q", "m")
    [held] = holder.take()
    holder.wait(lambda: holder.events)
    s.note("events", holder.events)
    s.note("count", s.ch.await_count("q", 1))
    s.note("again", s.ch.await_get("q"))
    holder.ack(held)
    s.note("a late ack", holder.state())


def consumer_timeout_goes_to_the_next(s: Scene):
    s.ch.declare("q", x_consumer_timeout=1000, **QUORUM)
    holder, other = s.channel(), s.channel()
    holder.consume("q", "holder", prefetch=1)
    s.ch.publish("q", "m")
    holder.take()
    other.consume("q", "other", prefetch=1)
    got = other.take()
    s.note("other", got)
    other.ack(got[0])
    holder.wait(lambda: holder.events)
    s.note("holder", holder.events)
    s.note("other stays", other.events)


def consumer_timeout_without_capability(s: Scene):
    """Who cannot be told of a cancel loses the channel."""
    s.ch.declare("q", x_consumer_timeout=300, **QUORUM)
    holder = s.channel(capabilities={"basic.nack": True})
    holder.consume("q", "holder", prefetch=1)
    s.ch.publish("q", "m")
    holder.take()
    s.note("closes", holder.await_close())
    s.note("again", s.ch.await_get("q"))


def consumer_timeout_of_get(s: Scene):
    """There is no consumer to cancel: the channel goes."""
    s.ch.declare("q", x_consumer_timeout=300, **QUORUM)
    s.ch.publish("q", "m")
    holder = s.channel()
    holder.get("q", no_ack=False)
    s.note("closes", holder.await_close())
    s.note("again", s.ch.await_get("q"))


def consumer_timeout_spares_those_who_ack(s: Scene):
    s.ch.declare("q", x_consumer_timeout=2000, **QUORUM)
    s.ch.consume("q", prefetch=1)
    for number in range(4):
        s.ch.publish("q", f"{number}")
        [got] = s.ch.take()
        s.ch.rest(0.6)
        s.ch.ack(got)
    s.note("events but confirms", [event for event in s.ch.events if "ack" not in event])


def consumer_timeout_of_the_consumer(s: Scene):
    """A consumer's argument."""
    s.ch.declare("q", **QUORUM)
    holder = s.channel()
    s.attempt("consume", lambda: holder.consume("q", "holder", prefetch=1, x_consumer_timeout=300), holder)
    s.ch.publish("q", "m")
    holder.take()
    holder.wait(lambda: holder.events)
    s.note("events", holder.events)
    for number, value in enumerate((0, -1, "5", True)):
        s.attempt(f"{value!r}", lambda v=value, n=number: s.ch.consume("q", f"c{n}", x_consumer_timeout=v))


def consumer_timeout_by_policy(s: Scene):
    s.note("policy", s.policy("p", {"consumer-timeout": 300}))
    s.ch.declare("q", **QUORUM)
    holder = s.channel()
    holder.consume("q", "holder", prefetch=1)
    s.ch.publish("q", "m")
    holder.take()
    holder.wait(lambda: holder.events)
    s.note("events", holder.events)


def consumer_timeout_of_several(s: Scene):
    """All that the consumer holds comes back, in order; what another consumer of the channel holds does not."""
    s.ch.declare("q", x_consumer_timeout=300, **QUORUM)
    s.ch.declare("r", **QUORUM)
    for body in "abc":
        s.ch.publish("q", body)
        s.ch.publish("r", body)
    holder = s.channel()
    holder.consume("q", "holder", prefetch=10)
    holder.consume("r", "other", prefetch=10)
    holder.wait(lambda: len(holder.inbox) == 6)
    holder.wait(lambda: holder.events)
    s.note("events", holder.events)
    s.note("count", s.ch.await_count("q", 3))
    s.note("order", [[each.body, delivery_counts(each)] for each in [s.ch.await_get("q") for _ in "abc"] if each])
    s.note("count of the other queue", s.ch.count("r"))
