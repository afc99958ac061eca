"""Transactions that are longer than the journal may be."""

MIB = 2**20
#: A journal and memory of a broker that one of them is longer than.
BOUNDS = {"warren.journal.bound": "16MiB", "warren.journal.file_size": "2MiB", "warren.chunks.bound": "8MiB"}
COUNT = 40


def commit_long(broker, queues=("q",)) -> None:
    """`COUNT` messages of a MiB to the queues in turn, in one transaction."""
    with broker.wire(timeout=60) as wire:
        wire.call(1, "tx.select")
        for number in range(COUNT):
            wire.publish(1, "", queues[number % len(queues)], bytes([number]) * MIB, delivery_mode=2)
        wire.call(1, "tx.commit")
