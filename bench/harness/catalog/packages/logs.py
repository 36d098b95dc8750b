"""Commands that leave a log, and fail with its last lines."""

from __future__ import annotations

import os
import pathlib
import shlex
import signal
import subprocess
import textwrap
import types
from collections.abc import Mapping, Sequence
from typing import NoReturn

from .places import PackageError

TAIL_LINES = 15
EMPTY: Mapping[str, str] = types.MappingProxyType({})


class Log:
    """One file for the commands of one task, begun anew."""

    def __init__(self, path: pathlib.Path, task: str):
        self.path = path
        self.task = task
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {task}\n")

    def run(
        self, argv: Sequence[object], folder: pathlib.Path, seconds: float, env: Mapping[str, str] = EMPTY
    ) -> None:
        """Runs a command in folder; raises PackageError if it fails or takes longer than that."""
        if not self.try_run(argv, folder, seconds, env):
            self.fail(f"`{textwrap.shorten(shlex.join(map(str, argv)), 80, placeholder=' ...')}` failed")

    def try_run(
        self, argv: Sequence[object], folder: pathlib.Path, seconds: float, env: Mapping[str, str] = EMPTY
    ) -> bool:
        words = [str(word) for word in argv]
        with open(self.path, "a") as log:
            log.write(f"\n$ cd {folder}\n$ {shlex.join([*(f'{k}={v}' for k, v in env.items()), *words])}\n")
            log.flush()
            try:
                # In a session of its own, so that when time is up the compilers below make end too.
                process = subprocess.Popen(
                    words,
                    cwd=folder,
                    env={**os.environ, "LC_ALL": "C", **env},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                log.write(f"{words[0]}: {error.strerror}\n")
                return False
            try:
                code = process.wait(timeout=seconds)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                log.write(f"ended after {seconds:g} s\n")
                return False
            log.write(f"exit code {code}\n")
            return code == 0

    def fail(self, reason: str) -> NoReturn:
        """The first line of the error stands for itself; the last lines of the log follow."""
        tail = self.path.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        lines = [f"{self.task}: {reason}; log: {self.path}", *(f"  {line}" for line in tail)]
        raise PackageError("\n".join(lines))
