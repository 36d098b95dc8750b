"""A finished (or interrupted) measurement as data: what results.json holds, and what the tables and plots are drawn from."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import platform
import subprocess
import time

from . import tools as tools_module
from .model import Tool, Workload
from .stats import Ratio, Summary, geomean, memory, slowdown, summarize
from .store import Cell, Log

FORMAT = 1


@dataclasses.dataclass
class Results:
    machine: dict[str, str]
    options: dict
    tools: dict[str, dict]  # name -> title, baseline, heavy, version, ours
    workloads: dict[str, dict]  # name -> title, origin, threads
    cells: dict[Cell, Summary]
    failures: dict[Cell, str]
    profiles: dict[str, list[str]] = dataclasses.field(default_factory=dict)  # "WORKLOAD TOOL" -> lines, for losses

    def summary(self, workload: str, tool: str, threads: int | None = None) -> Summary | None:
        threads = threads or self.workloads[workload]["threads"]
        return self._best({c: s for c, s in self.cells.items()
                           if (c.workload, c.tool, c.threads) == (workload, tool, threads)})

    def failure(self, workload: str, tool: str) -> str:
        return next((why for c, why in self.failures.items() if (c.workload, c.tool) == (workload, tool)), "")

    def baseline(self, workload: str, tool: str, threads: int | None = None) -> Summary | None:
        """Native code at the scale of that tool."""
        threads = threads or self.workloads[workload]["threads"]
        scale = next((c.scale for c in self.cells if (c.workload, c.tool, c.threads) == (workload, tool, threads)), None)
        return self.cells.get(Cell(workload, self.tools[tool]["baseline"], scale, threads)) if scale else None

    def slowdown(self, workload: str, tool: str, threads: int | None = None) -> Ratio | None:
        of, to = self.summary(workload, tool, threads), self.baseline(workload, tool, threads)
        return slowdown(of, to) if of and to else None

    def memory(self, workload: str, tool: str) -> Ratio | None:
        of, to = self.summary(workload, tool), self.baseline(workload, tool)
        return memory(of, to) if of and to else None

    def measured_tools(self) -> list[str]:
        """Those that are not themselves what others are compared with."""
        return [name for name, tool in self.tools.items() if tool["baseline"] != name]

    def geomean(self, tool: str, of) -> tuple[float | None, int]:
        """The geometric mean over the workloads that this tool has a figure for, and their number."""
        values = [r.value for w in self.workloads if (r := of(w, tool))]
        return geomean(values), len(values)

    def losses(self) -> list[tuple[str, str, str, float]]:
        """(workload, ours, peer, how many times slower) wherever a tool of ours is slower than a peer on the same compiler."""
        found = []
        for ours in (n for n, t in self.tools.items() if t["ours"]):
            for peer in (n for n in self.measured_tools() if not self.tools[n]["ours"]):
                if self.tools[peer]["baseline"] != self.tools[ours]["baseline"]:
                    continue
                for workload in self.workloads:
                    mine, theirs = self.slowdown(workload, ours), self.slowdown(workload, peer)
                    if mine and theirs and mine.value > theirs.value:
                        found.append((workload, ours, peer, mine.value / theirs.value))
        return found

    @property
    def noise(self) -> float:
        """The most cores that anything else used during a run."""
        return max((s.others for s in self.cells.values()), default=0.0)

    @staticmethod
    def _best(of: dict[Cell, Summary]) -> Summary | None:
        """A native program is measured at two scales when heavy tools take part: the larger one is the row's figure."""
        return max(of.values(), key=lambda s: s.cpu_min, default=None)


def machine() -> dict[str, str]:
    cpu = ""
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        fields = dict(line.split(":", 1) for line in info.read().replace("\t", "").splitlines() if ":" in line)
    cpu = fields.get("model name", "").strip()
    if not cpu:  # arm64 names a part number only
        lscpu = subprocess.run(["lscpu"], capture_output=True, text=True, check=False).stdout
        cpu = next((l.split(":", 1)[1].strip() for l in lscpu.splitlines() if l.startswith("Model name")), "unknown")
    with open("/proc/meminfo", encoding="ascii") as info:
        total = int(info.readline().split()[1]) >> 20
    return {"architecture": platform.machine(), "cpu": cpu, "cores": str(os.cpu_count()), "memory": f"{total} GiB",
            "kernel": platform.release(), "date": time.strftime("%Y-%m-%d")}


def collect(log: Log, tools: list[Tool], workloads: list[Workload], options: dict) -> Results:
    return Results(
        machine=machine(), options=options,
        tools={t.name: {"title": t.title, "baseline": t.baseline, "heavy": t.heavy, "ours": t.ours,
                        "version": tools_module.version(t)} for t in tools},
        workloads={w.name: {"title": w.title, "origin": w.origin, "threads": w.threads} for w in workloads},
        cells={cell: summarize(samples) for cell, samples in log.samples.items()},
        failures=dict(log.failures))


def save(results: Results, path: pathlib.Path) -> None:
    data = {
        "format": FORMAT, "machine": results.machine, "options": results.options, "tools": results.tools,
        "workloads": results.workloads,
        "cells": [{**dataclasses.asdict(c), **dataclasses.asdict(s)} for c, s in results.cells.items()],
        "failures": [{**dataclasses.asdict(c), "why": why} for c, why in results.failures.items()],
        "profiles": results.profiles,
    }
    write_whole(path, json.dumps(data, indent=1) + "\n")


def load(path: pathlib.Path) -> Results:
    data = json.loads(path.read_text(encoding="utf-8"))
    if data.get("format") != FORMAT:
        raise ValueError(f"{path}: format {data.get('format')}, and this program reads {FORMAT}")
    names = [f.name for f in dataclasses.fields(Cell)]

    def split(record: dict) -> tuple[Cell, dict]:
        return Cell(*(record[n] for n in names)), {k: v for k, v in record.items() if k not in names}

    cells = {cell: Summary(**rest) for cell, rest in map(split, data["cells"])}
    failures = {cell: rest["why"] for cell, rest in map(split, data["failures"])}
    return Results(data["machine"], data["options"], data["tools"], data["workloads"], cells, failures,
                   data["profiles"])


def write_whole(path: pathlib.Path, text: str) -> None:
    """The file is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)
