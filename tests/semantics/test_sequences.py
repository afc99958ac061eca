"""Sequences of random operations are answered as RabbitMQ answered them; what differs was decided. See `sequences`."""

import inspect

import pytest
from sequences import comparing, decided, keeping, making

RECORDED = keeping.read()
DECIDED = decided.read()
RECORDED_LEAST = 200


@pytest.fixture(scope="session")
def played(broker, request):
    """What came of the selected sequences, played several at once, and how busy they leave the broker."""
    selected = [item.callspec.params["recorded"] for item in request.session.items if "recorded" in getattr(getattr(item, "callspec", None), "params", {})]
    seen, share = comparing.play_all(broker, [each.operations for each in selected], [each.notes for each in selected])
    return dict(zip((each.name for each in selected), seen, strict=True)), share


def _skip_what_is_not_permitted(broker, operations):
    if not broker.is_warren and any(each.get("global_") for each in operations):
        pytest.skip("RabbitMQ ignores a prefetch for the whole channel unless its configuration permits it")


# All of them run before the first is looked at.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("recorded", RECORDED, ids=lambda each: each.name)
def test_a_sequence_is_answered_as_rabbitmq_answered_it(broker, played, recorded):
    _skip_what_is_not_permitted(broker, recorded.operations)
    difference = comparing.difference(recorded.operations, comparing.Played(recorded.notes), played[0][recorded.name])
    assert difference is None, "\n".join(difference.lines())


@pytest.mark.parametrize("entry", DECIDED, ids=lambda each: each.name)
def test_a_decided_difference_is_as_decided(broker, entry):
    _skip_what_is_not_permitted(broker, entry.operations)
    seen = comparing.play(broker, comparing.node_of(broker), entry.operations)
    assert seen.stuck is None, seen.stuck
    assert seen.notes[len(entry.operations) - 1] == (entry.warren if broker.is_warren else entry.rabbitmq)


@pytest.mark.timeout(600)
def test_the_broker_rests_when_nothing_is_asked(played):
    assert played[1] <= comparing.BUSY_SHARE_MAX, f"it uses {played[1]:.0%} of a processor"


def test_decided_differences_are_known_to_the_search():
    assert [entry.name for entry in DECIDED] == list(decided.FINDERS)
    for entry in DECIDED:
        assert decided.FINDERS[entry.name](entry.operations), f"{entry.name} does not find itself"


def test_some_hundred_sequences_are_recorded():
    assert len(RECORDED) >= RECORDED_LEAST, "run tests/semantics/sequences/record.py"
    names = {each.name for each in RECORDED}
    assert names >= {about for about, _ in keeping.once_differed()}, "a sequence that once differed is not recorded"


def test_a_seed_makes_the_same_sequence_again():
    assert making.make(7) == making.make(7) != making.make(8)


def test_sequences_have_all_operations():
    done = {operation["do"] for seed in range(300) for operation in making.make(seed)}
    assert done >= set(inspect.cleandoc("""
        queue.declare queue.bind queue.unbind queue.purge queue.delete exchange.declare exchange.delete exchange.bind exchange.unbind basic.publish
        basic.get basic.consume basic.cancel basic.ack basic.nack basic.reject basic.qos basic.recover tx.select tx.commit tx.rollback confirm.select
    """).split()) | {"policy", "drop policy", "close channel", "close connection"}  # fmt: skip
