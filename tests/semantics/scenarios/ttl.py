"""How long messages and queues live."""

import time

from scene import Channel, Scene

SHORT_MS, LONG_MS = "80", "60000"


def _gone_after(ch: Channel, queue: str, started: float, least_ms: int) -> dict:
    """Whether the queue becomes empty, and not too early."""
    left = ch.await_count(queue, 0)
    return {"ready": left, "not before its time": (time.monotonic() - started) * 1000 >= least_ms - 5}


def per_message_expires(s: Scene):
    """A message with an expiration is gone after so many milliseconds."""
    s.ch.declare("q")
    started = time.monotonic()
    s.note("publish", s.ch.publish("q", "m", expiration="400"))
    s.note("at once", s.ch.count("q"))
    s.note("later", _gone_after(s.ch, "q", started, 400))
    s.note("get", s.ch.get("q"))


def expiration_is_kept_on_delivery(s: Scene):
    """Without dead-lettering the property reaches the consumer as it was sent."""
    s.ch.declare("q")
    s.ch.publish("q", "m", expiration=LONG_MS, priority=3, delivery_mode=2)
    s.note("get", s.ch.get("q"))


def per_queue_expires(s: Scene):
    s.ch.declare("q", x_message_ttl=80)
    started = time.monotonic()
    s.ch.publish("q", "m")
    s.note("later", _gone_after(s.ch, "q", started, 80))


def smaller_of_queue_and_message(s: Scene):
    """Queue and message TTL: the smaller one counts, both ways round."""
    for queue, ttl, expiration in (("a", 80, LONG_MS), ("b", 60000, SHORT_MS)):
        s.ch.declare(queue, x_message_ttl=ttl)
        started = time.monotonic()
        s.ch.publish(queue, "m", expiration=expiration)
        s.note(f"queue {ttl}, message {expiration}", _gone_after(s.ch, queue, started, 80))


def per_policy_expires(s: Scene):
    s.note("policy", s.policy("p", {"message-ttl": 80}))
    s.ch.declare("q")
    started = time.monotonic()
    s.ch.publish("q", "m")
    s.note("later", _gone_after(s.ch, "q", started, 80))


def smaller_of_argument_and_policy(s: Scene):
    s.policy("p", {"message-ttl": 80})
    s.ch.declare("a", x_message_ttl=60000)
    started = time.monotonic()
    s.ch.publish("a", "m")
    s.note("argument 60000, policy 80", _gone_after(s.ch, "a", started, 80))
    s.policy("p", {"message-ttl": 60000})
    s.ch.declare("b", x_message_ttl=80)
    started = time.monotonic()
    s.ch.publish("b", "m")
    s.note("argument 80, policy 60000", _gone_after(s.ch, "b", started, 80))


def smaller_of_policy_and_operator_policy(s: Scene):
    s.policy("p", {"message-ttl": 60000})
    s.note("operator policy", s.policy("o", {"message-ttl": 80}, operator=True))
    s.ch.declare("q")
    started = time.monotonic()
    s.ch.publish("q", "m")
    s.note("later", _gone_after(s.ch, "q", started, 80))


def policy_on_waiting_messages(s: Scene):
    """A TTL that comes by policy later does not touch what waits already; what comes afterwards expires, once it is at the head."""
    s.ch.declare("q")
    s.ch.publish("q", "old")
    s.policy("p", {"message-ttl": 60})
    s.ch.rest(0.1)
    s.ch.publish("q", "new")
    s.ch.rest(0.25)
    s.note("after the TTL", s.ch.count("q"))
    s.note("get", s.ch.get("q"))
    s.note("then", s.ch.await_count("q", 0))


def policy_taken_away_from_waiting_messages(s: Scene):
    """A message keeps the expiry that it got when it came, though the policy is gone."""
    s.policy("p", {"message-ttl": 500})
    s.ch.declare("q")
    s.ch.publish("q", "m")
    s.drop_policy("p")
    s.note("at once", s.ch.count("q"))
    s.note("after the TTL", s.ch.await_count("q", 0))


def policy_raised_on_waiting_messages(s: Scene):
    s.policy("p", {"message-ttl": 150})
    s.ch.declare("q")
    s.ch.publish("q", "m")
    s.policy("p", {"message-ttl": 60000})
    s.note("after the first TTL", s.ch.await_count("q", 0))


def policy_lowered_on_waiting_messages(s: Scene):
    s.policy("p", {"message-ttl": 60000})
    s.ch.declare("q")
    s.ch.publish("q", "m")
    s.policy("p", {"message-ttl": 50})
    s.ch.rest(0.25)
    s.note("after the second TTL", s.ch.count("q"))


def zero_without_consumer(s: Scene):
    """A TTL of 0 and nobody there: the message is gone at once, and confirmed."""
    s.ch.declare("dead")
    s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.note("expiration 0", s.ch.publish("q", "m", expiration="0"))
    s.note("ready", s.ch.await_count("q", 0))
    s.note("dead", s.ch.await_get("dead"))
    s.ch.declare("z", x_message_ttl=0, x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.note("queue TTL 0", s.ch.publish("z", "n"))
    s.note("dead of the queue TTL", s.ch.await_get("dead"))
    s.note("mandatory", s.ch.publish("z", "n", mandatory=True))


def zero_with_consumer(s: Scene):
    """A TTL of 0 and a waiting consumer: it is delivered."""
    s.ch.declare("q")
    s.ch.consume("q", no_ack=True)
    s.ch.publish("q", "m", expiration="0")
    s.note("delivered", s.ch.take())
    s.ch.declare("z", x_message_ttl=0)
    s.ch.consume("z", "d", no_ack=False)
    s.ch.publish("z", "n")
    delivered = s.ch.take()
    s.note("delivered with queue TTL 0", delivered)
    s.ch.nack(delivered[0], requeue=True)
    s.note("after requeue", s.ch.rest())
    s.note("ready", s.ch.count("z"))


def zero_with_busy_consumer(s: Scene):
    """A TTL of 0 and a consumer whose prefetch is used up: nobody is there."""
    s.ch.declare("z", x_message_ttl=0)
    s.ch.consume("z", prefetch=1)
    s.ch.publish("z", "first")
    s.ch.publish("z", "second")
    first = s.ch.take()[0]
    s.ch.ack(first)
    s.note("first", first)
    s.note("then", s.ch.rest())


def zero_with_get(s: Scene):
    s.ch.declare("z", x_message_ttl=0)
    s.ch.publish("z", "m")
    s.note("get", s.ch.get("z"))


def expired_behind_unexpired_head(s: Scene):
    """Per-message TTL acts at the head: what has expired behind it waits, is counted, and goes when the head goes."""
    s.ch.declare("dead")
    s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.ch.publish("q", "head")
    s.ch.publish("q", "behind", expiration="50")
    s.ch.rest(0.2)
    s.note("counted", s.ch.count("q"))
    s.note("dead", s.ch.count("dead"))
    s.note("head", s.ch.get("q"))
    s.note("dead then", s.ch.await_count("dead", 1))
    s.note("get", s.ch.get("q"))


def purge_counts_expired_behind_head(s: Scene):
    s.ch.declare("q")
    s.ch.publish("q", "head")
    s.ch.publish("q", "behind", expiration="50")
    s.ch.rest(0.15)
    s.note("purged", s.ch.purge("q"))


def requeue_keeps_expiry(s: Scene):
    """The expiry counts from the publish: time spent unacknowledged counts, and a requeued message that is over it is dropped."""
    s.ch.declare("dead")
    s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.ch.publish("q", "m", expiration="400")
    got = s.ch.get("q", no_ack=False)
    s.ch.rest(0.5)
    s.note("while unacknowledged", s.ch.count("dead"))
    s.ch.nack(got, requeue=True)
    s.note("dead after requeue", s.ch.await_get("dead"))
    s.note("ready", s.ch.count("q"))


def requeue_of_queue_ttl_keeps_expiry(s: Scene):
    s.ch.declare("q", x_message_ttl=400)
    s.ch.publish("q", "m")
    got = s.ch.get("q", no_ack=False)
    s.ch.rest(0.5)
    s.ch.nack(got, requeue=True)
    s.note("ready", s.ch.await_count("q", 0))


def unacknowledged_does_not_expire(s: Scene):
    """What a consumer holds stays valid."""
    s.ch.declare("q", x_message_ttl=50)
    s.ch.consume("q")
    s.ch.publish("q", "m")
    got = s.ch.take()[0]
    s.ch.rest(0.2)
    s.ch.ack(got)
    s.note("ready after ack", s.ch.count("q"))
    s.note("channel", s.ch.state())


def expiry_with_priorities(s: Scene):
    """Each priority has a head of its own: an expired one goes though a message of another priority is in front."""
    s.ch.declare("dead")
    s.ch.declare("q", x_max_priority=5, x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.ch.publish("q", "high", priority=5)
    s.ch.publish("q", "low", priority=1, expiration="50")
    s.note("dead", s.ch.await_count("dead", 1, within=1))
    s.note("ready", s.ch.count("q"))


def expired_before_get_is_not_delivered(s: Scene):
    s.ch.declare("q")
    s.ch.publish("q", "a", expiration="50")
    s.ch.publish("q", "b", expiration="50")
    s.ch.publish("q", "c")
    s.ch.rest(0.15)
    s.note("get", s.ch.get("q"))


def several_expire_in_order(s: Scene):
    """What expires together is dead-lettered in the order of the queue."""
    s.ch.declare("dead")
    s.ch.declare("q", x_message_ttl=60, x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    for body in "abcde":
        s.ch.publish("q", body)
    s.ch.await_count("dead", 5)
    s.note("dead", s.ch.drain("dead"))


def invalid_expirations(s: Scene):
    """What an expiration must be: a string of digits up to a limit."""
    s.ch.declare("q")
    for expiration in ("", "-1", "1.5", "abc", "10 ", " 10", "+10", "1e3", "0x10", "4294967295", "4294967296", "315360000000", "315360000001", "99999999999999999999"):
        s.attempt(f"'{expiration}'", lambda each=expiration: s.ch.publish("q", "m", expiration=each))
    s.attempt("unroutable and invalid", lambda: s.ch.publish("nosuch", "m", expiration="abc"))


def quorum_expires(s: Scene):
    """The same for a quorum queue."""
    s.ch.declare("dead")
    s.ch.declare("q", x_queue_type="quorum", x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.ch.publish("q", "m", expiration=SHORT_MS)
    s.note("dead", s.ch.await_get("dead"))
    s.ch.publish("q", "zero", expiration="0")
    s.note("dead of 0", s.ch.await_get("dead"))
    s.ch.declare("t", x_queue_type="quorum", x_message_ttl=80, x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.ch.publish("t", "m", expiration=LONG_MS)
    s.note("dead of the queue TTL", s.ch.await_get("dead"))


def quorum_expired_behind_unexpired_head(s: Scene):
    s.ch.declare("q", x_queue_type="quorum")
    s.ch.publish("q", "head")
    s.ch.publish("q", "behind", expiration="50")
    s.ch.rest(0.2)
    s.note("counted", s.ch.count("q"))
    s.note("head", s.ch.get("q"))
    s.note("get", s.ch.get("q"))


def quorum_requeue_keeps_expiry(s: Scene):
    s.ch.declare("q", x_queue_type="quorum")
    s.ch.publish("q", "m", expiration="400")
    got = s.ch.get("q", no_ack=False)
    s.ch.rest(0.5)
    s.ch.nack(got, requeue=True)
    s.note("get", s.ch.get("q"))
    s.note("ready", s.ch.await_count("q", 0))


def quorum_zero_with_consumer(s: Scene):
    s.ch.declare("q", x_queue_type="quorum")
    s.ch.consume("q", prefetch=10)
    s.ch.publish("q", "m", expiration="0")
    s.note("delivered", s.ch.bodies(1))


# -- x-expires


def unused_queue_expires(s: Scene):
    started = time.monotonic()
    s.ch.declare("q", x_expires=100)
    s.ch.publish("q", "m")
    s.note("gone", s.await_gone("q"))
    s.note("not before its time", (time.monotonic() - started) * 1000 >= 95)
    s.attempt("passive declare", lambda: s.ch.count("q"))


def queue_expires_by_policy(s: Scene):
    s.policy("p", {"expires": 100})
    s.ch.declare("q")
    s.note("gone", s.await_gone("q"))
    s.drop_policy("p")
    s.ch.declare("r")
    s.policy("p", {"expires": 100})
    s.note("gone though the policy came later", s.await_gone("r"))


def expired_queue_does_not_dead_letter(s: Scene):
    s.ch.declare("dead")
    s.ch.declare("q", x_expires=100, x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.ch.publish("q", "m")
    s.note("gone", s.await_gone("q"))
    s.ch.rest()
    s.note("dead", s.ch.count("dead"))


def _survives(s: Scene, use) -> bool:
    """Whether a queue of 900 ms lives after 1200 ms when it is used each 300."""
    s.ch.declare("q", x_expires=900)
    for _ in range(3):
        s.ch.rest(0.3)
        try:
            use()
        except Exception:
            return False
    s.ch.rest(0.3)
    return s.exists("q")


def redeclare_resets_expiry(s: Scene):
    s.note("survives", _survives(s, lambda: s.ch.declare("q", x_expires=900)))


def passive_declare_and_expiry(s: Scene):
    s.note("survives", _survives(s, lambda: s.ch.count("q")))


def get_resets_expiry(s: Scene):
    s.note("survives", _survives(s, lambda: s.ch.get("q")))


def publish_does_not_reset_expiry(s: Scene):
    s.note("survives", _survives(s, lambda: s.ch.publish("q", "m")))


def purge_and_expiry(s: Scene):
    s.note("survives", _survives(s, lambda: s.ch.purge("q")))


def bind_and_expiry(s: Scene):
    s.note("survives", _survives(s, lambda: s.ch.bind("q", "amq.fanout")))


def consumer_keeps_queue(s: Scene):
    """A queue with a consumer does not expire; the time begins anew when the last one goes."""
    s.ch.declare("q", x_expires=500)
    s.ch.consume("q")
    s.ch.rest(0.7)
    s.note("with a consumer", s.exists("q"))
    started = time.monotonic()
    s.ch.cancel()
    s.note("gone after the cancel", s.await_gone("q"))
    s.note("not before its time", (time.monotonic() - started) * 1000 >= 495)


def unacknowledged_get_does_not_keep_queue(s: Scene):
    s.ch.declare("q", x_expires=500)
    s.ch.publish("q", "m")
    got = s.ch.get("q", no_ack=False)
    s.note("gone", s.await_gone("q"))
    s.ch.ack(got)
    s.note("ack afterwards", s.ch.state())


def quorum_queue_expires(s: Scene):
    s.ch.declare("q", x_queue_type="quorum", x_expires=150)
    s.ch.publish("q", "m")
    s.note("gone", s.await_gone("q"))


def exclusive_queue_expires(s: Scene):
    s.ch.declare("q", exclusive=True, x_expires=100)
    s.note("gone", s.await_gone("q"))
