#!/usr/bin/env python3
"""No confirm of a persistent message leaves on a socket before the disk has it: seen from outside, by strace.

    tests/crash/fsync_order.py

Every published body holds a mark. In the trace of the broker's system calls each mark must be written to a file, that file must be synced
by a call that begins after the write has returned, and only when that sync has returned may a basic.ack that covers the message be sent.
As a control the same is done with `warren.confirm_after = write`, where the check must find confirms that are too early: else it sees nothing.

Skipped, and said so, where strace is missing or may not attach.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from blackbox import broker as brokers  # noqa: E402
from blackbox import codec  # noqa: E402

CALLS = "write,writev,pwrite64,pwritev,pwritev2,fsync,fdatasync,sendto,sendmsg,sendmmsg"
MARK = b"warren-mark-%06d"
ONE_BY_ONE, PIPELINED = 30, 500
_MARK = re.compile(rb"warren-mark-(\d{6})")
# A method frame with basic.ack: any channel, 13 bytes, class 60, method 80, delivery tag, multiple.
_ACK = re.compile(rb"\x01..\x00\x00\x00\x0d\x00\x3c\x00\x50(........)([\x00\x01])\xce", re.DOTALL)
_LINE = re.compile(r"^(\d+) +(?:<\.\.\. (\w+) resumed>|(\w+)\()(.*)$")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


@dataclass
class Trace:
    """What the system calls say, by line number."""

    written: dict[int, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))
    syncs: list[tuple[str, int, int]] = field(default_factory=list)
    acks: list[tuple[int, int, bool]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> "Trace":
        trace, begun = cls(), {}
        with open(path) as file:
            for at, line in enumerate(file):
                parts = _LINE.match(line)
                if parts is None:
                    continue
                thread, resumed, call, rest = parts.groups()
                if rest.endswith("<unfinished ...>"):
                    begun[thread] = (at, rest)
                    trace.begin(call, at, rest)
                    continue
                began, arguments = begun.pop(thread, (at, "")) if resumed else (at, rest)
                if not resumed:
                    trace.begin(call, at, rest)
                trace.end(resumed or call, began, at, arguments + (rest if resumed else ""))
        return trace

    def begin(self, call: str, at: int, text: str) -> None:
        """A send counts from the moment it begins."""
        if call.startswith("send") or (call.startswith("write") and "socket:" in target_of(text)):
            for ack in _ACK.finditer(octets(text)):
                self.acks.append((at, int.from_bytes(ack[1]), ack[2] == b"\x01"))

    def end(self, call: str, began: int, at: int, text: str) -> None:
        """A write and a sync count when they have returned."""
        target = target_of(text)
        if not target.startswith("/") or text.rsplit("= ", 1)[-1].startswith("-1"):
            return
        if call in ("fsync", "fdatasync"):
            self.syncs.append((target, began, at))
        elif "write" in call:
            for mark in _MARK.finditer(octets(text)):
                self.written[int(mark[1])].append((target, at))
            if "RWF_DSYNC" in text or "RWF_SYNC" in text:
                self.syncs.append((target, at + 1, at + 1))

    def check(self, count: int) -> list[str]:
        """Confirms that left too early. Message number n has delivery tag n."""
        unseen = [number for number in range(1, count + 1) if not self.written[number]]
        assert not unseen, f"the trace shows no write of messages {unseen[:5]}…: the check sees nothing"
        early, confirmed = [], set()
        for sent_at, tag, is_multiple in self.acks:
            for number in range(1, tag + 1) if is_multiple else [tag]:
                if number in confirmed:
                    continue
                confirmed.add(number)
                if not self.is_durable(number, sent_at):
                    early.append(f"message {number} was confirmed on line {sent_at + 1} of the trace, before it was synced")
        missing = set(range(1, count + 1)) - confirmed
        assert not missing, f"the trace shows no confirm of messages {sorted(missing)[:5]}…"
        return early

    def is_durable(self, number: int, at: int) -> bool:
        return any(path == target and written < began and ended < at for path, written in self.written[number] for target, began, ended in self.syncs)


def target_of(text: str) -> str:
    """The path or socket behind the file descriptor that is the first argument; strace prints it as it prints strings."""
    target = text.split("<", 1)[-1].split(">", 1)[0]
    return bytes.fromhex(target.replace("\\x", "")).decode(errors="replace") if target.startswith("\\x") else target


def octets(text: str) -> bytes:
    """All strings of a line of the trace, as bytes."""
    return b"".join(bytes.fromhex(part.replace("\\x", "")) for part in _STRING.findall(text))


class CannotTrace(RuntimeError):
    """strace may not attach here."""


def traced_run(broker, queue_arguments: dict, trace: Path) -> int:
    """Publishes under strace; how many messages."""
    with broker.wire(timeout=60) as wire:
        wire.call(1, "queue.declare", queue="fsync-order", durable=True, arguments=queue_arguments)
        wire.call(1, "confirm.select")
        strace = subprocess.Popen(
            ["strace", "-f", "-y", "-xx", "-s", "65536", "-e", f"trace={CALLS}", "-o", str(trace), "-p", str(broker.pid)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            for line in strace.stderr:
                if "attached" in line:
                    break
            else:
                raise CannotTrace(f"strace cannot attach to process {broker.pid}")
            for number in range(1, ONE_BY_ONE + 1):
                wire.publish(1, "", "fsync-order", MARK % number + b"." * number, delivery_mode=2)
                wire.expect_confirms(1, number, number)
            last = ONE_BY_ONE + PIPELINED
            wire.send(b"".join(codec.publish(1, "", "fsync-order", MARK % number, delivery_mode=2) for number in range(ONE_BY_ONE + 1, last + 1)))
            wire.expect_confirms(1, ONE_BY_ONE + 1, last)
        finally:
            strace.terminate()
            strace.stderr.read()
            strace.wait()
    return last


def early_confirms(arguments, settings: dict[str, str]) -> list[str]:
    """The confirms that left too early, of one broker with these settings."""
    broker = brokers.from_options(arguments, settings)
    queue_arguments = dict(pair.split("=", 1) for pair in arguments.queue_argument)
    with tempfile.TemporaryDirectory(prefix="warren-trace-") as directory:
        try:
            broker.start()
            trace = Path(directory) / "trace"
            count = traced_run(broker, queue_arguments, trace)
            return Trace.read(trace).check(count)
        finally:
            broker.remove()


def main() -> int:
    parser = brokers.runner(__doc__)
    parser.add_argument("--queue-argument", action="append", default=[], metavar="NAME=VALUE", help="e.g. x-queue-type=quorum, for a real RabbitMQ")
    arguments = parser.parse_args()
    brokers.refuse_url(parser, arguments, "the broker must be started here")
    if not shutil.which("strace"):
        print("SKIPPED fsync order: strace not found")
        return 0
    try:
        early = early_confirms(arguments, {})
        print(f"{'not ok' if early else 'ok'} no confirm leaves before its message is synced", flush=True)
        for each in early[:10]:
            print(f"    {each}")
        control = True
        if not arguments.peer:
            control = bool(early_confirms(arguments, {"warren.confirm_after": "write"}))
            print(f"{'ok' if control else 'not ok'} with warren.confirm_after = write the check finds confirms before the sync", flush=True)
    except CannotTrace as why:
        print(f"SKIPPED fsync order: {why}")
        return 0
    return 1 if early or not control else 0


if __name__ == "__main__":
    sys.exit(main())
