#!/usr/bin/env python3
"""Runs clang-tidy on every source file of src/, and of what the build generates from the list of detectors.

  tools/tidy.py --build build/tidy --clang-tidy clang-tidy-19 [--jobs 2] [--again]

A file that has passed is not looked at again until something changes that could make a difference: the file, a header of ours that it
includes (directly or not), its compile commands, .clang-tidy, the version of clang-tidy, or any package of the machine (headers of libraries).
What has passed is remembered outside of the checkout, in $XDG_CACHE_HOME/redflag-tidy, so that another checkout of the same files knows it too;
--again asks of everything anew. Exit code 1: clang-tidy has something to say, which is printed.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|([A-Z]\w*))', re.MULTILINE)
NOISE = re.compile(r"^\d+ warnings? generated\.$")
OLDEST = 20_000  # files that have passed: beyond that, the cache begins anew


class Inputs:
    """What a file is made of, as far as it is ours."""

    def __init__(self, build: pathlib.Path) -> None:
        self.folders = [ROOT / "src", ROOT / "include", build / "generated"]
        self.detectors = sorted((ROOT / "src/detectors").glob("*.h"))  # #include REDFLAG_DETECTOR_HEADER is one of them

    @functools.cache
    def included(self, path: pathlib.Path) -> tuple[pathlib.Path, ...]:
        found: list[pathlib.Path] = []
        for quoted, macro in INCLUDE.findall(path.read_text()):
            if macro:
                found += self.detectors
                continue
            candidates = [folder / quoted for folder in [path.parent, *self.folders]]
            found += [candidate for candidate in candidates if candidate.is_file()][:1]
        return tuple(found)

    @functools.cache
    def digest(self, path: pathlib.Path) -> bytes:
        return hashlib.sha256(path.read_bytes()).digest()

    def closure(self, path: pathlib.Path) -> list[pathlib.Path]:
        seen = {path}
        queue = collections.deque(seen)
        while queue:
            for header in self.included(queue.popleft()):
                if header not in seen:
                    seen.add(header)
                    queue.append(header)
        return sorted(seen)


def output_of(*command: str) -> bytes:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def commands_by_file(build: pathlib.Path) -> dict[pathlib.Path, list[str]]:
    """Without the path of the checkout, so that it is the same in another one."""
    found: dict[pathlib.Path, list[str]] = collections.defaultdict(list)
    for entry in json.loads((build / "compile_commands.json").read_text()):
        found[pathlib.Path(entry["file"])].append(entry["command"].replace(str(ROOT), "."))
    return found


def sources(build: pathlib.Path) -> list[pathlib.Path]:
    """The detectors in the replayer stand for their headers; the in-process ones would say the same again."""
    generated = (build / "generated/detectors").glob("*.cc")
    return sorted([*(ROOT / "src").rglob("*.cc"), *(file for file in generated if not file.name.startswith("inprocess_"))])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build folder that is configured, for its compile commands")
    parser.add_argument("--clang-tidy", default="clang-tidy")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--again", action="store_true", help="ask of everything, whatever has passed before")
    arguments = parser.parse_args()
    build = arguments.build.resolve()

    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "redflag-tidy"
    cache.mkdir(parents=True, exist_ok=True)
    if sum(1 for _ in cache.iterdir()) > OLDEST:
        for stamp in cache.iterdir():
            stamp.unlink(missing_ok=True)

    inputs = Inputs(build)
    commands = commands_by_file(build)
    surroundings = hashlib.sha256(output_of(arguments.clang_tidy, "--version") + (ROOT / ".clang-tidy").read_bytes() +
                                  output_of("dpkg-query", "--show")).digest()

    def stamp_of(source: pathlib.Path) -> pathlib.Path:
        key = hashlib.sha256(surroundings + "\n".join(sorted(commands.get(source, []))).encode())
        for path in inputs.closure(source):
            key.update(str(path).replace(str(ROOT), ".").encode() + b"\0" + inputs.digest(path))
        return cache / key.hexdigest()

    def check(source: pathlib.Path) -> str:
        """Empty: it has passed."""
        stamp = stamp_of(source)
        if stamp.exists() and not arguments.again:
            return ""
        result = subprocess.run([arguments.clang_tidy, "-p", str(build), "--quiet", str(source)],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode == 0:
            stamp.touch()
            return ""
        said = "\n".join(line for line in result.stdout.splitlines() if not NOISE.match(line))
        return said or f"{source}: {arguments.clang_tidy} ended with {result.returncode}"

    todo = sources(build)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        problems = [said for said in pool.map(check, todo) if said]
    for said in problems:
        print(said)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
