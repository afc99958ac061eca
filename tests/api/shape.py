"""The shape of a JSON document: which paths there are, of which types, and which are not always there.

    [].name             string
    [].policy?          string          in some elements only
    [].arguments        map             an object whose keys are somebody's names: not looked into
    [].channel_details  array|object    RabbitMQ prints an empty object as []

An array is the union of its elements, an object of all objects at its path. `integer` is a `number` without a fraction.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

# Objects whose keys are not the API's but its users' (or its machine's).
FREE_FORM = [
    "*arguments", "*definition", "*client_properties", "*headers", "*cluster_state", "*value", "*socket_opts", "*limits", "*cluster_tags", "*node_tags", "*effective_policy_definition",
    "/config/effective:*", "/nodes*:*garbage_collection", "/nodes/:node/memory*:memory", "/nodes/:node/memory/relative*:memory",
]  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """Where a document's shape is not the golden one."""

    path: str
    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.path} ({self.detail})"


class Shape:
    """Paths, their types, and whether they are always there."""

    def __init__(self) -> None:
        self.types: dict[str, set[str]] = {}
        self.optional: set[str] = set()

    @classmethod
    def of(cls, document: Any, route: str = "") -> "Shape":
        walk = _Walk(route)
        walk.visit("", document)
        shape = cls()
        shape.types = walk.types
        shape.optional = {path for path, count in walk.present.items() if count < walk.objects[walk.parent[path]]}
        return shape

    @classmethod
    def parse(cls, text: str) -> "Shape":
        shape = cls()
        for line in text.splitlines():
            path, types = line.rsplit(None, 1)
            path = path.strip()
            if path.endswith("?"):
                path = path[:-1]
                shape.optional.add(path)
            shape.types["" if path == "." else path] = set(types.split("|"))
        return shape

    def render(self) -> str:
        """One line a path, sorted; reads back with `parse`."""
        rows = [((path or ".") + ("?" if path in self.optional else ""), "|".join(sorted(types))) for path, types in sorted(self.types.items())]
        width = max(len(path) for path, _ in rows)
        return "".join(f"{path.ljust(width)}  {types}\n" for path, types in rows)

    def differences(self, golden: "Shape") -> list[Difference]:
        """Where this shape is not the golden one: `missing`, `extra`, `optional` (golden has it always), `null` and `type`."""
        found = []
        for path, types in golden.types.items():
            if path not in self.types:
                if not any(_is_below(path, other) and other not in self.types for other in golden.types):
                    found.append(Difference(path, "missing", "|".join(sorted(types))))
                continue
            if path in self.optional - golden.optional:
                found.append(Difference(path, "optional", "is not always there"))
            unknown = self.types[path] - types - ({"integer"} if "number" in types else set())
            if "null" in unknown:
                found.append(Difference(path, "null", f"null, not {'|'.join(sorted(types))}"))
            if unknown - {"null"}:
                found.append(Difference(path, "type", f"{'|'.join(sorted(self.types[path]))}, not {'|'.join(sorted(types))}"))
        for path, types in self.types.items():
            if path not in golden.types and not any(_is_below(path, other) and other not in golden.types for other in self.types):
                found.append(Difference(path, "extra", "|".join(sorted(types))))
        return sorted(found, key=lambda difference: (difference.path, difference.kind))


class _Walk:
    def __init__(self, route: str):
        self.route = route
        self.types: dict[str, set[str]] = {}
        self.objects: dict[str, int] = {}
        self.present: dict[str, int] = {}
        self.parent: dict[str, str] = {}

    def visit(self, path: str, value: Any) -> None:
        kind = _kind(value)
        if kind == "object" and any(matches(pattern, f"{self.route}:{path}") for pattern in FREE_FORM):
            kind = "map"
        self.types.setdefault(path, set()).add(kind)
        if kind == "object":
            self.objects[path] = self.objects.get(path, 0) + 1
            for key, child in value.items():
                below = f"{path}.{key}" if path else key
                self.present[below] = self.present.get(below, 0) + 1
                self.parent[below] = path
                self.visit(below, child)
        elif kind == "array":
            for child in value:
                self.visit(f"{path}[]", child)


def _kind(value: Any) -> str:
    for kind, types in (("null", type(None)), ("boolean", bool), ("integer", int), ("number", float), ("string", str), ("array", list)):
        if isinstance(value, types):
            return kind
    return "object"


def _is_below(path: str, other: str) -> bool:
    return path != other and (other == "" or path.startswith((f"{other}.", f"{other}[]")))


@cache
def _compiled(pattern: str) -> re.Pattern:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")))


def matches(pattern: str, name: str) -> bool:
    """Whether a name is like a pattern in which `*` stands for anything."""
    return _compiled(pattern).fullmatch(name) is not None
