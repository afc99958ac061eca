"""Answers have RabbitMQ's shapes: every path that RabbitMQ prints is there, no other, and of the same type; null only where RabbitMQ has null.

`golden/shapes` is what `record.py` found, `differences.toml` what is known to differ.
"""

import known
import pytest
import survey
from blackbox import broker as brokers
from settling import until_settled
from shape import Shape
from state import State

GOLDEN = survey.golden()
TABLE = known.read()


@pytest.fixture(scope="module")
def surveyed(fresh_broker):
    """What the broker answers; from a RabbitMQ, once its statistics have come."""
    if isinstance(fresh_broker, brokers.Running):
        pytest.skip("a broker with things of its own does not have the golden shapes")
    with State(fresh_broker) as state:
        yield until_settled(fresh_broker, lambda: survey.survey(state), lambda found: all(not differences(name, found[name]) for name in GOLDEN))


def differences(name: str, found: Shape | str) -> list[str]:
    """What nobody has given a reason for."""
    if isinstance(found, str):
        is_known = any(entry.kind == "absent" and known.matches(entry.route, name) for entry in TABLE)
        return [] if is_known and "→ 404" in found else [found]
    return [str(difference) for difference in known.unknown(name, found.differences(GOLDEN[name]), TABLE)]


@pytest.mark.parametrize("name", GOLDEN)
def test_answer_has_rabbitmqs_shape(surveyed, name):
    found = differences(name, surveyed[name])
    assert not found, "; ".join(found)


def test_every_route_asked_has_a_golden_shape():
    assert {survey.golden_name(path) for path in (*survey.PLAIN, *survey.POSTED)} == set(GOLDEN)


def test_every_known_difference_is_still_there(surveyed, fresh_broker):
    if not fresh_broker.is_warren:
        pytest.skip("the table is about Warren")
    for entry in TABLE:
        if entry.kind in ("later", "status", "refused"):
            continue
        names = [name for name in GOLDEN if known.matches(entry.route, name)]
        if entry.kind == "absent":
            assert any(isinstance(surveyed[name], str) for name in names), f"{entry} is there now: take it out of differences.toml"
        else:
            shapes = [(name, surveyed[name]) for name in names if not isinstance(surveyed[name], str)]
            assert any(entry.covers(name, each) for name, shape in shapes for each in shape.differences(GOLDEN[name])), f"{entry} is gone: take it out of differences.toml"


def test_documentation_lists_the_known_differences():
    assert known.rendered_in(known.DOCUMENT.read_text()) == known.render(TABLE), "run tests/api/record.py --render"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"a": 1, "b": None}, {"a: integer", "b: null"}),
        ([{"a": 1}, {"a": 1.5, "b": True}], {": array", "[]: object", "[].a: integer|number", "[].b?: boolean"}),
        ({"arguments": {"x-any": 1}, "deep": {"arguments": {}}}, {"arguments: map", "deep: object", "deep.arguments: map"}),
        ({"list": []}, {"list: array"}),
    ],
)
def test_shape_of_a_document(document, expected):
    shape = Shape.of(document)
    lines = {f"{path}{'?' if path in shape.optional else ''}: {'|'.join(sorted(types))}" for path, types in shape.types.items()}
    assert lines - {": object"} == expected
    again = Shape.parse(shape.render())
    assert (again.types, again.optional) == (shape.types, shape.optional)


@pytest.mark.parametrize(
    ("golden", "found", "expected"),
    [
        ({"a": 1}, {"a": 2}, []),
        ({"a": 1, "b": {"c": 1}}, {"a": 1}, ["missing: b (object)"]),
        ({"a": 1}, {"a": 1, "b": {"c": 1}}, ["extra: b (object)"]),
        ({"a": 1}, {"a": "1"}, ["type: a (string, not integer)"]),
        ({"a": 1}, {"a": None}, ["null: a (null, not integer)"]),
        ({"a": 1.5}, {"a": 1}, []),
        ([{"a": 1}, {"a": 1}], [{"a": 1}, {}], ["optional: [].a (is not always there)"]),
        ([{"a": None}, {"a": "x"}], [{"a": "x"}], []),
    ],
)
def test_differences_of_shapes(golden, found, expected):
    assert [str(difference) for difference in Shape.of(found).differences(Shape.of(golden))] == expected
