"""A measurement from plan to log: builds what is missing, then runs cell after cell, the tools in turn."""

from __future__ import annotations

import dataclasses
import hashlib
import pathlib
import sys
import time
from collections.abc import Sequence

from . import tools as tools_module
from .measure import Launcher, RunFailed, others_now, run
from .model import QUICK, SMALL, Tool, Toolchain, Workload
from .render import QUIET
from .store import Cell, Log

GROWTH_THREADS = (1, 2, 4, 8, 16, 64)


@dataclasses.dataclass(frozen=True)
class Plan:
    tools: Sequence[Tool]
    workloads: Sequence[Workload]
    scale: str = QUICK
    repetitions: int = 5
    growth: bool = True
    timeout: float = 600.0
    wait: float = 60.0  # seconds to wait for a quiet machine, at most
    spare_heavy: bool = False  # the heavy tools only where a workload says that they fit --quick
    spare_variants: bool = False  # the same of tools that are not part of --quick

    def rounds(self, workload: Workload) -> list[list[tuple[Tool, Cell]]]:
        """What to run for a workload: groups of cells that are compared with one another, each run in turn."""
        spared = self.spare_variants and not workload.quick_heavy
        light = [t for t in self.tools if not t.heavy and not (t.full_only and spared)]
        heavy = [t for t in self.tools if t.heavy and not (t.full_only and spared)]
        groups = [self._group(workload, light, self.scale, workload.threads)] if light else []
        if heavy and (workload.quick_heavy or not self.spare_heavy):
            bases = [t for t in light if t.name in {h.baseline for h in heavy}]
            groups.append(self._group(workload, [*bases, *heavy], SMALL, workload.threads))
        if self.growth and workload.growth and len(light) > 1:
            groups += [self._group(workload, [t for t in light if not t.full_only], QUICK, n) for n in GROWTH_THREADS]
        return groups

    @staticmethod
    def _group(workload: Workload, tools: Sequence[Tool], scale: str, threads: int) -> list[tuple[Tool, Cell]]:
        return [(t, Cell(workload.name, t.name, scale, threads)) for t in tools if t.toolchain.name not in workload.skip]


class Progress:
    """One line that is rewritten on a terminal; otherwise a line when a workload is done."""

    def __init__(self, total: int):
        self._total, self._done, self._start = total, 0, time.monotonic()
        self._terminal = sys.stderr.isatty()

    def say(self, text: str) -> None:
        if self._terminal:
            sys.stderr.write("\r\x1b[K")
        print(text, file=sys.stderr, flush=True)

    def step(self, what: str, count: int = 1) -> None:
        self._done += count
        if self._terminal:
            spent = time.monotonic() - self._start
            left = spent / self._done * (self._total - self._done) if self._done else 0
            sys.stderr.write(f"\r\x1b[K[{self._done}/{self._total}] {what}, about {left / 60:.0f} min left")
            sys.stderr.flush()

    def finish(self) -> None:
        if self._terminal:
            sys.stderr.write("\r\x1b[K")


class Builder:
    """Binaries by toolchain and workload. A stamp beside them tells what they were made from."""

    def __init__(self, folder: pathlib.Path):
        self._folder = folder
        self._versions: dict[str, str] = {}

    def folder(self, toolchain: Toolchain, workload: Workload) -> pathlib.Path:
        return self._folder / toolchain.name / workload.name

    def key(self, toolchain: Toolchain, workload: Workload) -> str:
        digest = hashlib.sha256(repr((toolchain, self._version(toolchain), workload.name)).encode())
        for source in workload.sources:
            digest.update(source.read_bytes())
        for part in toolchain.linked:
            digest.update(part.read_bytes() if part.exists() else b"")
        return digest.hexdigest()[:16]

    def build(self, toolchain: Toolchain, workload: Workload) -> None:
        folder = self.folder(toolchain, workload)
        stamp, key = folder / ".made-from", self.key(toolchain, workload)
        if stamp.exists() and stamp.read_text() == key:
            return
        stamp.unlink(missing_ok=True)
        workload.build(toolchain, folder)
        stamp.write_text(key)

    def _version(self, toolchain: Toolchain) -> str:
        if toolchain.cxx not in self._versions:
            self._versions[toolchain.cxx] = tools_module.compiler_version(toolchain)
        return self._versions[toolchain.cxx]


def measure(plan: Plan, builder: Builder, launcher: Launcher, log: Log) -> None:
    """Fills the log. What can't be built or run is logged as a failure and the rest goes on."""
    groups = [(w, g) for w in plan.workloads for g in plan.rounds(w)]
    progress = Progress(sum(len(g) for _, g in groups) * plan.repetitions)
    if log.resumed:
        progress.say(f"bench: going on with {log.resumed} runs of {log.path}")
    for workload in plan.workloads:
        began = time.monotonic()
        for group in plan.rounds(workload):
            _build(plan, builder, log, progress, workload, group)
            _wait_for_quiet(plan.wait, progress)
            _run_group(plan, builder, launcher, log, progress, workload, group)
        progress.say(f"bench: {workload.name} done in {time.monotonic() - began:.0f} s")
    progress.finish()


def _build(plan, builder, log, progress, workload, group) -> None:
    for tool, cell in group:
        try:
            builder.build(tool.toolchain, workload)
        except Exception as error:  # a package may fail to download, configure, compile
            log.fail(cell, f"not built: {error}")
            progress.say(f"bench: {workload.name} with {tool.toolchain.name}: {error}")


def _run_group(plan, builder, launcher, log, progress, workload, group) -> None:
    digest = next((s.digest for _, c in group for s in log.samples.get(c, ())), None)
    for repetition in range(plan.repetitions):
        for tool, cell in group:
            progress.step(f"{cell.workload}, {cell.tool}, {cell.threads} threads")
            if cell in log.failures or len(log.samples.get(cell, ())) > repetition:
                continue
            command = workload.command(builder.folder(tool.toolchain, workload), cell.scale, cell.threads)
            try:
                sample = run(launcher, tool, command, plan.timeout)
                if digest is not None and sample.digest != digest:
                    raise RunFailed(f"wrong result: {sample.digest}, and others computed {digest}")
                digest = sample.digest
                log.add(cell, sample)
            except RunFailed as error:
                log.fail(cell, str(error))
                progress.say(f"bench: {cell.workload} under {cell.tool}: {error}")


def _wait_for_quiet(seconds: float, progress: Progress) -> None:
    deadline, said = time.monotonic() + seconds, False
    while (others := others_now()) > QUIET:
        if time.monotonic() > deadline:
            progress.say(f"bench: the machine is not quiet ({others:.1f} cores are in use); going on, and saying so")
            return
        if not said:
            progress.say(f"bench: {others:.1f} cores are in use; waiting up to {seconds:.0f} s for a quiet machine")
            said = True
        time.sleep(2)
