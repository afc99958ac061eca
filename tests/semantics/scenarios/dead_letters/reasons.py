"""What dies of what, in which order, and what is written on it."""

from observing import with_dead
from scene import Scene


def rejected(s: Scene):
    """basic.reject and basic.nack without requeue."""
    with_dead(s.ch)
    s.ch.publish("q", "a")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("reject", s.ch.await_get("dead"))
    s.ch.publish("q", "b")
    s.ch.nack(s.ch.get("q", no_ack=False))
    s.note("nack", s.ch.await_get("dead"))


def nacked_multiple(s: Scene):
    """Several by one nack: dead-lettered in the order of the queue."""
    with_dead(s.ch)
    for body in "abcd":
        s.ch.publish("q", body)
    got = [s.ch.get("q", no_ack=False) for _ in "abcd"]
    s.ch.nack(got[2], multiple=True)
    s.ch.await_count("dead", 3)
    s.note("dead", s.ch.drain("dead"))
    s.ch.nack(got[3], requeue=True)
    s.note("still in the queue", s.ch.await_get("q"))


def expired(s: Scene):
    with_dead(s.ch)
    s.ch.publish("q", "m", expiration="50")
    s.note("message TTL", s.ch.await_get("dead"))
    with_dead(s.ch, "r", x_message_ttl=50)
    s.ch.publish("r", "m")
    s.note("queue TTL", s.ch.await_get("dead"))
    s.ch.publish("r", "m", expiration="60000")
    s.note("both", s.ch.await_get("dead"))


def maxlen(s: Scene):
    with_dead(s.ch, x_max_length=1)
    s.ch.publish("q", "a")
    s.ch.publish("q", "b")
    s.note("dead", s.ch.await_get("dead"))
    s.note("stays", s.ch.get("q"))


def maxlen_by_reject_publish_dlx(s: Scene):
    """With reject-publish-dlx it is the new message that dies, and it is nacked too."""
    with_dead(s.ch, x_max_length=1, x_overflow="reject-publish-dlx")
    s.note("first", s.ch.publish("q", "a"))
    s.note("second", s.ch.publish("q", "b"))
    s.note("dead", s.ch.await_get("dead"))
    s.note("stays", s.ch.get("q"))


def delivery_limit(s: Scene):
    with_dead(s.ch, x_queue_type="quorum", x_delivery_limit=1)
    s.ch.publish("q", "m")
    s.ch.consume("q", prefetch=1)
    for attempt in range(2):
        [got] = s.ch.take()
        s.note(f"delivery {attempt}", got)
        s.ch.reject(got, requeue=True)
    s.note("dead", s.ch.await_get("dead"))


def all_properties_are_kept(s: Scene):
    """Everything but the expiration, which moves into x-death."""
    with_dead(s.ch)
    properties = {
        "content_type": "text/plain", "content_encoding": "utf-8", "headers": {"mine": "h", "n": 5}, "delivery_mode": 2, "priority": 7, "correlation_id": "c",
        "reply_to": "r", "expiration": "60000", "message_id": "m", "timestamp": 1234567890, "type": "t", "user_id": "guest", "app_id": "a", "cluster_id": "cl",
    }  # fmt: skip
    s.ch.publish("q", "m", **properties)
    got = s.ch.get("q", no_ack=False)
    s.note("before", got)
    s.ch.reject(got)
    s.note("after", s.ch.await_get("dead"))


def transient_stays_transient(s: Scene):
    with_dead(s.ch)
    s.ch.publish("q", "m", delivery_mode=1)
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def redelivered_after_death(s: Scene):
    """basic.reject counts as a failed delivery, which the next queue tells; basic.nack and expiry do not."""
    for act in ("reject", "nack", "expiry", "reject after requeue by nack", "nack after requeue by nack", "nack after requeue by reject"):
        queue, dead = f"q {act}", f"dead {act}"
        s.ch.declare(dead)
        s.ch.declare(queue, x_dead_letter_exchange="", x_dead_letter_routing_key=dead)
        s.ch.publish(queue, "m", expiration="600")
        got = s.ch.get(queue, no_ack=False)
        if "after requeue" in act:
            (s.ch.nack if act.endswith("nack") else s.ch.reject)(got, requeue=True)
            got = s.ch.await_get(queue, no_ack=False)
        if act == "expiry":
            s.ch.nack(got, requeue=True)
        else:
            (s.ch.reject if act.startswith("reject") else s.ch.nack)(got)
        s.note(act, s.ch.await_get(dead).method.redelivered)


def redelivered_after_death_into_quorum(s: Scene):
    """The same, and what a quorum queue has counted when it has the message for the first time."""
    for act in ("reject", "nack"):
        queue, dead = f"q {act}", f"dead {act}"
        s.ch.declare(dead, x_queue_type="quorum")
        s.ch.declare(queue, x_dead_letter_exchange="", x_dead_letter_routing_key=dead)
        s.ch.publish(queue, "m")
        getattr(s.ch, act)(s.ch.get(queue, no_ack=False))
        got = s.ch.await_get(dead)
        s.note(act, {"redelivered": got.method.redelivered, **{key: value for key, value in got.headers.items() if key.endswith("-count")}})


def redelivered_after_death_of_quorum(s: Scene):
    """From quorum to quorum: what becomes of the counts."""
    for act in ("reject", "nack"):
        queue, dead = f"q {act}", f"dead {act}"
        s.ch.declare(dead, x_queue_type="quorum")
        s.ch.declare(queue, x_queue_type="quorum", x_dead_letter_exchange="", x_dead_letter_routing_key=dead)
        s.ch.publish(queue, "m")
        got = s.ch.await_get(queue, no_ack=False)
        s.ch.reject(got, requeue=True)
        getattr(s.ch, act)(s.ch.await_get(queue, no_ack=False))
        got = s.ch.await_get(dead, no_ack=False)
        s.note(act, {"redelivered": got.method.redelivered, **{key: value for key, value in got.headers.items() if key.endswith("-count")}})
        s.ch.reject(got, requeue=True)
        got = s.ch.await_get(dead, no_ack=False)
        s.note(f"{act}, next", {"redelivered": got.method.redelivered, **{key: value for key, value in got.headers.items() if key.endswith("-count")}})


def purge_and_delete_do_not_dead_letter(s: Scene):
    with_dead(s.ch)
    s.ch.publish("q", "a")
    s.note("purged", s.ch.purge("q"))
    s.ch.publish("q", "b")
    s.note("deleted", s.ch.delete("q"))
    s.ch.rest()
    s.note("dead", s.ch.count("dead"))


def unacknowledged_of_a_deleted_queue(s: Scene):
    """Rejecting a message of a queue that is gone: nothing happens."""
    with_dead(s.ch)
    s.ch.publish("q", "m")
    got = s.ch.get("q", no_ack=False)
    s.ch.delete("q")
    s.ch.reject(got)
    s.ch.rest()
    s.note("channel", s.ch.state())
    s.note("dead", s.ch.count("dead"))


def by_consumer_order(s: Scene):
    """Rejections of one consumer arrive in their order."""
    with_dead(s.ch)
    for body in "abcdef":
        s.ch.publish("q", body)
    s.ch.consume("q")
    taken = s.ch.take(6)
    for position in (3, 1, 0, 2, 5, 4):
        s.ch.reject(taken[position])
    s.ch.await_count("dead", 6)
    s.note("dead", s.ch.drain("dead"))


def closing_a_channel_does_not_dead_letter(s: Scene):
    with_dead(s.ch)
    s.ch.publish("q", "m")
    other = s.channel()
    other.get("q", no_ack=False)
    other.close()
    s.note("ready", s.ch.await_count("q", 1))
    s.note("dead", s.ch.count("dead"))


def maxlen_order_of_several(s: Scene):
    """Lowering a limit drops from the head, in order."""
    with_dead(s.ch)
    for body in "abcde":
        s.ch.publish("q", body)
    s.policy("p", {"max-length": 2}, "^q$")
    s.ch.await_count("dead", 3)
    s.note("dead", s.ch.drain("dead"))
    s.note("stay", s.ch.drain("q"))


def expired_dead_letter_does_not_expire_again(s: Scene):
    """The expiration is gone: in the next queue the message stays."""
    with_dead(s.ch)
    s.ch.publish("q", "m", expiration="30")
    s.ch.await_count("dead", 1)
    s.ch.rest(0.1)
    s.note("stays", s.ch.count("dead"))


def rejected_keeps_no_expiration_either(s: Scene):
    """Whatever the reason: the expiration is removed."""
    with_dead(s.ch)
    s.ch.publish("q", "m", expiration="400")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.await_count("dead", 1)
    s.ch.rest(0.5)
    s.note("stays", s.ch.get("dead"))


def transaction_and_rejection(s: Scene):
    """A reject in a transaction dies with the commit."""
    with_dead(s.ch)
    s.ch.publish("q", "m")
    tx = s.channel()
    tx.call("tx.select")
    tx.reject(tx.get("q", no_ack=False))
    s.ch.rest()
    s.note("before the commit", s.ch.count("dead"))
    tx.call("tx.commit")
    s.note("after the commit", s.ch.await_count("dead", 1))


def quorum_rejected(s: Scene):
    """All of x-death for a quorum queue; what counts deliveries goes on too."""
    with_dead(s.ch, x_queue_type="quorum")
    s.ch.publish("q", "m", headers={"mine": "h"}, delivery_mode=1)
    got = s.ch.get("q", no_ack=False)
    s.ch.reject(got, requeue=True)
    got = s.ch.await_get("q", no_ack=False)
    s.note("before", got)
    s.ch.reject(got)
    s.note("dead", s.ch.await_get("dead"))


def quorum_maxlen(s: Scene):
    with_dead(s.ch, x_queue_type="quorum", x_max_length=1)
    s.ch.publish("q", "a")
    s.ch.publish("q", "b")
    s.note("dead", s.ch.await_get("dead"))


def into_quorum(s: Scene):
    """Dead letters of a classic queue, delivered by a quorum queue."""
    s.ch.declare("dead", x_queue_type="quorum")
    s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))
