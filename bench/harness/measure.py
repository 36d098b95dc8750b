"""One run of one command: CPU time, wall time, peak memory, and how busy the rest of the machine was meanwhile."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time

from .model import Command, Tool

_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
_LAUNCH_SOURCE = pathlib.Path(__file__).with_name("launch.c")


class RunFailed(Exception):
    """The program could not be run, failed, took too long or gave a wrong result."""


@dataclasses.dataclass(frozen=True)
class Sample:
    cpu: float  # user + system seconds
    wall: float  # seconds
    rss: int  # KiB, peak
    others: float  # cores that processes other than this one used meanwhile (with those of the client, for a server)
    reports: int
    digest: str


class Launcher:
    """Compiles launch.c once into a folder."""

    def __init__(self, folder: pathlib.Path):
        self.path = folder / "launch"
        if not self.path.exists() or self.path.stat().st_mtime < _LAUNCH_SOURCE.stat().st_mtime:
            folder.mkdir(parents=True, exist_ok=True)
            fresh = self.path.with_suffix(".new")
            subprocess.run(["gcc-12", "-O2", "-Wall", "-Wextra", "-Werror", str(_LAUNCH_SOURCE), "-o", str(fresh)], check=True)
            fresh.rename(self.path)


def busy_seconds() -> float:
    """CPU time that the whole machine has spent on anything since it started, what its host took away included."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / _CLOCK_TICKS


def others_now(seconds: float = 0.5) -> float:
    """How many cores are in use, by whomever, while this process sleeps."""
    before, start = busy_seconds(), time.monotonic()
    time.sleep(seconds)
    return (busy_seconds() - before) / (time.monotonic() - start)


def run(launcher: Launcher, tool: Tool, command: Command, timeout: float) -> Sample:
    argv = [*tool.prefix, *command.argv]
    env = {**os.environ, **tool.env, **command.env}
    result_read, result_write = os.pipe()
    stdin = open(command.stdin, "rb") if command.stdin else None
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, os.fdopen(result_read) as result:
        busy = busy_seconds()
        process = subprocess.Popen([str(launcher.path), str(result_write), *argv], stdin=stdin or subprocess.DEVNULL,
                                   stdout=out, stderr=err, env=env, pass_fds=(result_write,), start_new_session=True)
        os.close(result_write)
        if stdin:
            stdin.close()
        watchdog = threading.Timer(timeout, _kill_session, (process.pid,))
        watchdog.start()
        trouble: Exception | None = None
        try:
            pid = int(result.readline() or 0)
            if command.client and pid:
                try:
                    command.client(pid)
                except Exception as error:  # whatever the client says, the server must not stay behind
                    trouble = error
                _signal(pid, signal.SIGTERM)
            line = result.readline().split()
            process.wait()
        except BaseException:
            _kill_session(process.pid)
            process.wait()
            raise
        finally:
            expired = not watchdog.is_alive()
            watchdog.cancel()
        busy = busy_seconds() - busy
        stdout, stderr = _text(out), _text(err)

    what = " ".join(argv)
    if expired:
        raise RunFailed(f"took more than {timeout:.0f} s: {what}")
    if trouble:
        raise RunFailed(f"{trouble}: {what}{_tail(stderr)}")
    if len(line) != 5:
        raise RunFailed(f"could not be started: {what}{_tail(stderr)}")
    user, system, wall, rss, status = map(int, line)
    stopped = command.client is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM
    if status != 0 and not stopped:
        code = os.waitstatus_to_exitcode(status)
        raise RunFailed(f"exit status {code}: {what}{_tail(stderr)}")
    try:
        digest = command.check(stdout) if command.check else ""
    except Exception as error:
        raise RunFailed(f"wrong result: {error}: {what}") from error
    cpu, seconds = (user + system) / 1e6, max(wall / 1e6, 1e-6)
    return Sample(cpu=cpu, wall=seconds, rss=rss, others=max(0.0, (busy - cpu) / seconds),
                  reports=len(re.findall(tool.report, stderr)) if tool.report else 0, digest=digest)


def _text(file) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _tail(text: str, lines: int = 5) -> str:
    last = text.strip().splitlines()[-lines:]
    return "".join(f"\n    {line}" for line in last)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _kill_session(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
