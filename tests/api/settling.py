"""Time for a broker whose statistics come late. RabbitMQ emits them every five seconds; Warren's API shows what is."""

import time
from collections.abc import Callable
from typing import Any

from blackbox.broker import Broker

STATISTICS_TIMEOUT_S = 30.0
POLL_INTERVAL_S = 0.2
# A RabbitMQ that is asked for everything all the time does not find that anything is idle, which it prints.
SURVEY_INTERVAL_S = 10.0
SURVEY_TIMEOUT_S = 60.0


def eventually(broker: Broker, check: Callable[[], Any]) -> Any:
    """What `check` returns once its assertions hold: at once on Warren, in time on RabbitMQ."""
    deadline = time.monotonic() + (0 if broker.is_warren else STATISTICS_TIMEOUT_S)
    while True:
        try:
            return check()
        except AssertionError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(POLL_INTERVAL_S)


def until_settled(broker: Broker, ask: Callable[[], Any], is_settled: Callable[[Any], bool]) -> Any:
    """The last answer, right or not, for tests that say in detail what is wrong with it."""
    deadline = time.monotonic() + (0 if broker.is_warren else SURVEY_TIMEOUT_S)
    while not is_settled(answer := ask()) and time.monotonic() < deadline:
        time.sleep(SURVEY_INTERVAL_S)
    return answer
