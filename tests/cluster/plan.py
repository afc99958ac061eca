"""What is done to the cluster in a round, by a seed. Pure."""

import random
from dataclasses import dataclass

from faults import FAULTS

HEAL_WITHIN_S = 5.0
"""So soon after the last fault has ended, work has to go on."""
CALM_S = 0.8
"""Before the first fault."""
PAIR_CHANCE = 0.3


@dataclass(frozen=True)
class Step:
    """A fault: `role` says to whom. Who that is is looked up when its time comes."""

    at_s: float
    lasts_s: float
    fault: str
    role: str
    chance: float
    """Between 0 and 1: whatever else the fault has to choose."""

    def __str__(self) -> str:
        return f"at {self.at_s:.1f} s {self.fault.replace('_', ' ')}, {self.role}, for {self.lasts_s:.1f} s"


def plan(seed: int, number: int, round_s: float, have: set[str], only: str | None = None) -> list[Step]:
    """The steps of a round, in the order of their beginnings; `only` names one fault."""
    dice = random.Random(f"{seed}/{number}/plan")
    possible = [name for name, fault in FAULTS.items() if fault.needs <= have and only in (None, name)]
    weights = [FAULTS[name].weight for name in possible]
    steps, at_s = [], CALM_S + dice.random() * 0.7
    while not steps or at_s + 4.0 + HEAL_WITHIN_S < round_s:
        name = dice.choices(possible, weights)[0]
        lasts_s = min(dice.uniform(1.5, 4.5), max(round_s - at_s - HEAL_WITHIN_S, 1.0))
        steps.append(_step(dice, name, at_s, lasts_s, dice.choice(["the leader", "a follower"])))
        beside = [each for each in possible if FAULTS[each].may_be_beside and each != name]
        if FAULTS[name].may_be_beside and beside and dice.random() < PAIR_CHANCE:
            late_s = dice.uniform(0.0, 0.6 * lasts_s)
            steps.append(_step(dice, dice.choice(beside), at_s + late_s, lasts_s - late_s, "another"))
        at_s += lasts_s + HEAL_WITHIN_S + dice.random()
    return steps


def _step(dice: random.Random, name: str, at_s: float, lasts_s: float, role: str) -> Step:
    return Step(at_s, lasts_s if FAULTS[name].lasts else 0.0, name, role, dice.random())
