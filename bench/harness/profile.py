"""Where a program spends its time: the functions that `perf` samples most."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import tempfile

from .model import Command, Tool


def profile(tool: Tool, command: Command, count: int = 10) -> list[str]:
    """The `count` hottest functions, or one line that says why there is no profile."""
    if shutil.which("perf") is None:
        return ["no profile: perf is not installed (package linux-perf)"]
    if command.client:
        return ["no profile: servers are not profiled"]
    env = {**os.environ, **tool.env, **command.env}
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "perf.data"
        record = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-o", str(data), "--", *tool.prefix, *command.argv],
                                env=env, capture_output=True, text=True, check=False, timeout=600)
        report = subprocess.run(["perf", "report", "--stdio", "-q", "--no-children", "-F", "overhead,symbol", "-i", str(data)],
                                capture_output=True, text=True, check=False, timeout=600)
    lines = [_shortened(line.rstrip()) for line in report.stdout.splitlines() if line.strip() and not line.startswith("#")]
    return lines[:count] or [f"no profile: {(record.stderr or report.stderr).strip() or 'perf recorded nothing'}"]


def _shortened(line: str) -> str:
    """A line of perf's with what is between angle brackets or parentheses left out of the name of the function."""
    out, depth = [], 0
    for c in line.replace("(anonymous namespace)::", ""):
        if c in "<(":
            depth += 1
        elif c in ">)" and depth > 0:
            depth -= 1
            if depth == 0:
                out.append("<>" if c == ">" else "()")
            continue
        if depth == 0:
            out.append(c)
    return "".join(out)
