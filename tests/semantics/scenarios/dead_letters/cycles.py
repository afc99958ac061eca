"""Dead letters that come back to where they died."""

from observing import deaths
from scene import Scene


def cycle_without_rejection_is_dropped(s: Scene):
    """A message that comes to a queue where it died before of expiry, never having been rejected, is dropped."""
    s.ch.declare("a", x_message_ttl=20, x_dead_letter_exchange="", x_dead_letter_routing_key="b")
    s.ch.declare("b", x_message_ttl=20, x_dead_letter_exchange="", x_dead_letter_routing_key="a")
    s.ch.publish("a", "m")
    s.note("a", s.ch.await_count("a", 0))
    s.ch.rest(0.3)
    s.note("both are empty", [s.ch.count("a"), s.ch.count("b")])


def cycle_to_itself_is_dropped(s: Scene):
    s.ch.declare("a", x_message_ttl=20, x_dead_letter_exchange="", x_dead_letter_routing_key="a")
    s.ch.publish("a", "m")
    s.ch.rest(0.2)
    s.note("empty", s.ch.count("a"))
    s.ch.declare("b", x_max_length=1, x_dead_letter_exchange="", x_dead_letter_routing_key="b")
    s.ch.publish("b", "old")
    s.ch.publish("b", "new")
    s.ch.rest()
    s.note("by maxlen", s.ch.drain("b"))


def cycle_spares_other_queues(s: Scene):
    """Only the copy for the queue of the cycle is dropped; others of the exchange get theirs."""
    s.ch.exchange("dlx", "fanout")
    s.ch.declare("a", x_message_ttl=20, x_dead_letter_exchange="dlx")
    s.ch.declare("other")
    s.ch.bind("a", "dlx")
    s.ch.bind("other", "dlx")
    s.ch.publish("a", "m")
    s.note("other", s.ch.await_get("other"))
    s.ch.rest()
    s.note("a", s.ch.count("a"))


def cycle_with_earlier_rejection_goes_on(s: Scene):
    """One rejection on the way and it is no automatic cycle any more."""
    s.ch.declare("work", x_dead_letter_exchange="", x_dead_letter_routing_key="wait")
    s.ch.declare("wait", x_message_ttl=20, x_dead_letter_exchange="", x_dead_letter_routing_key="work")
    s.ch.publish("work", "m")
    s.ch.reject(s.ch.get("work", no_ack=False))
    got = s.ch.await_get("work", no_ack=False)
    s.note("back", deaths(got))
    s.ch.reject(got)
    s.note("back again", deaths(s.ch.await_get("work", no_ack=False)))


def cycle_of_delivery_limit(s: Scene):
    """Giving up by delivery-limit into the same queue."""
    s.ch.declare("q", x_queue_type="quorum", x_delivery_limit=0, x_dead_letter_exchange="", x_dead_letter_routing_key="q")
    s.ch.publish("q", "m")
    s.ch.consume("q", prefetch=1)
    [got] = s.ch.take()
    s.ch.reject(got, requeue=True)
    s.note("comes again", s.ch.take(within=0.5))


def cycle_after_a_rejection_elsewhere_is_dropped(s: Scene):
    """What was rejected before it came into the cycle does not count: the cycle itself is closed by expiry alone."""
    s.ch.declare("itself", x_message_ttl=0, x_dead_letter_exchange="", x_dead_letter_routing_key="itself")
    s.ch.declare("before itself", x_dead_letter_exchange="", x_dead_letter_routing_key="itself")
    for queue, ttl, to in [("b", 0, "c"), ("c", 0, "b"), ("d", 0, "e"), ("e", 10, "f"), ("f", 0, "d")]:
        s.ch.declare(queue, x_message_ttl=ttl, x_dead_letter_exchange="", x_dead_letter_routing_key=to)
    for queue, to in [("before two", "b"), ("before three", "d")]:
        s.ch.declare(queue, x_dead_letter_exchange="", x_dead_letter_routing_key=to)
    for queue in ["before itself", "before two", "before three"]:
        s.ch.publish(queue, "m")
        s.ch.reject(s.ch.get(queue, no_ack=False))
    s.ch.rest(0.3)
    s.note("all are empty", [s.ch.count(queue) for queue in ["itself", "b", "c", "d", "e", "f"]])


def cycle_after_a_rejection_in_it_is_dropped(s: Scene):
    """Rejected into the cycle from its own queue, a message may expire there once; the next lap would be by expiry alone."""
    s.ch.declare("q", x_message_ttl=60, x_dead_letter_exchange="", x_dead_letter_routing_key="q")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("back", deaths(s.ch.await_get("q", no_ack=False)))
    s.ch.call("basic.recover", requeue=True)
    s.ch.rest(0.3)
    s.note("expired", s.ch.count("q"))


def cycle_counts_the_last_death_in_its_queue(s: Scene):
    """By the last death in the queue that it comes back to, and all that were later, it is judged."""
    s.ch.declare("a", x_message_ttl=20, x_dead_letter_exchange="", x_dead_letter_routing_key="b")
    s.ch.declare("b", x_dead_letter_exchange="", x_dead_letter_routing_key="a")
    s.ch.publish("a", "m")
    s.ch.reject(s.ch.await_get("b", no_ack=False))
    got = s.ch.await_get("b", no_ack=False)
    s.note("back", deaths(got))
    s.ch.reject(got)
    s.note("back again", deaths(s.ch.await_get("b", no_ack=False)))


def cycle_by_maxlen_after_a_rejection_is_dropped(s: Scene):
    s.ch.declare("before", x_dead_letter_exchange="", x_dead_letter_routing_key="q")
    s.ch.declare("q", x_max_length=1, x_dead_letter_exchange="", x_dead_letter_routing_key="q")
    s.ch.publish("before", "rejected")
    s.ch.reject(s.ch.get("before", no_ack=False))
    s.note("arrived", s.ch.await_count("q", 1))
    s.ch.publish("q", "new")
    s.ch.rest()
    s.note("by maxlen", s.ch.drain("q"))


def cycle_of_a_short_quorum_queue_after_a_rejection_is_dropped(s: Scene):
    """A quorum queue that dead-letters to itself by an exchange: what it has too much of is dropped, rejected before or not."""
    s.ch.exchange("dlx", "fanout")
    s.ch.declare("q", x_queue_type="quorum", x_max_length=2, x_dead_letter_exchange="dlx")
    s.ch.bind("q", "dlx")
    for body in ["1", "2"]:
        s.ch.publish("q", body)
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("back", s.ch.await_count("q", 2))
    for body in ["3", "4", "5"]:
        s.ch.publish("q", body)
    s.ch.rest(0.3)
    s.note("the last", s.ch.drain("q"))


def cycle_of_delivery_limit_after_a_rejection_is_dropped(s: Scene):
    s.ch.declare("before", x_dead_letter_exchange="", x_dead_letter_routing_key="q")
    s.ch.declare("q", x_queue_type="quorum", x_delivery_limit=0, x_dead_letter_exchange="", x_dead_letter_routing_key="q")
    s.ch.publish("before", "m")
    s.ch.reject(s.ch.get("before", no_ack=False))
    s.ch.consume("q", prefetch=1)
    [got] = s.ch.take()
    s.ch.reject(got, requeue=True)
    s.note("comes again", s.ch.take(within=0.5))
