"""Messages of one generator, consumed by the other: the time in them is read as it was meant.

Messages wait until all are published. How long they waited at least and at most is then known, and a time that is read in another unit,
from another place or by another clock falls out of that.
"""

import time

import pytest

# Consumed slowly, so that it takes longer than the second after which PerfTest tells what it has seen.
COUNT, WORK_US = 130, 10_000
# What the percentiles of either generator may be off by: they keep two or three digits.
INEXACT = 1.02
# Milliseconds are cut, on both sides.
CUT_S = 0.002

UNITS = [pytest.param((), id="ns"), pytest.param(("-ms",), id="ms")]
BODIES = [
    pytest.param(("-s", "12"), id="12-bytes"),
    # The time is then in a header.
    pytest.param(("-jb", "-s", "2000"), id="json"),
    pytest.param(("-B", "{file}", "-T", "text/plain"), id="file"),
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("publisher", "consumer"), [("PerfTest", "warren perf"), ("warren perf", "PerfTest")], ids=["from-perftest", "to-perftest"])
def test_latency_of_messages_of_the_other(broker, name, start, tmp_path, publisher, consumer, unit, body):
    (tmp_path / "body.txt").write_text("the quick brown fox")
    body = [word.format(file=tmp_path / "body.txt") for word in body]
    # PerfTest measures only what has its own routing key.
    words = ["-u", name(), "-k", "understood", "-ad", "false", "-f", "persistent", *unit, *body]

    publishing_from = time.monotonic()
    start(publisher, broker, "-x", "1", "-y", "0", "-C", str(COUNT), *words).wait()
    published_by = time.monotonic()
    consuming_from = time.monotonic()
    run = start(consumer, broker, "-x", "0", "-y", "1", "-D", str(COUNT), "-L", str(WORK_US), *words).wait()
    consumed_by = time.monotonic()

    least, p99 = run.latency_s("consumer")
    assert 0 < least <= p99, run.told()
    assert least * INEXACT + CUT_S >= consuming_from - published_by, run.told()
    assert p99 / INEXACT - CUT_S <= consumed_by - publishing_from, run.told()
