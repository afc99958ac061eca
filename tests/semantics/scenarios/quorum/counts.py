"""How often a message has come, and how often it may."""

from observing import delivery_counts
from scene import Channel, Delivery, Scene

QUORUM = {"x_queue_type": "quorum"}


def header_of_a_client(s: Scene):
    """x-delivery-count that a client sends."""
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", "m", headers={"x-delivery-count": 7, "x-acquired-count": 8})
    got = s.ch.get("q", no_ack=False)
    s.note("first", got)
    s.ch.reject(got, requeue=True)
    s.note("second", s.ch.await_get("q"))


def _count_of(s: Scene, act) -> None:
    """Three deliveries, given back by `act`."""
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", "m")
    consumer = s.channel()
    consumer.consume("q", prefetch=1)
    for attempt in range(3):
        got = (consumer.take() or [None])[0]
        s.note(f"delivery {attempt}", delivery_counts(got))
        consumer = act(s, consumer, got) or consumer


def counts_of_reject(s: Scene):
    _count_of(s, lambda s, ch, got: ch.reject(got, requeue=True))


def counts_of_nack(s: Scene):
    _count_of(s, lambda s, ch, got: ch.nack(got, requeue=True))


def counts_of_multiple_nack(s: Scene):
    _count_of(s, lambda s, ch, got: ch.nack(got, requeue=True, multiple=True))


def counts_of_recover(s: Scene):
    _count_of(s, lambda s, ch, got: ch.call("basic.recover", requeue=True) and None)


def counts_of_cancel(s: Scene):
    """Cancelling returns nothing; the channel's end does."""

    def act(s: Scene, ch: Channel, got: Delivery) -> Channel:
        ch.cancel()
        ch.close()
        ch = s.channel()
        ch.consume("q", prefetch=1)
        return ch

    _count_of(s, act)


def counts_of_channel_close(s: Scene):
    def act(s: Scene, ch: Channel, got: Delivery) -> Channel:
        ch.close()
        ch = s.channel()
        ch.consume("q", prefetch=1)
        return ch

    _count_of(s, act)


def counts_of_channel_error(s: Scene):
    """The channel dies of an error of its own."""

    def act(s: Scene, ch: Channel, got: Delivery) -> Channel:
        ch.send("basic.ack", delivery_tag=4711)
        ch.await_close()
        ch = s.channel()
        ch.consume("q", prefetch=1)
        return ch

    _count_of(s, act)


def counts_of_connection_close(s: Scene):
    def act(s: Scene, ch: Channel, got: Delivery) -> Channel:
        ch.connection.close()
        ch = s.channel()
        ch.consume("q", prefetch=1)
        return ch

    _count_of(s, act)


def counts_of_connection_loss(s: Scene):
    def act(s: Scene, ch: Channel, got: Delivery) -> Channel:
        ch.connection.drop()
        ch = s.channel()
        ch.consume("q", prefetch=1)
        return ch

    _count_of(s, act)


def counts_of_get(s: Scene):
    """The same by basic.get."""
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", "m")
    for attempt, act in enumerate((s.ch.reject, s.ch.nack, s.ch.reject, s.ch.nack)):
        got = s.ch.await_get("q", no_ack=False)
        s.note(f"get {attempt}", delivery_counts(got))
        act(got, requeue=True)
    s.note("at last", s.ch.await_get("q"))


def counts_of_both(s: Scene):
    """Reject and nack in turn: both count as acquired, one as delivered."""
    s.ch.declare("q", **QUORUM)
    s.ch.publish("q", "m", headers={"mine": "h"})
    s.ch.consume("q", prefetch=1)
    for attempt, act in enumerate((s.ch.nack, s.ch.reject, s.ch.nack, s.ch.reject)):
        [got] = s.ch.take()
        s.note(f"delivery {attempt}", delivery_counts(got))
        act(got, requeue=True)
    s.note("in full", s.ch.take()[0])


def counts_of_multiple_ack_partners(s: Scene):
    """A nack of several: each message has its own counts."""
    s.ch.declare("q", **QUORUM)
    for body in "abc":
        s.ch.publish("q", body)
    s.ch.consume("q", prefetch=3)
    taken = s.ch.take(3)
    s.ch.reject(taken[1], requeue=True)
    [again] = s.ch.take()
    s.note("rejected", [again.body, delivery_counts(again)])
    s.ch.nack(again, requeue=True, multiple=True)
    s.note("all again", [[each.body, delivery_counts(each)] for each in s.ch.take(3)])


def classic_has_no_counts(s: Scene):
    """A classic queue says nothing but redelivered, by reject and nack alike."""
    s.ch.declare("q")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False), requeue=True)
    got = s.ch.await_get("q", no_ack=False)
    s.note("rejected", got)
    s.ch.nack(got, requeue=True)
    s.note("nacked", s.ch.await_get("q"))


def _deliveries_until_dead(s: Scene, act: str = "reject", most: int = 30) -> int | str:
    """How often a message comes that is given back each time."""
    s.ch.publish("q", "m")
    s.ch.consume("q", prefetch=1)
    for number in range(1, most + 1):
        [got] = s.ch.take(within=1) or [None]
        if got is None:
            return number - 1
        getattr(s.ch, act)(got, requeue=True)
    return f"{most} or more"


def limit_by_default(s: Scene):
    """Without an argument it comes 21 times: 20 times again."""
    s.ch.declare("q", **QUORUM)
    s.note("by reject", _deliveries_until_dead(s))
    s.note("ready", s.ch.count("q"))


def limit_by_default_of_nack(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.note("by nack", _deliveries_until_dead(s, "nack"))


def limit_by_argument(s: Scene):
    s.ch.declare("q", x_delivery_limit=2, **QUORUM)
    s.note("by reject", _deliveries_until_dead(s))
    s.ch.cancel()
    s.note("by nack", _deliveries_until_dead(s, "nack"))


def limit_of_zero(s: Scene):
    s.ch.declare("q", x_delivery_limit=0, **QUORUM)
    s.note("by reject", _deliveries_until_dead(s))


def limit_of_minus_one(s: Scene):
    s.ch.declare("q", x_delivery_limit=-1, **QUORUM)
    s.note("by reject", _deliveries_until_dead(s))


def limit_by_policy(s: Scene):
    """The smaller of argument and policy; a policy's −1 does not lift an argument's."""
    s.policy("p", {"delivery-limit": 1})
    s.ch.declare("q", **QUORUM)
    s.note("by policy", _deliveries_until_dead(s))


def limit_by_policy_and_argument(s: Scene):
    s.policy("p", {"delivery-limit": 1})
    s.ch.declare("q", x_delivery_limit=3, **QUORUM)
    s.note("argument 3, policy 1", _deliveries_until_dead(s))


def limit_by_policy_of_minus_one(s: Scene):
    s.policy("p", {"delivery-limit": -1})
    s.ch.declare("q", x_delivery_limit=2, **QUORUM)
    s.note("argument 2, policy -1", _deliveries_until_dead(s))


def limit_by_policy_later(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.policy("p", {"delivery-limit": 1})
    s.ch.rest(0.1)
    s.note("by policy", _deliveries_until_dead(s))


def limit_of_closed_channels(s: Scene):
    """Do ends of channels count?"""
    s.ch.declare("dead")
    s.ch.declare("q", x_delivery_limit=1, x_dead_letter_exchange="", x_dead_letter_routing_key="dead", **QUORUM)
    s.ch.publish("q", "m")
    for _ in range(4):
        other = s.channel()
        other.consume("q", prefetch=1)
        if not other.take(within=1):
            break
        other.connection.close()
    s.note("dead", s.ch.await_get("dead"))


def limit_of_get(s: Scene):
    s.ch.declare("q", x_delivery_limit=1, **QUORUM)
    s.ch.publish("q", "m")
    for attempt in range(2):
        s.ch.reject(s.ch.await_get("q", no_ack=False), requeue=True)
    s.note("ready", s.ch.await_count("q", 0))
