#!/usr/bin/env python3
"""Can the differential suite fail? Breaks one rule at a time, on purpose, and expects to be caught.

  tests/mutation/run.py --build build/release [--only NAME] [--traces N] [--jobs J]
  tests/mutation/run.py --check      only whether each text to be replaced occurs exactly once; compiles nothing

There is a list of mutations for each detector, NAME.txt beside this file. Each replaces one piece of one file. The
differential driver is compiled with that detector (subject_NAME.cc) against the broken file (the tree itself is never
touched) and must find a disagreement, crash on a check, or not come to an end. A mutation that survives, whose text no
longer occurs exactly once, or that does not compile fails the run.
"""

import argparse
import concurrent.futures
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Rare situations have a trace of their own. Not the one that the differential suite leaves out, too (tests/CMakeLists.txt).
FILES = sorted(str(path) for path in (ROOT / "tests/traces").glob("*.trace") if path.name != "own-locks.trace")
CPU_SECONDS = 600
COMPILER = ["clang++-19", "-O0"]  # most of the time goes into compiling, and no other is as quick


class Mutation:
    def __init__(self, detector, name, file, old, new):
        self.detector, self.name, self.file, self.old, self.new = detector, f"{detector}.{name}", file, old, new


def read_mutations(path):
    """Blocks of: `@@ NAME FILE`, the old text, `==`, the new text (none: delete). The line end after each text is not part of
    it, so a text may begin or end within a line. `#` lines between blocks are comments."""
    mutations = []
    head, old, new, part = None, [], [], None

    def finish():
        if head:
            mutations.append(Mutation(path.stem, head[0], head[1], "".join(old).rstrip("\n"), "".join(new).rstrip("\n")))

    for number, line in enumerate(path.read_text().splitlines(keepends=True), 1):
        if line.startswith("@@ "):
            finish()
            words = line.split()
            if len(words) != 3:
                sys.exit(f"{path}:{number}: expected '@@ NAME FILE'")
            head, old, new, part = words[1:], [], [], "old"
        elif line == "==\n":
            part = "new"
        elif part == "old":
            old.append(line)
        elif part == "new":
            if line.strip() and not line.startswith("#"):
                new.append(line)
    finish()
    names = [m.name for m in mutations]
    if len(set(names)) != len(names):
        sys.exit(f"{path}: two mutations have one name")
    return mutations


def compile_command(build):
    """The options that the differential driver is built with, and the libraries it links with, asked of ninja."""
    target = "tests/CMakeFiles/differential.dir/differential/subject_hb.cc.o"
    commands = subprocess.run(["ninja", "-C", str(build), "-t", "commands", target], check=True, text=True,
                              capture_output=True).stdout.strip().splitlines()
    words = shlex.split(commands[-1])
    compiler = next(i for i, word in enumerate(words) if re.search(r"(g|clang)\+\+[^/]*$", word))  # behind its launcher
    keep, skip = [], False
    for word in words[compiler + 1:]:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT", "-c"):
            skip = True
        elif word not in ("-MD", "-O3"):
            keep.append(word)
    libraries = [build / "tests/libredflag_oracle.a", build / "src/libredflag_offline.a", build / "src/libredflag_trace.a",
                 build / "src/libredflag_report.a", build / "src/libredflag_base.a"]
    return keep, [str(x) for x in libraries] + ["-lfmt", "-pthread"]


def places_of(mutation, source):
    """White space is folded, so that formatting does not matter."""
    return list(re.finditer(r"\s+".join(re.escape(word) for word in mutation.old.split()), source))


def misplaced(mutation):
    """What is wrong with the place of a mutation, or nothing."""
    count = len(places_of(mutation, (ROOT / mutation.file).read_text()))
    return "" if count == 1 else f"its text occurs {count} times in {mutation.file}"


def try_mutation(mutation, build, traces, work):
    """Returns (caught, how)."""
    if misplaced(mutation):
        return False, misplaced(mutation)
    source = (ROOT / mutation.file).read_text()
    places = places_of(mutation, source)
    overlay = work / mutation.name
    broken = overlay / pathlib.Path(mutation.file).relative_to("src")
    broken.parent.mkdir(parents=True)
    begin, end = places[0].span()
    broken.write_text(source[:begin] + mutation.new + source[end:])
    options, libraries = compile_command(build)
    binary = overlay / "differential"
    result = subprocess.run([*COMPILER, f"-I{overlay}", *options, "-w",
                             str(build / "tests/CMakeFiles/differential.dir/differential/differential.cc.o"),
                             str(ROOT / f"tests/differential/subject_{mutation.detector}.cc"), "-o", str(binary), *libraries],
                            capture_output=True, text=True)
    if result.returncode != 0:
        return False, "does not compile:\n" + result.stderr[:2000]
    try:
        # CPU time, not time: on a busy machine a slow run must not pass for an endless one.
        result = subprocess.run([binary, "--traces", str(traces), "--no-shrink", *FILES], capture_output=True, text=True,
                                timeout=3600, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS)))
    except subprocess.TimeoutExpired:
        return False, "took more than an hour: is the machine busy?"
    if result.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return True, "does not come to an end"
    if result.returncode < 0:
        return True, f"dies by signal {-result.returncode}"
    if "DISAGREEMENT" in result.stdout:
        first = next(line for line in result.stdout.splitlines() if line.startswith("DISAGREEMENT"))
        return True, first.removeprefix("DISAGREEMENT: ")[:90]
    return False, "survives: " + result.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", help="only mutations whose name contains this")
    parser.add_argument("--traces", type=int, default=60000)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()

    mutations = []
    for path in sorted(pathlib.Path(__file__).parent.glob("*.txt")):
        mutations += read_mutations(path)
    if args.only:
        mutations = [m for m in mutations if args.only in m.name]
    if not mutations:
        sys.exit("no mutation to run")
    if args.check:
        wrong = [f"{m.name}: {misplaced(m)}" for m in mutations if misplaced(m)]
        print("\n".join(wrong + [f"{len(mutations) - len(wrong)} passed, {len(wrong)} failed"]))
        return 1 if wrong else 0
    if not args.build:
        parser.error("--build is needed")
    survivors = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        work = pathlib.Path(folder)
        for first in {m.detector: m for m in reversed(mutations)}.values():
            unbroken = Mutation(first.detector, "unbroken", first.file, first.old, first.old)
            caught, how = try_mutation(unbroken, args.build, 2000, work)
            if caught or not how.startswith("survives"):
                sys.exit(f"the unbroken {first.detector} does not pass: {how}")
        jobs = {m.name: pool.submit(try_mutation, m, args.build, args.traces, work) for m in mutations}
        for name, job in jobs.items():
            caught, how = job.result()
            survivors += not caught
            print(f"{'caught  ' if caught else 'NOT CAUGHT'} {name}: {how}", flush=True)
    print(f"{len(mutations) - survivors} passed, {survivors} failed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
