"""Routing keys, CC and BCC of dead letters."""

from scene import Scene


def routing_key_is_kept(s: Scene):
    """Without x-dead-letter-routing-key the message goes on with the key it was published with, not with the queue's name."""
    s.ch.exchange("x", "topic")
    s.ch.exchange("dlx", "topic")
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.bind("q", "x", "a.#")
    s.ch.declare("dead")
    s.ch.bind("dead", "dlx", "a.b.c")
    s.ch.publish("a.b.c", "m", "x")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def routing_key_is_overridden(s: Scene):
    s.ch.exchange("x", "topic")
    s.ch.exchange("dlx", "direct")
    s.ch.declare("q", x_dead_letter_exchange="dlx", x_dead_letter_routing_key="other")
    s.ch.bind("q", "x", "a.#")
    s.ch.declare("dead")
    s.ch.bind("dead", "dlx", "other")
    s.ch.publish("a.b.c", "m", "x")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def empty_routing_key_overrides(s: Scene):
    s.ch.exchange("dlx", "direct")
    s.ch.declare("q", x_dead_letter_exchange="dlx", x_dead_letter_routing_key="")
    s.ch.declare("dead")
    s.ch.bind("dead", "dlx", "")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def cc_and_bcc_without_key(s: Scene):
    """CC takes part in the routing of the dead letter and stays; BCC is gone since the first routing."""
    s.ch.exchange("dlx", "direct")
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    for queue in ("d-q", "d-cc", "d-bcc"):
        s.ch.declare(queue)
    s.ch.bind("d-q", "dlx", "q")
    s.ch.bind("d-cc", "dlx", "cc")
    s.ch.bind("d-bcc", "dlx", "bcc")
    s.ch.publish("q", "m", headers={"CC": ["cc"], "BCC": ["bcc"], "mine": "h"})
    got = s.ch.get("q", no_ack=False)
    s.note("before", got)
    s.ch.reject(got)
    s.note("by the key", s.ch.await_get("d-q"))
    s.note("by CC", s.ch.await_get("d-cc"))
    s.note("by BCC", s.ch.await_get("d-bcc"))


def cc_with_key(s: Scene):
    """A dead letter key removes CC; the first table of x-death remembers it."""
    s.ch.exchange("dlx", "fanout")
    s.ch.declare("q", x_dead_letter_exchange="dlx", x_dead_letter_routing_key="k")
    s.ch.declare("dead")
    s.ch.bind("dead", "dlx")
    s.ch.publish("q", "m", headers={"CC": ["cc1", "cc2"], "BCC": ["bcc"], "mine": "h"})
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def cc_routes_with_key(s: Scene):
    """Where a dead letter with a key goes that has CC and BCC."""
    s.ch.exchange("dlx", "direct")
    s.ch.declare("q", x_dead_letter_exchange="dlx", x_dead_letter_routing_key="k")
    for key in ("k", "q", "cc", "bcc"):
        s.ch.declare(f"d-{key}")
        s.ch.bind(f"d-{key}", "dlx", key)
    s.ch.publish("q", "m", headers={"CC": ["cc"], "BCC": ["bcc"]})
    s.ch.nack(s.ch.get("q", no_ack=False))
    s.ch.await_count("d-k", 1)
    s.ch.rest()
    s.note("ready", {key: s.ch.count(f"d-{key}")[0] for key in ("k", "q", "cc", "bcc")})


def _two_hops(s: Scene, **first) -> None:
    """A message with CC and BCC dies in `a`, then in `b`, which has no key."""
    s.ch.exchange("dlx", "direct")
    s.ch.declare("a", x_dead_letter_exchange="", **first)
    s.ch.declare("b", x_dead_letter_exchange="dlx")
    for queue in ("end", "cc", "bcc"):
        s.ch.declare(queue)
    for queue, key in (("end", "b"), ("end", "a"), ("cc", "cc"), ("bcc", "bcc")):
        s.ch.bind(queue, "dlx", key)
    s.ch.publish("a", "m", headers={"CC": ["cc"], "BCC": ["bcc"]})
    s.note("of the publish", {queue: s.ch.await_count(queue, 1) for queue in ("cc", "bcc")})
    s.ch.purge("cc")
    s.ch.purge("bcc")
    s.ch.nack(s.ch.get("a", no_ack=False))


def cc_after_a_hop_with_key(s: Scene):
    """A key takes CC and BCC out of the routing for good, and CC out of later tables; the header stays."""
    _two_hops(s, x_dead_letter_routing_key="b")
    got = s.ch.await_get("b", no_ack=False)
    s.ch.rest()
    s.note("of the first death", {queue: s.ch.count(queue)[0] for queue in ("cc", "bcc")})
    s.ch.nack(got)
    s.note("end", s.ch.await_get("end"))
    s.ch.rest()
    s.note("of the second death", {queue: s.ch.count(queue)[0] for queue in ("cc", "bcc")})


def cc_of_second_hop(s: Scene):
    """Without any key CC and BCC take part in each routing."""
    s.ch.exchange("first", "direct")
    s.ch.declare("b", x_dead_letter_exchange="dlx")
    s.ch.exchange("dlx", "direct")
    s.ch.declare("a", x_dead_letter_exchange="first")
    s.ch.bind("b", "first", "a")
    for queue in ("end", "cc", "bcc"):
        s.ch.declare(queue)
    for queue, key in (("end", "a"), ("cc", "cc"), ("bcc", "bcc")):
        s.ch.bind(queue, "dlx", key)
        s.ch.bind(queue, "first", f"not {key}")
    s.ch.publish("a", "m", headers={"CC": ["cc"], "BCC": ["bcc"]})
    s.ch.purge("cc")
    s.ch.purge("bcc")
    s.ch.nack(s.ch.get("a", no_ack=False))
    s.ch.nack(s.ch.await_get("b", no_ack=False))
    s.note("end", s.ch.await_get("end"))
    s.ch.rest()
    s.note("ready", {queue: s.ch.count(queue)[0] for queue in ("cc", "bcc")})


def cc_reaches_queue_by_cc(s: Scene):
    """What was routed by CC dies with all its routing keys."""
    s.ch.exchange("dlx", "fanout")
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.declare("dead")
    s.ch.bind("dead", "dlx")
    s.ch.publish("nowhere", "m", headers={"CC": ["q"]})
    got = s.ch.get("q", no_ack=False)
    s.note("before", got)
    s.ch.reject(got)
    s.note("dead", s.ch.await_get("dead"))
