"""Where messages go that a queue gives up, and what is written on them."""

from scene import Channel, Delivery, Scene


def _deaths(delivery: Delivery | None) -> list:
    """The short form of x-death: what is left out is looked at in full elsewhere."""
    if delivery is None:
        return ["nothing came"]
    return [f"{each['queue'][2:]} {each['reason'][2:]} {each['count']}" for each in delivery.headers.get("x-death", [])]


def _with_dead(ch: Channel, queue: str = "q", **how) -> None:
    """A queue whose dead letters go to the queue `dead`, which is bound to the fanout `dlx`."""
    ch.exchange("dlx", "fanout")
    ch.declare("dead")
    ch.bind("dead", "dlx")
    ch.declare(queue, x_dead_letter_exchange="dlx", **how)


def rejected(s: Scene):
    """basic.reject and basic.nack without requeue."""
    _with_dead(s.ch)
    s.ch.publish("q", "a")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("reject", s.ch.await_get("dead"))
    s.ch.publish("q", "b")
    s.ch.nack(s.ch.get("q", no_ack=False))
    s.note("nack", s.ch.await_get("dead"))


def nacked_multiple(s: Scene):
    """Several by one nack: dead-lettered in the order of the queue."""
    _with_dead(s.ch)
    for body in "abcd":
        s.ch.publish("q", body)
    got = [s.ch.get("q", no_ack=False) for _ in "abcd"]
    s.ch.nack(got[2], multiple=True)
    s.ch.await_count("dead", 3)
    s.note("dead", s.ch.drain("dead"))
    s.ch.nack(got[3], requeue=True)
    s.note("still in the queue", s.ch.await_get("q"))


def expired(s: Scene):
    _with_dead(s.ch)
    s.ch.publish("q", "m", expiration="50")
    s.note("message TTL", s.ch.await_get("dead"))
    _with_dead(s.ch, "r", x_message_ttl=50)
    s.ch.publish("r", "m")
    s.note("queue TTL", s.ch.await_get("dead"))
    s.ch.publish("r", "m", expiration="60000")
    s.note("both", s.ch.await_get("dead"))


def maxlen(s: Scene):
    _with_dead(s.ch, x_max_length=1)
    s.ch.publish("q", "a")
    s.ch.publish("q", "b")
    s.note("dead", s.ch.await_get("dead"))
    s.note("stays", s.ch.get("q"))


def maxlen_by_reject_publish_dlx(s: Scene):
    """With reject-publish-dlx it is the new message that dies, and it is nacked too."""
    _with_dead(s.ch, x_max_length=1, x_overflow="reject-publish-dlx")
    s.note("first", s.ch.publish("q", "a"))
    s.note("second", s.ch.publish("q", "b"))
    s.note("dead", s.ch.await_get("dead"))
    s.note("stays", s.ch.get("q"))


def delivery_limit(s: Scene):
    _with_dead(s.ch, x_queue_type="quorum", x_delivery_limit=1)
    s.ch.publish("q", "m")
    s.ch.consume("q", prefetch=1)
    for attempt in range(2):
        [got] = s.ch.take()
        s.note(f"delivery {attempt}", got)
        s.ch.reject(got, requeue=True)
    s.note("dead", s.ch.await_get("dead"))


def all_properties_are_kept(s: Scene):
    """Everything but the expiration, which moves into x-death."""
    _with_dead(s.ch)
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
    _with_dead(s.ch)
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


def cc_of_second_hop(s: Scene):
    """CC and BCC two queues further."""
    s.ch.exchange("dlx", "fanout")
    s.ch.declare("a", x_dead_letter_exchange="dlx")
    s.ch.declare("b", x_dead_letter_exchange="", x_dead_letter_routing_key="c")
    for queue in ("c", "cc", "bcc"):
        s.ch.declare(queue)
    s.ch.bind("b", "dlx")
    s.ch.publish("a", "m", headers={"CC": ["cc"], "BCC": ["bcc"]})
    s.ch.nack(s.ch.get("a", no_ack=False))
    s.ch.nack(s.ch.await_get("b", no_ack=False))
    s.note("end", s.ch.await_get("c"))
    s.note("ready", {queue: s.ch.await_count(queue, 1) for queue in ("cc", "bcc")})


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
        s.note(f"try {attempt}", _deaths(got))
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
    s.note("expired", _deaths(got))
    s.ch.consume("q", "d", prefetch=1)
    s.ch.nack(got)
    [got] = s.ch.take()
    s.note("rejected", _deaths(got))
    s.ch.nack(got)
    [got] = s.ch.take()
    s.note("rejected in the first queue too", got)


def client_republish_does_not_continue(s: Scene):
    """x-death that a client sends is a header like any other: deaths begin anew."""
    _with_dead(s.ch)
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
    _with_dead(s.ch)
    s.ch.publish("q", "m", headers={"x-death": "nonsense", "x-first-death-reason": 5})
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


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
    s.note("back", _deaths(got))
    s.ch.reject(got)
    s.note("back again", _deaths(s.ch.await_get("work", no_ack=False)))


def cycle_of_delivery_limit(s: Scene):
    """Giving up by delivery-limit into the same queue."""
    s.ch.declare("q", x_queue_type="quorum", x_delivery_limit=0, x_dead_letter_exchange="", x_dead_letter_routing_key="q")
    s.ch.publish("q", "m")
    s.ch.consume("q", prefetch=1)
    [got] = s.ch.take()
    s.ch.reject(got, requeue=True)
    s.note("comes again", s.ch.take(within=0.5))


def missing_exchange(s: Scene):
    """A queue may name an exchange that is not there: its dead letters are lost, and later ones go there once it exists."""
    s.ch.declare("q", x_dead_letter_exchange="later")
    s.ch.publish("q", "lost")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.exchange("later", "fanout")
    s.ch.declare("dead")
    s.ch.bind("dead", "later")
    s.ch.publish("q", "found")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))
    s.note("then", s.ch.get("dead"))


def unroutable_is_lost(s: Scene):
    s.ch.exchange("dlx", "direct")
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.publish("q", "m", mandatory=True)
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.rest()
    s.note("channel", s.ch.state())
    s.note("returned", [event for event in s.ch.events if "return" in event])
    s.note("ready", s.ch.count("q"))


def default_exchange(s: Scene):
    """The default exchange is named by nothing; without a key the dead letter comes back to the queue it was published to."""
    s.ch.declare("q", x_dead_letter_exchange="")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("back", s.ch.await_get("q"))


def name_amq_default_is_another_exchange(s: Scene):
    s.ch.declare("dead")
    s.attempt("declare", lambda: s.ch.declare("q", x_dead_letter_exchange="amq.default", x_dead_letter_routing_key="dead"))
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.rest()
    s.note("dead", s.ch.count("dead"))


def alternate_exchange_of_the_dlx(s: Scene):
    """Dead letters that find no queue take the alternate exchange."""
    s.ch.exchange("ae", "fanout")
    s.ch.exchange("dlx", "direct", arguments={"alternate-exchange": "ae"})
    s.ch.declare("dead")
    s.ch.bind("dead", "ae")
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def headers_exchange_as_dlx(s: Scene):
    """The DLX sees the headers of death already; plain `all` and `any` do not match on headers that begin with x-."""
    s.ch.exchange("dlx", "headers")
    for queue, arguments in (
        ("mine", {"x-match": "any", "mine": "h"}),
        ("plain", {"x-match": "any", "x-first-death-queue": "q"}),
        ("with-x", {"x-match": "any-with-x", "x-first-death-queue": "q"}),
        ("last", {"x-match": "all-with-x", "x-last-death-reason": "rejected"}),
    ):
        s.ch.declare(queue)
        s.ch.bind(queue, "dlx", arguments=arguments)
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.publish("q", "m", headers={"mine": "h"})
    s.ch.reject(s.ch.get("q", no_ack=False))
    for queue in ("mine", "with-x", "last"):
        s.ch.await_count(queue, 1)
    s.ch.rest()
    s.note("ready", {queue: s.ch.count(queue)[0] for queue in ("mine", "plain", "with-x", "last")})


def dlx_by_policy(s: Scene):
    """By policy, and when it comes later; an argument wins."""
    s.ch.exchange("dlx", "fanout")
    s.ch.declare("dead")
    s.ch.bind("dead", "dlx")
    s.ch.declare("q")
    s.ch.declare("own", x_dead_letter_exchange="", x_dead_letter_routing_key="other")
    s.ch.declare("other")
    s.ch.publish("q", "m")
    s.policy("p", {"dead-letter-exchange": "dlx", "dead-letter-routing-key": "k"}, "q|own")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("by the policy", s.ch.await_get("dead"))
    s.ch.publish("own", "m")
    s.ch.reject(s.ch.get("own", no_ack=False))
    s.note("by the argument", s.ch.await_get("other"))
    s.drop_policy("p")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.rest()
    s.note("without the policy", s.ch.count("dead"))


def key_by_policy_and_exchange_by_argument(s: Scene):
    """The key of a policy counts with an argument's exchange."""
    s.policy("p", {"dead-letter-routing-key": "k"})
    s.ch.exchange("dlx", "fanout")
    s.ch.declare("dead")
    s.ch.bind("dead", "dlx")
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def without_dlx(s: Scene):
    s.ch.declare("q")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("ready", s.ch.count("q"))


def purge_and_delete_do_not_dead_letter(s: Scene):
    _with_dead(s.ch)
    s.ch.publish("q", "a")
    s.note("purged", s.ch.purge("q"))
    s.ch.publish("q", "b")
    s.note("deleted", s.ch.delete("q"))
    s.ch.rest()
    s.note("dead", s.ch.count("dead"))


def unacknowledged_of_a_deleted_queue(s: Scene):
    """Rejecting a message of a queue that is gone: nothing happens."""
    _with_dead(s.ch)
    s.ch.publish("q", "m")
    got = s.ch.get("q", no_ack=False)
    s.ch.delete("q")
    s.ch.reject(got)
    s.ch.rest()
    s.note("channel", s.ch.state())
    s.note("dead", s.ch.count("dead"))


def several_targets(s: Scene):
    """One dead letter, several queues: each copy goes its own way."""
    s.ch.exchange("dlx", "fanout")
    for queue in ("one", "two"):
        s.ch.declare(queue)
        s.ch.bind(queue, "dlx")
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("one", s.ch.await_get("one"))
    s.note("two", s.ch.await_get("two"))


def deletion_of_the_dlx_later(s: Scene):
    """The exchange goes and comes back: it is looked up by name each time."""
    _with_dead(s.ch)
    s.ch.call("exchange.delete", exchange="dlx")
    s.ch.publish("q", "lost")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.rest()
    s.ch.exchange("dlx", "direct")
    s.ch.bind("dead", "dlx", "q")
    s.ch.publish("q", "found")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def internal_exchange_as_dlx(s: Scene):
    """Clients may not publish to an internal exchange; dead letters may."""
    s.ch.exchange("dlx", "fanout", internal=True)
    s.ch.declare("dead")
    s.ch.bind("dead", "dlx")
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def permissions_at_declare(s: Scene):
    """Who names a DLX needs to read the queue and to write the exchange."""
    s.ch.exchange("dlx", "fanout")
    for name, permissions in (
        ("all", {}),
        ("no-read", {"read": "nothing"}),
        ("no-write", {"write": "^q"}),
        ("no-configure", {"configure": "nothing"}),
        ("only-read", {"write": "^$"}),
    ):
        channel = s.channel(**s.user(name, **permissions))
        s.attempt(name, lambda ch=channel: ch.declare("q-" + name, x_dead_letter_exchange="dlx"), channel)
    channel = s.channel(**s.user("no-default", write="^q"))
    s.attempt("default exchange", lambda: channel.declare("q-default", x_dead_letter_exchange="", x_dead_letter_routing_key="k"), channel)
    channel = s.channel(**s.user("with-default", write="^(amq.default|q.*)$"))
    s.attempt("default exchange by its other name", lambda: channel.declare("q-with-default", x_dead_letter_exchange="", x_dead_letter_routing_key="k"), channel)
    channel = s.channel(**s.user("missing", write="^dlx$"))
    s.attempt("exchange that is not there", lambda: channel.declare("q-missing", x_dead_letter_exchange="nosuch"), channel)
    s.attempt("redeclare without read", lambda ch=s.channel(**s.user("again", read="nothing")): ch.declare("q-all", x_dead_letter_exchange="dlx"))


def permissions_do_not_matter_afterwards(s: Scene):
    """A dead letter is published by nobody: it passes where the one who rejected may not write."""
    _with_dead(s.ch)
    s.ch.publish("q", "m", user_id="guest")
    channel = s.channel(**s.user("reader", write="nothing"))
    channel.reject(channel.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def argument_types(s: Scene):
    s.attempt("key without exchange", lambda: s.ch.declare("q", x_dead_letter_routing_key="k"))
    s.attempt("exchange is a number", lambda: s.ch.declare("q", x_dead_letter_exchange=5))
    s.attempt("key is a number", lambda: s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_routing_key=5))
    s.attempt("strategy on a classic queue", lambda: s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_strategy="at-least-once"))
    s.attempt("exchange name is not a name", lambda: s.ch.declare("q", x_dead_letter_exchange="a" * 300))


def by_consumer_order(s: Scene):
    """Rejections of one consumer arrive in their order."""
    _with_dead(s.ch)
    for body in "abcdef":
        s.ch.publish("q", body)
    s.ch.consume("q")
    taken = s.ch.take(6)
    for position in (3, 1, 0, 2, 5, 4):
        s.ch.reject(taken[position])
    s.ch.await_count("dead", 6)
    s.note("dead", s.ch.drain("dead"))


def closing_a_channel_does_not_dead_letter(s: Scene):
    _with_dead(s.ch)
    s.ch.publish("q", "m")
    other = s.channel()
    other.get("q", no_ack=False)
    other.close()
    s.note("ready", s.ch.await_count("q", 1))
    s.note("dead", s.ch.count("dead"))


def maxlen_order_of_several(s: Scene):
    """Lowering a limit drops from the head, in order."""
    _with_dead(s.ch)
    for body in "abcde":
        s.ch.publish("q", body)
    s.policy("p", {"max-length": 2}, "^q$")
    s.ch.await_count("dead", 3)
    s.note("dead", s.ch.drain("dead"))
    s.note("stay", s.ch.drain("q"))


def dead_letter_to_full_queue(s: Scene):
    """At most once: a target that rejects publishes loses the dead letter."""
    s.ch.declare("full", x_max_length=1, x_overflow="reject-publish")
    s.ch.publish("full", "occupies")
    s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_routing_key="full")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.rest()
    s.note("full", s.ch.drain("full"))
    s.note("q", s.ch.count("q"))


def expired_dead_letter_does_not_expire_again(s: Scene):
    """The expiration is gone: in the next queue the message stays."""
    _with_dead(s.ch)
    s.ch.publish("q", "m", expiration="30")
    s.ch.await_count("dead", 1)
    s.ch.rest(0.1)
    s.note("stays", s.ch.count("dead"))


def rejected_keeps_no_expiration_either(s: Scene):
    """Whatever the reason: the expiration is removed."""
    _with_dead(s.ch)
    s.ch.publish("q", "m", expiration="400")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.await_count("dead", 1)
    s.ch.rest(0.5)
    s.note("stays", s.ch.get("dead"))


def original_expiration_of_second_hop(s: Scene):
    """Only the first table knows the original expiration."""
    s.ch.declare("a", x_dead_letter_exchange="", x_dead_letter_routing_key="b")
    s.ch.declare("b", x_dead_letter_exchange="", x_dead_letter_routing_key="c")
    s.ch.declare("c")
    s.ch.publish("a", "m", expiration="60000")
    s.ch.reject(s.ch.get("a", no_ack=False))
    s.ch.reject(s.ch.await_get("b", no_ack=False))
    s.note("c", s.ch.await_get("c"))


def transaction_and_rejection(s: Scene):
    """A reject in a transaction dies with the commit."""
    _with_dead(s.ch)
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
    _with_dead(s.ch, x_queue_type="quorum")
    s.ch.publish("q", "m", headers={"mine": "h"}, delivery_mode=1)
    got = s.ch.get("q", no_ack=False)
    s.ch.reject(got, requeue=True)
    got = s.ch.await_get("q", no_ack=False)
    s.note("before", got)
    s.ch.reject(got)
    s.note("dead", s.ch.await_get("dead"))


def quorum_maxlen(s: Scene):
    _with_dead(s.ch, x_queue_type="quorum", x_max_length=1)
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
