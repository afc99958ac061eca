"""The checker finds what it is there to find, and nothing in what may happen."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from checker import check, missing, unsure  # noqa: E402
from history import (  # noqa: E402
    Acked, Confirmed, Consuming, Defined, Defining, Delivered, Disturbed, Ended, Expected, Found, History, Key, Minority, Opened, Published, Queue, Refused,
    Rejected, Told, line,
)  # fmt: skip

QUEUES = [Queue("q"), Queue("safe", is_quorum=True), Queue("work", is_ordered=False, dead_letters_to="dead"), Queue("dead", is_ordered=False)]
PUBLISHER, CONSUMER, OTHER, FINAL = 1, 2, 3, 9
NONE: frozenset[int] = frozenset()


class Story:
    """A history being written; time passes by a millisecond an event, and by `wait`."""

    def __init__(self):
        self.events, self.at = [], 0.0

    def add(self, event):
        self.at += 0.001
        object.__setattr__(event, "at", self.at)
        self.events.append(event)
        return self

    def wait(self, seconds):
        self.at += seconds
        return self

    def publish(self, number, family="q", connection=PUBLISHER, node=1, is_confirmed=True):
        self.add(Published(connection, node, number, (Key(connection, number, family),)))
        return self.confirm(number, connection) if is_confirmed else self

    def confirm(self, number, connection=PUBLISHER):
        return self.add(Confirmed(connection, number))

    def consume(self, connection=CONSUMER, queue="q"):
        return self.add(Consuming(connection, queue))

    def deliver(self, number, family="q", connection=CONSUMER, queue=None, node=1, publisher=PUBLISHER, **how):
        return self.add(Delivered(connection, node, queue or family, Key(publisher, number, family), **how))

    def ack(self, number, family="q", connection=CONSUMER):
        return self.add(Acked(connection, Key(PUBLISHER, number, family)))

    def durable_ack(self, number, connection=CONSUMER):
        """An ack, and a marker of the same connection that is confirmed; nothing takes markers out, so that is done here."""
        self.ack(number, connection=connection).publish(100 + number, "work", connection)
        return self.final(100 + number, "work", publisher=connection)

    def final(self, *numbers, family="q", queue=None, connection=FINAL, publisher=PUBLISHER, node=1, **how):
        if isinstance(numbers[-1], str):
            *numbers, family = numbers
        for number in numbers:
            self.deliver(number, family, connection, queue, node, publisher, is_final=True, **how)
        return self

    def expect(self, *beginnings, **how):
        faults = check(self.events, QUEUES, **how)
        assert [fault[:3] for fault in faults] == [f"({each})" for each in beginnings], faults


def story():
    return Story()


def test_what_may_happen():
    """Everything that a history may have, and no fault."""
    told = story().consume().publish(1).publish(2).publish(3, is_confirmed=False).publish(4, "work").publish(5, "safe", is_confirmed=False)
    told.deliver(1).deliver(2).durable_ack(1).deliver(4, "work").add(Rejected(CONSUMER, Key(PUBLISHER, 4, "work")))
    told.deliver(4, "work", queue="dead").final(2, is_redelivered=True).final(4, "work", queue="dead").expect()


# -- (a)


def test_a_confirmed_message_that_is_missing():
    story().publish(1).publish(2).final(2).expect("a")
    story().publish(1).deliver(1).expect("a")
    story().publish(1).deliver(1).ack(1).expect()


def test_a_message_that_was_not_confirmed_may_be_missing():
    story().publish(1, is_confirmed=False).expect()
    story().publish(1, is_confirmed=False).add(Refused(PUBLISHER, 1)).expect()
    story().publish(1, is_confirmed=False).deliver(1).expect()


def test_a_message_that_went_to_two_queues_is_missing_in_one():
    both = story().add(Published(PUBLISHER, 1, 1, (Key(PUBLISHER, 1, "q"), Key(PUBLISHER, 1, "safe")))).confirm(1)
    both.final(1).expect("a")
    both.final(1, "safe").expect()


def test_a_reject_is_no_ack():
    rejected = story().publish(1, "work").deliver(1, "work").add(Rejected(CONSUMER, Key(PUBLISHER, 1, "work")))
    rejected.expect("a")
    rejected.final(1, "work", queue="dead").expect()


def test_what_has_to_come_yet():
    told = story().publish(1).publish(2).publish(3, is_confirmed=False).publish(4, "safe", is_confirmed=False).deliver(4, "safe").deliver(2).ack(2)
    assert missing(told.events, QUEUES) == {Key(PUBLISHER, 1, "q"), Key(PUBLISHER, 4, "safe")}
    assert missing(told.final(1).final(4, "safe").events, QUEUES) == set()


def test_what_may_still_turn_up_in_the_next_round():
    told = story().publish(1).publish(2).publish(3, is_confirmed=False).consume().deliver(1).durable_ack(1).deliver(2).ack(2)
    assert unsure(told.events) == {Key(PUBLISHER, 2, "q"), Key(PUBLISHER, 3, "q"), Key(CONSUMER, 101, "work")}


# -- (b)


def test_a_message_from_nowhere():
    story().deliver(1).expect("b")
    story().publish(1).final(1).final(2).expect("b")


def test_a_message_in_a_foreign_queue():
    story().publish(1).deliver(1, queue="safe").final(1).expect("b")
    story().publish(1).deliver(1, queue="dead").final(1).expect("b")


def test_a_message_with_another_body():
    story().publish(1).final(1, is_intact=False).expect("b")


def test_a_message_that_comes_early():
    told = story().publish(1, "work").final(1, "work", early_ms=20)
    told.expect("b")
    told.expect(is_clock_true=False)


# -- (c)


def test_a_durable_ack_that_was_forgotten():
    story().publish(1).consume().deliver(1).durable_ack(1).consume(OTHER).deliver(1, connection=OTHER, is_redelivered=True).expect("c")
    story().publish(1).consume().deliver(1).durable_ack(1).consume(FINAL).final(1, is_redelivered=True).expect("c")


def test_an_ack_that_was_not_confirmed_may_be_forgotten():
    told = story().publish(1).consume().deliver(1).ack(1)
    told.publish(7, "work", CONSUMER, is_confirmed=False).consume(OTHER).deliver(1, connection=OTHER, is_redelivered=True).expect()


def test_a_confirm_of_what_was_published_before_the_ack_proves_nothing():
    told = story().publish(1).consume().deliver(1).publish(7, "work", CONSUMER, is_confirmed=False).ack(1).confirm(7, CONSUMER)
    told.final(7, "work", publisher=CONSUMER).consume(OTHER).deliver(1, connection=OTHER, is_redelivered=True).expect()


def test_a_confirm_of_another_connection_proves_nothing():
    told = story().publish(1).consume().deliver(1).ack(1).publish(2).final(2)
    told.consume(OTHER).deliver(1, connection=OTHER, is_redelivered=True).expect()


def test_a_later_confirm_proves_all_acks_before_it():
    told = story().publish(1).consume().deliver(1).ack(1).publish(7, "work", CONSUMER, is_confirmed=False).publish(8, "work", CONSUMER)
    told.final(8, "work", publisher=CONSUMER).consume(OTHER).deliver(1, connection=OTHER, is_redelivered=True).expect("c")


def test_the_first_of_several_confirms_proves_it_and_none_before():
    told = story().publish(1).consume().deliver(1).ack(1).publish(7, "work", CONSUMER, is_confirmed=False).publish(8, "work", CONSUMER)
    told.consume(OTHER).deliver(1, connection=OTHER, is_redelivered=True).confirm(7, CONSUMER)
    told.final(7, 8, "work", publisher=CONSUMER).expect("c")
    told = story().publish(1).consume().publish(6, "work", CONSUMER).deliver(1).ack(1).publish(7, "work", CONSUMER, is_confirmed=False)
    told.consume(OTHER).deliver(1, connection=OTHER, is_redelivered=True).confirm(7, CONSUMER)
    told.final(6, 7, "work", publisher=CONSUMER).expect()


def test_what_a_stopped_leader_had_under_way_is_no_forgotten_ack():
    """It was asked to deliver before the ack, and confirms nothing any more. If it does, it was in charge."""
    told = story().publish(1).consume(OTHER).consume().deliver(1).durable_ack(1).deliver(1, connection=OTHER)
    told.expect()
    told.publish(7, "work", OTHER).final(7, "work", publisher=OTHER).expect("c")


def test_a_message_that_is_there_twice():
    story().publish(1).final(1).final(1, is_redelivered=True).expect("c")
    story().publish(1, "work").final(1, "work").final(1, "work", queue="dead").expect("c")
    story().publish(1).final(1).final(1, is_redelivered=True, connection=FINAL + 1).expect()


# -- (d)


def test_first_deliveries_out_of_order():
    story().publish(1).publish(2).deliver(2).deliver(1).final(1, 2).expect("d")
    story().publish(1).publish(2).final(2, 1).expect("d")
    story().publish(1).deliver(1).deliver(1).final(1).expect("d")


def test_what_has_no_order():
    story().publish(1).publish(2).deliver(2).deliver(1, is_redelivered=True).final(1, 2).expect()
    story().publish(1).publish(2).deliver(2).deliver(1, connection=OTHER).final(1, 2).expect()
    story().publish(1, "work").publish(2, "work").deliver(2, "work").deliver(1, "work").final(1, 2, "work").expect()
    story().publish(1).publish(1, connection=OTHER).deliver(1, publisher=OTHER).deliver(1).final(1).final(1, publisher=OTHER).expect()


# -- (e)


def ask(told, name, is_deletion, is_answered=True, node=1):
    told.add(Defining(node, name, is_deletion))
    return told.add(Defined(node, name, is_deletion)) if is_answered else told


def test_a_definition_that_is_missing_or_came_back():
    ask(story(), "x", False).add(Found("x", False)).expect("e")
    ask(ask(story(), "x", False), "x", True).add(Found("x", True)).expect("e")


def test_definitions_that_are_as_they_were_answered():
    ask(story(), "x", False).add(Found("x", True)).expect()
    ask(ask(story(), "x", False), "x", True).add(Found("x", False)).expect()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_definition_without_an_answer_may_be_there(is_there):
    ask(story(), "x", False, is_answered=False).add(Found("x", is_there)).expect()
    ask(ask(story(), "x", False), "x", True, is_answered=False).add(Found("x", is_there)).expect()


# -- (f)


def test_a_quorum_queue_that_delivered_what_was_not_committed():
    story().publish(1, "safe", is_confirmed=False).deliver(1, "safe").expect("f")
    story().publish(1, "safe", is_confirmed=False).deliver(1, "safe").final(1, "safe").expect()
    story().publish(1, "safe", is_confirmed=False).deliver(1, "safe").ack(1, "safe").expect()
    story().publish(1, "safe").deliver(1, "safe").expect("a")


# -- (g)


def test_work_that_does_not_go_on():
    story().add(Expected("healing", 5.0)).wait(6).publish(1).deliver(1).final(1).add(Ended()).expect("g", "g")
    story().add(Expected("healing", 5.0)).publish(1).wait(6).deliver(1).final(1).add(Ended()).expect("g")
    story().publish(1, is_confirmed=False).add(Expected("healing", 5.0)).confirm(1).deliver(1).wait(6).final(1).add(Ended()).expect("g")


def test_work_that_goes_on():
    story().add(Expected("healing", 5.0)).wait(4).publish(1).deliver(1).wait(3).final(1).add(Ended()).expect()


def test_nothing_is_expected_of_the_time_after_the_next_fault():
    story().add(Expected("healing", 5.0)).wait(3).add(Disturbed("again")).wait(6).publish(1).final(1).expect()
    story().add(Expected("healing", 5.0)).wait(3).add(Ended()).wait(6).publish(1).final(1).expect()


# -- (h)


def in_minority(*nodes):
    return story().add(Minority(frozenset(nodes), frozenset(nodes)))


def test_a_confirm_in_a_minority():
    in_minority(1).publish(1).final(1).expect("h")
    in_minority(2).publish(1).final(1).expect()
    in_minority(1, 2).add(Minority(frozenset({1}), NONE)).publish(1).final(1).expect("h")
    in_minority(1).publish(1, is_confirmed=False).add(Minority(frozenset({1, 2}), NONE)).confirm(1).final(1).expect("h")


def test_a_confirm_of_what_was_published_before_or_answered_after():
    story().publish(1, is_confirmed=False).add(Minority(frozenset({1}), frozenset({1}))).confirm(1).final(1).expect()
    in_minority(1).publish(1, is_confirmed=False).add(Minority(NONE, NONE)).confirm(1).final(1).expect()


def test_a_definition_in_a_minority():
    ask(in_minority(1), "x", False).add(Found("x", True)).expect("h")
    ask(in_minority(1), "x", False, node=2).add(Found("x", True)).expect()


def test_a_delivery_or_a_client_let_in_long_after_the_majority_was_gone():
    story().publish(1).add(Minority(frozenset({1}), frozenset({1}))).wait(1).deliver(1).add(Opened(OTHER, 1)).final(1, node=2).expect()
    story().publish(1).add(Minority(frozenset({1}), frozenset({1}))).wait(3).deliver(1).final(1, node=2).expect("h")
    in_minority(1).wait(5).add(Opened(OTHER, 1)).expect("h")
    in_minority(1).wait(5).add(Minority(NONE, NONE)).add(Opened(OTHER, 1)).expect()
    story().publish(1).add(Minority(frozenset({1}), NONE)).wait(9).deliver(1).add(Opened(OTHER, 1)).final(1, node=2).expect()


# -- what clients are told


def test_what_clients_may_be_told():
    story().add(Told(1, 320, "CONNECTION_FORCED - this node is in a minority")).expect()
    faults = check(story().add(Told(1, 541, "INTERNAL_ERROR")).events, QUEUES)
    assert len(faults) == 1 and "541" in faults[0]


def test_a_history_tells_the_time_and_can_be_read():
    history = History()
    history.record(Minority(frozenset({2, 1}), NONE))
    history.record(Published(1, 1, 1, (Key(1, 1, "q"),)))
    first, second = history.so_far()
    assert first.at <= second.at
    assert '"mute": [1, 2]' in line(first) and '"keys": [[1, 1, "q"]]' in line(second)
