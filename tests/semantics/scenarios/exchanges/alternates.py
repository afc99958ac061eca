"""Alternate exchanges."""

from observing import ready
from scene import Scene


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
    s.note("counts", ready(s.ch, ["q-ae", "q-own"]))
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
    s.note("counts", ready(s.ch, ["q", "other"]))
