"""Declaring, binding and deleting exchanges."""

from scene import Scene


def jms_topic(s: Scene):
    """A topic exchange when bindings have no selector."""
    s.attempt("declare", lambda: s.ch.exchange("x", "x-jms-topic"))


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
