"""Exchanges with the policy shards-per-node: queues that nobody declares, and the exchange's name as that of a queue."""

from scene import WAIT_S, Channel, Scene


def _sharded(s: Scene, shards: int = 2, **definition) -> list[str]:
    """An exchange `x` with shards; the names of its queues."""
    s.note("policy", s.policy("shards", {"shards-per-node": shards, **definition}, "^x", apply_to="exchanges"))
    s.ch.exchange("x", "x-modulus-hash")
    return _shards(s, shards)


def _shards(s: Scene, count: int) -> list[str]:
    """The queues of the vhost, when there are as many as hoped for."""
    s.eventually(lambda: len(_names(s)) == count, within=WAIT_S)
    return _names(s)


def _names(s: Scene) -> list[str]:
    return sorted(queue["name"] for queue in s.api.get(s.path("queues") + "?columns=name").json)


def _bindings(s: Scene, exchange: str = "x") -> list:
    return sorted([each["destination"], each["routing_key"]] for each in s.api.get(s.path("exchanges", exchange, "bindings", "source")).json)


def names_of_queues(s: Scene):
    """Made with the exchange, durable as it is, and bound with the policy's key."""
    s.note("names", _sharded(s))
    s.note("bindings", _bindings(s))
    found = s.api.get(s.path("queues")).json
    s.note("queues", [{key: queue.get(key) for key in ("durable", "auto_delete", "exclusive", "arguments", "type")} for queue in sorted(found, key=lambda each: each["name"])])


def routing_key_of_the_policy(s: Scene):
    _sharded(s, **{"routing-key": "1234"})
    s.note("bindings", _bindings(s))


def policy_comes_later(s: Scene):
    """An exchange that is there gets its shards."""
    s.ch.exchange("x", "x-modulus-hash")
    s.note("before", _names(s))
    s.policy("shards", {"shards-per-node": 2}, "^x$", apply_to="exchanges")
    s.note("names", _shards(s, 2))


def messages_are_spread(s: Scene):
    """Each message in one shard; the same key in the same one."""
    queues = _sharded(s, 3)
    for number in range(300):
        s.ch.publish_only(f"key-{number}", "", "x")
    s.note("confirmed", s.ch.confirms().count("ack"))
    counts = [s.ch.count(queue)[0] for queue in queues]
    s.note("all arrive once", sum(counts))
    s.note("all get some", all(count > 40 for count in counts))
    for queue in queues:
        s.ch.purge(queue)
    for _ in range(20):
        s.ch.publish("same", "", "x")
    s.note("the same key", sorted(s.ch.count(queue)[0] for queue in queues))


def consuming_by_the_exchange_name(s: Scene):
    """Each consumer of the name has the shard with the fewest consumers: as many consumers as shards have everything."""
    queues = _sharded(s)
    for number in range(20):
        s.ch.publish(f"key-{number}", f"{number}", "x")
    one, two = s.channel(), s.channel()
    s.attempt("first", lambda: one.consume("x", "one", no_ack=True), one)
    s.attempt("second", lambda: two.consume("x", "two", no_ack=True), two)
    got = []
    s.eventually(lambda: len(got) >= 20 or got.extend(one.rest(0.05) + two.rest(0.05)))
    s.note("all arrive", sorted(map(int, got)) == list(range(20)))
    s.note("consumers", [s.ch.count(queue)[1] for queue in queues])
    s.attempt("third", lambda: s.ch.consume("x", "three", no_ack=True))
    s.note("consumers then", sorted(s.ch.count(queue)[1] for queue in queues))
    s.attempt("cancel", lambda: one.cancel("one"), one)
    s.eventually(lambda: sum(s.ch.count(queue)[1] for queue in queues) == 2)
    s.note("consumers after the cancel", sum(s.ch.count(queue)[1] for queue in queues))


def getting_by_the_exchange_name(s: Scene):
    queues = _sharded(s, 1)
    s.ch.publish("k", "m", "x")
    s.attempt("get", lambda: s.ch.get("x"))
    s.note("left", s.ch.count(queues[0]))


def declaring_by_the_exchange_name(s: Scene):
    _sharded(s)
    s.attempt("declare", lambda: s.ch.declare("x"))
    s.attempt("passive", lambda: s.ch.count("x"))
    s.attempt("declare with other properties", lambda: s.ch.declare("x", auto_delete=True))
    s.note("queues", _names(s))


def deleting_binding_and_purging(s: Scene):
    """What is refused for the exchange's name."""
    queues = _sharded(s)
    s.attempt("delete", lambda: s.ch.delete("x"))
    s.attempt("bind", lambda: s.ch.bind("x", "amq.fanout"))
    s.attempt("unbind", lambda: s.ch.unbind("x", "amq.fanout"))
    s.attempt("purge", lambda: s.ch.purge("x"))
    s.attempt("purge of a shard", lambda: s.ch.purge(queues[0]))
    s.attempt("bind of a shard", lambda: s.ch.bind(queues[0], "amq.fanout", "k"))
    s.attempt("unbind of a shard", lambda: s.ch.unbind(queues[0], "amq.fanout", "k"))
    s.attempt("delete of a shard", lambda: s.ch.delete(queues[0]))
    s.note("queues", _names(s))


def without_shards(s: Scene):
    """Zero shards, and names that are no exchange's."""
    s.policy("shards", {"shards-per-node": 0}, "^x", apply_to="exchanges")
    s.ch.exchange("x", "x-modulus-hash")
    s.note("queues", _shards(s, 0))
    s.attempt("consume", lambda: s.ch.consume("x"))
    s.attempt("get", lambda: s.ch.get("x"))
    s.attempt("declare", lambda: s.ch.declare("x"))
    s.attempt("purge", lambda: s.ch.purge("x"))


def raised(s: Scene):
    _sharded(s, 1)
    s.policy("shards", {"shards-per-node": 3}, "^x", apply_to="exchanges")
    s.note("names", _shards(s, 3))
    s.note("bindings", _bindings(s))


def lowered(s: Scene):
    """Nothing happens: shards too many stay bound."""
    _sharded(s, 3)
    s.eventually(lambda: len(_bindings(s)) == 3)
    s.policy("shards", {"shards-per-node": 1}, "^x", apply_to="exchanges")
    s.eventually(lambda: len(_bindings(s)) == 1, within=1)
    s.note("names", _names(s))
    s.note("bindings", _bindings(s))


def policy_is_removed(s: Scene):
    queues = _sharded(s, 2)
    s.eventually(lambda: len(_bindings(s)) == 2)
    s.drop_policy("shards")
    s.eventually(lambda: not _bindings(s))
    s.note("names", _names(s))
    s.note("bindings", _bindings(s))
    s.note("publish", s.ch.publish("k", "m", "x", mandatory=True))
    s.attempt("consume", lambda: s.ch.consume("x"))
    s.attempt("delete by the name", lambda: s.ch.delete("x"))
    s.attempt("consume of a shard", lambda: s.ch.consume(queues[0], "d"))


def exchange_is_deleted(s: Scene):
    _sharded(s, 2)
    s.ch.call("exchange.delete", exchange="x")
    s.ch.rest()
    s.note("names", _names(s))
    s.attempt("consume", lambda: s.ch.consume("x"))


def routing_key_changes(s: Scene):
    _sharded(s, 1, **{"routing-key": "a"})
    s.policy("shards", {"shards-per-node": 1, "routing-key": "b"}, "^x", apply_to="exchanges")
    s.eventually(lambda: [each[1] for each in _bindings(s)] == ["b"])
    s.note("bindings", _bindings(s))


def other_types(s: Scene):
    """Any type of exchange can be sharded."""
    s.policy("shards", {"shards-per-node": 2, "routing-key": "1"}, "^x", apply_to="exchanges")
    for kind in ("fanout", "direct", "topic", "headers", "x-random"):
        s.attempt(kind, lambda k=kind: s.ch.exchange(f"x-{k}", k))
    _shards(s, 10)
    s.note("names", _names(s))


def not_durable(s: Scene):
    s.policy("shards", {"shards-per-node": 1}, "^x", apply_to="exchanges")
    s.attempt("declare", lambda: s.ch.exchange("x", "x-modulus-hash", durable=False))
    s.eventually(lambda: _names(s))
    s.note("queues", [[queue["name"], queue["durable"]] for queue in s.api.get(s.path("queues")).json])
    s.note("exchange is there", s.api.get(s.path("exchanges", "x")).status)


def definitions(s: Scene):
    """What the policy's keys may be."""
    for what, definition in (
        ("a string", {"shards-per-node": "2"}), ("negative", {"shards-per-node": -1}), ("no number", {"routing-key": "k"}), ("key is a number", {"shards-per-node": 1, "routing-key": 5}),
        ("fraction", {"shards-per-node": 1.5}), ("both", {"shards-per-node": 1, "routing-key": "k"}),
    ):  # fmt: skip
        answer = s.ask_for_policy("p", definition, "^nothing$", apply_to="exchanges")
        s.note(what, answer.json["reason"] if answer.status >= 400 else answer.status)


def queue_and_exchange_of_one_name(s: Scene):
    """A queue that has the exchange's name already."""
    s.ch.declare("x")
    s.ch.publish("x", "in the queue")
    s.policy("shards", {"shards-per-node": 1}, "^x", apply_to="exchanges")
    s.ch.exchange("x", "x-modulus-hash")
    s.note("queues", _shards(s, 2))
    s.attempt("get", lambda: str(s.ch.get("x") and "a message"))
    s.attempt("count", lambda: s.ch.count("x"))
    s.attempt("purge", lambda: s.ch.purge("x"))


def permissions(s: Scene):
    """Which permission consuming by the exchange's name needs."""
    _sharded(s, 1)
    for name, read in (("exchange", "^x$"), ("shard", "^sharding"), ("nothing", "^$")):
        channel: Channel = s.channel(**s.user(name, read=read))
        s.attempt(f"read {read}", lambda ch=channel: ch.consume("x", "c"), channel)
