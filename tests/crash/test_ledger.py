"""The ledger finds what it is there to find."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from ledger import Ledger, Recovered, Report  # noqa: E402


@pytest.fixture
def ledger():
    """Messages 1 to 4 of publisher 0 in queue q: 1 is durably acked, 2 was delivered, 3 confirmed only, 4 never confirmed."""
    ledger = Ledger()
    keys = [ledger.publish(0, ["q"], number, True) for number in (1, 2, 3, 4)]
    for key in keys[:3]:
        ledger.confirm(key, ledger.now())
    assert ledger.deliver(keys[0][0], False) is None and ledger.deliver(keys[1][0], False) is None
    ledger.ack(keys[0])
    ledger.settle(keys[0])
    ledger.confirm(ledger.publish(0, ["other"], 0, True), ledger.now())
    return ledger


def check_faults(ledger, recovered, *expected):
    report = Report()
    ledger.check("q", [Recovered((0, "q", number), body, redelivered) for number, body, redelivered in recovered], report)
    assert len(report.faults) == len(expected), report.faults
    for fault, words in zip(report.faults, expected, strict=True):
        assert words in fault


def test_what_may_be_left(ledger):
    check_faults(ledger, [(2, 2, True), (3, 3, False)])
    check_faults(ledger, [(2, 2, True), (3, 3, True), (4, 4, False)])


def test_a_confirmed_message_that_is_missing(ledger):
    check_faults(ledger, [(2, 2, True)], "is missing")


def test_a_durable_ack_that_was_forgotten(ledger):
    check_faults(ledger, [(1, 1, True), (2, 2, True), (3, 3, False)], "although its ack was durable")


def test_a_message_that_came_back_twice_or_out_of_order(ledger):
    check_faults(ledger, [(2, 2, True), (2, 2, True), (3, 3, False)], "came back twice", "came back after number 2")
    check_faults(ledger, [(3, 3, False), (2, 2, True)], "came back after number 3")


def test_a_delivered_message_without_the_flag(ledger):
    check_faults(ledger, [(2, 2, False), (3, 3, False)], "without the redelivered flag")


def test_another_body_and_a_message_from_nowhere(ledger):
    check_faults(ledger, [(2, 2, True), (3, 9, False), (7, 7, False)], "with another body", "never published")


def test_an_ack_is_durable_only_when_something_later_was_confirmed():
    ledger = Ledger()
    key = ledger.publish(0, ["q"], 1, True)
    ledger.confirm(key, ledger.now())
    ledger.deliver(key[0], False)
    ledger.ack(key)
    ledger.settle(key)
    report = Report()
    ledger.check("q", [Recovered(key[0], 1, True)], report)
    assert not report.faults and report.acks_lost == 1


def test_delivering_what_was_settled_or_without_the_flag_is_wrong(ledger):
    assert "after it had been acked" in ledger.deliver((0, "q", 1), True)
    assert "not marked" in ledger.deliver((0, "q", 2), False)
    assert "never published" in ledger.deliver((0, "q", 9), False)


def test_a_round_with_too_little_traffic_is_wrong():
    ledger = Ledger()
    keys = [ledger.publish(0, ["q"], number, True) for number in (1, 2)]
    ledger.confirm(keys[0], ledger.now())
    ledger.deliver(keys[0][0], False)
    ledger.ack(keys[0])
    ledger.settle(keys[0])
    assert "1 confirms and 0 durable acks" in ledger.wait_for(1, 1, 0)
    ledger.confirm(keys[1], ledger.now())
    assert ledger.wait_for(2, 1, 0) is None
    ledger.begin_round()
    assert "0 confirms and 0 durable acks" in ledger.wait_for(2, 1, 0)
