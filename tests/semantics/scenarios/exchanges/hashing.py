"""Exchanges that hash: x-consistent-hash and x-modulus-hash."""

from observing import ready
from scene import Scene


def _queues(s: Scene, count: int) -> list[str]:
    return [s.ch.declare(f"q{number}") for number in range(count)]


def hash_spreads(s: Scene):
    """Every queue gets its part, about as much as its weight says; the same key goes to the same queue."""
    s.ch.exchange("x", "x-consistent-hash")
    queues = _queues(s, 3)
    for queue, weight in zip(queues, "112"):
        s.ch.bind(queue, "x", weight)
    for number in range(1200):
        s.ch.publish_only(f"key-{number}", "", "x")
    s.note("confirmed", s.ch.confirms().count("ack"))
    counts = ready(s.ch, queues)
    s.note("none is lost or doubled", sum(counts.values()))
    s.note("within a third of the weights", {queue: abs(counts[queue] - part) < part / 3 for queue, part in zip(queues, (300, 300, 600))})
    for queue in queues:
        s.ch.purge(queue)
    for _ in range(50):
        s.ch.publish("same", "", "x")
    s.note("the same key", sorted(ready(s.ch, queues).values()))


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
    s.note("the same header", sorted(ready(s.ch, queues).values()))
    for number in range(300):
        s.ch.publish_only("same", "", "x", headers={"hash-on": f"value-{number}"})
    s.ch.confirms()
    s.note("all get some of other headers", all(count > 20 for count in ready(s.ch, queues).values()))
    for queue in queues:
        s.ch.purge(queue)
    for number in range(30):
        s.ch.publish(f"key-{number}", "", "x", mandatory=True)
    s.note("no header", sorted(ready(s.ch, queues).values()))
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
        s.note(f"{name}: the same", sorted(ready(s.ch, queues).values()))
        for number in range(200):
            s.ch.publish_only("same", "", exchange, **{name: number if name == "timestamp" else f"{number}"})
        s.ch.confirms()
        s.note(f"{name}: both get some", all(count > 20 for count in ready(s.ch, queues).values()))
        for queue in queues:
            s.ch.purge(queue)
        for number in range(10):
            s.ch.publish(f"key-{number}", "", exchange)
        s.note(f"{name}: without it", sorted(ready(s.ch, queues).values()))


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
    s.note("as one and one", all(200 < count < 400 for count in ready(s.ch, queues).values()))
    s.ch.unbind("q1", "x", "1")
    for queue in queues:
        s.ch.purge(queue)
    for number in range(300):
        s.ch.publish_only(f"key-{number}", "", "x")
    s.ch.confirms()
    counts = ready(s.ch, queues)
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
    counts = ready(s.ch, ["q0", "q2"])
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
    s.note("copies", sorted(ready(s.ch, queues).values()) == [0, 0, 0, 40])


def modulus(s: Scene):
    """The key decides, bindings' keys are nothing."""
    s.ch.exchange("x", "x-modulus-hash")
    queues = _queues(s, 3)
    for number, queue in enumerate(queues):
        s.ch.bind(queue, "x", f"anything {number}")
    for number in range(300):
        s.ch.publish_only(f"key-{number}", "", "x")
    s.ch.confirms()
    counts = ready(s.ch, queues)
    s.note("all arrive once", sum(counts.values()))
    s.note("all get some", all(count > 40 for count in counts.values()))
    for queue in queues:
        s.ch.purge(queue)
    for _ in range(20):
        s.ch.publish("same", "", "x")
    s.note("the same key", sorted(ready(s.ch, queues).values()))


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
