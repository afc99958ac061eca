"""What several areas look at in the same way."""

from collections.abc import Iterable

from scene import Channel, Delivery


def deaths(delivery: Delivery | None) -> list[str]:
    """The short form of x-death: queue, reason and count of each."""
    if delivery is None:
        return ["nothing came"]
    return [f"{each['queue'][2:]} {each['reason'][2:]} {each['count']}" for each in delivery.headers.get("x-death", [])]


def with_dead(ch: Channel, queue: str = "q", **how) -> None:
    """A queue whose dead letters go to the queue `dead`, which is bound to the fanout `dlx`."""
    ch.exchange("dlx", "fanout")
    ch.declare("dead")
    ch.bind("dead", "dlx")
    ch.declare(queue, x_dead_letter_exchange="dlx", **how)


def delivery_counts(delivery: Delivery | None) -> dict | str:
    """What says how often the message has come."""
    if delivery is None:
        return "nothing came"
    return {"redelivered": delivery.method.redelivered, **{key: value for key, value in delivery.headers.items() if key.endswith("-count")}}


def ready(ch: Channel, queues: Iterable[str]) -> dict[str, int]:
    """How many messages are ready in each of these queues."""
    return {queue: ch.count(queue)[0] for queue in queues}
