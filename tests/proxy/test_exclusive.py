"""What belongs to a connection belongs to one client, however many share the proxy's."""

from blackbox.proxy import eventually


def closed_channel(wire, method, **arguments):
    """How a call fails; the channel is open again afterwards."""
    wire.send_method(1, method, **arguments)
    close = wire.expect_channel_error(1, None)
    return close.reply_code, close.reply_text, close.failing_class, close.failing_method


def test_an_exclusive_queue_is_locked_for_everybody_else(broker, proxy, wires, name):
    queue = name()
    owner, other = wires(), wires()
    owner.call(1, "queue.declare", queue=queue, exclusive=True)
    through = closed_channel(other, "queue.declare", queue=queue, exclusive=True)
    with broker.wire() as direct:
        assert through == closed_channel(direct, "queue.declare", queue=queue, exclusive=True)
    assert through[0] == 405
    assert closed_channel(other, "basic.consume", queue=queue)[0] == 405
    owner.publish(1, "", queue, b"mine")
    owner.send_method(1, "basic.get", queue=queue, no_ack=True)
    assert owner.expect_message("basic.get-ok").body == b"mine"


def test_an_exclusive_queue_goes_when_its_client_closes(wires, name):
    queue = name()
    owner, other = wires(), wires()
    owner.call(1, "queue.declare", queue=queue, exclusive=True)
    owner.close()
    assert closed_channel(other, "queue.declare", queue=queue, passive=True)[0] == 404
    assert other.call(1, "queue.declare", queue=queue, exclusive=True).queue == queue


def test_an_exclusive_queue_goes_when_its_client_is_killed(broker, wires, name):
    queue = name()
    owner, other = wires(), wires()
    owner.call(1, "queue.declare", queue=queue, exclusive=True)
    owner.drop()

    def is_gone():
        other.send_method(1, "queue.declare", queue=queue, passive=True)
        if other.expect_one_of("queue.declare-ok", "channel.close").name == "queue.declare-ok":
            return False
        other.send_method(1, "channel.close-ok")
        other.call(1, "channel.open")
        return True

    eventually(is_gone, "the exclusive queue is gone")


def test_two_clients_may_have_exclusive_queues_of_their_own(wires, name):
    both = [(wires(), name()) for _ in range(2)]
    for wire, queue in both:
        wire.call(1, "queue.declare", queue=queue, exclusive=True)
        wire.call(1, "basic.consume", queue=queue, no_ack=True)
    for wire, queue in both:
        wire.publish(1, "", queue, queue.encode())
    for wire, queue in both:
        assert wire.expect_message().body == queue.encode()


def test_an_exclusive_consumer_keeps_others_out_and_its_unacked_go_back(wires, name):
    queue = name()
    first, second = wires(), wires()
    first.call(1, "queue.declare", queue=queue)
    first.call(1, "basic.consume", queue=queue, exclusive=True)
    assert closed_channel(second, "basic.consume", queue=queue)[0] == 403
    second.publish(1, "", queue, b"once")
    assert not first.expect_message().method.redelivered
    first.drop()
    got = eventually(lambda: second.get(1, queue))
    assert got.body == b"once" and got.method.redelivered
