#!/usr/bin/env python3
"""How far a CPU profile is from that of `perf record`, made of the same broker at the same time: the ten largest of each, by name.

    bench/profiles.py [--binary target/dist/warren] [--seconds 12] [--rate 199] [--only REGEX]

Needs `perf`, `nm`, and root or CAP_PERFMON: without these the broker has no performance events, and this shows what is then seen less
exactly. Three loads: as fast as it goes, a lone persistent publisher, and a listing of 5,000 queues over and over. A function is one of
the program's own symbols: what is put into others by the compiler counts as these. Functions of the C library are one, since its symbols
are often not installed.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from blackbox.broker import Warren  # noqa: E402

C_LIBRARY = "(C library)"
BETWEEN = {
    "throughput": ["-x", "2", "-y", "2", "-u", "q", "-q", "500", "-A", "100"],
    "lone": ["-x", "1", "-y", "1", "-u", "q", "-r", "5000", "-c", "1000", "-f", "persistent", "-s", "1024"],
}
LISTING = """
import base64, sys, time, urllib.request
end = time.time() + float(sys.argv[2])
while time.time() < end:
    request = urllib.request.Request(sys.argv[1], headers={"Authorization": "Basic " + base64.b64encode(b"guest:guest").decode()})
    urllib.request.urlopen(request).read()
"""


def plain(name: str) -> str:
    """A name without what the two write differently."""
    return re.sub(r"(::h[0-9a-f]{16})?(\+0x[0-9a-f]+)?$", "", name).replace(" ", "")


def symbols_of(program: pathlib.Path) -> set[str]:
    lines = subprocess.run(["nm", "-C", "--defined-only", program], capture_output=True, text=True, check=True).stdout.splitlines()
    fields = (line.split(" ", 2) for line in lines)
    return {plain(name) for _, kind, name in (each for each in fields if len(each) == 3) if kind in "tTwW"}


def of_warren(folded: pathlib.Path, symbols: set[str]) -> collections.Counter:
    """Weights by the innermost function that is a symbol of the program."""
    weights = collections.Counter()
    for line in folded.read_text().splitlines():
        stack, _, weight = line.rpartition(" ")
        names = [plain(frame) for frame in stack.split(";")[::-1]]
        innermost = names[0]
        if innermost.startswith("[[vdso"):
            name = "[[vdso]]"
        elif innermost in symbols or "::" in innermost:
            name = next((name for name in names if name in symbols), innermost)
        else:
            name = C_LIBRARY
        weights[name] += int(weight)
    return weights


def of_perf(data: pathlib.Path) -> collections.Counter:
    """The same of what `perf` has written: the innermost frame that is not the kernel's."""
    command = ["perf", "script", "-i", data, "-F", "ip,sym,dso", "--no-inline"]
    weights, is_found = collections.Counter(), False
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        match = re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)\s*$", line)
        if not line.strip():
            is_found = False
        if is_found or not match:
            continue
        name, file = match.groups()
        if "kernel" in file or "guest" in file or file.endswith(".ko"):
            continue
        weights[C_LIBRARY if "libc" in file else "[[vdso]]" if "vdso" in file else plain(name)] += 1
        is_found = True
    return weights


def compare(name: str, broker: Warren, options: argparse.Namespace, symbols: set[str], folder: pathlib.Path) -> float:
    seconds, api = options.seconds, f"127.0.0.1:{broker.management_port}"
    if name in BETWEEN:
        load = [options.binary, "perf", "-h", broker.url, *BETWEEN[name], "-z", str(seconds + 6)]
    else:
        with broker.wire() as wire:
            for number in range(5000):
                wire.call(1, "queue.declare", queue=f"q{number}", durable=True)
        load = [sys.executable, "-c", LISTING, f"http://{api}/api/queues", str(seconds + 6)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = subprocess.Popen(load, **quiet)
    data, folded = folder / "perf.data", folder / "profile.folded"
    record = ["perf", "record", "-q", "-F", str(options.rate), "-e", "cpu-clock", "-g", "-o", data, "-p", str(broker.process.pid), "--"]
    perf = subprocess.Popen([*record, "sleep", str(seconds)], **quiet)
    words = ["--url", f"http://guest:guest@{api}", "--seconds", str(seconds), "--rate", str(options.rate), "-o", folded]
    subprocess.run([options.binary, "profile", "cpu", *words], check=True, **quiet)
    perf.wait()
    running.wait()
    both = [of_perf(data), of_warren(folded, symbols)]
    shares = [collections.Counter({name: 100 * weight / sum(one.values()) for name, weight in one.items()}) for one in both]
    largest = {name for one in shares for name, _ in one.most_common(10)}
    print(f"\n{name}: {sum(both[0].values())} samples of perf, {sum(both[1].values())} of warren\n{'perf':>6} {'warren':>6}")
    for function in sorted(largest, key=lambda function: -max(one[function] for one in shares)):
        print(f"{shares[0][function]:6.1f} {shares[1][function]:6.1f}  {function[:110]}")
    worst = max(abs(shares[0][function] - shares[1][function]) for function in largest)
    print(f"most they are apart: {worst:.1f} points")
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target" / "dist" / "warren", help="the program under test")
    parser.add_argument("--seconds", type=int, default=12, help="of each profile")
    parser.add_argument("--rate", type=int, default=199, help="samples a second of processor time")
    parser.add_argument("--only", default="", help="loads whose names this regular expression finds")
    options = parser.parse_args()
    symbols = symbols_of(options.binary)
    for name in [name for name in (*BETWEEN, "listing") if re.search(options.only, name)]:
        broker = Warren(f"{options.binary} serve --data-dir {{data_dir}} {{set}}", {}, management=True)
        broker.start()
        broker.identify()
        try:
            with tempfile.TemporaryDirectory() as folder:
                compare(name, broker, options, symbols, pathlib.Path(folder))
        finally:
            broker.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main())
