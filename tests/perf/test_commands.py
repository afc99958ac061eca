"""Commands as they stand in PerfTest's documentation and in what people have written about it, with their durations cut: both generators
take them, and ask the broker for the same.
"""

import shlex

import pytest
from recorder import Recorder

COMMANDS = [
    "-x 1 -y 2 -u throughput-test-1 -a --id 'test 1'",
    "-x 2 -y 4 -u throughput-test-2 --id 'test 2'",
    "-x 1 -y 2 -u throughput-test-4 --id test-4 -s 4000",
    "-x 1 -y 2 -u throughput-test-7 --id test-7 -f persistent --multi-ack-every 200 -q 500",
    "-x 1 -y 1 -u confirms --autoack -s 1024 -f persistent -c 100",
    "-x 2 -y 3 --rate 100 --consumer-rate 50 --queue slow --auto-delete false --flag persistent --flag mandatory",
    "--queue-pattern perf-test-%02d --queue-pattern-from 1 --queue-pattern-to 4 --producers 8 --consumers 4 -r 50",
    "-X 2 -Y 3 -x 1 -y 1 -Q 20 -r 100 --queue channels",
    "-t topic -e weather -k europe.de -u forecasts -x 1 -y 1 -r 100 -f persistent",
    "-t fanout -e broadcast -x 1 -y 3 -r 100",
    "-e amq.direct -k orders -p -u orders -ad false -f persistent -r 100",
    "-mp priority=5,content_type=text/plain,region=north -r 100 -u properties",
    "-qa x-queue-type=classic,x-queue-mode=lazy -u arguments -ad false -f persistent -r 100",
    "--variable-rate 200:1 --variable-rate 100:1 --variable-size 1000:1 --variable-size 100:1 -u variable",
    "--json-body --size 2000 -u documents -r 100",
    "--polling --polling-interval 10 -u polled -r 100",
    "-m 5 -n 5 -q 10 -u transactions -r 100",
    "--nack --requeue false -u refused -r 100",
    "-x 1 -y 1 -u counted -C 500 -D 500 -ad false -f persistent",
    "--producers 1 --consumers 1 --queue quorum --quorum-queue --rate 200 --confirm 10 --qos 50",
    "-qa x-message-ttl=10000,x-max-length=1000 -u arguments -ad false -f persistent -r 100",
]
# These move up when the broker can do them.
REFUSED = ["--producers 1 --consumers 1 --queue stream --stream-queue --rate 200 --confirm 10 --qos 50"]
DURATION_S = "2"


@pytest.mark.parametrize("command", COMMANDS)
def test_same_command_asks_for_the_same(own_broker, start, command):
    words = [*shlex.split(command), "-z", DURATION_S]
    brokers = {"PerfTest": own_broker(), "warren perf": own_broker()}
    with Recorder(brokers["PerfTest"]) as theirs, Recorder(brokers["warren perf"]) as ours:
        runs = [start("PerfTest", theirs, *words), start("warren perf", ours, *words)]
        for run in runs:
            run.wait()
    for run in runs:
        assert run.rate("sending") > 0 and run.rate("receiving") > 0, run.told()
    assert sorted(ours.declared) == sorted(theirs.declared), "\n".join(["", "ours", *sorted(ours.declared), "theirs", *sorted(theirs.declared)])
    assert sorted(ours.consumers) == sorted(theirs.consumers)
    assert sorted(ours.messages) == sorted(theirs.messages)


@pytest.mark.warren_only("RabbitMQ does not refuse it")
@pytest.mark.parametrize("command", REFUSED)
def test_refusal_ends_both(broker, start, command):
    runs = [start(generator, broker, *shlex.split(command), "-z", DURATION_S) for generator in ("PerfTest", "warren perf")]
    for run in runs:
        run.wait(status=1)
        run.find("NOT_IMPLEMENTED")
