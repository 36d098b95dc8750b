"""Where things are: everything that is fetched, generated or built is under build/bench/."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

REPOSITORY = pathlib.Path(__file__).resolve().parents[4]
BUILD = REPOSITORY / "build" / "bench"
APT = BUILD / "apt"
SOURCES = BUILD / "sources"
INPUTS = BUILD / "inputs"
CLIENTS = BUILD / "clients"
LOGS = BUILD / "logs"
RUNS = BUILD / "runs"


class PackageError(RuntimeError):
    """A package can't be fetched, built or run. The text says why, and where the log is."""


@contextlib.contextmanager
def alone(folder: pathlib.Path) -> Iterator[None]:
    """Holds folder for this process: another one that wants to fill it waits, and then finds it filled."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / f".{folder.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_folder(name: str) -> pathlib.Path:
    """A new, empty folder for what a run reads and writes. It is removed when the harness ends."""
    RUNS.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=RUNS))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
