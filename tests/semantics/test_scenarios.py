"""Clients see on this broker what they see on RabbitMQ.

`golden` is what `record.py` found there, `differences.toml` what is meant to differ.
"""

import differences
import pytest
import stage
from scene import as_json

SCENARIOS = stage.scenarios()
GOLDEN = {name: transcript for area in stage.AREAS for name, transcript in stage.golden(area).items()}
TABLE = differences.read()


# All of them run before the first is looked at.
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_clients_see_what_they_see_on_rabbitmq(outcomes, broker, scenario):
    outcome = outcomes[scenario]
    assert outcome.failure is None, f"{SCENARIOS[scenario].__doc__ or scenario}\nafter {as_json(outcome.transcript)}\n{outcome.failure}"
    expected = differences.expected(scenario, GOLDEN[scenario], TABLE if broker.is_warren else [])
    wrong = [step for step in {**expected, **outcome.transcript} if outcome.transcript.get(step, "never seen") != expected.get(step, "not there")]
    lines = [f"{step}:\n  expected {expected.get(step, 'nothing')}\n  seen     {outcome.transcript.get(step, 'nothing')}" for step in wrong]
    assert not wrong, "\n".join([SCENARIOS[scenario].__doc__ or "", *lines])


def test_every_scenario_was_recorded():
    assert list(GOLDEN) == list(SCENARIOS), "run tests/semantics/record.py"


def test_differences_are_about_scenarios():
    assert {entry.scenario for entry in TABLE} <= set(SCENARIOS)


def test_documentation_lists_the_differences():
    assert differences.rendered_in(differences.DOCUMENT.read_text()) == differences.render(TABLE), "run tests/semantics/record.py --render"
