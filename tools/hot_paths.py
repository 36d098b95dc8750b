#!/usr/bin/env python3
"""Counts the instructions of the hot paths with callgrind and compares them with bench/golden/.

Time is noisy, instructions are not: a change that makes a hot path longer shows here on any machine.

  tools/hot_paths.py PROGRAM             compare; exit code 1 if a path left the tolerance in either direction
  tools/hot_paths.py PROGRAM --update    write the golden file anew (then say in the commit why it moved)
  tools/hot_paths.py --inside PROGRAM    the same for a program that counts by itself, inside the runtime (runtime_paths)

Exit code 77 if there is no golden file for this architecture: the counts are shown and nothing is compared.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

TOLERANCE = 0.05
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "bench" / "golden"


def count(program: pathlib.Path) -> dict[str, float]:
    """Instructions an operation, by DETECTOR/PATH."""
    with tempfile.TemporaryDirectory() as folder:
        argv = ["valgrind", "--tool=callgrind", "--quiet", "--collect-atstart=no",
                f"--callgrind-out-file={folder}/out", str(program)]
        run = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=600)
        if run.returncode != 0 or run.stdout:
            raise RuntimeError(f"{' '.join(argv)}: exit code {run.returncode}\n{run.stdout}{run.stderr}")
        counts: dict[str, float] = {}
        for dump in pathlib.Path(folder).glob("out.*"):
            text = dump.read_text(encoding="utf-8", errors="replace")
            name = re.search(r"^desc: Trigger: Client Request: (.*)/(.*)/(\d+)$", text, re.MULTILINE)
            total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
            if name and total:
                counts[f"{name[1]}/{name[2]}"] = round(int(total[1]) / int(name[3]), 1)
    if not counts:
        raise RuntimeError(f"{program} counted nothing")
    return counts


def ask(program: pathlib.Path) -> dict[str, float]:
    """The same, of a program that prints them."""
    run = subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=100)
    if run.returncode != 0:
        raise RuntimeError(f"{program}: exit code {run.returncode}\n{run.stdout}{run.stderr}")
    return json.loads(run.stdout)


def compare(golden: dict[str, float], counts: dict[str, float]) -> list[str]:
    """What left the tolerance, one line each; empty if nothing did."""
    wrong = []
    for name in sorted(golden.keys() | counts.keys()):
        if name not in counts:
            wrong.append(f"{name}: in the golden file, and not counted any more")
        elif name not in golden:
            wrong.append(f"{name}: counted, and not in the golden file")
        elif abs(counts[name] - golden[name]) > TOLERANCE * golden[name]:
            wrong.append(f"{name}: {golden[name]} instructions, now {counts[name]} "
                         f"({counts[name] / golden[name] - 1:+.0%}, tolerance {TOLERANCE:.0%})")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help="build/release/bench/hot_paths")
    parser.add_argument("--update", action="store_true", help="write the golden file anew")
    parser.add_argument("--inside", action="store_true", help="the program counts by itself")
    parser.add_argument("--golden", type=pathlib.Path, help="the golden file (default: of this architecture)")
    options = parser.parse_args()
    if options.golden is None:
        what = "runtime-paths" if options.inside else "hot-paths"
        options.golden = GOLDEN / f"{what}.{platform.machine()}.json"
    if not options.inside and shutil.which("valgrind") is None:
        print("hot_paths: valgrind is not installed", file=sys.stderr)
        return 2
    try:
        counts = ask(options.program) if options.inside else count(options.program)
    except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
        print(f"hot_paths: {error}", file=sys.stderr)
        return 2
    for name, value in sorted(counts.items()):
        print(f"{value:10.1f}  {name}")
    if options.update:
        options.golden.parent.mkdir(parents=True, exist_ok=True)
        options.golden.write_text(json.dumps(dict(sorted(counts.items())), indent=1) + "\n", encoding="utf-8")
        return 0
    if not options.golden.exists():
        print(f"hot_paths: there is no {options.golden}: nothing was compared (--update writes it)")
        return 77
    wrong = compare(json.loads(options.golden.read_text(encoding="utf-8")), counts)
    for line in wrong:
        print(f"hot_paths: {line}", file=sys.stderr)
    if wrong:
        print("hot_paths: if this is meant, run it with --update and say why in the commit", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
