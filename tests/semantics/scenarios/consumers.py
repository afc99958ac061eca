"""Who gets a message, and who may consume at all. Classic queues; the same of quorum queues is in `quorum`."""

from scene import Scene


def priority(s: Scene):
    """The higher priority gets all until its prefetch is used up; then the lower one."""
    s.ch.declare("q")
    low, high = s.channel(), s.channel()
    low.consume("q", "low", prefetch=10)
    high.consume("q", "high", prefetch=2, x_priority=5)
    for body in "abcd":
        s.ch.publish("q", body)
    taken = high.take(2)
    s.note("high", [each.body for each in taken])
    s.note("low", low.bodies(2))
    high.ack(taken[1], multiple=True)
    high.state()
    s.ch.publish("q", "e")
    s.note("high again", high.bodies(1))


def priority_of_those_who_come_later(s: Scene):
    s.ch.declare("q")
    first, second, third = s.channel(), s.channel(), s.channel()
    first.consume("q", "first", prefetch=1, x_priority=-5)
    second.consume("q", "second", prefetch=1)
    third.consume("q", "third", prefetch=1, x_priority=10)
    for body in "abc":
        s.ch.publish("q", body)
    s.note("deliveries", {"first": first.bodies(1), "second": second.bodies(1), "third": third.bodies(1)})


def same_priority_takes_turns(s: Scene):
    s.ch.declare("q")
    one, two = s.channel(), s.channel()
    one.consume("q", "one", no_ack=True, x_priority=3)
    two.consume("q", "two", no_ack=True, x_priority=3)
    for body in "abcdef":
        s.ch.publish("q", body)
    s.note("deliveries", [one.bodies(3), two.bodies(3)])


def priority_of_another_type(s: Scene):
    s.ch.declare("q")
    for number, value in enumerate((5, -5, 0, 2**40, "5", True, 2.5, None, [5])):
        s.attempt(f"{value!r}", lambda v=value, n=number: s.ch.consume("q", f"c{n}", arguments={"x-priority": v}))


def unknown_consumer_arguments(s: Scene):
    s.ch.declare("q")
    for argument, value in (("x-foo", "bar"), ("x-stream-offset", "first"), ("x-cancel-on-ha-failover", True), ("x-cancel-on-ha-failover", "true"), ("x-credit", {"credit": 5, "drain": False}), ("x-single-active-consumer", True)):
        s.attempt(f"{argument} {value!r}", lambda a=argument, v=value: s.ch.consume("q", f"{a}{v}"[:50], arguments={a: v}))


def single_active(s: Scene):
    """One has all, the others wait; when it is cancelled the next one, in the order of their coming, takes over."""
    s.ch.declare("q", x_single_active_consumer=True)
    first, second, third = s.channel(), s.channel(), s.channel()
    for channel, tag in ((first, "first"), (second, "second"), (third, "third")):
        channel.consume("q", tag, prefetch=10)
    s.note("consumers", s.ch.count("q"))
    for body in "ab":
        s.ch.publish("q", body)
    taken = first.take(2)
    s.note("first", taken)
    s.note("others", [second.rest(), third.rest()])
    first.cancel("first")
    s.ch.publish("q", "c")
    s.note("second takes over though the first holds some", second.bodies(1))
    first.nack(taken[0], requeue=True)
    s.note("what the first gives back", second.take())
    s.note("third", third.rest())


def single_active_prefetch(s: Scene):
    """The others get nothing though the active one's prefetch is used up."""
    s.ch.declare("q", x_single_active_consumer=True)
    first, second = s.channel(), s.channel()
    first.consume("q", "first", prefetch=1)
    second.consume("q", "second", prefetch=1)
    for body in "ab":
        s.ch.publish("q", body)
    s.note("first", first.bodies(1))
    s.note("rest", [first.rest(), second.rest()])


def single_active_closes_channel(s: Scene):
    s.ch.declare("q", x_single_active_consumer=True)
    first, second = s.channel(), s.channel()
    first.consume("q", "first", prefetch=10)
    second.consume("q", "second", prefetch=10)
    for body in "ab":
        s.ch.publish("q", body)
    first.take(2)
    first.close()
    s.note("second", second.take(2))


def single_active_closes_connection(s: Scene):
    s.ch.declare("q", x_single_active_consumer=True)
    first, second = s.channel(), s.channel()
    first.consume("q", "first", prefetch=10)
    second.consume("q", "second", prefetch=10)
    for body in "ab":
        s.ch.publish("q", body)
    first.take(2)
    first.connection.drop()
    s.note("second", second.take(2))


def single_active_with_priority(s: Scene):
    """On a classic queue the active one stays, whatever the priority of who comes later; the highest is next."""
    s.ch.declare("q", x_single_active_consumer=True)
    low, middle, high = s.channel(), s.channel(), s.channel()
    low.consume("q", "low", prefetch=10)
    middle.consume("q", "middle", prefetch=10, x_priority=1)
    high.consume("q", "high", prefetch=10, x_priority=5)
    s.ch.publish("q", "a")
    s.note("deliveries", {"low": low.rest(least=1), "middle": middle.rest(), "high": high.rest()})
    low.cancel("low")
    s.ch.publish("q", "b")
    s.note("after the cancel", {"middle": middle.rest(), "high": high.rest(least=1)})


def single_active_and_exclusive(s: Scene):
    s.ch.declare("q", x_single_active_consumer=True)
    s.attempt("exclusive", lambda: s.ch.consume("q", exclusive=True))


def single_active_and_get(s: Scene):
    """basic.get beside a single active consumer."""
    s.ch.declare("q", x_single_active_consumer=True)
    s.ch.publish("q", "m")
    s.attempt("get without consumer", lambda: s.ch.get("q"))
    other = s.channel()
    other.consume("q", prefetch=1)
    s.ch.publish("q", "n")
    s.ch.publish("q", "o")
    other.take()
    s.attempt("get with consumer", lambda: s.ch.get("q"))


def single_active_not_by_policy(s: Scene):
    s.note("policy", s.ask_for_policy("p", {"single-active-consumer": True}).json)


def single_active_argument(s: Scene):
    for number, value in enumerate((True, False, 1, "true", None)):
        s.attempt(f"{value!r}", lambda v=value, n=number: s.ch.declare(f"q{n}", arguments={"x-single-active-consumer": v}))
    s.attempt("redeclared without", lambda: s.ch.declare("q0"))
    s.attempt("redeclared as false", lambda: s.ch.declare("q0", x_single_active_consumer=False))
    s.ch.declare("plain")
    s.attempt("false where there was none", lambda: s.ch.declare("plain", x_single_active_consumer=False))


def single_active_with_exclusive_queue(s: Scene):
    """Two channels of the owner."""
    connection = s.connect()
    first, second = connection.channel(), connection.channel()
    s.attempt("declare", lambda: first.declare("q", exclusive=True, x_single_active_consumer=True), first)
    first.consume("q", "first", no_ack=True)
    second.consume("q", "second", no_ack=True)
    for body in "ab":
        first.publish("q", body)
    s.note("first", first.bodies(2))
    first.cancel("first")
    first.publish("q", "c")
    s.note("second", second.bodies(1))


def exclusive(s: Scene):
    """An exclusive consumer refuses others, and is refused where others are."""
    s.ch.declare("q")
    s.ch.consume("q", "c", exclusive=True)
    other = s.channel()
    s.attempt("another", lambda: other.consume("q", "d"), other)
    s.attempt("another exclusive", lambda: other.consume("q", "d", exclusive=True), other)
    s.attempt("get", lambda: str(other.get("q")), other)
    s.ch.cancel()
    s.attempt("after the cancel", lambda: other.consume("q", "d"), other)
    s.attempt("exclusive where another is", lambda: s.ch.consume("q", "c", exclusive=True))


def exclusive_on_the_same_channel(s: Scene):
    s.ch.declare("q")
    s.ch.consume("q", "c", exclusive=True)
    s.attempt("another", lambda: s.ch.consume("q", "d"))


def exclusive_queue(s: Scene):
    """A queue of another connection."""
    s.ch.declare("q", durable=False, exclusive=True)
    s.ch.bind("q", "amq.direct", "k")
    other = s.channel()
    for what, act in (
        ("consume", lambda: other.consume("q", "c")), ("get", lambda: other.get("q")), ("passive declare", lambda: other.count("q")), ("declare", lambda: other.declare("q", durable=False, exclusive=True)),
        ("declare not exclusive", lambda: other.declare("q")), ("purge", lambda: other.purge("q")), ("delete", lambda: other.delete("q")), ("bind", lambda: other.bind("q", "amq.fanout")), ("unbind", lambda: other.unbind("q", "amq.direct", "k")),
        ("unbind of what is not bound", lambda: other.unbind("q", "amq.fanout")),
    ):  # fmt: skip
        s.attempt(what, act, other)
    s.note("publish", other.publish("q", "m"))


def prefetch_is_of_new_consumers(s: Scene):
    """basic.qos holds for consumers that come after it; each has its own."""
    s.ch.declare("q")
    s.ch.consume("q", "unlimited")
    s.ch.call("basic.qos", prefetch_count=1)
    s.ch.declare("r")
    s.ch.consume("r", "one")
    s.ch.call("basic.qos", prefetch_count=2)
    s.ch.declare("t")
    s.ch.consume("t", "two")
    for queue in "qrt":
        for body in "abcd":
            s.ch.publish(queue, queue + body)
    s.ch.wait(lambda: len(s.ch.inbox) >= 7)
    s.note("delivered", sorted(s.ch.rest()))


def prefetch_and_get(s: Scene):
    """basic.get does not count, nor is it bound."""
    s.ch.declare("q")
    s.ch.call("basic.qos", prefetch_count=1)
    for body in "abc":
        s.ch.publish("q", body)
    s.note("gets", [s.ch.get("q", no_ack=False).body for _ in "ab"])
    s.ch.consume("q")
    s.note("delivered", s.ch.bodies(1))


def prefetch_without_ack(s: Scene):
    """A consumer that does not acknowledge has no prefetch."""
    s.ch.declare("q")
    for body in "abc":
        s.ch.publish("q", body)
    s.ch.consume("q", prefetch=1, no_ack=True)
    s.note("delivered", s.ch.bodies(3))


def prefetch_by_bytes(s: Scene):
    s.attempt("prefetch_size", lambda: s.ch.call("basic.qos", prefetch_size=100))


def global_prefetch(s: Scene):
    """A prefetch for the whole channel."""
    s.ch.declare("q")
    s.attempt("qos", lambda: s.ch.call("basic.qos", prefetch_count=2, global_=True).name)
    s.ch.consume("q", "a")
    s.ch.consume("q", "b")
    for body in "abcde":
        s.ch.publish("q", body)
    s.note("delivered", s.ch.rest(least=4))


def requeue_order(s: Scene):
    """What comes back takes its old place."""
    s.ch.declare("q")
    for body in "abcde":
        s.ch.publish("q", body)
    got = [s.ch.get("q", no_ack=False) for _ in "abc"]
    s.ch.nack(got[2], requeue=True)
    s.ch.nack(got[0], requeue=True)
    s.ch.await_count("q", 4)
    s.note("order", s.ch.drain("q"))
    s.ch.nack(got[1], requeue=True)
    s.note("and the last", s.ch.await_get("q"))


def requeue_to_another_consumer(s: Scene):
    s.ch.declare("q")
    one, two = s.channel(), s.channel()
    one.consume("q", "one", prefetch=1)
    two.consume("q", "two", prefetch=1)
    s.ch.publish("q", "m")
    [got] = one.take()
    one.nack(got, requeue=True)
    s.note("one", one.rest())
    s.note("two", two.take())


def recover(s: Scene):
    s.ch.declare("q")
    for body in "ab":
        s.ch.publish("q", body)
    s.ch.consume("q")
    s.ch.take(2)
    s.ch.call("basic.recover", requeue=True)
    s.note("again", s.ch.take(2))
    s.attempt("without requeue", lambda: s.ch.call("basic.recover", requeue=False))


def cancel_keeps_unacknowledged(s: Scene):
    """After a cancel what was delivered can still be acknowledged."""
    s.ch.declare("q")
    s.ch.publish("q", "m")
    s.ch.consume("q")
    [got] = s.ch.take()
    s.ch.cancel()
    s.note("count", s.ch.count("q"))
    s.ch.ack(got)
    s.note("channel", s.ch.state())
    s.attempt("cancel of nobody", lambda: s.ch.cancel("nobody"))


def cancel_deletes_auto_delete_queue(s: Scene):
    s.ch.declare("q", auto_delete=True)
    s.ch.consume("q")
    s.ch.cancel()
    s.note("gone", s.await_gone("q"))


def deleted_queue_cancels(s: Scene):
    """Who has the capability is told; who has not is not."""
    s.ch.declare("q")
    told, untold = s.channel(), s.channel(capabilities={"basic.nack": True})
    told.consume("q", "told")
    untold.consume("q", "untold")
    s.note("deleted", s.ch.delete("q"))
    told.wait(lambda: told.events)
    untold.rest()
    s.note("told", told.events)
    s.note("untold", untold.events)
    s.attempt("cancel of the cancelled", lambda: told.cancel("told"), told)


def consume_errors(s: Scene):
    s.ch.declare("q")
    s.attempt("no such queue", lambda: s.ch.consume("nosuch"))
    fresh = s.channel()
    s.attempt("last queue, none was", lambda: fresh.consume(""), fresh)
    s.attempt("tag by the server", lambda: s.ch.consume("q", ""))
    s.attempt("get of no such queue", lambda: s.ch.get("nosuch"))
    s.ch.consume("q", "same")
    s.attempt("the same tag", lambda: s.ch.consume("q", "same"))
    reader = s.channel(**s.user("no-read", read="nothing"))
    s.attempt("without permission", lambda: reader.consume("q"), reader)
    s.attempt("get without permission", lambda: reader.get("q"), reader)


def no_local(s: Scene):
    """no-local is taken and has no effect."""
    s.ch.declare("q")
    s.ch.consume("q", no_local=True, no_ack=True)
    s.ch.publish("q", "m")
    s.note("delivered", s.ch.bodies(1))


def acknowledging_wrongly(s: Scene):
    s.ch.declare("q")
    for what, method, arguments in (
        ("ack of nothing", "basic.ack", {"delivery_tag": 1}), ("nack of nothing", "basic.nack", {"delivery_tag": 7}), ("reject of nothing", "basic.reject", {"delivery_tag": 7}),
        ("multiple ack of nothing", "basic.ack", {"delivery_tag": 7, "multiple": True}), ("tag 0", "basic.ack", {"delivery_tag": 0}),
        ("tag 0, multiple", "basic.ack", {"delivery_tag": 0, "multiple": True}), ("reject of tag 0", "basic.reject", {"delivery_tag": 0}),
    ):  # fmt: skip
        s.ch.send(method, **arguments)
        s.note(what, s.ch.state())
        if s.ch.closed:
            s.revive(s.ch)


def acknowledging_on_another_channel(s: Scene):
    s.ch.declare("q")
    s.ch.publish("q", "m")
    got = s.ch.get("q", no_ack=False)
    other = s.channel()
    other.ack(got)
    s.note("closes", other.await_close())


def timeout_on_classic(s: Scene):
    """Classic queues do not have x-consumer-timeout as an argument; a consumer's argument of that name is nothing to them."""
    s.attempt("queue argument", lambda: s.ch.declare("q", x_consumer_timeout=1000))
    s.ch.declare("c")
    s.attempt("consumer argument", lambda: s.ch.consume("c", x_consumer_timeout=1000))


def round_robin_within_a_channel(s: Scene):
    s.ch.declare("q")
    for tag in "xyz":
        s.ch.consume("q", tag, no_ack=True)
    for body in "abcdef":
        s.ch.publish("q", body)
    s.note("deliveries", [[each.method.consumer_tag, each.body] for each in s.ch.take(6)])


def _end(first, how: str) -> None:
    """Ends a consumer whose channel is the first of its connection."""
    match how:
        case "channel.close":
            first.close()
        case "connection.close":
            first.connection.close()
        case "lost connection":
            first.connection.drop()
        case "channel error":
            first.send("basic.ack", delivery_tag=1000)
            first.await_close()


def single_active_gives_back(s: Scene):
    """Whatever ends the active one: the next begins with what it held, and only then gets what came later."""
    for queue_type in ("classic", "quorum"):
        for how in ("channel.close", "connection.close", "lost connection", "channel error"):
            for prefetch in (1, 3):
                queue = f"{queue_type} {how} {prefetch}"
                s.ch.declare(queue, x_single_active_consumer=True, x_queue_type=queue_type)
                first, second = s.channel(), s.channel()
                first.consume(queue, "first", prefetch=prefetch)
                second.consume(queue, "second", prefetch=50)
                for body in "abcdefg":
                    s.ch.publish(queue, body)
                held = first.bodies(prefetch)
                _end(first, how)
                s.note(queue, [held, [[each.body, each.method.redelivered] for each in second.take(7)]])


def deleting_a_queue_with_consumers(s: Scene):
    """Who deletes a queue is told that its consumer is cancelled, as all others are, after it is told that the queue is deleted."""
    for what, how in (
        ("classic", {}), ("quorum", {"x_queue_type": "quorum"}), ("exclusive", {"exclusive": True, "durable": False}), ("transient", {"durable": False}),
        ("auto-delete", {"auto_delete": True}), ("single active", {"x_single_active_consumer": True}),
    ):  # fmt: skip
        deleter = s.channel()
        deleter.declare(what, **how)
        deleter.consume(what, "own")
        sibling = deleter.connection.channel()
        sibling.consume(what, "sibling's")
        other = s.channel()
        if what != "exclusive":
            other.consume(what, "another's")
        deleter.delete(what)
        before = list(deleter.events)
        for channel in (deleter, sibling):
            channel.wait(lambda each=channel: each.events)
        if what != "exclusive":
            other.wait(lambda: other.events)
        s.note(what, {"before delete-ok": before, "deleter": deleter.events, "sibling": sibling.events, "other": other.events})
