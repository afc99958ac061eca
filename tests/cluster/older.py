#!/usr/bin/env python3
"""A data directory that was written before there were clusters, and what the program that wrote it said was in it.

    tests/cluster/older.py --broker-command '/tmp/old/warren serve --data-dir {data_dir} {set}'     makes `older.tar.xz` anew

The program in the archive's name is that of commit f4b0b2a4, the last one whose journals were all of the first layout. It was killed, so its journal
has a tail; it had the least bounds, so there are checkpoints and segments. What is in the directory was then asked of that program, over a copy.

    older.tar.xz   data/…   told.json
"""

import argparse
import json
import shutil
import sys
import tarfile
import zlib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "definitions")]

from blackbox.broker import Broker, Warren  # noqa: E402
from blackbox.wire import Wire  # noqa: E402
from documents import mixed, size  # noqa: E402
from nodes import SMALL  # noqa: E402

ARCHIVE = HERE / "older.tar.xz"
GROUP = 156
"""The fewest objects of which `mixed` makes some of each kind."""
QUEUES = {
    "classic": {},
    "quorum": {"x-queue-type": "quorum"},
    "priorities": {"x-max-priority": 5},
    "unique": {"x-message-deduplication": True},
}
COUNTS = {"x-delivery-count", "x-acquired-count"}
"""Headers that say how often a message was handed out."""
KEPT, TAKEN, ACKED = 60, 12, {2, 5, 11}
"""Of each queue: how many messages there are, how many of the first ones were delivered, and which of those were acked."""
LARGE_LEN = 150_000
CHURN = 90
"""So many large messages come and go: the journal is longer than its bound."""
DELAY_MS = 30 * 365 * 86_400_000
"""The messages that wait for an exchange are due in thirty years."""


def fill(broker: Broker) -> None:
    """Has it hold something of everything."""
    document = mixed(GROUP)
    broker.management.post("/definitions", document).expect(200, 201, 204)
    with broker.wire(channels=2) as wire:
        wire.call(1, "confirm.select")
        tag = declare(wire)
        for number in range(KEPT // 2):
            tag = publish_one(wire, number, tag)
        for number in range(CHURN):
            wire.publish(1, "", "churn", b"%d" % number + bytes(LARGE_LEN), delivery_mode=2)
            wire.expect_confirms(1, tag + 1, tag + 1)
            tag += 1
        for number in range(KEPT // 2, KEPT):
            tag = publish_one(wire, number, tag)
        for queue in QUEUES:
            for number in range(TAKEN):
                wire.send_method(1, "basic.get", queue=queue)
                message = wire.expect_message("basic.get-ok")
                if number in ACKED:
                    wire.send_method(1, "basic.ack", delivery_tag=message.method.delivery_tag)
        wire.call(1, "queue.purge", queue="churn")
        # What is confirmed later on a connection is durable later, too.
        wire.publish(1, "", "churn", b"last", delivery_mode=2)
        wire.expect_confirms(1, tag + 1, tag + 1)


def declare(wire: Wire) -> int:
    """Queues and the exchange that delays; how many publishes there were."""
    for queue, arguments in {**QUEUES, "churn": {}}.items():
        wire.call(1, "queue.declare", queue=queue, durable=True, arguments=arguments)
    wire.call(1, "exchange.declare", exchange="later", type="x-delayed-message", durable=True, arguments={"x-delayed-type": "fanout"})
    wire.call(1, "queue.bind", queue="classic", exchange="later")
    for number in range(3):
        wire.publish(1, "later", "", b"later %d" % number, delivery_mode=2, headers={"x-delay": DELAY_MS})
    wire.expect_confirms(1, 1, 3)
    return 3


def publish_one(wire: Wire, number: int, tag: int) -> int:
    """A message to each queue, every tenth a large one; how many publishes there were."""
    body = b"%d " % number + (bytes([number]) * LARGE_LEN if number % 10 == 7 else b"carrots")
    headers = {"x-deduplication-header": f"key-{number}", "n": {"list": [number, None, True]}}
    for queue in QUEUES:
        wire.publish(1, "", queue, body, delivery_mode=2, headers=headers, priority=number % 6, message_id=f"{queue}-{number}", timestamp=1_700_000_000 + number)
    wire.expect_confirms(1, tag + 1, tag + len(QUEUES))
    return tag + len(QUEUES)


def read(broker: Broker) -> dict[str, Any]:
    """What it has, as far as clients and operators can tell. All messages are handed out, none is acked."""
    ask = broker.management.get
    waiting = [ask(f"/delayed/%2F/later/messages/{each['id']}").expect(200).json for each in ask("/delayed/%2F/later/messages").expect(200).json["messages"]]
    return {
        "definitions": ask("/definitions").expect(200).json,
        "messages": {queue: messages(broker, queue) for queue in QUEUES},
        "delayed": [{key: each[key] for key in ("due", "payload", "properties")} for each in waiting],
    }


def messages(broker: Broker, queue: str) -> list[dict[str, Any]]:
    """In order; large bodies by what they add up to."""
    found = []
    with broker.wire() as wire:
        while True:
            wire.send_method(1, "basic.get", queue=queue)
            answer = wire.expect_one_of("basic.get-ok", "basic.get-empty")
            if answer.name == "basic.get-empty":
                return found
            header, body = wire.read(), bytearray()
            while len(body) < header.body_len:
                body += wire.read()
            headers = {key: value for key, value in header.properties["headers"].items() if key not in COUNTS}
            properties = {key: value for key, value in header.properties.items() if key != "headers"}
            found.append({"body": [len(body), zlib.crc32(body)], "redelivered": answer.redelivered, "headers": headers, **properties})


def unpack(directory: Path) -> dict[str, Any]:
    """Has the archive's data directory be `directory`/data; what was said of it."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(directory, filter="data")
    return json.loads((directory / "told.json").read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--broker-command", required=True, metavar="COMMAND", help="the older program; {data_dir} and {set} are filled in")
    arguments = parser.parse_args()
    writer, reader = (Warren(arguments.broker_command, SMALL, management=True) for _ in range(2))
    try:
        fill(writer.start())
        writer.kill()
        for each in writer.data_dir.rglob("*.sock"):
            each.unlink()
        shutil.copytree(writer.data_dir, reader.data_dir)
        told = read(reader.start())
        assert size(told["definitions"]) > GROUP, "the definitions are there"
        (writer.directory / "told.json").write_text(json.dumps(told, indent=1, sort_keys=True))
        with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
            for name in ("data", "told.json"):
                archive.add(writer.directory / name, name, filter=_anonymous)
    finally:
        writer.remove()
        reader.remove()
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size} bytes")
    return 0


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    sys.exit(main())
