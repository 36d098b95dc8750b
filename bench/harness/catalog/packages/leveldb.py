"""leveldb's own benchmark, filling a database and reading one, with compaction in the background."""

from __future__ import annotations

import hashlib
import pathlib
import re
import shutil
import subprocess

from ...model import FULL, QUICK, SMALL, Command, Toolchain, Workload
from . import building, places
from .building import Build
from .places import PackageError

WRITES = {FULL: 80_000, QUICK: 12_000, SMALL: 4_000}  # of each thread
READS = {FULL: 40_000, QUICK: 12_000, SMALL: 4_000}  # of each thread and kind
# The database was filled with the first of the random numbers, which would all be found again: readseq takes these.
KINDS = ("readseq", "readrandom", "seekrandom")
ENTRIES = 100_000  # of the database that is read, 12 MB
CLIENT_SECONDS = 120

BUILT: dict[Toolchain, pathlib.Path] = {}  # in this process


def recipe(build: Build) -> None:
    source = build.unpack("leveldb")
    options = {
        "CMAKE_BUILD_TYPE": "",  # the flags are ours
        "CMAKE_C_FLAGS": f"{build.flags} -DNDEBUG",
        "CMAKE_CXX_FLAGS": f"{build.flags} -DNDEBUG",
        "CMAKE_EXE_LINKER_FLAGS": build.link_flags,
        "LEVELDB_BUILD_TESTS": "OFF",
        "HAVE_CRC32C": 0,
        "HAVE_SNAPPY": 0,
        "HAVE_TCMALLOC": 0,
    }
    made = build.scratch / "made"
    settings = (f"-D{name}={value}" for name, value in options.items())
    build.run(build.scratch, "cmake", "-S", source, "-B", made, *settings)
    build.run(made, "cmake", "--build", ".", "--target", "db_bench", "--parallel", building.JOBS)
    build.keep(made / "db_bench")


def build(toolchain: Toolchain, folder: pathlib.Path) -> None:
    """Two workloads run one program: the second gets that of the first."""
    made = BUILT.get(toolchain)
    building.build("leveldb", toolchain, folder, (lambda build: build.keep(made / "db_bench")) if made else recipe)
    BUILT[toolchain] = folder
    client()


def client() -> pathlib.Path:
    return building.client("leveldb", recipe)


def db_bench(folder: pathlib.Path, database: pathlib.Path, *kinds: str, **options: int) -> tuple[str, ...]:
    settings = [f"--{name}={value}" for name, value in options.items()]
    return (str(folder / "db_bench"), f"--db={database}", f"--benchmarks={','.join(kinds)}", *settings)


def run_client(database: pathlib.Path, *kinds: str, **options: int) -> str:
    argv = db_bench(client(), database, *kinds, **options)
    result = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CLIENT_SECONDS)
    if result.returncode != 0:
        raise PackageError(f"db_bench, built natively, can't use {database}: {result.stderr.strip()[-500:]}")
    return result.stdout


def results(printed: str) -> dict[str, str]:
    """Benchmark -> what db_bench says of it, but for the times."""
    lines = re.findall(r"^(\w+) +: +[\d.]+ micros/op;(.*)$", printed, re.MULTILINE)
    return {kind: " ".join(re.findall(r"\(.*\)", rest)) for kind, rest in lines}


def fill(folder: pathlib.Path, scale: str, threads: int) -> Command:
    database = places.run_folder("leveldb-fill") / "db"
    writes = WRITES[scale]

    def check(printed: str) -> str:
        if "fillrandom" not in results(printed):
            raise PackageError("db_bench does not say that it is done")
        # Random numbers begin anew in each process, so that this looks for the very keys that were written.
        found = results(run_client(database, "readrandom", threads=threads, num=writes, use_existing_db=1))
        shutil.rmtree(database)
        if found != {"readrandom": f"({writes} of {writes} found)"}:
            raise PackageError(f"not all that was written is there: {found}")
        return hashlib.sha256(repr(found).encode()).hexdigest()

    return Command(argv=db_bench(folder, database, "fillrandom", threads=threads, num=writes), check=check)


def read(folder: pathlib.Path, scale: str, threads: int) -> Command:
    database = places.run_folder("leveldb-read") / "db"
    shutil.copytree(filled_database(), database)
    options = {"threads": threads, "num": ENTRIES, "reads": READS[scale], "use_existing_db": 1}

    def check(printed: str) -> str:
        shutil.rmtree(database)
        found = results(printed)
        if set(found) != set(KINDS):
            raise PackageError(f"db_bench did not do all that it was asked: {found}")
        # Keys were drawn at random, some more than once: 1 - 1/e of all were written, and are found.
        for kind in ("readrandom", "seekrandom"):
            count = int(re.match(r"\((\d+) of ", found[kind])[1])
            if not 0.55 < count / READS[scale] < 0.71:
                raise PackageError(f"{kind} finds {count} of {READS[scale]} keys")
        return hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()

    return Command(argv=db_bench(folder, database, *KINDS, **options), check=check)


def filled_database() -> pathlib.Path:
    """Made by one thread, compacted: nothing is left to do in the background but what reading asks for."""
    database = places.INPUTS / f"leveldb-{ENTRIES}"
    with places.alone(database):
        if not database.exists():
            partial = database.with_name(f"{database.name}.tmp")
            shutil.rmtree(partial, ignore_errors=True)
            partial.parent.mkdir(parents=True, exist_ok=True)
            run_client(partial, "fillrandom", "compact", threads=1, num=ENTRIES)
            partial.rename(database)
    return database


def workload(name: str, title: str, command) -> Workload:
    return Workload(
        name=name,
        title=title,
        origin="Debian package leveldb",
        threads=4,
        build=build,
        command=command,
        sources=building.recipe_sources(__file__),
    )


WORKLOADS = [
    workload("leveldb-fill", "db_bench fillrandom: threads write random keys to a new database", fill),
    workload("leveldb-read", f"db_bench {', '.join(KINDS)}: threads read a database of 12 MB", read),
]
