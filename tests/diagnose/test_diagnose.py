"""`warren diagnose` names what is planted before all else, and says nothing of loads that are well."""

import shutil
import time

import pytest
from problems import HEALTHY, PROBLEMS
from scene import Scene

SLOW_SYNCS = ["strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_exit=200000"]
#: What is true of a machine that does other things beside these tests.
OF_THE_MACHINE = {"processors_taken", "stolen_processors", "busy"}
STATUS = {"problem": 4, "warning": 3, "remark": 0}


@pytest.fixture
def act(pytestconfig, far_network):
    """Plays a case and asks."""

    def play(case):
        how, settings = dict(case.how), dict(case.settings)
        if case.needs == "strace":
            if not shutil.which("strace"):
                pytest.skip("strace is not installed")
            how["wrapper"] = SLOW_SYNCS
        if case.needs == "calm" and not pytestconfig.getoption("long"):
            pytest.skip("what neighbours take is seen on a machine that does nothing else: --long")
        if case.needs == "far" and not far_network:
            pytest.skip("a network of its own takes root and /dev/net/tun")
        scene = Scene(pytestconfig.getoption("broker_command"), settings, **how)
        if case.needs == "far":
            scene.be_reached_from(far_network)
        with scene:
            case.act(scene)
            time.sleep(case.settles_s)
            return scene.diagnose()

    return play


@pytest.mark.parametrize("case", PROBLEMS, ids=lambda case: case.name)
def test_what_is_planted_is_named_first(case, act):
    findings, status = act(case)
    assert status == max((STATUS[finding["severity"]] for finding in findings), default=0)
    findings = [finding for finding in findings if finding["kind"] not in OF_THE_MACHINE - {case.kind}]
    assert findings, "nothing was found"
    first = findings[0]
    assert first["kind"] == case.kind, findings
    assert case.about in first["text"], first


@pytest.mark.parametrize("case", HEALTHY, ids=lambda case: case.name)
def test_nothing_is_found_where_all_is_well(case, act):
    findings, _ = act(case)
    assert [finding for finding in findings if finding["kind"] not in OF_THE_MACHINE] == []


def test_there_are_enough_of_both():
    assert len(PROBLEMS) >= 30 and len(HEALTHY) >= 10
