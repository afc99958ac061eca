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
