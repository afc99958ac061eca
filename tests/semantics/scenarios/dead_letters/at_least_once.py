"""Dead letters of quorum queues that may not be lost."""

from scene import Scene


def at_least_once_without_target(s: Scene):
    """Nothing is lost while there is no target: the queue keeps it, as neither ready nor unacknowledged (it is tried again after three minutes)."""
    s.ch.exchange("dlx", "direct")
    s.ch.declare("q", x_queue_type="quorum", x_dead_letter_exchange="dlx", x_dead_letter_routing_key="k", x_dead_letter_strategy="at-least-once", x_overflow="reject-publish")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.await_get("q", no_ack=False))
    s.note("ready meanwhile", s.ch.await_count("q", 0))
    s.note("get", s.ch.get("q"))
    s.note("purged", s.ch.purge("q"))


def at_least_once_goes_at_once(s: Scene):
    s.ch.exchange("dlx", "fanout")
    s.ch.declare("dead")
    s.ch.bind("dead", "dlx")
    s.ch.declare("q", x_queue_type="quorum", x_dead_letter_exchange="dlx", x_dead_letter_strategy="at-least-once", x_overflow="reject-publish", x_message_ttl=60)
    s.ch.publish("q", "expires", headers={"mine": "h"})
    s.note("expired", s.ch.await_get("dead"))
    s.ch.publish("q", "is rejected")
    s.ch.reject(s.ch.await_get("q", no_ack=False))
    s.note("rejected", s.ch.await_get("dead"))


def at_least_once_needs_reject_publish(s: Scene):
    """Without overflow reject-publish it is at most once."""
    s.attempt("without overflow", lambda: s.ch.declare("q", x_queue_type="quorum", x_dead_letter_exchange="dlx", x_dead_letter_strategy="at-least-once"))
    s.attempt("with drop-head", lambda: s.ch.declare("r", x_queue_type="quorum", x_dead_letter_exchange="dlx", x_dead_letter_strategy="at-least-once", x_overflow="drop-head"))
    s.attempt("without exchange", lambda: s.ch.declare("s", x_queue_type="quorum", x_dead_letter_strategy="at-least-once", x_overflow="reject-publish"))
    s.attempt("unknown strategy", lambda: s.ch.declare("t", x_queue_type="quorum", x_dead_letter_exchange="dlx", x_dead_letter_strategy="sometimes"))
    s.ch.publish("q", "lost")
    s.ch.reject(s.ch.await_get("q", no_ack=False))
    s.ch.rest()
    s.ch.exchange("dlx", "fanout")
    s.ch.declare("dead")
    s.ch.bind("dead", "dlx")
    s.note("what was lost does not come", s.ch.await_get("dead", within=0.3))


def at_least_once_target_is_full(s: Scene):
    """A target that rejects: the dead letter waits (it is tried again after three minutes)."""
    s.ch.declare("full", x_max_length=1, x_overflow="reject-publish")
    s.ch.publish("full", "occupies")
    s.ch.declare("q", x_queue_type="quorum", x_dead_letter_exchange="", x_dead_letter_routing_key="full", x_dead_letter_strategy="at-least-once", x_overflow="reject-publish")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.await_get("q", no_ack=False))
    s.ch.rest(0.2)
    s.note("full", s.ch.count("full"))
    s.note("occupies", s.ch.get("full").body)
    s.note("get", s.ch.get("q"))
