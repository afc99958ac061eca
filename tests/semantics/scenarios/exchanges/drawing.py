"""Exchanges that draw a queue: x-random and x-local-random."""

from observing import ready
from scene import Scene


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
        counts = ready(s.ch, queues)
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
