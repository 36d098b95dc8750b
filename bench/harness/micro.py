"""What single operations cost under each tool: bench/micro/micro.cc, built once per toolchain, the tools run in turn."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Sequence

from .model import Tool, Workload
from .results import machine, write_whole
from .session import Builder

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "micro" / "micro.cc"
_FLAGS = ("-std=c++20", "-O2", "-g", "-pthread")

# (operation, threads) -> tool -> CPU nanoseconds an operation, the least of all rounds
Costs = dict[tuple[str, int], dict[str, float]]


def _build(toolchain, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    binary, fresh = folder / "micro", folder / ".micro.new"
    argv = [toolchain.cxx, *_FLAGS, *toolchain.flags, str(SOURCE), "-o", str(fresh), *toolchain.link_flags, "-lbenchmark"]
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}\n{result.stderr}")
    fresh.replace(binary)


def parse(report: str) -> dict[tuple[str, int], float]:
    """CPU nanoseconds an operation, from what Google Benchmark prints as JSON: the least of its repetitions."""
    found: dict[tuple[str, int], float] = {}
    for one in json.loads(report)["benchmarks"]:
        name = re.fullmatch(r"(.*)/threads:(\d+)", one["name"].split("/repeats:")[0])
        if name and one.get("run_type", "iteration") == "iteration":
            key, cost = (name[1], int(name[2])), 1e9 / one["items_per_second"]
            found[key] = min(cost, found.get(key, cost))
    return found


def measure(tools: Sequence[Tool], builder: Builder, rounds: int, seconds: float) -> Costs:
    program = Workload("micro", "single operations", "Google Benchmark", 1, _build, lambda *_: None, sources=(SOURCE,))
    tools = [t for t in tools if not t.heavy]
    for tool in tools:
        builder.build(tool.toolchain, program)
    costs: Costs = {}
    for number in range(rounds):
        for tool in tools:
            print(f"bench: single operations, round {number + 1} of {rounds}, {tool.name}", file=sys.stderr)
            argv = [*tool.prefix, str(builder.folder(tool.toolchain, program) / "micro"), "--benchmark_format=json",
                    f"--benchmark_min_time={seconds}"]
            run = subprocess.run(argv, env={**os.environ, **tool.env}, capture_output=True, text=True, check=False, timeout=1200)
            if run.returncode != 0:
                raise RuntimeError(f"{' '.join(argv)}: exit code {run.returncode}\n{run.stderr[-2000:]}")
            for key, cost in parse(run.stdout).items():
                row = costs.setdefault(key, {})
                row[tool.name] = min(cost, row.get(tool.name, cost))
    return costs


def markdown(costs: Costs, tools: Sequence[Tool]) -> str:
    names = [t.name for t in tools if not t.heavy]
    m = machine()
    out = ["# Single operations", "", f"CPU nanoseconds an operation, the least of all rounds. {m['cpu']}, {m['cores']} cores, "
           f"Linux {m['kernel']}, {m['date']}. With more threads than cores they take turns: CPU time is what each costs.", "",
           "| operation | threads | " + " | ".join(names) + " |", "|---|---:|" + "---:|" * len(names)]
    for (operation, threads), row in costs.items():
        cells = (f"{row[n]:.1f}" if n in row else "-" for n in names)
        out.append(f"| {operation} | {threads} | " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def save(costs: Costs, tools: Sequence[Tool], folder: pathlib.Path) -> list[pathlib.Path]:
    data = {"machine": machine(), "unit": "CPU nanoseconds an operation",
            "operations": [{"operation": o, "threads": t, "costs": row} for (o, t), row in costs.items()]}
    write_whole(folder / "micro.json", json.dumps(data, indent=1) + "\n")
    write_whole(folder / "micro.md", markdown(costs, tools))
    return [folder / "micro.json", folder / "micro.md"]
