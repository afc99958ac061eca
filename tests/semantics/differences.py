"""Where Warren is meant to differ from RabbitMQ: `differences.toml`, and the section of docs/compatibility.md that it and
`sequences/decided.toml` render to.

An entry names a `scenario` (`AREA.NAME`) and the `step` of its transcript, what Warren gives instead (`warren`, as JSON), and why
(`reason`, which users read). Warren must give exactly that: an entry that is not true any more fails.
"""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sequences import decided

TABLE = Path(__file__).resolve().parent / "differences.toml"
DOCUMENT = TABLE.parents[2] / "docs" / "compatibility.md"
FIRST, LAST = "<!-- from tests/semantics/differences.toml -->", "<!-- end of tests/semantics/differences.toml -->"


@dataclass(frozen=True)
class Difference:
    """One entry of the table."""

    scenario: str
    step: str
    warren: str
    reason: str

    @property
    def seen(self) -> Any:
        return json.loads(self.warren)


def read() -> list[Difference]:
    """The table; it is refused when an entry has no reason or no valid JSON."""
    entries = [Difference(**entry) for entry in tomllib.loads(TABLE.read_text()).get("difference", [])]
    for entry in entries:
        assert entry.reason.strip(), f"{entry} has no reason"
        json.loads(entry.warren)
    return entries


def expected(scenario: str, golden: dict[str, Any], table: list[Difference]) -> dict[str, Any]:
    """RabbitMQ's transcript with the steps that are meant to differ replaced."""
    meant = {entry.step: entry.seen for entry in table if entry.scenario == scenario}
    assert meant.keys() <= golden.keys(), f"{scenario} has no steps {meant.keys() - golden.keys()}"
    for step, seen in meant.items():
        assert seen != golden[step], f"{scenario}, '{step}': RabbitMQ gives the same"
    return {**golden, **meant}


def render(table: list[Difference]) -> str:
    """The section for users: a line for each reason, with what it is about."""
    reasons: dict[str, list[str]] = {}
    for entry in table:
        reasons.setdefault(entry.reason, []).append(f"`{entry.scenario}`: {entry.step}")
    for decision in decided.read():
        reasons.setdefault(decision.reason, []).append(f"`sequences`: {decision.name.replace('_', ' ')}")
    lines = [f"- {reason} ({', '.join(places)})" for reason, places in reasons.items()]
    return "\n".join([FIRST, *(lines or ["- none"]), LAST])


def rendered_in(document: str) -> str:
    """The section as it stands in the document."""
    assert FIRST in document and LAST in document, f"{DOCUMENT.name} has no section of differences"
    return document[document.index(FIRST) : document.index(LAST) + len(LAST)]


def render_into_documentation() -> None:
    document = DOCUMENT.read_text()
    DOCUMENT.write_text(document.replace(rendered_in(document), render(read())))
