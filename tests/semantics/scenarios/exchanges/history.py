"""x-recent-history."""

from observing import ready
from scene import Scene


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
    for queue in ("q0", "q1"):
        s.ch.declare(queue)
        s.ch.bind(queue, "x", f"key of {queue}")
    s.note("routed", s.ch.publish("nothing of these", "m", "x", mandatory=True))
    s.note("counts", ready(s.ch, ["q0", "q1"]))


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
