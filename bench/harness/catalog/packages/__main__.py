"""Builds the real programs with several toolchains and runs each once: is the result right, how slow is it?

  python3 -m bench.harness.catalog.packages --check [NAME...]     from the root of the repository
      --scale small|quick|full     size of the run (small)
      --toolchain TOOLCHAIN        once or more: gcc, clang, gcc-tsan, clang-tsan (gcc and clang-tsan)
      --under COMMAND              run the programs under it: 'valgrind --tool=helgrind'
      --repeat N                   runs of each; the least CPU time counts (1)
      --rebuild                    also what is built already

One line each: user and system time, the ratio to the first toolchain's, digest, reports. Exit code 1: one failed.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from ...model import SCALES, SMALL, Command, Toolchain, Workload
from . import WORKLOADS, places

TSAN = ("-fsanitize=thread",)
TOOLCHAINS = {
    "gcc": Toolchain("gcc", "gcc-12", "g++-12", ()),
    "clang": Toolchain("clang", "clang-19", "clang++-19", ()),
    "gcc-tsan": Toolchain("gcc-tsan", "gcc-12", "g++-12", TSAN),
    "clang-tsan": Toolchain("clang-tsan", "clang-19", "clang++-19", TSAN),
}
RUN_SECONDS = 600
REPORT = re.compile(r"WARNING: ThreadSanitizer: |Possible data race|Conflicting (?:load|store)")


class Failure(Exception):
    pass


class Run:
    """One command run to its end: CPU seconds, the number of reports, and the digest that its check returned."""

    def __init__(self, command: Command, under: tuple[str, ...] = ()):
        env = {"TSAN_OPTIONS": "exitcode=0", **os.environ, **command.env}
        with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as said:
            stdin = open(command.stdin, "rb") if command.stdin else subprocess.DEVNULL
            process = subprocess.Popen(
                [*under, *command.argv], env=env, stdin=stdin, stdout=printed, stderr=said, start_new_session=True
            )
            watchdog = threading.Timer(RUN_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
            watchdog.start()
            problem = None
            try:
                if command.client is not None:
                    try:
                        command.client(process.pid)
                    except Exception as error:
                        problem = error
                    os.kill(process.pid, signal.SIGTERM)  # unlike terminate(), leaves it to be waited for
                _, status, usage = os.wait4(process.pid, 0)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise
            finally:
                watchdog.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            printed.seek(0)
            said.seek(0)
            output = printed.read().decode(errors="replace")
            errors = said.read().decode(errors="replace")
        self.errors = errors
        self.cpu = usage.ru_utime + usage.ru_stime
        self.reports = len(REPORT.findall(errors))
        if problem is not None:
            raise Failure(f"{problem}\n{errors[-2000:]}")
        if process.returncode != 0:
            raise Failure(f"exit code {process.returncode}\n{output[-1000:]}{errors[-2000:]}")
        self.digest = command.check(output) if command.check else ""


def check(workload: Workload, toolchains: list[Toolchain], options: argparse.Namespace) -> bool:
    good, native, digests = True, None, set()
    for toolchain in toolchains:
        folder = places.BUILD / "check" / toolchain.name / workload.name
        try:
            start = time.monotonic()
            if options.rebuild:
                shutil.rmtree(folder, ignore_errors=True)
            if not folder.is_dir():
                workload.build(toolchain, folder)
            built = time.monotonic() - start
            under = tuple(shlex.split(options.under))
            commands = [workload.command(folder, options.scale, workload.threads) for _ in range(options.repeat)]
            runs = [Run(command, under) for command in commands]
        except Exception as error:
            print(f"{workload.name:14} {toolchain.name:11} FAILED: {error}", flush=True)
            good = False
            continue
        cpu = min(run.cpu for run in runs)
        native = native or cpu
        digests.update(run.digest for run in runs)
        log = places.LOGS / f"run-{workload.name}-{toolchain.name}.stderr"
        log.write_text(runs[-1].errors)
        reports = f"{runs[-1].reports} reports: {log}" if runs[-1].reports else "silent"
        digest = runs[-1].digest[:16]
        print(f"{workload.name:14} {toolchain.name:11} {options.scale:6} built {built:5.0f} s  CPU {cpu:7.3f} s"
              f"  x{cpu / native:5.1f}  {digest:16}  {reports}", flush=True)
    if len(digests) > 1:
        print(f"{workload.name:14} FAILED: the digests differ: {', '.join(sorted(digests))}", flush=True)
        good = False
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads; all if none is given")
    parser.add_argument("--check", action="store_true", help="build and run; without it, the workloads are listed")
    parser.add_argument("--scale", choices=SCALES, default=SMALL)
    parser.add_argument("--toolchain", choices=TOOLCHAINS, action="append")
    parser.add_argument("--under", default="", metavar="COMMAND")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--rebuild", action="store_true")
    options = parser.parse_args()
    unknown = set(options.names) - {workload.name for workload in WORKLOADS}
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(w.name for w in WORKLOADS)}")
    chosen = [workload for workload in WORKLOADS if workload.name in options.names or not options.names]
    if not options.check:
        for workload in chosen:
            print(f"{workload.name:14} {workload.threads} threads  {workload.title} ({workload.origin})")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started ends too
    toolchains = [TOOLCHAINS[name] for name in options.toolchain or ("gcc", "clang-tsan")]
    results = [check(workload, toolchains, options) for workload in chosen]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
