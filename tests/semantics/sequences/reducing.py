"""Makes a sequence that differs as small as it gets: first operations go, in halves and then singly, then what they say."""

from collections.abc import Callable
from typing import Any

from sequences.comparing import Difference
from sequences.making import Operation

Check = Callable[[list[Operation]], Difference | None]


def reduce(found: Difference, check: Check) -> Difference:
    """The smallest that still differs; `check` plays a sequence on both."""
    # What comes after the difference has no part in it, mostly.
    shorter = found.operations[: found.step + 1]
    if len(shorter) < len(found.operations) and (again := check(shorter)):
        found = again
    size = max(1, len(found.operations) // 2)
    while size:
        is_smaller = False
        at = 0
        while at < len(found.operations):
            candidate = found.operations[:at] + found.operations[at + size :]
            if candidate and (again := check(candidate)):
                found, is_smaller = again, True
            else:
                at += size
        if not is_smaller or size > 1:
            size = size // 2 if size > 1 or not is_smaller else size
    return _simplify(found, check)


def _simplify(found: Difference, check: Check) -> Difference:
    """Takes away arguments and properties one by one."""
    at = 0
    while at < len(found.operations):
        for simpler in _simpler(found.operations[at]):
            candidate = [*found.operations[:at], simpler, *found.operations[at + 1 :]]
            if again := check(candidate):
                found = again
        at += 1
    return found


def _simpler(operation: Operation) -> list[dict[str, Any]]:
    """The same operation with one thing less."""
    found = [{**operation, "arguments": _without(operation["arguments"], name)} for name in operation.get("arguments", {}) if name != "x-queue-type"]
    for name in ("delivery_mode", "priority", "expiration", "headers", "mandatory", "content_type", "multiple", "auto_delete", "exclusive"):
        if operation.get(name) and (name != "priority" or operation["do"] == "basic.publish"):
            found.append(_without(operation, name))
    if operation["on"] not in ("a1", "-"):
        found.append({**operation, "on": "a1"})
    return found


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}
