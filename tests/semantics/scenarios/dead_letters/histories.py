"""What x-death tells of several deaths."""

from observing import deaths, with_dead
from scene import Scene


def several_hops(s: Scene):
    """Through three queues for three reasons: the youngest death is first."""
    s.ch.exchange("dlx2", "direct")
    s.ch.declare("a", x_dead_letter_exchange="", x_dead_letter_routing_key="b")
    s.ch.declare("b", x_message_ttl=30, x_dead_letter_exchange="dlx2", x_dead_letter_routing_key="c")
    s.ch.declare("c", x_max_length=0, x_dead_letter_exchange="", x_dead_letter_routing_key="end")
    s.ch.bind("c", "dlx2", "c")
    s.ch.declare("end")
    s.ch.publish("a", "m", expiration="60000")
    s.ch.reject(s.ch.get("a", no_ack=False))
    s.note("end", s.ch.await_get("end"))


def count_grows(s: Scene):
    """The same queue and reason again: the count grows, and the table moves to the front."""
    s.ch.declare("work", x_dead_letter_exchange="", x_dead_letter_routing_key="wait")
    s.ch.declare("wait", x_message_ttl=20, x_dead_letter_exchange="", x_dead_letter_routing_key="work")
    s.ch.publish("work", "m", headers={"mine": "h"})
    for attempt in range(3):
        got = s.ch.await_get("work", no_ack=False)
        s.note(f"try {attempt}", deaths(got))
        if attempt == 2:
            s.note("in full", got)
        s.ch.reject(got)


def same_queue_again(s: Scene):
    """A death of the same kind is counted; the original expiration stays known."""
    s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_routing_key="q")
    s.ch.publish("q", "m", expiration="60000")
    s.ch.nack(s.ch.get("q", no_ack=False))
    got = s.ch.await_get("q", no_ack=False)
    s.note("rejected to itself", got)
    s.ch.nack(got)
    got = s.ch.await_get("q", no_ack=False)
    s.note("again", got)


def same_queue_for_two_reasons(s: Scene):
    """One table for each queue and reason."""
    s.ch.declare("q", x_message_ttl=40, x_dead_letter_exchange="", x_dead_letter_routing_key="q2")
    s.ch.declare("q2", x_dead_letter_exchange="", x_dead_letter_routing_key="q")
    s.ch.publish("q", "m")
    s.ch.consume("q2")
    [got] = s.ch.take()
    s.note("expired", deaths(got))
    s.ch.consume("q", "d", prefetch=1)
    s.ch.nack(got)
    [got] = s.ch.take()
    s.note("rejected", deaths(got))
    s.ch.nack(got)
    [got] = s.ch.take()
    s.note("rejected in the first queue too", got)


def client_republish_does_not_continue(s: Scene):
    """x-death that a client sends is a header like any other: deaths begin anew."""
    with_dead(s.ch)
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.await_get("dead")
    sent = {"x-death": [{"count": 7, "reason": "rejected", "queue": "q", "time": 5, "exchange": "", "routing-keys": ["q"]}], "x-first-death-queue": "mine", "x-last-death-reason": "mine"}
    s.ch.publish("q", "n", headers=sent)
    got = s.ch.get("q", no_ack=False)
    s.note("before", got)
    s.ch.reject(got)
    s.note("after", s.ch.await_get("dead"))


def client_x_death_of_wrong_type(s: Scene):
    with_dead(s.ch)
    s.ch.publish("q", "m", headers={"x-death": "nonsense", "x-first-death-reason": 5})
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def original_expiration_of_second_hop(s: Scene):
    """Only the first table knows the original expiration."""
    s.ch.declare("a", x_dead_letter_exchange="", x_dead_letter_routing_key="b")
    s.ch.declare("b", x_dead_letter_exchange="", x_dead_letter_routing_key="c")
    s.ch.declare("c")
    s.ch.publish("a", "m", expiration="60000")
    s.ch.reject(s.ch.get("a", no_ack=False))
    s.ch.reject(s.ch.await_get("b", no_ack=False))
    s.note("c", s.ch.await_get("c"))
