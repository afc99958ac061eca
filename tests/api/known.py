"""The known differences from RabbitMQ's HTTP API: `differences.toml`, and the section of docs/compatibility.md that it renders to.

Each entry names where (`route`, and `path` in its document; `*` stands for anything), what (`kind`), and why (`reason`, which users read).
Kinds: those of `shape.Difference`; `absent`, the route is not there (404); `later`, statistics that may be missing but
have RabbitMQ's types where they are there; `status`, an answer of another status on purpose; `refused`, an AMQP method whose
feature is not built.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from shape import Difference, matches

API = Path(__file__).resolve().parent
TABLE = API / "differences.toml"
DOCUMENT = API.parents[1] / "docs" / "compatibility.md"
FIRST, LAST = "<!-- from tests/api/differences.toml -->", "<!-- end of tests/api/differences.toml -->"
KINDS = {"missing", "extra", "optional", "null", "type", "absent", "later", "status", "refused"}


@dataclass(frozen=True)
class Known:
    """One entry of the table."""

    route: str
    kind: str
    reason: str
    path: str = "*"
    rabbitmq: int = 0
    warren: int = 0

    def covers(self, route: str, difference: Difference) -> bool:
        if not (matches(self.route, route) and matches(self.path, difference.path)):
            return False
        return difference.kind == self.kind or (self.kind == "later" and difference.kind in ("missing", "optional"))


def read() -> list[Known]:
    """The table; it is refused when an entry has no reason or an unknown kind."""
    entries = [Known(**entry) for entry in tomllib.loads(TABLE.read_text()).get("difference", [])]
    for entry in entries:
        assert entry.kind in KINDS, f"{entry} has an unknown kind"
        assert entry.reason.strip(), f"{entry} has no reason"
        assert (entry.kind == "status") == bool(entry.rabbitmq and entry.warren), f"{entry}: statuses belong to the kind status, and to it only"
    return entries


def unknown(route: str, differences: Iterable[Difference], table: list[Known]) -> list[Difference]:
    """The differences that no entry covers."""
    return [difference for difference in differences if not any(entry.covers(route, difference) for entry in table)]


def render(table: list[Known]) -> str:
    """The section for users: a line for each reason, with what it is about."""
    reasons: dict[str, list[Known]] = {}
    for entry in table:
        reasons.setdefault(entry.reason, []).append(entry)
    lines = [f"- {reason} ({', '.join(dict.fromkeys(map(_where, entries)))})" for reason, entries in reasons.items()]
    return "\n".join([FIRST, *lines, LAST])


def _where(entry: Known) -> str:
    route = f"`{entry.route}`" if entry.route != "*" else "everywhere"
    if entry.kind == "status":
        return f"{route}: {entry.warren}, RabbitMQ {entry.rabbitmq}"
    return route if entry.path == "*" else f"{route}: `{entry.path}`"


def rendered_in(document: str) -> str:
    """The section as it stands in the document."""
    assert FIRST in document and LAST in document, f"{DOCUMENT.name} has no section of differences"
    return document[document.index(FIRST) : document.index(LAST) + len(LAST)]


def render_into_documentation() -> None:
    document = DOCUMENT.read_text()
    DOCUMENT.write_text(document.replace(rendered_in(document), render(read())))
