"""sqlite, driven by bench/workloads/sqlite_driver.c: threads with connections to databases of their own, and to one."""

from __future__ import annotations

import pathlib
import re

from ...model import FULL, QUICK, SMALL, Command, Toolchain, Workload
from . import building, places
from .building import Build
from .places import PackageError

DRIVER = places.REPOSITORY / "bench" / "workloads" / "sqlite_driver.c"
ROWS = {FULL: 200_000, QUICK: 45_000, SMALL: 12_000}
OPTIONS = ("-DSQLITE_THREADSAFE=1", "-DSQLITE_ENABLE_UNLOCK_NOTIFY", "-DSQLITE_OMIT_LOAD_EXTENSION")


def amalgamate(build: Build) -> None:
    """sqlite3.c and sqlite3.h, which are generated: the same whatever the compiler."""
    source = build.unpack("sqlite3")
    build.configure(source, "--disable-tcl", "--disable-readline")
    build.make(source, "sqlite3.c")
    build.keep(source / "sqlite3.c", source / "sqlite3.h")


def recipe(build: Build) -> None:
    amalgamation = building.client("sqlite-amalgamation", amalgamate)
    chain = build.toolchain
    compile = [chain.cc, *building.FLAGS, *chain.flags, "-pthread", *OPTIONS, f"-I{amalgamation}", "-c"]
    build.run(build.scratch, *compile, amalgamation / "sqlite3.c")
    build.run(build.scratch, *compile, "-std=c11", "-Wall", "-Wextra", DRIVER)
    objects = ("sqlite_driver.o", "sqlite3.o")
    build.run(build.scratch, chain.cc, *chain.flags, "-pthread", *objects, "-o", "sqlite", "-lm", *chain.link_flags)
    build.keep(build.scratch / "sqlite")


def build(toolchain: Toolchain, folder: pathlib.Path) -> None:
    building.build("sqlite", toolchain, folder, recipe)


def command(folder: pathlib.Path, scale: str, threads: int) -> Command:
    return Command(argv=(str(folder / "sqlite"), "--threads", str(threads), "--size", str(ROWS[scale])), check=checksum)


def checksum(printed: str) -> str:
    found = re.fullmatch(r"sqlite checksum=([0-9a-f]{16})\n", printed)
    if found is None:
        raise PackageError(f"the driver printed no checksum, but: {printed[-500:]!r}")
    return found[1]


WORKLOADS = [
    Workload(
        name="sqlite",
        title="threads insert, update and query, each in its own database and in a shared cache",
        origin="Debian package sqlite3",
        threads=4,
        build=build,
        command=command,
        sources=(*building.recipe_sources(__file__), DRIVER),
    )
]
