#!/usr/bin/env python3
"""Imports of ten thousand definitions, over HTTP and at the start, that are killed in the middle.

    tests/definitions/run.py                        five rounds of each
    tests/definitions/run.py --rounds 50 --seed 7   many; the same seed makes the same choices
    tests/definitions/run.py -- -k start            what follows -- goes to pytest
"""

import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402


def main() -> int:
    parser = brokers.runner(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="kills of each kind (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="default: chosen, and printed")
    arguments, rest = parser.parse_known_args()
    brokers.refuse_url(parser, arguments, "a broker that is to be killed must be started here")
    seed = random.SystemRandom().randrange(1_000_000) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    options = [*brokers.own_options(arguments), f"--rounds={arguments.rounds}", f"--seed={seed}"]
    return environment.pytest([HERE], options + (rest[1:] if rest[:1] == ["--"] else rest))


if __name__ == "__main__":
    sys.exit(main())
