"""Ways to a broker that tests have in their hands."""

import select
import socket
import threading
from contextlib import suppress


class Relay:
    """Passes on what clients and a broker say to each other. Others know better what to do with it: they have a `carry` or an `is_end` of
    their own."""

    def __init__(self, broker: tuple[str, int]):
        self.broker = broker
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(here,), daemon=True).start()

    def _serve(self, here: socket.socket) -> None:
        with suppress(OSError), here:
            self.carry(here)

    def carry(self, here: socket.socket) -> None:
        """One client's connection, until it is over."""
        with socket.create_connection(self.broker) as there:
            self.pass_on(here, there)

    def pass_on(self, here: socket.socket, there: socket.socket) -> None:
        while True:
            for side in select.select(self.heard(here, there), [], [], 0.05)[0]:
                said = side.recv(1 << 16)
                if not said or (side is here and self.is_end(here, said)):
                    return
                (there if side is here else here).sendall(said)

    def heard(self, here: socket.socket, there: socket.socket) -> list[socket.socket]:
        """Who is listened to now."""
        return [here, there]

    def is_end(self, here: socket.socket, said: bytes) -> bool:
        """Whether a client's connection ends with what it says, which is not passed on."""
        return False

    def close(self) -> None:
        # Who waits in accept() is woken by that alone.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
