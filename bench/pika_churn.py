#!/usr/bin/env python3
"""A plain script on pika that opens a connection, publishes one message and closes, again and again.

    bench/pika_churn.py PORT QUEUE WARM_UP_S MEASURE_S [confirms]

Prints all that it sent, and how many a second while it measured."""

import json
import sys
import time

import pika

LEAST = 3  # messages, however far the broker is


def publish(port, queue, has_confirms):
    connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port))
    channel = connection.channel()
    if has_confirms:
        channel.confirm_delivery()
    channel.basic_publish("", queue, b"." * 100)
    connection.close()


def repeat(seconds, *arguments):
    """How many, and in how many seconds."""
    count, started_at = 0, time.monotonic()
    while count < LEAST or time.monotonic() - started_at < seconds:
        publish(*arguments)
        count += 1
    return count, time.monotonic() - started_at


def main():
    port, queue, warm_up_s, measure_s = int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
    has_confirms = "confirms" in sys.argv[5:]
    early, _ = repeat(warm_up_s, port, queue, has_confirms)
    count, wall_s = repeat(measure_s, port, queue, has_confirms)
    print(json.dumps({"sent": early + count, "messages_per_s": count / wall_s, "clients": 1}))


if __name__ == "__main__":
    main()
