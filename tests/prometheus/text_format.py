"""The text format of Prometheus, read strictly: whatever is not written as it should be is an AssertionError."""

import re
from typing import NamedTuple

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_SAMPLE = re.compile(rf"({_NAME})(?:\{{(.*)\}})? (\S+)")
_LABEL = re.compile(rf'({_NAME})="((?:[^"\\]|\\.)*)"(?:,|$)')
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}


class Sample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


class Metric(NamedTuple):
    name: str
    type: str
    help: str
    samples: list[Sample]

    @property
    def label_names(self) -> list[list[str]]:
        """The lists of label names that its series have."""
        return sorted({tuple(sample.labels) for sample in self.samples})


def parse(text: str) -> dict[str, Metric]:
    """Metrics in their order, by name."""
    metrics: dict[str, Metric] = {}
    types: dict[str, str] = {}
    helps: dict[str, str] = {}
    series = set()
    assert not text or text.endswith("\n"), "the last line has no end"
    for line in text.splitlines():
        if not line:
            continue
        if line.startswith("#"):
            _, kind, name, rest = line.split(" ", 3)
            of = {"TYPE": types, "HELP": helps}[kind]
            assert name not in of, f"{kind} of {name} twice"
            of[name] = rest
            if name in types and name in helps:
                metrics[name] = Metric(name, types[name], helps[name], [])
            continue
        matched = _SAMPLE.fullmatch(line)
        assert matched, f"not a sample: {line!r}"
        name, labels, value = matched[1], dict(_labels(matched[2] or "")), float(matched[3])
        owner = _owner(name, types)
        assert owner in metrics, f"{name} has no TYPE and HELP before it"
        assert owner == next(reversed(metrics)), f"the series of {owner} are not together"
        key = (name, tuple(sorted(labels.items())))
        assert key not in series, f"twice: {line}"
        series.add(key)
        metrics[owner].samples.append(Sample(name, labels, value))
    return metrics


def _labels(text: str):
    at = 0
    while at < len(text):
        matched = _LABEL.match(text, at)
        assert matched, f"not labels: {text!r}"
        yield matched[1], re.sub(r"\\(.)", lambda escaped: {"n": "\n"}.get(escaped[1], escaped[1]), matched[2])
        at = matched.end()


def _owner(name: str, types: dict[str, str]) -> str:
    if name in types:
        return name
    for kind, suffixes in SUFFIXES.items():
        for suffix in suffixes:
            if suffix and name.endswith(suffix) and types.get(name.removesuffix(suffix)) == kind:
                return name.removesuffix(suffix)
    return name
