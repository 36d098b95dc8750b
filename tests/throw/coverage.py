#!/usr/bin/env python3
"""How many of the racy places of the e2e programs could throw, if g++ compiles them with `redflag c++ --throw`.

  coverage.py --redflag build/release/bin/redflag [--only NAME] [--opts O0,O2] [--jobs 2]
  coverage.py --redflag ... --cross build/cross          the other architecture: cross compiler and qemu-user; the programs of this folder first

Each program runs with on_race=throw. A place could throw if the compiler expected it to: it is thrown, or the only reason against it is that
nobody catches it, as is true of programs that were not written for it. No program may end by an exception that nobody catches.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
E2E = HERE.parent / "e2e"
sys.path.insert(0, str(E2E))

from builders import CrossBuilder  # noqa: E402

INCLUDE = HERE.parents[1] / "include"
NOTE = re.compile(r"this race is not thrown: (.*)")
REASONS = {"nobody catches it": "could be thrown", "it would leave": "could be thrown, but for a noexcept above",
           "the compiler did not expect": "not expected by the compiler", "the access is part of": "inside libc or atomic",
           "its instruction was not found": "instruction not found", "nothing in the program can": "no thrower (C)"}


class Native:
    """How programs are built and run here."""

    def __init__(self, redflag):
        self.redflag = redflag

    def build(self, source, level, options, program):
        command = [self.redflag, "c++", "--throw", f"-{level}", *options, "-o", program, source]
        return subprocess.run(command, env=os.environ | {"REDFLAG_CXX": "g++-12"}, capture_output=True, text=True, timeout=300, check=False)

    def run(self, program, options, reports):
        return subprocess.run([self.redflag, "run", "--json", reports, program], capture_output=True, text=True, timeout=300, errors="replace",
                              env=os.environ | {"REDFLAG_OPTIONS": options}, check=False)


class Cross:
    """... and for the other architecture."""

    def __init__(self, redflag, folder, tree):
        self.builder = CrossBuilder(redflag, folder, tree)

    def build(self, source, level, options, program):
        command, environment = self.builder.compilation(False, "g++-12")
        return subprocess.run([*command, f"-{level}", "-fnon-call-exceptions", *options, source, "-o", program], env=environment, capture_output=True,
                              text=True, timeout=300, check=False)

    def run(self, program, options, reports):
        command, more = self.builder.execution(program, [], reports, "hb", False)
        return subprocess.run(command, capture_output=True, text=True, timeout=600, errors="replace", check=False,
                              env=os.environ | more | {"REDFLAG_OPTIONS": options})


def run_own(machine, level, folder):
    """The programs of this folder, which check themselves. -> what is wrong"""
    wrong = []
    for name in ("automatic", "checked"):
        program = folder / name
        built = machine.build(str(HERE / f"{name}.cc"), level, ["-std=c++17", "-g", "-pthread", f"-I{INCLUDE}", "-w"], str(program))
        ran = built if built.returncode else machine.run(program, "on_race=throw:exitcode=0" if name == "automatic" else "exitcode=0", folder / "own.json")
        if ran.returncode != 0 or "all is well" not in ran.stdout or "terminate called" in ran.stderr:
            wrong.append(f"{name}.cc -{level}: status {ran.returncode}\n{(ran.stdout + ran.stderr)[-1500:]}")
    return wrong


def run_one(machine, source, level, folder):
    """-> (races, notes, surprise)"""
    text = source.read_text()
    if "RACE(" not in text or "PLUGIN:" in text or "LIBRARY:" in text:
        return None
    flags = [flag.replace("{here}", str(E2E)) for line in re.findall(r"^// FLAGS: *(.*)$", text, re.M) for flag in line.split()]
    standard = (re.findall(r"^// STD: *(.*)$", text, re.M) or ["c++17"])[0]
    options = [o.replace("{here}", str(E2E)) for o in re.findall(r"^// OPTIONS: *(.*)$", text, re.M)]
    program = folder / f"{source.stem}-{level}"
    reports = folder / f"{source.stem}-{level}.json"
    built = machine.build(str(source), level, [f"-std={standard}", "-g", "-pthread", "-w", f"-I{INCLUDE}", "-include", "redflag/race_error.hpp", *flags],
                          str(program))
    if built.returncode != 0:
        return None
    ran = machine.run(program, ":".join(options + ["on_race=throw"]), reports)
    races = 0
    if reports.exists():
        races = sum(json.loads(line)["kind"] == "data-race" for line in reports.read_text().splitlines())
    program.unlink()
    return races, NOTE.findall(ran.stderr), "terminate called" in ran.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redflag", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--opts", default="O0,O2")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cross", type=pathlib.Path, metavar="TREE", help="the other architecture, whose build this is")
    arguments = parser.parse_args()
    sources = [path for path in sorted(E2E.glob("*.cc")) if arguments.only in path.name]
    surprises, wrong = 0, []
    with tempfile.TemporaryDirectory(prefix="redflag-coverage-") as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        redflag = arguments.redflag.resolve()
        machine = Cross(redflag, pathlib.Path(folder), arguments.cross.resolve()) if arguments.cross else Native(redflag)
        for level in arguments.opts.split(","):
            wrong += run_own(machine, level, pathlib.Path(folder)) if arguments.cross else []  # natively: throw_test.py
            counts = collections.Counter()
            programs = 0
            results = pool.map(lambda source: run_one(machine, source, level, pathlib.Path(folder)), sources)
            for source, result in zip(sources, results):
                if result is None:
                    continue
                races, notes, is_surprise = result
                programs += 1
                for note in notes:
                    counts[next((word for start, word in REASONS.items() if note.startswith(start)), note)] += 1
                counts["thrown"] += max(0, races - len(notes))
                if is_surprise:
                    surprises += 1
                    print(f"{source.name} -{level}: ended by an exception that nobody catches", flush=True)
            total = sum(counts.values())
            good = counts["thrown"] + counts["could be thrown"] + counts["could be thrown, but for a noexcept above"]
            print(f"g++-12 -{level}: {programs} programs, {total} racy places, {good} could be thrown ({100 * good / max(total, 1):.0f} %)")
            for word, count in counts.most_common():
                print(f"  {count:4} {word}")
    for what in wrong:
        print(what)
    print(f"{surprises} surprise terminates")
    return 1 if surprises or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
