"""What RabbitMQ answered to sequences: `recorded.jsonl.gz`, a line for each, which `record.py` writes."""

import gzip
import io
import json
from pathlib import Path
from typing import NamedTuple

from sequences.making import Operation
from sequences.playing import Note

RECORDED = Path(__file__).resolve().parent / "recorded.jsonl.gz"
ONCE_DIFFERED = Path(__file__).resolve().parent / "once_differed.jsonl"
"""Sequences, made small, that Warren once answered otherwise than RabbitMQ: `{"about": …, "operations": […]}`."""


class Recorded(NamedTuple):
    """A sequence and what RabbitMQ's clients saw."""

    name: str
    operations: list[Operation]
    notes: list[Note]


def read() -> list[Recorded]:
    """All that is recorded."""
    if not RECORDED.exists():
        return []
    return [Recorded(**json.loads(line)) for line in gzip.decompress(RECORDED.read_bytes()).decode().splitlines()]


def write(recorded: list[Recorded]) -> None:
    """Replaces what is recorded; the same sequences make the same file."""
    text = "".join(json.dumps(each._asdict(), separators=(",", ":")) + "\n" for each in recorded)
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, compresslevel=9) as file:
        file.write(text.encode())
    RECORDED.write_bytes(packed.getvalue())


def once_differed() -> list[tuple[str, list[Operation]]]:
    """The sequences that were mended, with what they are about."""
    lines = ONCE_DIFFERED.read_text().splitlines() if ONCE_DIFFERED.exists() else []
    return [(each["about"], each["operations"]) for each in map(json.loads, filter(str.strip, lines))]
