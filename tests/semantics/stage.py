"""Finds the scenarios, runs them at the same time, and keeps the golden transcripts.

A scenario is a function of an area's module in `scenarios` (or of a module of the area's package) whose name does not begin with an
underscore, and which takes a `Scene`. Its name is `AREA.FUNCTION`, and its docstring, if it has one, says what it is about.
"""

import importlib
import inspect
import itertools
import json
import os
import pkgutil
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from blackbox import broker as brokers
from scene import Scene, as_json

SEMANTICS = Path(__file__).resolve().parent
GOLDEN = SEMANTICS / "golden"
AREAS = ["ttl", "dead_letters", "limits", "priorities", "consumers", "quorum", "arguments", "exchanges", "sharding"]
PLUGINS = (
    "rabbitmq_consistent_hash_exchange", "rabbitmq_random_exchange", "rabbitmq_recent_history_exchange", "rabbitmq_sharding",
    "rabbitmq_jms_topic_exchange", "rabbitmq_event_exchange",
)  # fmt: skip
"""What RabbitMQ needs for the exchanges that are compared."""
AT_ONCE_MAX = 16
_serial = itertools.count(1)


class Outcome(NamedTuple):
    """What a scenario saw, the trace of its failure if it did not come to its end, and how long it took."""

    transcript: dict[str, Any]
    failure: str | None
    seconds: float


def scenarios(areas: Iterable[str] = AREAS) -> dict[str, Callable[[Scene], None]]:
    """All scenarios by name."""
    found = {}
    for area in areas:
        for module in _modules(area):
            for name, each in vars(module).items():
                if inspect.isfunction(each) and each.__module__ == module.__name__ and not name.startswith("_"):
                    assert f"{area}.{name}" not in found, f"there are two scenarios {area}.{name}"
                    found[f"{area}.{name}"] = each
    return found


def _modules(area: str) -> list[ModuleType]:
    """The module of an area, or all of its package."""
    whole = importlib.import_module(f"scenarios.{area}")
    parts = sorted(part.name for part in pkgutil.iter_modules(getattr(whole, "__path__", [])))
    return [importlib.import_module(f"scenarios.{area}.{part}") for part in parts] if parts else [whole]


def run(broker: brokers.Broker, names: Iterable[str]) -> dict[str, Outcome]:
    """Runs these scenarios, several at once."""
    known = scenarios()
    node = broker.management.get("/overview").expect(200).json["node"]
    with ThreadPoolExecutor(AT_ONCE_MAX) as pool:
        runs = {name: pool.submit(_run_one, broker, node, known[name]) for name in names}
        return {name: each.result() for name, each in runs.items()}


def _run_one(broker: brokers.Broker, node: str, scenario: Callable[[Scene], None]) -> Outcome:
    scene = Scene(broker, f"semantics-{os.getpid() % 10**6:06}-{next(_serial):04}", node)
    started, failure = time.monotonic(), None
    try:
        with scene:
            scenario(scene)
    except Exception:
        failure = traceback.format_exc(limit=-6)
    return Outcome(scene.transcript, failure, time.monotonic() - started)


def golden(area: str) -> dict[str, dict[str, Any]]:
    """The transcripts of an area, as RabbitMQ gave them."""
    path = GOLDEN / f"{area}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write_golden(area: str, transcripts: dict[str, dict[str, Any]]) -> None:
    """Replaces the transcripts of an area."""
    GOLDEN.mkdir(exist_ok=True)
    (GOLDEN / f"{area}.json").write_text("{\n" + ",\n".join(f" {json.dumps(name)}: {as_json(each)}" for name, each in transcripts.items()) + "\n}\n")
