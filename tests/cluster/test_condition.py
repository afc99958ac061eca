"""Who may say yes, and whether a round is the same when it is asked for again."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from condition import Condition  # noqa: E402
from faults import FAULTS  # noqa: E402
from plan import plan  # noqa: E402

ALL = frozenset({1, 2, 3})


def check(mute, alone, **how):
    condition = Condition(ALL, **how)
    assert (set(condition.mute), set(condition.alone)) == (mute, alone)


def test_who_is_in_a_minority():
    check(set(), set())
    check({1}, {1}, down={1})
    check({1, 2, 3}, {1, 2, 3}, down={1, 2})
    check({1}, {1}, cuts={(1, 2), (1, 3)})
    check({1}, {1}, cuts={(2, 1), (3, 1)})
    check({1, 2, 3}, {1, 2, 3}, cuts={(1, 2), (2, 3), (3, 1)})


def test_a_node_that_reaches_another_is_in_no_minority():
    check(set(), set(), cuts={(1, 2)})
    check(set(), set(), cuts={(1, 2), (2, 1)})


def test_hanging_disks_make_mute_and_not_alone():
    check(set(), set(), hung={1})
    check({1, 2, 3}, set(), hung={1, 2})
    check({1, 2, 3}, {3}, hung={1}, down={3})


def test_a_seed_is_one_schedule():
    everything = {"network", "disks", "clock"}
    first = [str(step) for number in range(50) for step in plan(7, number, 10.0, everything)]
    assert first == [str(step) for number in range(50) for step in plan(7, number, 10.0, everything)]
    assert first != [str(step) for number in range(50) for step in plan(8, number, 10.0, everything)]


def test_all_faults_come_and_work_can_go_on_after_each():
    names, pairs = set(), 0
    for number in range(300):
        steps = plan(1, number, 10.0, {"network", "disks", "clock"})
        assert steps
        names |= {step.fault for step in steps}
        pairs += len(steps) > 1
        assert all(step.at_s + step.lasts_s + 5.0 <= 10.5 for step in steps), [str(step) for step in steps]
    assert names == set(FAULTS)
    assert pairs > 30


def test_without_rights_only_what_needs_none():
    names = {step.fault for number in range(300) for step in plan(1, number, 10.0, set())}
    assert names == {name for name, fault in FAULTS.items() if not fault.needs}
    assert len(names) >= 6
