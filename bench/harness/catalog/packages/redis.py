"""redis-server with threaded reads and writes, loaded by redis-benchmark."""

from __future__ import annotations

import hashlib
import pathlib
import re
import subprocess

from ...model import FULL, QUICK, SMALL, Command, Toolchain, Workload
from . import building, loopback, places
from .building import Build
from .loopback import Connection, Deadline
from .places import PackageError

REQUESTS = {FULL: 25_600, QUICK: 5_120, SMALL: 1_280}  # of each kind; whole pipelines of all clients
CLIENTS = 20
PIPELINE = 64
KINDS = ("set", "get", "incr", "lpush", "zadd")


def make(build: Build, program: str) -> None:
    source = build.unpack("redis") / "src"
    # The C library's malloc, which detectors see. CC is set in the Makefile of one of the libraries it brings along.
    build.make(source, program, f"CC={build.toolchain.cc}", "MALLOC=libc", "BUILD_TLS=no", "USE_SYSTEMD=no")
    build.keep(source / program)


def build(toolchain: Toolchain, folder: pathlib.Path) -> None:
    building.build("redis", toolchain, folder, lambda build: make(build, "redis-server"))
    client()


def client() -> pathlib.Path:
    return building.client("redis-benchmark", lambda build: make(build, "redis-benchmark")) / "redis-benchmark"


def command(folder: pathlib.Path, scale: str, threads: int) -> Command:
    port = loopback.free_port()
    settings = {
        "bind": loopback.HOST,
        "port": port,
        "io-threads": threads,
        "io-threads-do-reads": "yes",
        "save": "",
        "appendonly": "no",
        "dir": places.run_folder("redis"),
    }
    load = Load(client(), port, REQUESTS[scale])
    options = (word for name, value in settings.items() for word in (f"--{name}", str(value)))
    return Command(argv=(str(folder / "redis-server"), *options), client=load.run, check=load.check)


class Load:
    """The client, and what the server counted in the end."""

    def __init__(self, program: pathlib.Path, port: int, requests: int):
        self.program = program
        self.port = port
        self.requests = requests
        self.seen = ""

    def run(self, pid: int) -> None:
        self.seen = ""
        deadline = Deadline(loopback.LOAD_SECONDS)
        with Connection.open(self.port, pid, deadline) as connection:
            ask(connection, "PING")
            self.benchmark(deadline)
            self.seen = self.totals(connection)

    def benchmark(self, deadline: Deadline) -> None:
        options = {
            "-h": loopback.HOST,
            "-p": self.port,
            "-c": CLIENTS,
            "-P": PIPELINE,
            "-n": self.requests,
            "-t": ",".join(KINDS),
            "-d": 64,
        }
        argv = [self.program, "-q", *(str(word) for option in options.items() for word in option)]
        try:
            result = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=deadline.left()
            )
        except subprocess.TimeoutExpired:
            raise PackageError("redis-benchmark took longer than the deadline") from None
        if result.returncode != 0:
            raise PackageError(f"redis-benchmark: {result.stderr.strip() or result.stdout.strip()}")

    def totals(self, connection: Connection) -> str:
        """Each must be as many as were sent."""
        counts = {
            "GET counter:__rand_int__": ask(connection, "GET counter:__rand_int__"),
            "LLEN mylist": ask(connection, "LLEN mylist"),
        }
        stats = ask(connection, "INFO commandstats")
        for kind in KINDS:
            counts[kind] = re.search(rf"^cmdstat_{kind}:calls=(\d+),", stats, re.MULTILINE)[1]
        for name, count in counts.items():
            # The first of the counts was itself got with a GET.
            if int(count) != self.requests + (name == "get"):
                raise PackageError(f"redis counts {count} for {name}; it was asked for {self.requests}")
        return repr(counts)

    def check(self, printed: str) -> str:
        if not self.seen:
            raise PackageError("the load did not run to its end")
        return hashlib.sha256(self.seen.encode()).hexdigest()


def ask(connection: Connection, request: str) -> str:
    """A request, and its reply as text: a bulk string, a number or a status."""
    connection.send(f"{request}\r\n".encode())
    reply = connection.line().decode()
    if reply.startswith("$"):
        return connection.receive(int(reply[1:]) + 2)[:-2].decode()
    if reply.startswith("-"):
        raise PackageError(f"redis: {request}: {reply[1:]}")
    return reply[1:]


WORKLOADS = [
    Workload(
        name="redis",
        title=f"redis-benchmark, {CLIENTS} clients, pipelined: {', '.join(KINDS)}; I/O threads wait by spinning",
        origin="Debian package redis",
        threads=2,
        build=build,
        command=command,
        sources=building.recipe_sources(__file__),
    )
]
