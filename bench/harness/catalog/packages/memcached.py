"""memcached under a bounded load: sets and gets of each connection's own keys, gets and counters of common ones."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pathlib
import pwd
import resource

from ...model import FULL, QUICK, SMALL, Command, Toolchain, Workload
from . import building, loopback
from .building import Build
from .loopback import Connection, Deadline
from .places import PackageError

ROUNDS = {FULL: 1200, QUICK: 200, SMALL: 30}  # in each, every connection gets one batch of requests
CONNECTIONS = 8
KEYS = 16  # of a connection, written and read in each batch
COMMON = 16  # keys that every batch reads
COUNTERS = 4  # that every batch increments
VARIETY = 8  # of values for a key


def recipe(build: Build) -> None:
    # libevent is built along, so that every detector sees the whole program.
    library = build.unpack("libevent")
    installed = build.scratch / "installed"
    build.configure(
        library,
        f"--prefix={installed}",
        "--disable-shared",
        "--disable-openssl",
        "--disable-samples",
        "--disable-libevent-regress",
    )
    build.make(library, "install")
    server = build.unpack("memcached")
    absent = ("--disable-docs", "--disable-coverage", "--disable-extstore")
    build.configure(server, f"--with-libevent={installed}", *absent)
    build.make(server, "memcached")
    build.keep(server / "memcached")


def build(toolchain: Toolchain, folder: pathlib.Path) -> None:
    building.build("memcached", toolchain, folder, recipe)


def command(folder: pathlib.Path, scale: str, threads: int) -> Command:
    port = loopback.free_port()
    options = {"-l": loopback.HOST, "-p": port, "-U": 0, "-t": threads, "-m": 64, "-c": most_connections()}
    if os.geteuid() == 0:
        options["-u"] = pwd.getpwuid(0).pw_name  # it wants to be told that this is meant
    load = Load(port, ROUNDS[scale])
    argv = (str(folder / "memcached"), *(str(word) for option in options.items() for word in option))
    return Command(argv=argv, client=load.run, check=load.check)


def most_connections() -> int:
    """The limit of open files, which memcached sets to this; Valgrind, which needs 12, allows no other."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(soft, hard - 12, 1 << 20)


class Load:
    """The client, and what the server said in the end."""

    def __init__(self, port: int, rounds: int):
        self.port = port
        self.rounds = rounds
        self.seen = ""

    def run(self, pid: int) -> None:
        self.seen = ""
        deadline = Deadline(loopback.LOAD_SECONDS)
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(Connection.open(self.port, pid, deadline)) for _ in range(CONNECTIONS)]
            exchange(connections[0], *first_batch())
            for round in range(self.rounds):
                # All are sent before the first reply is read, so that several of the server's threads work at a time.
                for index, connection in enumerate(connections):
                    connection.send(batch(index, round % VARIETY)[0])
                for index, connection in enumerate(connections):
                    expect(connection, batch(index, round % VARIETY)[1])
            batches = self.rounds * CONNECTIONS
            self.seen = totals(connections[0], batches)

    def check(self, printed: str) -> str:
        if not self.seen:
            raise PackageError("the load did not run to its end")
        return hashlib.sha256(self.seen.encode()).hexdigest()


def exchange(connection: Connection, requests: bytes, replies: bytes) -> None:
    connection.send(requests)
    expect(connection, replies)


def expect(connection: Connection, replies: bytes) -> None:
    if connection.receive(len(replies)) != replies:
        raise PackageError("memcached gave a wrong reply")


def first_batch() -> tuple[bytes, bytes]:
    sets = [setting(f"common{key}", content(f"common{key}")) for key in range(COMMON)]
    sets += [setting(f"counter{counter}", b"0") for counter in range(COUNTERS)]
    return b"".join(sets), b"STORED\r\n" * len(sets)


@functools.cache
def batch(index: int, variant: int) -> tuple[bytes, bytes]:
    """Requests of a connection, and the replies that must come."""
    own = {f"own{index}.{key}": content(f"{index}.{key}.{variant}") * (1 + key % 4) for key in range(KEYS)}
    common = {f"common{key}": content(f"common{key}") for key in range(COMMON)}
    # Increments have no replies; they come first, so that they are done when the batch is answered.
    requests = [f"incr counter{counter} 1 noreply\r\n".encode() for counter in range(COUNTERS)]
    requests += [setting(key, value) for key, value in own.items()]
    requests += [f"get {key}\r\n".encode() for key in own]
    requests += [f"get {' '.join(common)}\r\n".encode()]
    replies = [b"STORED\r\n"] * KEYS
    replies += [found(key, value) + b"END\r\n" for key, value in own.items()]
    replies += [*(found(key, value) for key, value in common.items()), b"END\r\n"]
    return b"".join(requests), b"".join(replies)


def totals(connection: Connection, batches: int) -> str:
    """What memcached counted itself, and what the counters came to: each must be what was sent."""
    counters = {f"counter{counter}": str(batches).encode() for counter in range(COUNTERS)}
    for key, value in counters.items():
        exchange(connection, f"get {key}\r\n".encode(), found(key, value) + b"END\r\n")
    expected = {
        "cmd_set": COMMON + COUNTERS + batches * KEYS,
        "cmd_get": batches * (KEYS + COMMON) + COUNTERS,
        "get_hits": batches * (KEYS + COMMON) + COUNTERS,
        "incr_hits": batches * COUNTERS,
        "curr_items": CONNECTIONS * KEYS + COMMON + COUNTERS,
    }
    connection.send(b"stats\r\n")
    stats = {}
    while (line := connection.line().decode()) != "END":
        _, name, stats[name] = line.split(" ", 2)
    for name, count in expected.items():
        if int(stats[name]) != count:
            raise PackageError(f"memcached counts {stats[name]} for {name}; it was asked for {count}")
    return repr(expected)


def content(name: str) -> bytes:
    return hashlib.sha256(name.encode()).hexdigest().encode()


def setting(key: str, value: bytes) -> bytes:
    return f"set {key} 0 0 {len(value)}\r\n".encode() + value + b"\r\n"


def found(key: str, value: bytes) -> bytes:
    return f"VALUE {key} 0 {len(value)}\r\n".encode() + value + b"\r\n"


WORKLOADS = [
    Workload(
        name="memcached",
        title=f"{CONNECTIONS} connections set, get and increment over loopback, pipelined",
        origin="Debian packages memcached and libevent",
        threads=4,
        build=build,
        command=command,
        sources=building.recipe_sources(__file__),
    )
]
