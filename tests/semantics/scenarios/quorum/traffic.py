"""Publishing to quorum queues and consuming from them."""

from scene import Scene

QUORUM = {"x_queue_type": "quorum"}


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


def unacknowledged_of_several_channels(s: Scene):
    """A queue that is deleted while messages are unacknowledged: late acks are silent, consumers are told."""
    s.ch.declare("q", **QUORUM)
    for body in "ab":
        s.ch.publish("q", body)
    one, two = s.channel(), s.channel()
    one.consume("q", "one", prefetch=1)
    [first] = one.take()
    second = two.await_get("q", no_ack=False)
    s.note("deleted", s.ch.delete("q"))
    one.wait(lambda: one.events)
    s.note("events", one.events)
    one.ack(first)
    two.reject(second, requeue=True)
    s.note("late acks", [one.state(), two.state()])


def republish_of_what_was_counted(s: Scene):
    """A client that publishes again what it got, headers and all: what the broker has not counted yet stays as it was sent."""
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.await_get("q", no_ack=False), requeue=True)
    got = s.ch.await_get("q")
    s.ch.publish("q", "n", headers={key: int(value[2:]) for key, value in got.headers.items()})
    again = s.ch.await_get("q", no_ack=False)
    s.note("first", again)
    s.ch.nack(again, requeue=True)
    s.note("second", s.ch.await_get("q"))


def requeued_goes_to_another_consumer(s: Scene):
    """Whether the consumer that gives back has it again."""
    s.ch.declare("q", **QUORUM)
    one, two = s.channel(), s.channel()
    one.consume("q", "one", prefetch=1)
    two.consume("q", "two", prefetch=1)
    s.ch.publish("q", "m")
    [got] = one.take()
    one.nack(got, requeue=True)
    s.note("one", one.rest())
    s.note("two", two.rest())


def takes_turns(s: Scene):
    """Consumers of one priority have messages in turn."""
    s.ch.declare("q", **QUORUM)
    one, two = s.channel(), s.channel()
    one.consume("q", "one", prefetch=10)
    two.consume("q", "two", prefetch=10)
    for body in "abcdef":
        s.ch.publish("q", body)
    s.note("deliveries", [one.bodies(3), two.bodies(3)])


def recover_without_requeue(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.attempt("recover", lambda: s.ch.call("basic.recover", requeue=False))
