"""Commands against what only looks like a server: one that says nothing, or not enough, or what no management API says."""

import contextlib
import json
import shlex
import socket
import subprocess
import threading
import time

import pytest

# What a terminal would obey: the screen cleared, another colour by the one-character form, the window's title set.
EVIL = "Evil\x1b[2J\x9b31m\x1b]0;x\x07"
OBEYED = {chr(code) for code in [*range(32), *range(127, 160)]} - {"\n", "\t"}


class Server:
    """Answers every request with what `answer` says of its path, and goes when the test has ended."""

    def __init__(self, answer):
        self.answer, self.is_over = answer, threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError, IndexError), connection:
            request = b""
            while data := connection.recv(65536):
                request += data
                while b"\r\n\r\n" in request:
                    head, request = request.split(b"\r\n\r\n", 1)
                    for part in self.answer(head.split(b" ")[1].decode()):
                        if self.is_over.is_set():
                            return
                        connection.sendall(part)

    def close(self):
        self.is_over.set()
        self.socket.close()


def whole(body: bytes, length=None):
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body) if length is None else length}\r\n\r\n"
    return [head.encode() + body]


def trickle(start: bytes, piece: bytes):
    yield start
    while True:
        yield piece
        time.sleep(0.3)


def silence():
    while True:
        yield b""
        time.sleep(0.1)


def evil(path: str):
    what = path.split("?")[0].rsplit("/", 1)[-1]
    answers = {
        "overview": {"product_name": EVIL, "product_version": EVIL, "rabbitmq_version": EVIL, "node": EVIL, "cluster_name": EVIL},
        "definitions": {"queues": [{"name": EVIL, "vhost": EVIL, "durable": True, "arguments": {"x-queue-type": "stream"}}]},
        "whoami": {"name": EVIL, "tags": ["administrator"]},
        "top": {"rows": [{"name": EVIL, "vhost": EVIL, "value": 1}], "compared": 1},
    }
    queue = {"name": EVIL, "vhost": EVIL, "messages": 1, "enabled_plugins": [EVIL], "running": True}
    return whole(json.dumps(answers.get(what, [queue])).encode())


@pytest.fixture
def serve():
    servers = []

    def start(answer) -> str:
        servers.append(Server(answer))
        return servers[-1].url

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def program(pytestconfig, tmp_path):
    """Runs `warren …`: its status, and all that it said."""
    [warren, *_] = shlex.split(pytestconfig.option.ctl_command)

    def run(*words: str) -> tuple[int, str]:
        done = subprocess.run([warren, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=30, cwd=tmp_path, check=False)
        return done.returncode, (done.stdout + done.stderr).decode()

    return run


def looking(url: str) -> list[list[str]]:
    """Commands that read."""
    state = ["--state", "state"]
    return [
        ["ctl", "--timeout", "2", "check", url],
        ["ctl", "--timeout", "2", "--url", url, "status"],
        ["ctl", "--timeout", "2", "--url", url, "export_definitions", "-"],
        ["migrate", "--plan", "--timeout", "3s", "--from", "amqp://g:g@127.0.0.1:1", "--from-api", url, "--to", "amqp://g:g@127.0.0.1:2", *state],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    [
        lambda path: silence(),
        lambda path: trickle(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n", b" "),
        lambda path: trickle(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n"),
        lambda path: trickle(b"", b"H"),
        lambda path: whole(b"{", length=100),
        lambda path: whole(b"<html>"),
        lambda path: [b"HTTP/1.1 302 Found\r\nlocation: " + path.encode() + b"\r\ncontent-length: 0\r\n\r\n"],
        lambda path: [b"SSH-2.0-x\r\n\r\n"],
    ],
    ids=["silent", "a-byte-at-a-time", "endless-headers", "endless-status", "too-short", "html", "redirects", "another-protocol"],
)
def test_what_is_no_answer_has_an_end_and_a_sentence(program, serve, answer):
    for words in looking(serve(answer)):
        status, said = program(*words)
        assert status != 0 and ("Error: " in said or "warren migrate: " in said), (words, status, said)
        assert "panicked" not in said


@pytest.mark.parametrize("body", [b"null", b"[]", b"{}", b'"x"', b"1", b"true", b"[[]]"])
def test_who_answers_everything_alike_is_no_broker(program, serve, body):
    url = serve(lambda path: whole(body))
    for words in [looking(url)[0], looking(url)[3], ["top", "--once", "--url", url]]:
        status, said = program(*words)
        assert status != 0 and ("may not be a broker" in said or "may not be the management API of a broker" in said or "neither an object nor a list" in said), (words, status, said)


def test_what_a_terminal_obeys_does_not_reach_it(program, serve):
    url = serve(evil)
    more = [["ctl", "--url", url, "list_queues"], ["ctl", "--url", url, "cluster_status"], ["top", "--once", "--url", url]]
    for words in looking(url) + more:
        said = program(*words)[1]
        assert not OBEYED & set(said), (words, said)
    assert "Evil\\u001b" in program("ctl", "check", url)[1]


def test_a_ping_of_a_silent_broker_has_an_end(program, serve):
    place = serve(lambda path: silence()).removeprefix("http://")
    status, said = program("ping", "--timeout", "1s", f"amqp://guest:guest@{place}")
    assert status != 0 and said, said
