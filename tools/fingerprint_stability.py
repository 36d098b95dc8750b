#!/usr/bin/env python3
"""Measures how many fingerprints survive: every racy program of tests/e2e is built in several ways and run, and the fingerprints of its
races are compared with those of the program as it is, at -O0.

  fingerprint_stability.py --redflag build/release/bin/redflag
  fingerprint_stability.py --redflag ... --only mutex_ --compilers g++-12 --verbose
  fingerprint_stability.py --redflag ... --results FILE     keeps what was measured; started again, goes on where it was stopped

The ways:
  again     the same program once more
  O2        at -O2
  lines     with 50 lines inserted at the top, at -O0
  renamed   with a local variable renamed, at -O0; programs in which none is found are left out
  all       all of that at once

A race counts as stable in a way if its pair of fingerprint and places (the marks RACE(name) tell which race it is) is there with the
same fingerprint. Races that a way does not find at all are counted apart: they say nothing of fingerprints.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import run as e2e  # noqa: E402

INSERTED = 50
SECONDS = 120
# A variable that is declared on a line of its own inside a function, with a value.
LOCAL = re.compile(r"^ {2,}(?:const )?(?:auto|int|long|char|bool|pthread_t|[A-Z]\w+)[*&]? (\w+)(?: = [^;]+)?;", re.MULTILINE)


def is_member(text, position):
    """Is what stands there declared in a class? By the braces around it."""
    depth = 0
    for i in range(position - 1, -1, -1):
        depth += {"}": 1, "{": -1}.get(text[i], 0)
        if depth < 0:
            header = re.split(r"[;{}]", text[:i])[-1]
            return re.search(r"\b(struct|class|union)\b", header) is not None
    return False


def rename_local(text):
    """-> the text with one local variable renamed, or None. Names that are used as members or more widely are left alone."""
    for match in LOCAL.finditer(text):
        name = match[1]
        if is_member(text, match.start()):
            continue
        if re.search(rf"(\.|->|::){name}\b", text) or re.search(rf"^\S.*\b{name}\b", text, re.MULTILINE):
            continue
        lines = (line.partition("//") for line in text.split("\n"))  # marks stand in comments
        return "\n".join(re.sub(rf"\b{name}\b", name + "_by_another_name", code) + slashes + comment for code, slashes, comment in lines)
    return None


def variant_of(text, way):
    """-> the changed text and its level; None: this way is not open to the program."""
    if way in ("renamed", "all"):
        renamed = rename_local(text)
        if renamed is None and way == "renamed":
            return None
        text = renamed or text
    if way in ("lines", "all"):
        text = "// Inserted.\n" * INSERTED + text
    return text, "O2" if way in ("O2", "all") else "O0"


def build_and_run(program, redflag, compiler, text, level, folder):
    """-> {race: {fingerprint}}, by the marks of the changed text; None: it does not build."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / program.path.name
    path.write_text(text)
    for extra in [*e2e.HERE.glob("*.h"), *e2e.HERE.glob("*.txt")]:
        (folder / extra.name).write_bytes(extra.read_bytes())
    if not (folder / "lib").exists():
        (folder / "lib").symlink_to(e2e.HERE / "lib")
    changed = e2e.read_program(path)
    std = (program.values("STD") or [""])[0]
    flags = " ".join(program.values("FLAGS")).replace("{here}", str(e2e.HERE)).split()
    builder = e2e.Builder(redflag, folder / "build")
    try:
        libraries, plugins = ([builder.compile(e2e.HERE / name, compiler, level, std if name.endswith(".cc") else "", [], shared=True)
                               for name in program.values(kind)] for kind in ("LIBRARY", "PLUGIN"))
        binary = builder.compile(path, compiler, level, std, flags, libraries)
    except subprocess.CalledProcessError:
        return None
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    command, more = builder.execution(binary, [str(plugin) for plugin in plugins], report, "hb", bool(program.values("STATUS")))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REDFLAG_")} | more
    if options := ":".join(program.values("OPTIONS")):
        environment["REDFLAG_OPTIONS"] = options.replace("{here}", str(e2e.HERE))
    subprocess.run(["timeout", str(SECONDS), *command], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    found = collections.defaultdict(set)
    files = {source.name for source in changed.sources} | {"invisible.h"}
    expected = changed.expected("hb")
    for line in report.read_text().splitlines() if report.exists() else []:
        one = json.loads(line)
        if one["kind"] != "data-race":
            continue
        access = e2e.Side(one["access"], files)
        for earlier in one["earlier"][:1]:
            places = tuple(sorted((access.place, e2e.Side(earlier, files).place)))
            for race in [race for race, wanted in expected.items() if wanted == places]:
                found[race].add(one["fingerprint"])
    return found


def measure(program, redflag, compiler, ways, folder):
    """-> [way, state, what changed] of each race in each way."""
    text = program.path.read_text()
    base = build_and_run(program, redflag, compiler, text, "O0", folder / "base")
    states = []
    for way in ways:
        changed = variant_of(text, way)
        if base is None or changed is None:
            continue
        got = build_and_run(program, redflag, compiler, *changed, folder / way)
        if got is None:
            states.append([way, "not built", ""])
            continue
        for race, fingerprints in base.items():
            state = "not found" if not got[race] else "stable" if fingerprints & got[race] else "changed"
            states.append([way, state, f"RACE({race}) {sorted(fingerprints)} -> {sorted(got[race])}"])
    shutil.rmtree(folder, ignore_errors=True)
    return states


def read_results(path):
    """-> {(program, compiler): states} of the lines that are whole."""
    kept = {}
    for line in path.read_text().splitlines() if path and path.exists() else []:
        try:
            name, compiler, states = json.loads(line)
        except ValueError:
            continue
        kept[name, compiler] = states
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redflag", required=True, type=pathlib.Path)
    parser.add_argument("--compilers", default="g++-12,clang++-19")
    parser.add_argument("--only", action="append", default=[], help="programs whose name contains this; may be given again")
    parser.add_argument("--ways", default="again,O2,lines,renamed,all")
    parser.add_argument("--verbose", action="store_true", help="name each fingerprint that changed")
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE", help="keep the results here; what is there already is not measured again")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT", help="fail if fewer are stable")
    arguments = parser.parse_args()

    programs = [e2e.read_program(path) for path in sorted([*e2e.HERE.glob("*.cc"), *e2e.HERE.glob("*.c")])]
    programs = [p for p in programs if p.marks and not p.mistakes and "hb" in p.detectors]
    if arguments.only:
        programs = [p for p in programs if any(part in p.name for part in arguments.only)]
    todo = [(p, compiler) for p in programs for compiler in arguments.compilers.split(",") if not e2e.skipped(p, compiler)]
    counts = collections.Counter()
    kept = read_results(arguments.results)
    with tempfile.TemporaryDirectory(prefix="fingerprints-") as temporary:
        for number, (program, compiler) in enumerate(todo, 1):
            if sys.stderr.isatty():
                print(f"\r{number} of {len(todo)} {program.name:40}", end="", file=sys.stderr, flush=True)
            states = kept.get((program.name, compiler))
            if states is None:
                states = measure(program, arguments.redflag.resolve(), compiler, arguments.ways.split(","), pathlib.Path(temporary) / "one")
                if arguments.results:
                    with arguments.results.open("a") as results:
                        print(json.dumps([program.name, compiler, states]), file=results)
            for way, state, what in states:
                counts[way, state] += 1
                if state == "changed" and arguments.verbose:
                    print(f"  {program.name} {compiler} {way}: {what}", flush=True)
    total = collections.Counter()
    for way in arguments.ways.split(","):
        stable, changed = counts[way, "stable"], counts[way, "changed"]
        total["stable"] += stable
        total["changed"] += changed
        rate = 100 * stable / max(stable + changed, 1)
        print(f"{way:8} {rate:5.1f} % of {stable + changed} fingerprints unchanged"
              f" ({counts[way, 'not found']} races not found, {counts[way, 'not built']} programs not built)")
    rate = 100 * total["stable"] / max(sum(total.values()), 1)
    print(f"{'in all':8} {rate:5.1f} % of {sum(total.values())} fingerprints unchanged")
    return 0 if rate >= arguments.least and total["stable"] else 1


if __name__ == "__main__":
    sys.exit(main())
