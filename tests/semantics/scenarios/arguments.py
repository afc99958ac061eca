"""Arguments of queues: what they may be, when a declare is the same, and what policies and defaults make of them."""

from blackbox.codec import Raw
from blackbox.management import segment
from scene import Scene

CLASSIC = {
    "x-message-ttl": [0, 5000, 2**31, 2**40, -1, "5", True, 2.5, None],
    "x-expires": [1000000, 1, 0, -1, 2**40, "5", True, 2.5],
    "x-max-length": [0, 5, 2**40, -1, "5", True, 2.5],
    "x-max-length-bytes": [0, 5, 2**40, -1, "5"],
    "x-overflow": ["drop-head", "reject-publish", "reject-publish-dlx", "none", "", 5, True],
    "x-queue-mode": ["default", "lazy", "none", 5],
    "x-queue-version": [2, 1, 3, "2"],
    "x-queue-type": ["classic", "Classic", "", 5, "nosuch", True, "rabbit_classic_queue"],
    "x-queue-master-locator": ["client-local", "min-masters", "random", "nosuch", 5],
    "x-queue-leader-locator": ["client-local", "balanced", "nosuch", 5],
    "x-dead-letter-exchange": ["", "amq.direct", "nosuch", 5, None],
    "x-single-active-consumer": [True, False, "x"],
}
FOREIGN = [
    ("x-delivery-limit", 5), ("x-quorum-initial-group-size", 1), ("x-quorum-target-group-size", 1), ("x-max-in-memory-length", 5), ("x-max-in-memory-bytes", 5), ("x-dead-letter-strategy", "at-most-once"),
    ("x-consumer-timeout", 60000), ("x-consumer-disconnected-timeout", 60000), ("x-delayed-retry-type", "all"), ("x-delayed-retry-min", 5), ("x-delayed-retry-max", 5),
    ("x-max-age", "1D"), ("x-stream-max-segment-size-bytes", 1000000), ("x-stream-filter-size-bytes", 16), ("x-initial-cluster-size", 1), ("x-foo", "bar"), ("x-cancel-on-ha-failover", True),
    ("alternate-exchange", "ae"), ("x-message-deduplication", True), ("ha-mode", "all"),
]  # fmt: skip


def values(s: Scene):
    """What each argument of a classic queue may be."""
    for argument, values in CLASSIC.items():
        for number, value in enumerate(values):
            s.attempt(f"{argument} {value!r}", lambda a=argument, v=value, q=f"{argument}-{number}": s.ch.declare(q, arguments={a: v}))


def values_that_are_declared_are_shown(s: Scene):
    """What the HTTP API shows of them."""
    s.ch.declare("q", x_message_ttl=5000, x_queue_type="classic", x_max_length=5, x_overflow="drop-head", x_foo=True)
    s.note("arguments", s.queue_arguments("q"))


def of_other_types(s: Scene):
    """Arguments of quorum queues and streams are refused for classic ones; what nobody knows is taken."""
    for argument, value in FOREIGN:
        s.attempt(argument, lambda a=argument, v=value: s.ch.declare(f"q{a}", arguments={a: v}))


def of_streams(s: Scene):
    """What a stream refuses."""
    for argument, value in (
        ("x-message-ttl", 5), ("x-expires", 50000), ("x-max-length", 5), ("x-max-priority", 5), ("x-dead-letter-exchange", ""), ("x-overflow", "drop-head"), ("x-single-active-consumer", True),
        ("x-delivery-limit", 5), ("x-queue-mode", "lazy"), ("x-foo", "bar"),
    ):  # fmt: skip
        s.attempt(argument, lambda a=argument, v=value: s.ch.declare(f"q{a}", arguments={"x-queue-type": "stream", a: v}))


def equivalence(s: Scene):
    """Each argument again with another value, and left out."""
    for argument, first, second in (
        ("x-message-ttl", 5000, 6000), ("x-expires", 500000, 600000), ("x-max-length", 5, 6), ("x-max-length-bytes", 5, 6), ("x-overflow", "drop-head", "reject-publish"),
        ("x-dead-letter-exchange", "a", "b"), ("x-max-priority", 5, 6), ("x-single-active-consumer", True, False), ("x-queue-leader-locator", "client-local", "balanced"),
        ("x-queue-version", 2, 2), ("x-foo", "bar", "baz"), ("x-queue-type", "classic", "quorum"),
    ):  # fmt: skip
        queue = f"q {argument}"
        s.attempt(f"{argument} at first", lambda q=queue, a=argument, v=first: s.ch.declare(q, arguments={a: v}))
        s.attempt(f"{argument} the same", lambda q=queue, a=argument, v=first: s.ch.declare(q, arguments={a: v}))
        s.attempt(f"{argument} another", lambda q=queue, a=argument, v=second: s.ch.declare(q, arguments={a: v}))
        s.attempt(f"{argument} left out", lambda q=queue: s.ch.declare(q))
        s.ch.declare(f"plain {argument}")
        s.attempt(f"{argument} where there was none", lambda q=f"plain {argument}", a=argument, v=first: s.ch.declare(q, arguments={a: v}))


def equivalence_of_routing_keys(s: Scene):
    s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_routing_key="a")
    s.attempt("another", lambda: s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_routing_key="b"))
    s.attempt("left out", lambda: s.ch.declare("q", x_dead_letter_exchange=""))


def equivalence_of_number_types(s: Scene):
    """A number is the same whatever its width; a string is not."""
    s.ch.declare("q", x_max_length=5)
    for name, value in (("l", Raw(b"l" + (5).to_bytes(8))), ("s", Raw(b"s" + (5).to_bytes(2))), ("b", Raw(b"b\x05")), ("B", Raw(b"B\x05")), ("u", Raw(b"u\x00\x05")), ("i", Raw(b"i\x00\x00\x00\x05"))):
        s.attempt(name, lambda v=value: s.ch.declare("q", x_max_length=v))
    s.attempt("string", lambda: s.ch.declare("q", x_max_length="5"))
    s.attempt("another by l", lambda: s.ch.declare("q", x_max_length=Raw(b"l" + (6).to_bytes(8))))
    s.ch.declare("r", x_max_length=Raw(b"l" + (5).to_bytes(8)))
    s.attempt("left out, was l", lambda: s.ch.declare("r"))
    s.ch.declare("t", x_max_length=Raw(b"b\x05"))
    s.attempt("left out, was b", lambda: s.ch.declare("t"))


def equivalence_of_properties(s: Scene):
    s.ch.declare("q")
    s.attempt("auto-delete", lambda: s.ch.declare("q", auto_delete=True))
    s.attempt("exclusive", lambda: s.ch.declare("q", exclusive=True))
    s.attempt("not durable", lambda: s.ch.declare("q", durable=False))
    s.ch.declare("a", auto_delete=True)
    s.attempt("not auto-delete", lambda: s.ch.declare("a"))
    s.ch.declare("e", exclusive=True)
    s.attempt("not exclusive", lambda: s.ch.declare("e"))
    s.attempt("several differ", lambda: s.ch.declare("q", auto_delete=True, x_max_length=5))
    s.attempt("passive with whatever", lambda: s.ch.declare("q", passive=True, auto_delete=True, x_max_length=5))


def transient(s: Scene):
    """Neither durable nor exclusive: RabbitMQ 4.3 does not have such queues unless they are permitted."""
    s.attempt("declare", lambda: s.ch.declare("q", durable=False))
    s.attempt("exclusive", lambda: s.ch.declare("e", durable=False, exclusive=True))
    s.attempt("auto-delete", lambda: s.ch.declare("a", durable=False, auto_delete=True))


def names(s: Scene):
    s.attempt("reserved", lambda: s.ch.declare("amq.mine"))
    s.attempt("reserved, passive", lambda: s.ch.declare("amq.mine", passive=True))
    s.attempt("by the server", lambda: s.ch.declare(""))
    s.attempt("newlines", lambda: s.ch.declare("a\r\nb"))
    s.attempt("they are stripped", lambda: s.ch.declare("ab", passive=True))
    s.attempt("longest", lambda: len(s.ch.declare("q" * 255)))
    s.attempt("the default exchange has it as a key", lambda: s.ch.publish("ab", "m", mandatory=True))


def lazy_is_an_ordinary_queue(s: Scene):
    s.attempt("declare", lambda: s.ch.declare("q", x_queue_mode="lazy"))
    s.note("policy", s.policy("p", {"queue-mode": "lazy"}))
    s.ch.declare("r")
    s.ch.publish("r", "m")
    s.note("get", s.ch.get("r"))


def default_type_of_the_vhost(s: Scene):
    """A declare without a type has the vhost's, which is then among its arguments; not so for exclusive ones."""
    s.note("metadata", s.api.put(f"/vhosts/{segment(s.vhost)}", {"default_queue_type": "quorum"}).status)
    s.attempt("declare", lambda: s.ch.declare("q"))
    s.note("arguments", s.queue_arguments("q"))
    s.attempt("again without", lambda: s.ch.declare("q"))
    s.attempt("again as quorum", lambda: s.ch.declare("q", x_queue_type="quorum"))
    s.attempt("again as classic", lambda: s.ch.declare("q", x_queue_type="classic"))
    s.attempt("classic", lambda: s.ch.declare("c", x_queue_type="classic"))
    s.attempt("classic again without", lambda: s.ch.declare("c"))
    s.attempt("exclusive", lambda: s.ch.declare("e", durable=False, exclusive=True))
    s.note("arguments of the exclusive one", s.queue_arguments("e"))
    s.attempt("durable and exclusive", lambda: s.ch.declare("de", exclusive=True))
    s.note("arguments of the durable exclusive one", s.queue_arguments("de"))
    s.attempt("auto-delete", lambda: s.ch.declare("a", auto_delete=True))
    s.note("arguments of the auto-delete one", s.queue_arguments("a") if s.exists("a") else None)
    s.attempt("not durable", lambda: s.ch.declare("n", durable=False))
    s.note("arguments of the one that is not durable", s.queue_arguments("n") if s.exists("n") else None)
    s.attempt("by the server", lambda: s.ch.declare(""))
    s.attempt("by the server, exclusive", lambda: s.ch.declare("", exclusive=True))
    s.attempt("with an argument of classic queues", lambda: s.ch.declare("p", x_max_priority=5))
    s.attempt("with an argument of quorum queues", lambda: s.ch.declare("l", x_delivery_limit=5))
    s.attempt("type is void", lambda: s.ch.declare("v", x_queue_type=None))


def default_type_of_classic_is_said_too(s: Scene):
    s.api.put(f"/vhosts/{segment(s.vhost)}", {"default_queue_type": "classic"})
    s.ch.declare("q")
    s.note("arguments", s.queue_arguments("q"))


def default_type_comes_later(s: Scene):
    """Queues that are there stay; a redeclare without a type is still the same."""
    s.ch.declare("q")
    s.note("arguments", s.queue_arguments("q"))
    s.api.put(f"/vhosts/{segment(s.vhost)}", {"default_queue_type": "quorum"})
    s.attempt("redeclare", lambda: s.ch.declare("q"))
    s.attempt("redeclare as classic", lambda: s.ch.declare("q", x_queue_type="classic"))
    s.attempt("redeclare as quorum", lambda: s.ch.declare("q", x_queue_type="quorum"))
    s.note("unknown type", s.api.put(f"/vhosts/{segment(s.vhost)}", {"default_queue_type": "nosuch"}).status)


def over_http(s: Scene):
    """Declares of the HTTP API."""
    for what, body in (
        ("plain", {}), ("ttl", {"arguments": {"x-message-ttl": 5000}}), ("negative ttl", {"arguments": {"x-message-ttl": -1}}), ("string ttl", {"arguments": {"x-message-ttl": "5"}}),
        ("unknown type", {"arguments": {"x-queue-type": "nosuch"}}), ("foreign", {"arguments": {"x-delivery-limit": 5}}), ("auto-delete quorum", {"auto_delete": True, "arguments": {"x-queue-type": "quorum"}}),
        ("not durable", {"durable": False}), ("again with another", {"arguments": {"x-message-ttl": 5000}}),
    ):  # fmt: skip
        answer = s.api.put(s.path("queues", "q plain" if what.startswith("again") else f"q {what}"), body)
        s.note(what, answer.json["reason"] if answer.status >= 400 else answer.status)


def policies_and_keys(s: Scene):
    """What a policy's values may be."""
    for key, values in (
        ("message-ttl", [0, 5, -1, "5", 1.5]), ("expires", [1, 0, -1, "5"]), ("max-length", [0, 5, -1, "5"]), ("max-length-bytes", [0, -1, "5"]), ("delivery-limit", [0, 5, -1, "5"]),
        ("dead-letter-exchange", ["", "x", 5]), ("dead-letter-routing-key", ["", "k", 5]), ("dead-letter-strategy", ["at-least-once", "never", 5]),
        ("overflow", ["drop-head", "reject-publish", "reject-publish-dlx", "never", 5]), ("queue-mode", ["lazy", "default", "never"]), ("queue-version", [1, 2, 3]), ("alternate-exchange", ["ae", 5]),
        ("queue-leader-locator", ["balanced", "never", 5]), ("max-priority", [5]), ("single-active-consumer", [True]), ("consumer-timeout", [0, 5, -1, "5"]), ("consumer-disconnected-timeout", [5, -1]),
        ("delayed-retry-type", ["all", "never", 5]), ("delayed-retry-min", [0, 5, -1, "5"]), ("delayed-retry-max", [0, 5, -1, "5"]), ("target-group-size", [0, 1, -1, "5"]), ("max-in-memory-length", [5, -1]),
        ("ha-mode", ["all"]), ("nosuch", [5]),
    ):  # fmt: skip
        for value in values:
            answer = s.ask_for_policy("p", {key: value}, "^nothing$", "all")
            s.note(f"{key} {value!r}", answer.json["reason"] if answer.status >= 400 else "ok")


def policies_of_operators(s: Scene):
    """What an operator's policy may say."""
    for key, value in (
        ("message-ttl", 5), ("expires", 5000), ("max-length", 5), ("max-length-bytes", 5), ("delivery-limit", 5), ("overflow", "reject-publish"), ("dead-letter-exchange", "x"), ("alternate-exchange", "x"),
        ("queue-version", 2), ("consumer-timeout", 60000), ("target-group-size", 1), ("max-in-memory-length", 5), ("delayed-retry-type", "all"), ("delayed-retry-min", 5),
    ):  # fmt: skip
        answer = s.ask_for_policy("o", {key: value}, "^nothing$", operator=True)
        s.note(f"{key}", answer.json["reason"] if answer.status >= 400 else "ok")


def policy_that_fits(s: Scene):
    """The one of the highest priority, alone; what it applies to; and a regular expression that is not anchored."""
    s.policy("low", {"max-length": 1}, "q", priority=1)
    s.policy("high", {"message-ttl": 60000}, "q", priority=5)
    s.ch.declare("my-q-of-mine")
    for body in "abc":
        s.ch.publish("my-q-of-mine", body)
    s.note("only the highest", s.ch.count("my-q-of-mine"))
    s.drop_policy("high")
    s.note("then the next", s.ch.await_count("my-q-of-mine", 1))
    s.policy("quorum-only", {"max-length": 0}, "q", "quorum_queues", 9)
    s.ch.rest(0.1)
    s.note("of another type", s.ch.count("my-q-of-mine"))
    s.policy("classic-only", {"max-length": 0}, "q", "classic_queues", 10)
    s.note("of this type", s.ch.await_count("my-q-of-mine", 0))
    s.policy("exchanges-only", {"alternate-exchange": "x"}, "q", "exchanges", 11)
    s.note("of exchanges", s.ch.publish("my-q-of-mine", "m") and s.ch.await_count("my-q-of-mine", 0))


def policy_changes_while_in_use(s: Scene):
    """Each change holds for what happens after it, whatever waits already."""
    s.ch.declare("q", x_dead_letter_exchange="")
    for queue in ("one", "two"):
        s.ch.declare(queue)
    for body in "abc":
        s.ch.publish("q", body)
    for queue in ("one", "two"):
        s.policy("p", {"dead-letter-routing-key": queue}, "^q$")
        s.ch.nack(s.ch.get("q", no_ack=False))
        s.note(f"dead letter key {queue}", s.ch.await_get(queue))
    s.policy("p", {"dead-letter-routing-key": "one", "message-ttl": 30}, "^q$")
    s.ch.publish("q", "d")
    s.ch.get("q")
    s.note("and with a TTL", s.ch.await_get("one"))


def policy_changes_of_quorum(s: Scene):
    """The same for a quorum queue."""
    s.ch.declare("q", x_queue_type="quorum", x_dead_letter_exchange="")
    for queue in ("one", "two"):
        s.ch.declare(queue)
    for body in "abc":
        s.ch.publish("q", body)
    for queue in ("one", "two"):
        s.policy("p", {"dead-letter-routing-key": queue}, "^q$")
        s.ch.rest(0.1)
        s.ch.nack(s.ch.await_get("q", no_ack=False))
        s.note(f"dead letter key {queue}", s.ch.await_get(queue))
    s.policy("p", {"dead-letter-routing-key": "one", "max-length": 0}, "^q$")
    s.note("and with a length", s.ch.await_get("one"))


def policy_of_another_name_replaces(s: Scene):
    """A policy of higher priority replaces all of the other, also what it does not say."""
    s.ch.declare("q")
    s.policy("a", {"max-length": 1, "overflow": "reject-publish"}, "^q$", priority=1)
    s.note("confirms", [s.ch.publish("q", body) for body in "ab"])
    s.policy("b", {"overflow": "drop-head"}, "^q$", priority=2)
    s.note("confirms then", [s.ch.publish("q", body) for body in "cd"])
    s.note("ready", s.ch.count("q"))


def policy_and_operator_policy(s: Scene):
    """Numbers: the smaller; what only one has."""
    s.policy("p", {"max-length": 5, "message-ttl": 60000, "dead-letter-exchange": "dlx"}, "q")
    s.policy("o", {"max-length": 3, "expires": 60000}, "q", operator=True)
    s.ch.declare("q")
    for number in range(7):
        s.ch.publish("q", f"{number}")
    s.note("count", s.ch.count("q"))
    s.policy("o", {"max-length": 9}, "q", operator=True)
    for number in range(7):
        s.ch.publish("q", f"{number}")
    s.note("when the operator's is larger", s.ch.count("q"))


def queue_limit_of_the_vhost(s: Scene):
    s.api.put(f"/vhost-limits/{segment(s.vhost)}/max-queues", {"value": 1}).expect(201, 204)
    s.attempt("first", lambda: s.ch.declare("q"))
    s.attempt("second", lambda: s.ch.declare("r"))
    s.attempt("the first again", lambda: s.ch.declare("q"))
    s.attempt("an exclusive one", lambda: s.ch.declare("e", exclusive=True))


def length_limit_shown_by_declare(s: Scene):
    """declare-ok tells how many are ready, not how many there are."""
    s.ch.declare("q")
    for body in "abc":
        s.ch.publish("q", body)
    s.ch.get("q", no_ack=False)
    s.note("declare", [s.ch.call("queue.declare", queue="q", durable=True).message_count, s.ch.count("q")])
    s.note("purge", s.ch.purge("q"))
    s.note("delete", s.ch.delete("q"))


def delete_if(s: Scene):
    s.ch.declare("q")
    s.ch.publish("q", "m")
    s.attempt("if empty", lambda: s.ch.delete("q", if_empty=True))
    s.ch.consume("q", prefetch=1)
    s.attempt("if unused", lambda: s.ch.delete("q", if_unused=True))
    s.attempt("of nothing", lambda: s.ch.delete("nosuch"))
    s.attempt("purge of nothing", lambda: s.ch.purge("nosuch"))
