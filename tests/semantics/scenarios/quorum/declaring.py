"""How quorum queues are declared."""

from scene import Scene

QUORUM = {"x_queue_type": "quorum"}


def declare(s: Scene):
    s.attempt("durable", lambda: s.ch.declare("q", **QUORUM))
    s.attempt("again", lambda: s.ch.declare("q", **QUORUM))
    s.attempt("passive", lambda: s.ch.count("q"))
    s.attempt("not durable", lambda: s.ch.declare("a", durable=False, **QUORUM))
    s.attempt("exclusive", lambda: s.ch.declare("b", exclusive=True, **QUORUM))
    s.attempt("auto-delete", lambda: s.ch.declare("c", auto_delete=True, **QUORUM))
    s.attempt("named by the server", lambda: s.ch.declare("", **QUORUM))
    s.attempt("not durable and exclusive", lambda: s.ch.declare("d", durable=False, exclusive=True, **QUORUM))
    s.attempt("type in capitals", lambda: s.ch.declare("e", x_queue_type="Quorum"))
    s.attempt("arguments of the API", lambda: s.queue_arguments("q"))


def declare_auto_delete_goes_with_its_consumer(s: Scene):
    s.attempt("declare", lambda: s.ch.declare("q", auto_delete=True, **QUORUM))
    if s.exists("q"):
        s.ch.consume("q")
        s.ch.cancel()
        s.note("gone", s.await_gone("q"))


def redeclare_as_another_type(s: Scene):
    s.ch.declare("q", **QUORUM)
    s.attempt("without a type", lambda: s.ch.declare("q"))
    s.attempt("classic", lambda: s.ch.declare("q", x_queue_type="classic"))
    s.attempt("stream", lambda: s.ch.declare("q", x_queue_type="stream"))
    s.ch.declare("c")
    s.attempt("quorum where classic is", lambda: s.ch.declare("c", **QUORUM))
    s.attempt("auto-delete", lambda: s.ch.declare("q", auto_delete=True, **QUORUM))


def arguments(s: Scene):
    """What each argument may be."""
    cases = [
        ("x-delivery-limit", [0, 5, -1, -2, "5", True, 2.5]),
        ("x-quorum-initial-group-size", [1, 3, 0, -1, "3"]),
        ("x-quorum-target-group-size", [1, 3, 0, -1, "3"]),
        ("x-max-in-memory-length", [0, 5, -1, "5"]),
        ("x-max-in-memory-bytes", [0, 5, -1, "5"]),
        ("x-dead-letter-strategy", ["at-most-once", "at-least-once", "never", 5]),
        ("x-overflow", ["drop-head", "reject-publish", "reject-publish-dlx", "none", 5]),
        ("x-queue-leader-locator", ["client-local", "balanced", "random", 5]),
        ("x-consumer-timeout", [0, 1, 60000, -1, "5"]),
        ("x-consumer-disconnected-timeout", [0, 1, 60000, -1, "5"]),
        ("x-delayed-retry-type", ["disabled", "all", "failed", "returned", "never", 5]),
        ("x-delayed-retry-min", [0, 1, 1000, -1, "5"]),
        ("x-delayed-retry-max", [0, 1, 1000, -1, "5"]),
        ("x-single-active-consumer", [True, False, 1, "true"]),
        ("x-message-ttl", [0, 5, -1, "5", 10**12]),
        ("x-expires", [0, 50000, -1, "5", 10**12]),
        ("x-max-length", [0, 5, -1, "5"]),
        ("x-max-length-bytes", [0, 5, -1, "5"]),
    ]
    for argument, values in cases:
        for number, value in enumerate(values):
            s.attempt(f"{argument} {value!r}", lambda a=argument, v=value, q=f"{argument}-{number}": s.ch.declare(q, arguments={"x-queue-type": "quorum", a: v}))


def arguments_of_other_types(s: Scene):
    for argument, value in (
        ("x-max-priority", 5), ("x-queue-mode", "lazy"), ("x-queue-version", 2), ("x-max-age", "1D"), ("x-stream-max-segment-size-bytes", 1000000),
        ("x-stream-filter-size-bytes", 16), ("x-initial-cluster-size", 1), ("x-queue-master-locator", "min-masters"), ("x-foo", "bar"),
    ):  # fmt: skip
        s.attempt(f"{argument}", lambda a=argument, v=value: s.ch.declare(f"q{a}", arguments={"x-queue-type": "quorum", a: v}))


def several_arguments_differ(s: Scene):
    """Which of them is named."""
    values = {
        "x-message-ttl": (5000, 6000), "x-max-length": (5, 6), "x-overflow": ("drop-head", "reject-publish"), "x-dead-letter-exchange": ("a", "b"),
        "x-expires": (50000, 60000), "x-delivery-limit": (5, 6), "x-dead-letter-strategy": ("at-most-once", "at-least-once"), "x-consumer-timeout": (60000, 70000),
    }  # fmt: skip
    base = {"x-queue-type": "quorum", **{name: value[0] for name, value in values.items()}}
    s.ch.declare("q", arguments=base)
    different = list(values)
    while different:
        seen = s.attempt(f"{len(different)} differ", lambda: s.ch.declare("q", arguments={**base, **{name: values[name][1] for name in different}}))
        different.remove(next(name for name in different if f"'{name}'" in str(seen)))


def redeclare_with_other_arguments(s: Scene):
    """What must be the same."""
    base = {"x-queue-type": "quorum"}
    for argument, first, second in (
        ("x-delivery-limit", 5, 6), ("x-max-length", 5, 6), ("x-message-ttl", 5000, 6000), ("x-expires", 50000, 60000), ("x-overflow", "drop-head", "reject-publish"),
        ("x-dead-letter-exchange", "a", "b"), ("x-dead-letter-strategy", "at-most-once", "at-least-once"), ("x-quorum-initial-group-size", 1, 3),
        ("x-quorum-target-group-size", 1, 3), ("x-single-active-consumer", True, False), ("x-delayed-retry-type", "all", "failed"), ("x-delayed-retry-min", 5, 6),
        ("x-delayed-retry-max", 50, 60), ("x-consumer-timeout", 60000, 70000), ("x-consumer-disconnected-timeout", 60000, 70000), ("x-queue-leader-locator", "client-local", "balanced"),
        ("x-max-in-memory-length", 5, 6),
    ):  # fmt: skip
        queue = f"q {argument}"
        s.ch.declare(queue, arguments={**base, argument: first})
        s.attempt(argument, lambda q=queue, a=argument, v=second: s.ch.declare(q, arguments={**base, a: v}))
        s.attempt(f"{argument} left out", lambda q=queue: s.ch.declare(q, arguments=base))
