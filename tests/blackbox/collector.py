"""A server that takes spans as an OpenTelemetry collector does."""

import http.server
import json
import threading
import time

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"

#: Headers of a message whose trace is sampled.
SAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-01"}


class Collector:
    """Takes spans as an OpenTelemetry collector does; refuses the first requests."""

    def __init__(self, statuses=()):
        self.statuses, self.requests = list(statuses), []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                status = collector.statuses.pop(0) if collector.statuses else 200
                collector.requests.append((self.path, dict(self.headers.items()), json.loads(body), status))
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def spans(self):
        """All that was taken."""
        taken = [body for _, _, body, status in self.requests if status == 200]
        return [span for body in taken for resource in body["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]]

    def wait(self, count):
        until = time.monotonic() + 15
        while len(spans := self.spans()) < count:
            assert time.monotonic() < until, spans
            time.sleep(0.05)
        return spans


def attributes_of(span):
    return {attribute["key"]: next(iter(attribute["value"].values())) for attribute in span["attributes"]}


def length_ms(span):
    return (int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) / 1e6
