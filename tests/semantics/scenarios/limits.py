"""How long queues get, and what happens to what is too much."""

from scene import WAIT_S, Scene


def _fill(s: Scene, queue: str, bodies: str, **how) -> list[str]:
    return [s.ch.publish(queue, body, **how) for body in bodies]


def drop_head(s: Scene):
    """The default: the oldest go, and all publishes are confirmed."""
    s.ch.declare("q", x_max_length=3)
    s.note("confirms", _fill(s, "q", "abcde"))
    s.note("ready", s.ch.count("q"))
    s.note("stay", s.ch.drain("q"))


def drop_head_is_named(s: Scene):
    s.ch.declare("q", x_max_length=2, x_overflow="drop-head")
    s.note("confirms", _fill(s, "q", "abcd"))
    s.note("stay", s.ch.drain("q"))


def drop_head_by_bytes(s: Scene):
    """Bytes are those of the bodies."""
    s.ch.declare("q", x_max_length_bytes=10)
    s.note("confirms", [s.ch.publish("q", letter * 4, headers={"not": "counted"}) for letter in "abc"])
    s.note("stay", s.ch.drain("q"))
    s.note("exactly", [s.ch.publish("q", letter * 5) for letter in "de"])
    s.note("both stay", s.ch.drain("q"))


def both_limits(s: Scene):
    """Whichever is reached first."""
    s.ch.declare("q", x_max_length=3, x_max_length_bytes=10)
    for body in ("a", "b", "c", "d"):
        s.ch.publish("q", body)
    s.note("by length", s.ch.drain("q"))
    for body in ("aaaa", "bbbb", "cccc"):
        s.ch.publish("q", body)
    s.note("by bytes", s.ch.drain("q"))


def message_bigger_than_the_limit(s: Scene):
    s.ch.declare("dead")
    s.ch.declare("q", x_max_length_bytes=10, x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.ch.publish("q", "small")
    s.note("confirm", s.ch.publish("q", "x" * 20))
    s.note("ready", s.ch.count("q"))
    s.ch.await_count("dead", 2)
    s.note("dead", s.ch.drain("dead"))
    s.ch.declare("r", x_max_length_bytes=10, x_overflow="reject-publish")
    s.note("reject-publish takes the first that goes over", [s.ch.publish("r", "x" * 20), s.ch.publish("r", "y")])
    s.note("ready of reject-publish", s.ch.count("r"))


def length_zero(s: Scene):
    """Nothing is ever ready: without a consumer all goes, with one it is delivered."""
    s.ch.declare("dead")
    s.ch.declare("q", x_max_length=0, x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.note("confirm", s.ch.publish("q", "a"))
    s.note("ready", s.ch.count("q"))
    s.note("dead", s.ch.await_get("dead").body)
    s.ch.consume("q", no_ack=True)
    s.ch.publish("q", "b")
    s.note("with a consumer", s.ch.bodies(1))
    s.ch.declare("r", x_max_length=0, x_overflow="reject-publish")
    s.note("reject-publish", s.ch.publish("r", "a"))
    s.ch.consume("r", "d", no_ack=True)
    s.note("reject-publish with a consumer", s.ch.publish("r", "b"))
    s.note("delivered", s.ch.bodies(1, within=0.5))
    s.ch.declare("b", x_max_length_bytes=0)
    s.note("bytes 0, empty body", s.ch.publish("b", ""))
    s.note("it stays", s.ch.count("b"))


def reject_publish(s: Scene):
    s.ch.declare("q", x_max_length=2, x_overflow="reject-publish")
    s.note("confirms", _fill(s, "q", "abcd"))
    s.note("stay", s.ch.drain("q"))
    s.note("again", s.ch.publish("q", "e"))


def reject_publish_without_confirms(s: Scene):
    """Nobody is told."""
    s.ch.declare("q", x_max_length=1, x_overflow="reject-publish")
    s.ch.send_content("q", "a")
    s.ch.send_content("q", "b")
    s.note("ready", s.ch.await_count("q", 1))
    s.ch.rest()
    s.note("stay", s.ch.drain("q"))
    s.note("channel", s.ch.state())


def reject_publish_with_mandatory(s: Scene):
    """A full queue is a queue: nothing is returned."""
    s.ch.declare("q", x_max_length=1, x_overflow="reject-publish")
    s.note("confirms", _fill(s, "q", "ab", mandatory=True))
    s.note("events", s.ch.events)


def reject_publish_in_transaction(s: Scene):
    s.ch.declare("q", x_max_length=1, x_overflow="reject-publish")
    tx = s.channel()
    tx.call("tx.select")
    for body in "abc":
        tx.send_content("q", body)
    s.attempt("commit", lambda: tx.call("tx.commit").name, tx)
    s.note("ready", s.ch.count("q"))


def one_of_several_queues_rejects(s: Scene):
    """One that rejects is enough for a nack; the others keep the message."""
    s.ch.exchange("x", "fanout")
    s.ch.declare("full", x_max_length=1, x_overflow="reject-publish")
    s.ch.declare("free")
    s.ch.bind("full", "x")
    s.ch.bind("free", "x")
    s.note("confirms", [s.ch.publish("", body, "x") for body in "ab"])
    s.note("full", s.ch.drain("full"))
    s.note("free", s.ch.drain("free"))


def one_of_several_quorum_queues_rejects(s: Scene):
    s.ch.exchange("x", "fanout")
    s.ch.declare("full", x_max_length=1, x_overflow="reject-publish")
    s.ch.declare("free", x_queue_type="quorum")
    s.ch.bind("full", "x")
    s.ch.bind("free", "x")
    s.note("confirms", [s.ch.publish("", body, "x") for body in "ab"])
    s.note("free", s.ch.await_count("free", 2))


def reject_publish_dlx(s: Scene):
    """The rejected publish is dead-lettered, and nacked."""
    s.ch.declare("dead")
    s.ch.declare("q", x_max_length=1, x_overflow="reject-publish-dlx", x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.note("confirms", _fill(s, "q", "abc"))
    s.ch.await_count("dead", 2)
    s.note("dead", s.ch.drain("dead"))
    s.note("stay", s.ch.drain("q"))


def reject_publish_dlx_without_dlx(s: Scene):
    s.ch.declare("q", x_max_length=1, x_overflow="reject-publish-dlx")
    s.note("confirms", _fill(s, "q", "ab"))
    s.note("stay", s.ch.drain("q"))


def only_ready_messages_count(s: Scene):
    """What is unacknowledged takes no room."""
    s.ch.declare("q", x_max_length=1)
    s.ch.publish("q", "a")
    got = s.ch.get("q", no_ack=False)
    s.ch.publish("q", "b")
    s.note("ready", s.ch.count("q"))
    s.ch.nack(got, requeue=True)
    s.ch.rest()
    s.note("after the requeue", s.ch.drain("q"))


def requeue_over_the_limit_dead_letters(s: Scene):
    """Too much by a requeue: the head goes, which is what was requeued."""
    s.ch.declare("dead")
    s.ch.declare("q", x_max_length=1, x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.ch.publish("q", "a")
    got = s.ch.get("q", no_ack=False)
    s.ch.publish("q", "b")
    s.ch.nack(got, requeue=True)
    s.note("dead", s.ch.await_get("dead"))
    s.note("stay", s.ch.drain("q"))


def requeue_over_the_limit_with_reject_publish(s: Scene):
    """Requeued messages are never rejected: the queue is longer than its limit."""
    s.ch.declare("q", x_max_length=1, x_overflow="reject-publish")
    s.ch.publish("q", "a")
    got = s.ch.get("q", no_ack=False)
    s.note("room", s.ch.publish("q", "b"))
    s.ch.nack(got, requeue=True)
    s.note("ready", s.ch.await_count("q", 2))
    s.note("no room", s.ch.publish("q", "c"))
    s.note("stay", s.ch.drain("q"))


def lowered_by_policy(s: Scene):
    """A limit that comes later drops what is too much at once."""
    s.ch.declare("q")
    _fill(s, "q", "abcde")
    s.policy("p", {"max-length": 2})
    s.note("ready", s.ch.await_count("q", 2))
    s.note("stay", s.ch.drain("q"))


def lowered_by_policy_with_reject_publish(s: Scene):
    """With reject-publish what is there stays."""
    s.ch.declare("q", x_overflow="reject-publish")
    _fill(s, "q", "abcde")
    s.policy("p", {"max-length": 2})
    s.ch.rest()
    s.note("ready", s.ch.count("q"))
    s.note("publish", s.ch.publish("q", "f"))


def lowered_bytes_by_policy(s: Scene):
    s.ch.declare("q")
    for letter in "abc":
        s.ch.publish("q", letter * 4)
    s.policy("p", {"max-length-bytes": 4})
    s.note("ready", s.ch.await_count("q", 1))
    s.note("stay", s.ch.drain("q"))


def overflow_changes_by_policy(s: Scene):
    s.policy("p", {"max-length": 1, "overflow": "reject-publish"})
    s.ch.declare("q")
    s.note("rejects", _fill(s, "q", "ab"))
    s.policy("p", {"max-length": 1})
    s.note("drops", _fill(s, "q", "c"))
    s.note("stay", s.ch.drain("q"))


def policy_goes(s: Scene):
    s.policy("p", {"max-length": 1})
    s.ch.declare("q")
    _fill(s, "q", "ab")
    s.drop_policy("p")
    _fill(s, "q", "cd")
    s.note("stay", s.ch.drain("q"))


def smaller_of_argument_and_policy(s: Scene):
    s.policy("p", {"max-length": 3})
    s.ch.declare("a", x_max_length=2)
    s.ch.declare("b", x_max_length=5)
    _fill(s, "a", "abcdefg")
    _fill(s, "b", "abcdefg")
    s.note("argument 2, policy 3", s.ch.drain("a"))
    s.note("argument 5, policy 3", s.ch.drain("b"))


def overflow_of_argument_and_policy(s: Scene):
    """Which of the two overflows counts."""
    s.policy("p", {"overflow": "reject-publish", "max-length": 1})
    s.ch.declare("q", x_overflow="drop-head")
    s.note("confirms", _fill(s, "q", "ab"))
    s.note("stay", s.ch.drain("q"))


def operator_policy_wins(s: Scene):
    s.policy("p", {"max-length": 5})
    s.policy("o", {"max-length": 2}, operator=True)
    s.ch.declare("q")
    _fill(s, "q", "abcdefg")
    s.note("stay", s.ch.drain("q"))


def with_priorities(s: Scene):
    """Dropped is the head, and that is of the highest priority."""
    s.ch.declare("dead")
    s.ch.declare("q", x_max_length=2, x_max_priority=5, x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    for body, priority in (("low", 1), ("high", 5), ("middle", 3), ("low too", 1)):
        s.ch.publish("q", body, priority=priority)
    s.ch.await_count("dead", 2)
    s.note("dead", s.ch.drain("dead"))
    s.note("stay", s.ch.drain("q"))


def with_consumers(s: Scene):
    """What a consumer can take is never too much."""
    s.ch.declare("q", x_max_length=1)
    s.ch.consume("q", no_ack=True)
    _fill(s, "q", "abc")
    s.note("all are delivered", s.ch.bodies(3))


def with_prefetching_consumer(s: Scene):
    """The prefetch takes its part, the limit holds for the rest."""
    s.ch.declare("q", x_max_length=1)
    s.ch.consume("q", prefetch=2)
    _fill(s, "q", "abcde")
    taken = s.ch.take(2)
    s.note("delivered", taken)
    s.note("ready", s.ch.count("q"))
    s.ch.ack(taken[1], multiple=True)
    s.note("then", s.ch.bodies(1))


def reject_publish_with_prefetching_consumer(s: Scene):
    s.ch.declare("q", x_max_length=1, x_overflow="reject-publish")
    s.ch.consume("q", prefetch=2)
    s.note("confirms", _fill(s, "q", "abcde"))
    s.note("delivered", s.ch.bodies(2))


def expired_messages_count(s: Scene):
    """Expired behind a live head: still counted for the limit."""
    s.ch.declare("q", x_max_length=2, x_overflow="reject-publish")
    s.ch.publish("q", "head")
    s.ch.publish("q", "behind", expiration="30")
    s.ch.rest(0.1)
    s.note("publish", s.ch.publish("q", "more"))


def quorum_drop_head(s: Scene):
    s.ch.declare("q", x_queue_type="quorum", x_max_length=2)
    s.note("confirms", _fill(s, "q", "abcd"))
    s.note("ready", s.ch.await_count("q", 2))
    s.note("stay", s.ch.drain("q"))


def quorum_drop_head_by_bytes(s: Scene):
    """Bytes are about those of the bodies; headers count too."""
    s.ch.declare("q", x_queue_type="quorum", x_max_length_bytes=4200)
    for letter in "abc":
        s.ch.publish("q", letter * 2000)
    s.note("ready", s.ch.await_count("q", 2))
    s.note("stay", [body[0] for body in s.ch.drain("q")])
    for letter in "abc":
        s.ch.publish("q", letter, headers={"big": "h" * 2000})
    s.note("ready with big headers", s.ch.await_count("q", 2))


def quorum_bytes_of_small_messages(s: Scene):
    """What a message weighs besides its body (two octets, the flags of its properties): limits that a message of one byte fits into, and such that it does not."""
    for limit in (1, 2, 3, 4):
        s.ch.declare(f"q{limit}", x_queue_type="quorum", x_max_length_bytes=limit)
        s.ch.publish(f"q{limit}", "a")
        s.note(f"{limit}", s.ch.await_count(f"q{limit}", 0, within=0.3 if limit > 2 else WAIT_S))


def quorum_reject_publish(s: Scene):
    """It may go over the limit for a moment, then it rejects."""
    s.ch.declare("q", x_queue_type="quorum", x_max_length=2, x_overflow="reject-publish")
    outcomes = [s.ch.publish("q", f"{number}") for number in range(10)]
    s.note("the first", outcomes[:2])
    s.note("the last", outcomes[-1])
    s.note("as many are there as were confirmed", s.ch.await_count("q", outcomes.count("ack")) == outcomes.count("ack"))
    s.ch.drain("q")
    s.note("again", s.eventually(lambda: s.ch.publish("q", "x") == "ack"))


def quorum_reject_publish_dlx(s: Scene):
    """Quorum queues take the argument and do something else."""
    s.ch.declare("dead")
    s.attempt("argument", lambda: s.ch.declare("q", x_queue_type="quorum", x_max_length=1, x_overflow="reject-publish-dlx", x_dead_letter_exchange="", x_dead_letter_routing_key="dead"))
    s.note("confirms", _fill(s, "q", "abcdefgh"))
    s.note("ready", s.ch.await_count("q", 1))
    s.note("stay", s.ch.drain("q"))
    s.note("dead", s.ch.drain("dead"))


def quorum_length_zero(s: Scene):
    s.ch.declare("q", x_queue_type="quorum", x_max_length=0)
    s.note("confirm", s.ch.publish("q", "a"))
    s.note("ready", s.ch.await_count("q", 0))


def quorum_lowered_by_policy(s: Scene):
    """The limit that comes later is applied, at the latest with the next message."""
    s.ch.declare("q", x_queue_type="quorum")
    _fill(s, "q", "abcde")
    s.policy("p", {"max-length": 2})
    s.note("without another message", s.ch.await_count("q", 2))
    s.ch.publish("q", "f")
    s.note("ready", s.ch.await_count("q", 2))
    s.note("stay", s.ch.drain("q"))


def quorum_requeue_over_the_limit(s: Scene):
    s.ch.declare("dead")
    s.ch.declare("q", x_queue_type="quorum", x_max_length=1, x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    s.ch.publish("q", "a")
    got = s.ch.await_get("q", no_ack=False)
    s.ch.publish("q", "b")
    s.ch.nack(got, requeue=True)
    dead = s.ch.await_get("dead")
    s.note("dead", dead and dead.body)
    s.note("stay", s.ch.drain("q"))


def _requeue_to_who_waits(s: Scene, length: int, count: int, **how) -> None:
    """The first of several comes back while its consumer would take more. How many come then, and of which some were had before."""
    s.ch.declare("q", x_max_length=length, **how)
    first = s.channel()
    first.consume("q", prefetch=count)
    for number in range(count):
        s.ch.publish("q", str(number))
    taken = first.take(count)
    other = s.channel()
    other.consume("q", prefetch=1, tag="other")
    first.nack(taken[0], requeue=True)
    again = first.take(1, within=0.5) + other.take(1, within=0.5)
    s.note("handed out again", [[each.body, each.method.redelivered] for each in again])
    s.note("ready", s.ch.count("q")[0])


def requeue_where_none_may_wait(s: Scene):
    """A length of 0: what comes back is dropped, and not handed out to a consumer that waits for it."""
    _requeue_to_who_waits(s, 0, 2)


def requeue_where_one_may_wait(s: Scene):
    _requeue_to_who_waits(s, 1, 2)


def quorum_requeue_where_none_may_wait(s: Scene):
    _requeue_to_who_waits(s, 0, 2, x_queue_type="quorum")


def requeue_of_several_where_one_may_wait(s: Scene):
    s.ch.declare("q", x_max_length=1)
    first = s.channel()
    first.consume("q", prefetch=3)
    for body in "abc":
        s.ch.publish("q", body)
    taken = first.take(3)
    other = s.channel()
    other.consume("q", prefetch=3, tag="other")
    first.nack(taken[2], requeue=True, multiple=True)
    got = first.take(3, within=0.5) + other.take(3, within=0.5)
    s.note("handed out again", sorted(each.body for each in got))


def requeue_by_a_closed_channel_where_none_may_wait(s: Scene):
    s.ch.declare("q", x_max_length=0)
    first = s.channel()
    first.consume("q", prefetch=2)
    s.ch.publish("q", "a")
    first.take()
    other = s.channel()
    other.consume("q", prefetch=1, tag="other")
    first.close()
    s.note("who waits", [[each.body, each.method.redelivered] for each in other.take(1, within=0.5)])
