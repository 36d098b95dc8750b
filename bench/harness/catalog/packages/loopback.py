"""Talking to a server under test on 127.0.0.1, which may be slow to start, slow to answer, and may end at any time."""

from __future__ import annotations

import pathlib
import socket
import time

from .places import PackageError

HOST = "127.0.0.1"
START_SECONDS = 60
LOAD_SECONDS = 500


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return listener.getsockname()[1]


class Deadline:
    def __init__(self, seconds: float):
        self.end = time.monotonic() + seconds

    def left(self) -> float:
        left = self.end - time.monotonic()
        if left <= 0:
            raise PackageError("the client gave up: the deadline has passed")
        return left


def alive(pid: int) -> bool:
    """Whether the process runs. A dead one that nobody has waited for yet does not."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


class Connection:
    """Requests may be pipelined, no more at once than sockets buffer. Replies are lines, or of known length."""

    def __init__(self, connected: socket.socket, deadline: Deadline):
        self.socket = connected
        self.deadline = deadline
        self.buffer = bytearray()
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @classmethod
    def open(cls, port: int, pid: int, deadline: Deadline) -> Connection:
        """Connects as soon as the server listens."""
        start = Deadline(START_SECONDS)
        while True:
            if not alive(pid):
                raise PackageError("the server ended before its load came")
            try:
                return cls(socket.create_connection((HOST, port), timeout=deadline.left()), deadline)
            except ConnectionRefusedError:
                start.left()
                time.sleep(0.02)

    def send(self, data: bytes) -> None:
        self.socket.settimeout(self.deadline.left())
        self.socket.sendall(data)

    def receive(self, size: int) -> bytes:
        while len(self.buffer) < size:
            self.fill()
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data

    def line(self) -> bytes:
        while b"\r\n" not in self.buffer:
            self.fill()
        return self.receive(self.buffer.index(b"\r\n") + 2)[:-2]

    def fill(self) -> None:
        self.socket.settimeout(self.deadline.left())
        data = self.socket.recv(1 << 16)
        if not data:
            raise PackageError("the server closed the connection")
        self.buffer += data

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *unused: object) -> None:
        self.socket.close()
