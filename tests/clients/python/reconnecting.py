"""pika through restarts: tests/blackbox/languages.py says what it does. One confirm at a time, as its blocking connection has it."""

import json
import sys
import threading
import time

import pika

RETRY_S = 0.1
PREFETCH = 20
IS_ENDING = threading.Event()


def say(**event) -> None:
    """In one piece: two threads speak."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def keep_on(role, hosts, queue, work) -> None:
    """Has it work on one channel after another, until it says that it is done."""
    while True:
        try:
            # The first of the list that answers.
            with pika.BlockingConnection([pika.ConnectionParameters(host, port) for host, port in hosts]) as connection:
                channel = connection.channel()
                channel.queue_declare(queue, durable=True, arguments={"x-queue-type": "quorum"})
                say(opened=role)
                if work(channel, queue):
                    return
        except (pika.exceptions.AMQPError, OSError) as why:
            say(lost=repr(why))
        time.sleep(RETRY_S)


class Publisher:
    """What is published, over all connections."""

    number = 0
    is_confirmed = True

    def work(self, channel, queue) -> bool:
        channel.confirm_delivery()
        while not (IS_ENDING.is_set() and self.is_confirmed):
            self.is_confirmed = False
            say(published=self.number)
            channel.basic_publish("", queue, b"%d" % self.number, pika.BasicProperties(delivery_mode=2), mandatory=True)
            say(confirmed=self.number)
            self.is_confirmed = True
            self.number += 1
        return True


def consume(channel, queue) -> bool:
    channel.basic_qos(prefetch_count=PREFETCH)
    for method, _, body in channel.consume(queue):
        say(delivered=int(body), redelivered=method.redelivered)
        channel.basic_ack(method.delivery_tag)
    return False


def main() -> None:
    queue, hosts = sys.argv[1], [(host, int(port)) for host, _, port in (word.rpartition(":") for word in sys.argv[2:])]
    threading.Thread(target=keep_on, args=("publisher", hosts, queue, Publisher().work), daemon=True).start()
    threading.Thread(target=keep_on, args=("consumer", hosts, queue, consume), daemon=True).start()
    sys.stdin.read()
    IS_ENDING.set()
    threading.Event().wait()


if __name__ == "__main__":
    main()
