"""Quorum queues: how they are declared, and how often a message comes."""

import time

from scene import Channel, Delivery, Scene

QUORUM = {"x_queue_type": "quorum"}


def _counts(delivery: Delivery | None) -> dict | str:
    """What says how often the message has come."""
    if delivery is None:
        return "nothing came"
    return {"redelivered": delivery.method.redelivered, **{key: value for key, value in delivery.headers.items() if key.endswith("-count")}}


def _next(ch: Channel) -> Delivery | None:
    """The next delivery."""
    return (ch.take() or [None])[0]


# -- declaring


def declare(s: Scene):
    s.attempt("durable", lambda: s.ch.declare("q", **QUORUM))
    s.attempt("again", lambda: s.ch.declare("q", **QUORUM))
    s.attempt("passive", lambda: s.ch.count("q"))
    s.attempt("not durable", lambda: s.ch.declare("a", durable=False, **QUORUM))
    s.attempt("exclusive", lambda: s.ch.declare("b", exclusive=True, **QUORUM))
    s.attempt("auto-delete", lambda: s.ch.declare("c", auto_delete=True, **QUORUM))
    s.attempt("named by the server", lambda: s.ch.declare("", **QUORUM))
    s.attempt("not durable and exclusive", lambda: s.ch.declare("d", durable=False, exclusive=True, **QUORUM))
    s.attempt("type in capitals", lambda: s.ch.declare("e", x_queue_type="Quorum"))
    s.attempt("arguments of the API", lambda: s.queue_arguments("q"))


def declare_auto_delete_goes_with_its_consumer(s: Scene):
    s.attempt("declare", lambda: s.ch.declare("q", auto_delete=True, **QUORUM))
    if s.exists("q"):
        s.ch.consume("q")
        s.ch.cancel()
        s.note("gone", s.await_gone("q"))


def redeclare_as_another_type(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.attempt("without a type", lambda: s.ch.declare("q"))
    s.attempt("classic", lambda: s.ch.declare("q", x_queue_type="classic"))
    s.attempt("stream", lambda: s.ch.declare("q", x_queue_type="stream"))
    s.ch.declare("c")
    s.attempt("quorum where classic is", lambda: s.ch.declare("c", **QUORUM))
    s.attempt("auto-delete", lambda: s.ch.declare("q", auto_delete=True, **QUORUM))


def arguments(s: Scene):
    """What each argument may be."""
    cases = [
        ("x-delivery-limit", [0, 5, -1, -2, "5", True, 2.5]),
        ("x-quorum-initial-group-size", [1, 3, 0, -1, "3"]),
        ("x-quorum-target-group-size", [1, 3, 0, -1, "3"]),
        ("x-max-in-memory-length", [0, 5, -1, "5"]),
        ("x-max-in-memory-bytes", [0, 5, -1, "5"]),
        ("x-dead-letter-strategy", ["at-most-once", "at-least-once", "never", 5]),
        ("x-overflow", ["drop-head", "reject-publish", "reject-publish-dlx", "none", 5]),
        ("x-queue-leader-locator", ["client-local", "balanced", "random", 5]),
        ("x-consumer-timeout", [0, 1, 60000, -1, "5"]),
        ("x-consumer-disconnected-timeout", [0, 1, 60000, -1, "5"]),
        ("x-delayed-retry-type", ["disabled", "all", "failed", "returned", "never", 5]),
        ("x-delayed-retry-min", [0, 1, 1000, -1, "5"]),
        ("x-delayed-retry-max", [0, 1, 1000, -1, "5"]),
        ("x-single-active-consumer", [True, False, 1, "true"]),
        ("x-message-ttl", [0, 5, -1, "5", 10**12]),
        ("x-expires", [0, 50000, -1, "5", 10**12]),
        ("x-max-length", [0, 5, -1, "5"]),
        ("x-max-length-bytes", [0, 5, -1, "5"]),
    ]
    for argument, values in cases:
        for number, value in enumerate(values):
            s.attempt(f"{argument} {value!r}", lambda a=argument, v=value, q=f"{argument}-{number}": s.ch.declare(q, arguments={"x-queue-type": "quorum", a: v}))


def arguments_of_other_types(s: Scene):
    for argument, value in (
        ("x-max-priority", 5), ("x-queue-mode", "lazy"), ("x-queue-version", 2), ("x-max-age", "1D"), ("x-stream-max-segment-size-bytes", 1000000),
        ("x-stream-filter-size-bytes", 16), ("x-initial-cluster-size", 1), ("x-queue-master-locator", "min-masters"), ("x-foo", "bar"),
    ):  # fmt: skip
        s.attempt(f"{argument}", lambda a=argument, v=value: s.ch.declare(f"q{a}", arguments={"x-queue-type": "quorum", a: v}))


def redeclare_with_other_arguments(s: Scene):
    """What must be the same."""
    base = {"x-queue-type": "quorum"}
    for argument, first, second in (
        ("x-delivery-limit", 5, 6), ("x-max-length", 5, 6), ("x-message-ttl", 5000, 6000), ("x-expires", 50000, 60000), ("x-overflow", "drop-head", "reject-publish"),
        ("x-dead-letter-exchange", "a", "b"), ("x-dead-letter-strategy", "at-most-once", "at-least-once"), ("x-quorum-initial-group-size", 1, 3),
        ("x-quorum-target-group-size", 1, 3), ("x-single-active-consumer", True, False), ("x-delayed-retry-type", "all", "failed"), ("x-delayed-retry-min", 5, 6),
        ("x-delayed-retry-max", 50, 60), ("x-consumer-timeout", 60000, 70000), ("x-consumer-disconnected-timeout", 60000, 70000), ("x-queue-leader-locator", "client-local", "balanced"),
        ("x-max-in-memory-length", 5, 6),
    ):  # fmt: skip
        queue = f"q {argument}"
        s.ch.declare(queue, arguments={**base, argument: first})
        s.attempt(argument, lambda q=queue, a=argument, v=second: s.ch.declare(q, arguments={**base, a: v}))
        s.attempt(f"{argument} left out", lambda q=queue: s.ch.declare(q, arguments=base))


# -- how often


def get_and_purge(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.note("empty", s.ch.get("q"))
    for body in "abc":
        s.ch.publish("q", body)
    s.note("get", s.ch.get("q"))
    got = s.ch.get("q", no_ack=False)
    s.note("get with ack", got)
    s.note("purged", s.ch.purge("q"))
    s.ch.nack(got, requeue=True)
    s.note("what was unacknowledged is still there", s.ch.await_get("q"))
    s.ch.publish("q", "d")
    s.note("deleted", s.ch.delete("q"))


def delete_if(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", "m")
    s.attempt("if empty", lambda: s.ch.delete("q", if_empty=True))
    s.ch.consume("q", prefetch=1)
    s.attempt("if unused", lambda: s.ch.delete("q", if_unused=True))


def mandatory_and_unroutable(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.note("routed", s.ch.publish("q", "m", mandatory=True))


def transient_messages(s: Scene):
    """A transient message is delivered as one."""
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", "m", delivery_mode=1)
    s.note("get", s.ch.get("q"))


def header_of_a_client(s: Scene):
    """x-delivery-count that a client sends."""
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", "m", headers={"x-delivery-count": 7, "x-acquired-count": 8})
    got = s.ch.get("q", no_ack=False)
    s.note("first", got)
    s.ch.reject(got, requeue=True)
    s.note("second", s.ch.await_get("q"))


def _count_of(s: Scene, act) -> None:
    """Three deliveries, given back by `act`."""
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", "m")
    consumer = s.channel()
    consumer.consume("q", prefetch=1)
    for attempt in range(3):
        got = _next(consumer)
        s.note(f"delivery {attempt}", _counts(got))
        consumer = act(s, consumer, got) or consumer


def counts_of_reject(s: Scene):
    _count_of(s, lambda s, ch, got: ch.reject(got, requeue=True))


def counts_of_nack(s: Scene):
    _count_of(s, lambda s, ch, got: ch.nack(got, requeue=True))


def counts_of_multiple_nack(s: Scene):
    _count_of(s, lambda s, ch, got: ch.nack(got, requeue=True, multiple=True))


def counts_of_recover(s: Scene):
    _count_of(s, lambda s, ch, got: ch.call("basic.recover", requeue=True) and None)


def counts_of_cancel(s: Scene):
    """Cancelling returns nothing; the channel's end does."""

    def act(s: Scene, ch: Channel, got: Delivery) -> Channel:
        ch.cancel()
        ch.close()
        ch = s.channel()
        ch.consume("q", prefetch=1)
        return ch

    _count_of(s, act)


def counts_of_channel_close(s: Scene):
    def act(s: Scene, ch: Channel, got: Delivery) -> Channel:
        ch.close()
        ch = s.channel()
        ch.consume("q", prefetch=1)
        return ch

    _count_of(s, act)


def counts_of_channel_error(s: Scene):
    """The channel dies of an error of its own."""

    def act(s: Scene, ch: Channel, got: Delivery) -> Channel:
        ch.send("basic.ack", delivery_tag=4711)
        ch.await_close()
        ch = s.channel()
        ch.consume("q", prefetch=1)
        return ch

    _count_of(s, act)


def counts_of_connection_close(s: Scene):
    def act(s: Scene, ch: Channel, got: Delivery) -> Channel:
        ch.connection.close()
        ch = s.channel()
        ch.consume("q", prefetch=1)
        return ch

    _count_of(s, act)


def counts_of_connection_loss(s: Scene):
    def act(s: Scene, ch: Channel, got: Delivery) -> Channel:
        ch.connection.drop()
        ch = s.channel()
        ch.consume("q", prefetch=1)
        return ch

    _count_of(s, act)


def counts_of_get(s: Scene):
    """The same by basic.get."""
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", "m")
    for attempt, act in enumerate((s.ch.reject, s.ch.nack, s.ch.reject, s.ch.nack)):
        got = s.ch.await_get("q", no_ack=False)
        s.note(f"get {attempt}", _counts(got))
        act(got, requeue=True)
    s.note("at last", s.ch.await_get("q"))


def counts_of_both(s: Scene):
    """Reject and nack in turn: both count as acquired, one as delivered."""
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", "m", headers={"mine": "h"})
    s.ch.consume("q", prefetch=1)
    for attempt, act in enumerate((s.ch.nack, s.ch.reject, s.ch.nack, s.ch.reject)):
        got = _next(s.ch)
        s.note(f"delivery {attempt}", _counts(got))
        act(got, requeue=True)
    s.note("in full", _next(s.ch))


def counts_of_multiple_ack_partners(s: Scene):
    """A nack of several: each message has its own counts."""
    s.ch.declare("q", **QUORUM)
    for body in "abc":
        s.ch.publish("q", body)
    s.ch.consume("q", prefetch=3)
    taken = s.ch.take(3)
    s.ch.reject(taken[1], requeue=True)
    again = _next(s.ch)
    s.note("rejected", [again.body, _counts(again)])
    s.ch.nack(again, requeue=True, multiple=True)
    s.note("all again", [[each.body, _counts(each)] for each in s.ch.take(3)])


def classic_has_no_counts(s: Scene):
    """A classic queue says nothing but redelivered, by reject and nack alike."""
    s.ch.declare("q")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False), requeue=True)
    got = s.ch.await_get("q", no_ack=False)
    s.note("rejected", got)
    s.ch.nack(got, requeue=True)
    s.note("nacked", s.ch.await_get("q"))


# -- the delivery limit


def _deliveries_until_dead(s: Scene, act: str = "reject", most: int = 30) -> int | str:
    """How often a message comes that is given back each time."""
    s.ch.publish("q", "m")
    s.ch.consume("q", prefetch=1)
    for number in range(1, most + 1):
        [got] = s.ch.take(within=1) or [None]
        if got is None:
            return number - 1
        getattr(s.ch, act)(got, requeue=True)
    return f"{most} or more"


def limit_by_default(s: Scene):
    """Without an argument it comes 21 times: 20 times again."""
    s.ch.declare("q", **QUORUM)
    s.note("by reject", _deliveries_until_dead(s))
    s.note("ready", s.ch.count("q"))


def limit_by_default_of_nack(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.note("by nack", _deliveries_until_dead(s, "nack"))


def limit_by_argument(s: Scene):
    s.ch.declare("q", x_delivery_limit=2, **QUORUM)
    s.note("by reject", _deliveries_until_dead(s))
    s.ch.cancel()
    s.note("by nack", _deliveries_until_dead(s, "nack"))


def limit_of_zero(s: Scene):
    s.ch.declare("q", x_delivery_limit=0, **QUORUM)
    s.note("by reject", _deliveries_until_dead(s))


def limit_of_minus_one(s: Scene):
    s.ch.declare("q", x_delivery_limit=-1, **QUORUM)
    s.note("by reject", _deliveries_until_dead(s))


def limit_by_policy(s: Scene):
    """The smaller of argument and policy; a policy's −1 does not lift an argument's."""
    s.policy("p", {"delivery-limit": 1})
    s.ch.declare("q", **QUORUM)
    s.note("by policy", _deliveries_until_dead(s))


def limit_by_policy_and_argument(s: Scene):
    s.policy("p", {"delivery-limit": 1})
    s.ch.declare("q", x_delivery_limit=3, **QUORUM)
    s.note("argument 3, policy 1", _deliveries_until_dead(s))


def limit_by_policy_of_minus_one(s: Scene):
    s.policy("p", {"delivery-limit": -1})
    s.ch.declare("q", x_delivery_limit=2, **QUORUM)
    s.note("argument 2, policy -1", _deliveries_until_dead(s))


def limit_by_policy_later(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.policy("p", {"delivery-limit": 1})
    s.ch.rest(0.1)
    s.note("by policy", _deliveries_until_dead(s))


def limit_of_closed_channels(s: Scene):
    """Do ends of channels count?"""
    s.ch.declare("dead")
    s.ch.declare("q", x_delivery_limit=1, x_dead_letter_exchange="", x_dead_letter_routing_key="dead", **QUORUM)
    s.ch.publish("q", "m")
    for _ in range(4):
        other = s.channel()
        other.consume("q", prefetch=1)
        if not other.take(within=1):
            break
        other.connection.close()
    s.note("dead", s.ch.await_get("dead"))


def limit_of_get(s: Scene):
    s.ch.declare("q", x_delivery_limit=1, **QUORUM)
    s.ch.publish("q", "m")
    for attempt in range(2):
        s.ch.reject(s.ch.await_get("q", no_ack=False), requeue=True)
    s.note("ready", s.ch.await_count("q", 0))


# -- order and consumers


def returned_in_order(s: Scene):
    """Returned messages come before the others, in the order in which they were returned."""
    s.ch.declare("q", **QUORUM)
    for body in "abcdef":
        s.ch.publish("q", body)
    got = [s.ch.await_get("q", no_ack=False) for _ in "abc"]
    s.ch.nack(got[2], requeue=True)
    s.ch.nack(got[0], requeue=True)
    s.ch.reject(got[1], requeue=True)
    s.ch.await_count("q", 6)
    s.note("order", s.ch.drain("q"))


def global_qos(s: Scene):
    """What becomes of a prefetch for the whole channel, on quorum and on classic queues."""
    for queue, arguments in (("q", QUORUM), ("c", {})):
        channel = s.channel()
        channel.declare(queue, **arguments)
        for body in "abcd":
            channel.publish(queue, body)
        s.attempt(f"{queue}: qos", lambda ch=channel: ch.call("basic.qos", prefetch_count=1, global_=True).name, channel)
        s.attempt(f"{queue}: consume", lambda ch=channel, q=queue: ch.consume(q), channel)
        s.note(f"{queue}: delivered", channel.rest(least=1))
        s.attempt(f"{queue}: qos while consuming", lambda ch=channel: ch.call("basic.qos", prefetch_count=2, global_=True).name, channel)


def prefetch(s: Scene):
    s.ch.declare("q", **QUORUM)
    for body in "abcde":
        s.ch.publish("q", body)
    s.ch.consume("q", prefetch=2)
    taken = s.ch.take(2)
    s.note("first", taken)
    s.note("no more", s.ch.rest())
    s.ch.ack(taken[1], multiple=True)
    s.note("next", s.ch.bodies(2))


def no_ack(s: Scene):
    s.ch.declare("q", **QUORUM)
    for body in "abc":
        s.ch.publish("q", body)
    s.ch.consume("q", no_ack=True)
    s.note("delivered", s.ch.bodies(3))
    s.note("ready", s.ch.await_count("q", 0))


def consume_twice_with_a_tag(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.ch.consume("q", "c")
    s.attempt("again", lambda: s.ch.consume("q", "c"))


def exclusive_consumer(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.ch.consume("q", "c", exclusive=True)
    other = s.channel()
    s.attempt("another", lambda: other.consume("q", "d"), other)
    s.attempt("another exclusive", lambda: other.consume("q", "e", exclusive=True), other)
    s.attempt("get", lambda: other.get("q"), other)


def exclusive_consumer_comes_second(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.ch.consume("q", "c")
    other = s.channel()
    s.attempt("exclusive", lambda: other.consume("q", "d", exclusive=True), other)


def single_active_consumer(s: Scene):
    """One has all; the next takes over when it goes."""
    s.ch.declare("q", x_single_active_consumer=True, **QUORUM)
    first, second = s.channel(), s.channel()
    first.consume("q", "first", prefetch=10)
    second.consume("q", "second", prefetch=10)
    for body in "ab":
        s.ch.publish("q", body)
    taken = first.take(2)
    s.note("first", [each.body for each in taken])
    s.note("second", second.rest())
    first.cancel("first")
    s.ch.publish("q", "c")
    s.note("second takes over though the first holds some", second.bodies(1))
    first.reject(taken[0], requeue=True)
    s.note("what the first gives back", second.bodies(1))


def single_active_consumer_closes(s: Scene):
    s.ch.declare("q", x_single_active_consumer=True, **QUORUM)
    first, second = s.channel(), s.channel()
    first.consume("q", "first", prefetch=10)
    second.consume("q", "second", prefetch=10)
    s.ch.publish("q", "a")
    first.take()
    first.connection.close()
    s.note("second takes over", second.take())


def single_active_consumer_with_priority(s: Scene):
    """A consumer of higher priority takes over when what the other holds is settled."""
    s.ch.declare("q", x_single_active_consumer=True, **QUORUM)
    low, high = s.channel(), s.channel()
    low.consume("q", "low", prefetch=10, x_priority=1)
    s.ch.publish("q", "a")
    taken = low.take()
    high.consume("q", "high", prefetch=10, x_priority=5)
    s.ch.publish("q", "b")
    s.note("while it holds some", [low.rest(), high.rest()])
    low.ack(taken[0])
    s.note("high then", high.bodies(1))
    s.ch.publish("q", "c")
    s.note("and later", high.bodies(1))


def single_active_consumer_and_get(s: Scene):
    s.ch.declare("q", x_single_active_consumer=True, **QUORUM)
    s.ch.publish("q", "m")
    other = s.channel()
    other.consume("q", prefetch=1)
    other.take()
    s.ch.publish("q", "n")
    s.attempt("get", lambda: s.ch.get("q"))


def consumer_priority(s: Scene):
    """The higher priority gets all until its prefetch is used up."""
    s.ch.declare("q", **QUORUM)
    low, high = s.channel(), s.channel()
    low.consume("q", "low", prefetch=2)
    high.consume("q", "high", prefetch=2, x_priority=5)
    for body in "abcd":
        s.ch.publish("q", body)
    s.note("high", high.bodies(2))
    s.note("low", low.bodies(2))


def deleted_queue_cancels_consumers(s: Scene):
    s.ch.declare("q", **QUORUM)
    other = s.channel()
    other.consume("q", "c", prefetch=1)
    s.ch.delete("q")
    other.wait(lambda: other.events)
    s.note("events", other.events)


def ack_twice(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", "m")
    got = s.ch.await_get("q", no_ack=False)
    s.ch.ack(got)
    s.ch.ack(got)
    s.note("closes", s.ch.await_close())


# -- the consumer timeout


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
    s.note("policy", s.policy("p", {"consumer-timeout": 300}).status)
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
    s.note("order", [[each.body, _counts(each)] for each in [s.ch.await_get("q") for _ in "abc"] if each])
    s.note("count of the other queue", s.ch.count("r"))


# -- delayed retry


def _comes_again(s: Scene, queue: str, act: str, least_ms: int) -> dict:
    """Whether it comes again, and not before its time."""
    s.ch.publish(queue, "m")
    got = s.ch.await_get(queue, no_ack=False)
    started = time.monotonic()
    getattr(s.ch, act)(got, requeue=True)
    again = s.ch.await_get(queue)
    return {"not before its time": (time.monotonic() - started) * 1000 >= least_ms - 5, **_counts(again)}


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
    s.note("policy", s.policy("p", {"delayed-retry-type": "all", "delayed-retry-min": 200, "delayed-retry-max": 1000}).status)
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", "m")
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


# -- other queues of the channel


def confirms_of_several_types(s: Scene):
    """One publish to a classic and a quorum queue: one confirm."""
    s.ch.exchange("x", "fanout")
    s.ch.declare("c")
    s.ch.declare("q", **QUORUM)
    s.ch.bind("c", "x")
    s.ch.bind("q", "x")
    for body in "abc":
        s.ch.publish_only("", body, "x")
    s.note("confirms", s.ch.confirms())
    s.note("counts", [s.ch.count("c"), s.ch.await_count("q", 3)])


def transactions(s: Scene):
    s.ch.declare("q", **QUORUM)
    tx = s.channel()
    tx.call("tx.select")
    tx.send_content("q", "a")
    s.note("before", s.ch.count("q"))
    s.attempt("commit", lambda: tx.call("tx.commit").name, tx)
    s.note("after", s.ch.await_count("q", 1))


def big_message(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", b"x" * 300000)
    s.note("get", s.ch.await_get("q"))
