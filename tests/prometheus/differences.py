"""Where Warren's metrics differ from those that were recorded from RabbitMQ, and why: differences.toml, and the table in docs/prometheus.md."""

import fnmatch
import tomllib
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
DOCUMENTATION = HERE.parents[1] / "docs" / "prometheus.md"
BEGIN, END = "<!-- differences: made by tests/prometheus/record.py --render -->", "<!-- end of differences -->"
KINDS = {"absent": "absent", "sum absent": "absent from `/metrics`", "additional": "additional", "labels": "other labels", "values": "other values", "counts": "counted otherwise"}


class Difference(NamedTuple):
    kind: str
    metrics: tuple[str, ...]
    reason: str

    def is_about(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.metrics)


def known() -> list[Difference]:
    entries = tomllib.loads((HERE / "differences.toml").read_text())["difference"]
    found = [Difference(entry["kind"], tuple(entry["metrics"]), entry["reason"]) for entry in entries]
    assert all(each.kind in KINDS for each in found)
    return found


def rendered() -> str:
    rows = "".join(f"| {', '.join(f'`{name}`' for name in each.metrics)} | {KINDS[each.kind]} | {each.reason} |\n" for each in known())
    return f"{BEGIN}\n\n| metrics | difference | why |\n|---|---|---|\n{rows}\n{END}"


def render_into_documentation() -> None:
    text = DOCUMENTATION.read_text()
    before, rest = text.split(BEGIN)
    DOCUMENTATION.write_text(before + rendered() + rest.split(END)[1])
