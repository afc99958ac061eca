"""Programs of tests/clients that keep on through restarts, and what of the events they tell of is wrong.

Whatever they told of is looked at, not how they are built: `blackbox/languages.py` has the events.
"""

import json
import subprocess
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any

Event = dict[str, Any]


def faults(events: Iterable[Event]) -> list[str]:
    """What a client that retries may not see."""
    published: Counter[int] = Counter()
    unmarked: Counter[int] = Counter()
    confirmed, delivered, found = set(), set(), []
    for event in events:
        match event:
            case {"published": number}:
                published[number] += 1
            case {"confirmed": number}:
                confirmed.add(number)
            case {"delivered": number, "redelivered": is_marked}:
                delivered.add(number)
                if number not in published:
                    found.append(f"{number} was delivered and never published")
                if not is_marked:
                    unmarked[number] += 1
                # What was sent twice may be there twice.
                if unmarked[number] > published[number]:
                    found.append(f"{number} was delivered {unmarked[number]} times without the mark, and published {published[number]} times")
    found += [f"{number} was published and is not confirmed" for number in sorted(published.keys() - confirmed)]
    found += [f"{number} was confirmed and never delivered" for number in sorted(confirmed - delivered)]
    return found


class Reconnecting:
    """One program, and what it has told so far."""

    def __init__(self, command: list[str], variables: dict[str, str]) -> None:
        self.lock = threading.Lock()
        self.events: list[Event] = []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables, text=True)
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            with self.lock:
                self.events.append(json.loads(line))

    def so_far(self) -> list[Event]:
        with self.lock:
            return list(self.events)

    def numbers(self, word: str) -> set[int]:
        """Of all events of that kind."""
        return {event[word] for event in self.so_far() if word in event}

    def opened(self) -> Counter[str]:
        """How many connections there were, by what for."""
        return Counter(event["opened"] for event in self.so_far() if "opened" in event)

    def end(self) -> None:
        """No new numbers."""
        self.process.stdin.close()

    def through(self) -> set[int]:
        """What is confirmed, and was delivered."""
        return self.numbers("confirmed") & self.numbers("delivered")

    def why_not_through(self) -> str | None:
        """Why it has not had back all that it published, if it has not."""
        return self.last_words() if self.numbers("published") - self.through() else None

    def last_words(self) -> str:
        status = self.process.poll()
        return f"{'runs' if status is None else f'ended with status {status}'}, and said last: {self.so_far()[-5:]}"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
