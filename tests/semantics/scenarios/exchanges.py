"""Exchange types beside AMQP's four, and what declaring and binding them is refused for."""

from scene import Channel, Scene


def _counts(ch: Channel, queues) -> dict[str, int]:
    return {queue: ch.count(queue)[0] for queue in queues}


def _queues(s: Scene, count: int) -> list[str]:
    return [s.ch.declare(f"q{number}") for number in range(count)]


# -- consistent hash


def hash_spreads(s: Scene):
    """Every queue gets its part, about as much as its weight says; the same key goes to the same queue."""
    s.ch.exchange("x", "x-consistent-hash")
    queues = _queues(s, 3)
    for queue, weight in zip(queues, "112"):
        s.ch.bind(queue, "x", weight)
    for number in range(1200):
        s.ch.publish_only(f"key-{number}", "", "x")
    s.note("confirmed", s.ch.confirms().count("ack"))
    counts = _counts(s.ch, queues)
    s.note("none is lost or doubled", sum(counts.values()))
    s.note("within a third of the weights", {queue: abs(counts[queue] - part) < part / 3 for queue, part in zip(queues, (300, 300, 600))})
    for queue in queues:
        s.ch.purge(queue)
    for _ in range(50):
        s.ch.publish("same", "", "x")
    s.note("the same key", sorted(_counts(s.ch, queues).values()))


def hash_is_one_queue(s: Scene):
    """Of several queues exactly one gets the message, of several bindings of a queue too."""
    s.ch.exchange("x", "x-consistent-hash")
    s.ch.declare("q")
    s.ch.bind("q", "x", "1")
    s.ch.bind("q", "x", "2")
    s.ch.publish("any", "m", "x")
    s.note("count", s.ch.count("q"))
    s.note("mandatory", s.ch.publish("any", "m", "x", mandatory=True))


def hash_without_queues(s: Scene):
    s.ch.exchange("x", "x-consistent-hash")
    s.note("mandatory", s.ch.publish("any", "m", "x", mandatory=True))


def hash_weights(s: Scene):
    """What a weight may be."""
    s.ch.exchange("x", "x-consistent-hash")
    for number, key in enumerate(("1", "10", "0", "-1", "1.5", "", "abc", "1000000", " 1", "+1", "99999999999")):
        s.ch.declare(f"q{number}")
        if key in ("1000000", "99999999999"):
            continue
        s.attempt(f"'{key}'", lambda k=key, n=number: s.ch.bind(f"q{n}", "x", k))


def hash_by_header(s: Scene):
    """The routing key is nothing then; a message without the header goes somewhere all the same."""
    s.ch.exchange("x", "x-consistent-hash", arguments={"hash-header": "hash-on"})
    queues = _queues(s, 3)
    for queue in queues:
        s.ch.bind(queue, "x", "1")
    for number in range(30):
        s.ch.publish(f"key-{number}", "", "x", headers={"hash-on": "same"})
    s.note("the same header", sorted(_counts(s.ch, queues).values()))
    for number in range(300):
        s.ch.publish_only("same", "", "x", headers={"hash-on": f"value-{number}"})
    s.ch.confirms()
    s.note("all get some of other headers", all(count > 20 for count in _counts(s.ch, queues).values()))
    for queue in queues:
        s.ch.purge(queue)
    for number in range(30):
        s.ch.publish(f"key-{number}", "", "x", mandatory=True)
    s.note("no header", sorted(_counts(s.ch, queues).values()))
    for value in (5, True, 2.5, None, ["a", "b"]):
        s.attempt(f"a header that is {value!r}", lambda v=value: s.ch.publish("k", "", "x", mandatory=True, headers={"hash-on": v}))


def hash_by_property(s: Scene):
    for name in ("message_id", "correlation_id", "timestamp"):
        exchange = f"x-{name}"
        s.ch.exchange(exchange, "x-consistent-hash", arguments={"hash-property": name})
        queues = [s.ch.declare(f"{name}-{number}") for number in range(2)]
        for queue in queues:
            s.ch.bind(queue, exchange, "1")
        for number in range(20):
            s.ch.publish(f"key-{number}", "", exchange, **{name: 5 if name == "timestamp" else "same"})
        s.note(f"{name}: the same", sorted(_counts(s.ch, queues).values()))
        for number in range(200):
            s.ch.publish_only("same", "", exchange, **{name: number if name == "timestamp" else f"{number}"})
        s.ch.confirms()
        s.note(f"{name}: both get some", all(count > 20 for count in _counts(s.ch, queues).values()))
        for queue in queues:
            s.ch.purge(queue)
        for number in range(10):
            s.ch.publish(f"key-{number}", "", exchange)
        s.note(f"{name}: without it", sorted(_counts(s.ch, queues).values()))


def hash_arguments(s: Scene):
    for what, arguments in (
        ("both", {"hash-header": "h", "hash-property": "message_id"}), ("unknown property", {"hash-property": "app_id"}),
        ("empty header", {"hash-header": ""}), ("empty property", {"hash-property": ""}), ("unknown argument", {"x-foo": "bar"}),
    ):  # fmt: skip
        s.attempt(what, lambda a=arguments, w=what: s.ch.exchange(w, "x-consistent-hash", arguments=a))
    s.ch.exchange("x", "x-consistent-hash", arguments={"hash-header": "h"})
    s.attempt("redeclared with another header", lambda: s.ch.exchange("x", "x-consistent-hash", arguments={"hash-header": "g"}))
    s.attempt("redeclared without", lambda: s.ch.exchange("x", "x-consistent-hash"))


def hash_second_binding_of_a_queue(s: Scene):
    """Only the first binding of a queue counts; its end takes the queue out."""
    s.ch.exchange("x", "x-consistent-hash")
    queues = _queues(s, 2)
    s.ch.bind("q0", "x", "1")
    s.ch.bind("q1", "x", "1")
    s.ch.bind("q1", "x", "9")
    for number in range(600):
        s.ch.publish_only(f"key-{number}", "", "x")
    s.ch.confirms()
    s.note("as one and one", all(200 < count < 400 for count in _counts(s.ch, queues).values()))
    s.ch.unbind("q1", "x", "1")
    for queue in queues:
        s.ch.purge(queue)
    for number in range(300):
        s.ch.publish_only(f"key-{number}", "", "x")
    s.ch.confirms()
    counts = _counts(s.ch, queues)
    s.note("after the first is unbound", {"q0 gets all": counts["q0"] == 300, "all arrive": sum(counts.values()) == 300})


def hash_to_an_exchange(s: Scene):
    """A bound exchange is a destination like a queue."""
    s.ch.exchange("x", "x-consistent-hash")
    s.ch.exchange("y", "fanout")
    s.ch.declare("q")
    s.ch.call("exchange.bind", destination="y", source="x", routing_key="1")
    s.ch.bind("q", "y")
    s.ch.publish("k", "m", "x")
    s.note("get", s.ch.get("q"))


def hash_unbound(s: Scene):
    """When a queue goes, the others get its part."""
    s.ch.exchange("x", "x-consistent-hash")
    for queue in _queues(s, 3):
        s.ch.bind(queue, "x", "1")
    s.ch.delete("q1")
    for number in range(60):
        s.ch.publish_only(f"key-{number}", "", "x")
    s.ch.confirms()
    counts = _counts(s.ch, ["q0", "q2"])
    s.note("all arrive", sum(counts.values()))
    s.note("both get some", all(counts.values()))


def hash_alternate_exchange(s: Scene):
    s.ch.exchange("ae", "fanout")
    s.ch.declare("q")
    s.ch.bind("q", "ae")
    s.ch.exchange("x", "x-consistent-hash", arguments={"alternate-exchange": "ae"})
    s.note("mandatory", s.ch.publish("k", "m", "x", mandatory=True))
    s.note("get", s.ch.get("q"))


def hash_with_cc(s: Scene):
    """CC is another key: up to two queues."""
    s.ch.exchange("x", "x-consistent-hash")
    queues = _queues(s, 4)
    for queue in queues:
        s.ch.bind(queue, "x", "1")
    for number in range(40):
        s.ch.publish_only("same", "", "x", headers={"CC": [f"cc-{number}"]})
    s.ch.confirms()
    s.note("copies", sorted(_counts(s.ch, queues).values()) == [0, 0, 0, 40])


# -- modulus hash


def modulus(s: Scene):
    """The key decides, bindings' keys are nothing."""
    s.ch.exchange("x", "x-modulus-hash")
    queues = _queues(s, 3)
    for number, queue in enumerate(queues):
        s.ch.bind(queue, "x", f"anything {number}")
    for number in range(300):
        s.ch.publish_only(f"key-{number}", "", "x")
    s.ch.confirms()
    counts = _counts(s.ch, queues)
    s.note("all arrive once", sum(counts.values()))
    s.note("all get some", all(count > 40 for count in counts.values()))
    for queue in queues:
        s.ch.purge(queue)
    for _ in range(20):
        s.ch.publish("same", "", "x")
    s.note("the same key", sorted(_counts(s.ch, queues).values()))


def modulus_without_queues(s: Scene):
    s.ch.exchange("x", "x-modulus-hash")
    s.note("mandatory", s.ch.publish("k", "m", "x", mandatory=True))


def modulus_with_two_bindings_of_a_queue(s: Scene):
    s.ch.exchange("x", "x-modulus-hash")
    s.ch.declare("q")
    s.ch.bind("q", "x", "a")
    s.ch.bind("q", "x", "b")
    s.ch.publish("k", "m", "x")
    s.note("count", s.ch.count("q"))


# -- random


def random(s: Scene):
    """One queue of all, never the same for long; keys are nothing."""
    for kind in ("x-random", "x-local-random"):
        s.ch.exchange(kind, kind)
        queues = [s.ch.declare(f"{kind}-{number}") for number in range(3)]
        for queue in queues:
            s.ch.bind(queue, kind, "anything" if kind == "x-random" else "")
        for _ in range(150):
            s.ch.publish_only("k", "", kind)
        s.ch.confirms()
        counts = _counts(s.ch, queues)
        s.note(f"{kind}: all arrive once", sum(counts.values()))
        s.note(f"{kind}: all get some", all(count > 10 for count in counts.values()))


def random_without_queues(s: Scene):
    for kind in ("x-random", "x-local-random"):
        s.ch.exchange(kind, kind)
        s.note(f"{kind}: mandatory", s.ch.publish("k", "m", kind, mandatory=True))


def random_with_alternate_exchange(s: Scene):
    s.ch.exchange("ae", "fanout")
    s.ch.declare("q")
    s.ch.bind("q", "ae")
    for kind in ("x-random", "x-local-random", "x-modulus-hash"):
        s.ch.exchange(kind, kind, arguments={"alternate-exchange": "ae"})
        s.note(f"{kind}: mandatory", s.ch.publish("k", kind, kind, mandatory=True))
    s.note("by the alternate", s.ch.drain("q"))


def random_with_weighted_bindings(s: Scene):
    """Two bindings of a queue: it is twice in the draw, or once."""
    s.ch.exchange("x", "x-random")
    s.ch.declare("q0")
    s.ch.declare("q1")
    s.ch.bind("q0", "x", "a")
    for number in range(9):
        s.ch.bind("q1", "x", f"{number}")
    for _ in range(400):
        s.ch.publish_only("k", "", "x")
    s.ch.confirms()
    s.note("as often as bindings", s.ch.count("q0")[0] < 100)


def local_random_with_an_exchange(s: Scene):
    """x-local-random knows queues only."""
    s.ch.exchange("x", "x-local-random")
    s.ch.exchange("y", "fanout")
    s.attempt("bind an exchange", lambda: s.ch.call("exchange.bind", destination="y", source="x", routing_key="").name)


def local_random_with_a_key(s: Scene):
    s.ch.exchange("x", "x-local-random")
    s.ch.declare("q")
    s.attempt("bind", lambda: s.ch.bind("q", "x", "k"))


def local_random_with_quorum(s: Scene):
    s.ch.exchange("x", "x-local-random")
    s.ch.declare("q", x_queue_type="quorum")
    s.attempt("bind", lambda: s.ch.bind("q", "x"))
    s.note("publish", s.ch.publish("k", "m", "x", mandatory=True))


# -- recent history


def history_for_new_bindings(s: Scene):
    """A new queue gets the last messages at its binding, the default is twenty; who is bound already gets nothing again."""
    s.ch.exchange("x", "x-recent-history")
    s.ch.declare("old")
    s.ch.bind("old", "x")
    for number in range(25):
        s.ch.publish(f"key-{number}", f"{number}", "x", headers={"n": number}, message_id=f"{number}")
    s.note("old", s.ch.count("old"))
    s.ch.declare("new")
    s.ch.bind("new", "x")
    s.ch.await_count("new", 20)
    first = s.ch.get("new")
    s.note("the first", first)
    s.note("the others", s.ch.drain("new"))
    s.note("old afterwards", s.ch.count("old"))


def history_length(s: Scene):
    s.ch.exchange("x", "x-recent-history", arguments={"x-recent-history-length": 2})
    for body in "abc":
        s.ch.publish("k", body, "x")
    s.ch.declare("q")
    s.ch.bind("q", "x")
    s.ch.await_count("q", 2)
    s.note("of two", s.ch.drain("q"))
    s.ch.bind("q", "x", "another key")
    s.note("by another binding of the queue", s.ch.await_count("q", 2))
    s.ch.drain("q")
    s.ch.bind("q", "x", "another key")
    s.note("by the same binding again", s.ch.await_count("q", 2, within=0.3))


def history_lengths(s: Scene):
    for number, value in enumerate((1, 0, -1, "5", True, 2.5, None)):
        s.attempt(f"{value!r}", lambda v=value, n=number: s.ch.exchange(f"x{n}", "x-recent-history", arguments={"x-recent-history-length": v}))
    s.attempt("redeclared with another", lambda: s.ch.exchange("x0", "x-recent-history", arguments={"x-recent-history-length": 5}))


def history_no_store(s: Scene):
    """A message with the header x-recent-history-no-store is delivered and not kept."""
    s.ch.exchange("x", "x-recent-history")
    s.ch.declare("old")
    s.ch.bind("old", "x")
    for body, value in (("kept", None), ("true", True), ("false", False), ("string", "true"), ("number", 1)):
        s.ch.publish("k", body, "x", **({} if value is None else {"headers": {"x-recent-history-no-store": value}}))
    s.note("delivered", s.ch.drain("old"))
    s.ch.declare("new")
    s.ch.bind("new", "x")
    s.ch.await_count("new", 4)
    s.note("kept", s.ch.drain("new"))


def history_routes_like_fanout(s: Scene):
    s.ch.exchange("x", "x-recent-history")
    for queue in _queues(s, 2):
        s.ch.bind(queue, "x", f"key of {queue}")
    s.note("routed", s.ch.publish("nothing of these", "m", "x", mandatory=True))
    s.note("counts", _counts(s.ch, ["q0", "q1"]))


def history_without_queues(s: Scene):
    """Kept even if nobody has it: unroutable, and there for the next one."""
    s.ch.exchange("x", "x-recent-history")
    s.note("mandatory", s.ch.publish("k", "m", "x", mandatory=True))
    s.ch.declare("q")
    s.ch.bind("q", "x", "any")
    s.note("get", s.ch.await_get("q"))


def history_to_an_exchange(s: Scene):
    """Binding an exchange sends the history through it."""
    s.ch.exchange("x", "x-recent-history")
    s.ch.publish("k", "m", "x")
    s.ch.exchange("y", "fanout")
    s.ch.declare("q")
    s.ch.bind("q", "y")
    s.ch.call("exchange.bind", destination="y", source="x", routing_key="")
    s.note("get", s.ch.await_get("q"))


def history_ends_with_the_exchange(s: Scene):
    s.ch.exchange("x", "x-recent-history")
    s.ch.publish("k", "m", "x")
    s.ch.call("exchange.delete", exchange="x")
    s.ch.exchange("x", "x-recent-history")
    s.ch.declare("q")
    s.ch.bind("q", "x")
    s.ch.rest()
    s.note("count", s.ch.count("q"))


def history_expiration(s: Scene):
    """What the history gives out still has its properties, and expires in its queue."""
    s.ch.exchange("x", "x-recent-history")
    s.ch.publish("k", "m", "x", expiration="60000", priority=3, delivery_mode=2)
    s.ch.rest(0.1)
    s.ch.declare("q")
    s.ch.bind("q", "x")
    s.note("get", s.ch.await_get("q"))


# -- jms topic


def jms_topic(s: Scene):
    """A topic exchange when bindings have no selector."""
    s.attempt("declare", lambda: s.ch.exchange("x", "x-jms-topic"))


# -- declaring


def unknown_type(s: Scene):
    for kind in ("nosuch", "x-nosuch", "", "Direct"):
        s.attempt(f"'{kind}'", lambda k=kind: s.ch.exchange("x", k))


def unknown_type_passive(s: Scene):
    """A passive declare does not look at the type."""
    s.ch.exchange("x", "fanout")
    s.attempt("there, another type", lambda: s.ch.exchange("x", "direct", passive=True))
    s.attempt("there, unknown type", lambda: s.ch.exchange("x", "nosuch", passive=True))
    s.attempt("not there", lambda: s.ch.exchange("nosuch", "direct", passive=True))


def redeclare(s: Scene):
    s.ch.exchange("x", "direct")
    s.attempt("the same", lambda: s.ch.exchange("x", "direct"))
    s.attempt("another type", lambda: s.ch.exchange("x", "fanout"))
    s.attempt("not durable", lambda: s.ch.exchange("x", "direct", durable=False))
    s.attempt("auto-delete", lambda: s.ch.exchange("x", "direct", auto_delete=True))
    s.attempt("internal", lambda: s.ch.exchange("x", "direct", internal=True))
    s.attempt("with an unknown argument", lambda: s.ch.exchange("x", "direct", arguments={"x-foo": "bar"}))
    s.attempt("with an alternate exchange", lambda: s.ch.exchange("x", "direct", arguments={"alternate-exchange": "ae"}))
    s.ch.exchange("y", "direct", arguments={"alternate-exchange": "ae"})
    s.attempt("another alternate exchange", lambda: s.ch.exchange("y", "direct", arguments={"alternate-exchange": "other"}))
    s.attempt("no alternate exchange", lambda: s.ch.exchange("y", "direct"))


def names(s: Scene):
    s.attempt("default", lambda: s.ch.exchange("", "direct"))
    s.attempt("reserved", lambda: s.ch.exchange("amq.mine", "direct"))
    s.attempt("reserved, there", lambda: s.ch.exchange("amq.direct", "direct"))
    s.attempt("reserved, there, another type", lambda: s.ch.exchange("amq.direct", "fanout"))
    s.attempt("delete a reserved one", lambda: s.ch.call("exchange.delete", exchange="amq.direct").name)
    s.attempt("delete the default one", lambda: s.ch.call("exchange.delete", exchange="").name)
    s.attempt("delete what is not there", lambda: s.ch.call("exchange.delete", exchange="nosuch").name)
    s.attempt("newline", lambda: s.ch.exchange("a\r\nb", "direct"))
    s.attempt("it is stripped", lambda: s.ch.exchange("ab", "direct", passive=True))


def bind_errors(s: Scene):
    s.ch.declare("q")
    s.ch.exchange("x", "direct")
    s.attempt("no such exchange", lambda: s.ch.bind("q", "nosuch"))
    s.attempt("no such queue", lambda: s.ch.bind("nosuch", "x"))
    s.attempt("neither", lambda: s.ch.bind("nosuch", "nosuch either"))
    s.attempt("default exchange", lambda: s.ch.bind("q", ""))
    s.attempt("unbind what is not bound", lambda: s.ch.unbind("q", "x", "k"))
    s.attempt("unbind of no such exchange", lambda: s.ch.unbind("q", "nosuch"))
    s.attempt("unbind of no such queue", lambda: s.ch.unbind("nosuch", "x"))
    s.attempt("exchange to no such exchange", lambda: s.ch.call("exchange.bind", destination="nosuch", source="x").name)
    s.attempt("headers with an unknown x-match", lambda: s.ch.bind("q", "amq.headers", arguments={"x-match": "some"}))
    s.attempt("headers with an x-match of another type", lambda: s.ch.bind("q", "amq.headers", arguments={"x-match": 5}))


def publish_errors(s: Scene):
    s.ch.exchange("x", "fanout", internal=True)
    s.attempt("internal exchange", lambda: s.ch.publish("k", "m", "x"))
    s.attempt("no such exchange", lambda: s.ch.publish("k", "m", "nosuch"))
    s.attempt("CC of another type", lambda: s.ch.publish("k", "m", "", headers={"CC": "q"}))
    s.attempt("BCC of another type", lambda: s.ch.publish("k", "m", "", headers={"BCC": 5}))
    s.attempt("CC with a number in it", lambda: s.ch.publish("k", "m", "", headers={"CC": ["q", 5]}))


def if_unused(s: Scene):
    s.ch.exchange("x", "fanout")
    s.ch.declare("q")
    s.ch.bind("q", "x")
    s.attempt("while bound", lambda: s.ch.call("exchange.delete", exchange="x", if_unused=True).name)
    s.ch.unbind("q", "x")
    s.attempt("when not", lambda: s.ch.call("exchange.delete", exchange="x", if_unused=True).name)


def auto_delete(s: Scene):
    s.ch.exchange("x", "fanout", auto_delete=True)
    s.ch.declare("q")
    s.ch.bind("q", "x")
    s.ch.unbind("q", "x")
    s.attempt("gone with its last binding", lambda: s.ch.exchange("x", "fanout", passive=True))


# -- alternate exchanges


def alternate_exchange(s: Scene):
    """What finds no queue goes there, and counts as routed if it finds one; a chain, a loop, and one that is not there."""
    s.ch.exchange("ae2", "fanout")
    s.ch.exchange("ae", "direct", arguments={"alternate-exchange": "ae2"})
    s.ch.exchange("x", "direct", arguments={"alternate-exchange": "ae"})
    s.note("nowhere at all", s.ch.publish("k", "m", "x", mandatory=True))
    s.ch.declare("q")
    s.ch.bind("q", "ae2")
    s.note("by a chain", s.ch.publish("k", "m", "x", mandatory=True))
    s.note("get", s.ch.get("q"))
    s.ch.exchange("loop1", "direct", arguments={"alternate-exchange": "loop2"})
    s.ch.exchange("loop2", "direct", arguments={"alternate-exchange": "loop1"})
    s.note("loop", s.ch.publish("k", "m", "loop1", mandatory=True))
    s.ch.exchange("missing", "direct", arguments={"alternate-exchange": "nosuch"})
    s.note("not there", s.ch.publish("k", "m", "missing", mandatory=True))


def alternate_exchange_by_policy(s: Scene):
    """By policy; an argument wins."""
    for name in ("ae", "own"):
        s.ch.exchange(name, "fanout")
        s.ch.declare(f"q-{name}")
        s.ch.bind(f"q-{name}", name)
    s.ch.exchange("x", "direct")
    s.ch.exchange("y", "direct", arguments={"alternate-exchange": "own"})
    s.policy("p", {"alternate-exchange": "ae"}, "^(x|y)$", apply_to="exchanges")
    s.note("by the policy", s.ch.publish("k", "m", "x", mandatory=True))
    s.note("by the argument", s.ch.publish("k", "m", "y", mandatory=True))
    s.note("counts", _counts(s.ch, ["q-ae", "q-own"]))
    s.drop_policy("p")
    s.note("without", s.ch.publish("k", "m", "x", mandatory=True))


def alternate_exchange_permissions(s: Scene):
    s.ch.exchange("ae", "fanout")
    channel = s.channel(**s.user("no-read", read="nothing"))
    s.attempt("no read", lambda: channel.exchange("x", "direct", arguments={"alternate-exchange": "ae"}), channel)
    channel = s.channel(**s.user("no-write", write="nothing"))
    s.attempt("no write", lambda: channel.exchange("x", "direct", arguments={"alternate-exchange": "ae"}), channel)
    s.attempt("of another type", lambda: s.ch.exchange("y", "direct", arguments={"alternate-exchange": 5}))
    s.attempt("the default exchange", lambda: s.ch.exchange("z", "direct", arguments={"alternate-exchange": ""}))


def alternate_exchange_of_part(s: Scene):
    """One key finds a queue, another does not: no alternate."""
    s.ch.exchange("ae", "fanout")
    s.ch.exchange("x", "direct", arguments={"alternate-exchange": "ae"})
    s.ch.declare("q")
    s.ch.declare("other")
    s.ch.bind("q", "x", "k")
    s.ch.bind("other", "ae")
    s.ch.publish("nowhere", "m", "x", headers={"CC": ["k"]})
    s.note("counts", _counts(s.ch, ["q", "other"]))


