"""Runs programs under tools, interleaved, and keeps every result. Bounded by a time limit for each run."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from ..model import Tool
from ..tools import made_from
from . import judge
from .build import Builder, BuildError, digest
from .generator import Program
from .ledger import Ledger, Record
from .symbols import Symbols

_LIMIT, _HEAVY_LIMIT = 30.0, 120.0  # seconds; a run takes 0.1 and 1
_SEEDS_APART = 1_000_003  # between the runs of one --seed and of the next
_REPORT_EVERY = 60.0  # seconds between lines of progress where there is no terminal


@dataclasses.dataclass(frozen=True)
class Plan:
    programs: Sequence[Program]
    tools: Sequence[Tool]
    runs: Mapping[str, int]  # tool -> how often each program runs under it
    seed: int


@dataclasses.dataclass(frozen=True)
class Task:
    program: Program
    tool: Tool
    run: int
    stamp: str

    @property
    def key(self) -> tuple[str, str, int, str]:
        return self.program.name, self.tool.name, self.run, self.stamp


@dataclasses.dataclass(frozen=True)
class Output:
    stdout: str
    stderr: str
    exit: int | None
    seconds: float


def tasks_of(plan: Plan, builder: Builder) -> list[Task]:
    """Every run of the plan. Tools take turns, and all are equally far at any time, however many runs each has."""
    placed = []
    for number, program in enumerate(plan.programs):
        for column, tool in enumerate(plan.tools):
            env = sorted(tool.env.items())
            stamp = digest(builder.key(program, tool.toolchain), repr((tool.prefix, env, plan.seed, judge.VERSION)),
                           made_from(tool))
            runs = plan.runs[tool.name]
            placed += [((r + 0.5) / runs, number, column, Task(program, tool, r, stamp)) for r in range(runs)]
    return [entry[3] for entry in sorted(placed, key=lambda entry: entry[:3])]


def execute(tool: Tool, binary: pathlib.Path, seed: int) -> Output:
    env = {**os.environ, **tool.env}
    if "TSAN_OPTIONS" in tool.env:
        env["TSAN_OPTIONS"] = tool.env["TSAN_OPTIONS"] + ":symbolize=0"  # see symbols.py
    start = time.monotonic()
    child = subprocess.Popen([*tool.prefix, str(binary), str(seed)], env=env, stdin=subprocess.DEVNULL, start_new_session=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    status: int | None
    try:
        out, err = child.communicate(timeout=_HEAVY_LIMIT if tool.heavy else _LIMIT)
        status = child.returncode
    except BaseException as error:
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        status = None
    seconds = round(time.monotonic() - start, 3)
    return Output(out.decode(errors="replace"), err.decode(errors="replace"), status, seconds)


def judged(task: Task, output: Output, resolver: judge.Resolver) -> Record:
    text = output.stderr
    reports = judge.parse(text, resolver)
    verdict = judge.judge(reports, judge.Truth.of(task.program.text))
    said = len(re.findall(task.tool.report, text, re.MULTILINE))
    lines = output.stdout.splitlines()
    return Record(
        program=task.program.name,
        tool=task.tool.name,
        run=task.run,
        stamp=task.stamp,
        ended="done" in lines,
        exit=output.exit,
        seconds=output.seconds,
        reports=verdict.reports,
        found=verdict.found,
        false=[[alarm.where, alarm.racy, list(alarm.lines)] for alarm in verdict.false],
        unread=max(0, said - verdict.reports),
        reached=[line.removeprefix("reached ") for line in lines if line.startswith("reached ")],
    )


class Progress:
    """One line that is rewritten on a terminal, a line now and then elsewhere."""

    def __init__(self, total: int, doing: str) -> None:
        self._total, self._done, self._doing = total, 0, doing
        self._start = self._said = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def step(self, what: str) -> None:
        self._done += 1
        now = time.monotonic()
        left = (now - self._start) / self._done * (self._total - self._done)
        line = f"quality: {self._doing} {self._done}/{self._total}, about {left / 60:.0f} min left, {what}"
        if self._terminal:
            print(f"\r{line[:118]:<118}", end="", file=sys.stderr, flush=True)
        elif now - self._said >= _REPORT_EVERY:
            self._said = now
            print(line, file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._terminal and self._done:
            print(file=sys.stderr)


class Session:
    """`folder` gets the binaries, the ledger and one sample of every output with a report that is not of a planted race."""

    def __init__(self, plan: Plan, builder: Builder, folder: pathlib.Path, ledger: Ledger) -> None:
        self._builder, self._ledger, self._seed = builder, ledger, plan.seed
        self._samples = folder / "samples"
        self._symbols: dict[pathlib.Path, Symbols] = {}
        self._sampled: set[pathlib.Path] = set()
        self._unbuilt: dict[tuple[str, str], str] = {}
        self.tasks = tasks_of(plan, builder)

    @property
    def build_errors(self) -> list[str]:
        return list(self._unbuilt.values())

    def run(self) -> None:
        """Does what the ledger does not have yet."""
        left = [task for task in self.tasks if task.key not in self._ledger]
        self._build(left)
        progress = Progress(len(left), "run")
        for task in left:
            self._run(task)
            progress.step(f"{task.program.name} under {task.tool.name}")
        progress.end()

    def _build(self, tasks: Sequence[Task]) -> None:
        """Before the first run: on all cores, and so that nothing else goes on beside the runs."""
        wanted = {(task.program.name, task.tool.toolchain.name): task for task in tasks}
        progress = Progress(len(wanted), "built")

        def build(task: Task) -> BuildError | None:
            try:
                self._builder.binary(task.program, task.tool.toolchain)
            except BuildError as error:
                return error
            return None

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for place, error in zip(wanted, pool.map(build, wanted.values()), strict=True):
                if error is not None:
                    self._unbuilt[place] = str(error)
                progress.step(" with ".join(place))
        progress.end()

    def _run(self, task: Task) -> None:
        place = (task.program.name, task.tool.toolchain.name)
        if place in self._unbuilt:
            return
        try:
            binary = self._builder.binary(task.program, task.tool.toolchain)
        except BuildError as error:
            self._unbuilt[place] = str(error)
            return
        output = execute(task.tool, binary, _SEEDS_APART * self._seed + task.run)
        symbols = self._symbols.setdefault(binary, Symbols(binary))
        symbols.learn(output.stderr)
        record = judged(task, output, judge.Resolver(task.program.file, binary.name, symbols.lookup))
        self._ledger.add(record)
        if record.false or record.unread or not record.ended:
            self._keep_sample(task, output)

    def _keep_sample(self, task: Task, output: Output) -> None:
        path = self._samples / f"{task.program.name}.{task.tool.name}.txt"
        if path not in self._sampled:
            self._sampled.add(path)
            self._samples.mkdir(parents=True, exist_ok=True)
            path.write_text(f"exit {output.exit}\n{output.stdout}{output.stderr}", encoding="utf-8")
