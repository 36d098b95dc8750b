#!/usr/bin/env python3
"""Builds and runs every program of this folder, and compares what was reported with what its comments expect.

  run.py --redflag build/release/bin/redflag                     everything: 3 compilers x 2 levels
  run.py --redflag build/release/bin/redflag --rotate            each program once, the combination chosen by its name
  run.py --redflag ... --only mutex_ --compilers g++-12 --opts O2
  run.py --redflag ... --detector goldilocks                     with another detector than hb, from which the same is expected
  run.py --redflag ... --record                                  record each run, and hold what is found in the trace against what was found
                                                                 while it ran, race by race, and against the comments
  run.py --redflag ... --programs ../plain_libraries             the programs of another folder
  run.py --redflag ... --stock                                   built by the compilers alone, with -fsanitize=thread
  run.py --redflag ... --cross build/cross                       the other architecture: cross compilers, and qemu-user

Comments of a program:
  // RACE(name)                   on the two lines that race, or on the one that races with itself; a line may have several
  // CHAIN(name): f < g < main    the functions of the program on the stack of that access, innermost first: all of them, the
                                  inlined ones too, up to main or where the thread starts. Behind the mark, or alone on a line
                                  before it. Several: any of them. A lambda is called lambda; Down*5 is five calls.
  // NORACE                       nothing may be reported
  // DETECTORS: hb hybrid         the detectors to run it with, if not hb alone: each has to report what is marked
  // PATTERN(name): lost update   what the report says of this race: its pattern, ...
  // RANK(name): high             ... its rank, if the detector is hb ...
  // VARIABLE(name): counter+4    ... and the variable, with the offset in it if there is one
  // LOCAL(name): Share           on the line that declares a variable on a stack: the function that the report says has it, and that line
  // UNNAMED(name): clang++ O2    with this compiler and level the report names no variable: at most the function
  // SEEN(name): 3 of 4 hold m    part of what else was observed, if the detector is hb; files without their folders; may be several
  // REPORTS: 20                  how many reports there are
  // SUPPRESSED: 0                how many races a rule hid from the reports
  // REPEATED: 999                how often each race was found again, at least
  // BY(name): hybrid             of the marked ones, those that report this race; the others are silent about it
  // STD: c++20                   if not c++17 (C: c11)
  // FLAGS: -pthread              more flags for the compiler; {here} is this folder
  // PACKAGES: glib-2.0           the same, as pkg-config says for these packages
  // LIBRARY: lib/x.cc            an instrumented shared library, linked with the program
  // PLUGIN: lib/x.cc             the same, but not linked: its path is the program's first argument
  // SKIP: clang++-14 (reason)    a compiler that can't build it
  // OPTIONS: name=value          REDFLAG_OPTIONS for the run; {here} is this folder
  // PLACE: stack main            what the racy bytes of all reports are part of, and whose that is
  // MISUSE: title at x.cc:12     a report that is no race, by the innermost line of the program in its stack, or where the thread was created;
                                  all that there are
  // STATUS: 3                    the exit status, if it is not 66 for races and 0 for none; such a program is run by itself, because
                                  `redflag run` has a say in it
Marks in a library's source count for the programs that name it.

Each side of a report is the innermost frame in a file of the program: a race inside a header of the standard library is
one on the line that called it. Reports are compared as a set of unordered pairs of file:line.

known.txt lists what fails today: `program [compiler] [level]: reason`. Such a run may not pass unnoticed. known-cross.txt does the
same for --cross, where an emulator is in between, and known-NAME.txt for --detector NAME. A detector that takes less for order than hb
(hybrid) may find more than is marked: of programs that do not name it, the marked races are all that is asked for.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from builders import BUILD_SECONDS, OTHER, Builder, CrossBuilder, StockBuilder, trace_of

HERE = pathlib.Path(__file__).resolve().parent
COMPILERS = ("g++-12", "clang++-14", "clang++-19")
LEVELS = ("O0", "O2")
RUN_SECONDS = 300
REPORTED = 66
FINDS_MORE = ("hybrid",)
LONGEST_LINE = 400

serial = itertools.count()  # of runs: their reports have different names

MARK = re.compile(r"\bRACE\((\w+)\)")
CHAIN = re.compile(r"\bCHAIN\((\w+)\): *([\w~*]+(?: *< *[\w~*]+)*)")
BY = re.compile(r"^// BY\((\w+)\): *(.*)$")
SEEN = re.compile(r"^// SEEN\((\w+)\): *(.*)$")
JUDGED = re.compile(r"^// (PATTERN|RANK|VARIABLE)\((\w+)\): *(.*)$")
LOCAL = re.compile(r"\bLOCAL\((\w+)\): *(\w+)")
UNNAMED = re.compile(r"^// UNNAMED\((\w+)\): *(.*)$")
DIRECTIVE = re.compile(r"^// (DETECTORS|STD|FLAGS|LIBRARY|PLUGIN|SKIP|OPTIONS|PLACE|STATUS|REPORTS|REPEATED|SUPPRESSED|MISUSE|PACKAGES): *(.*)$")


@dataclasses.dataclass
class Program:
    """What the comments of one program say."""
    path: pathlib.Path
    silent: bool = False
    marks: dict = dataclasses.field(default_factory=dict)   # race -> ["file:line"]
    chains: dict = dataclasses.field(default_factory=dict)  # (race, "file:line") -> [(function, ...)]
    reporters: dict = dataclasses.field(default_factory=dict)  # race -> [detector], if not all
    judged: dict = dataclasses.field(default_factory=dict)  # race -> {"PATTERN": ..., "RANK": ..., "VARIABLE": ...}
    locals: dict = dataclasses.field(default_factory=dict)  # race -> (function, "file:line")
    unnamed: list = dataclasses.field(default_factory=list)  # (race, [word])
    seen: list = dataclasses.field(default_factory=list)  # (race, text)
    directives: dict = dataclasses.field(default_factory=dict)
    mistakes: list = dataclasses.field(default_factory=list)

    @property
    def name(self):
        return self.path.stem

    def values(self, directive):
        return self.directives.get(directive, [])

    @property
    def sources(self):
        return [self.path] + [self.path.parent / name for kind in ("LIBRARY", "PLUGIN") for name in self.values(kind)]

    @property
    def detectors(self):
        return " ".join(self.values("DETECTORS") or ["hb"]).split()

    def expected(self, detector):
        """race -> the pair of places."""
        return {race: tuple(sorted((places * 2)[:2])) for race, places in self.marks.items()
                if detector in self.reporters.get(race, [detector])}


def expand(chain):
    """`Leaf < Down*2 < main` -> (Leaf, Down, Down, main)."""
    names = (word.strip().partition("*") for word in chain.split("<"))
    return tuple(name for name, _, times in names for _ in range(int(times or 1)))


def read_marks(program, path):
    waiting = {}  # chains that stood alone on a line, for the next mark
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code, _, comment = line.partition("//")
        place = f"{path.name}:{number}"
        for race, chain in CHAIN.findall(comment):
            waiting.setdefault(race, []).append(expand(chain))
        if not code.strip():
            if match := DIRECTIVE.match(line):
                program.directives.setdefault(match[1], []).append(match[2])
            if match := JUDGED.match(line):
                program.judged.setdefault(match[2], {})[match[1]] = match[3]
            if match := SEEN.match(line):
                program.seen.append(match.groups())
            if match := UNNAMED.match(line):
                program.unnamed.append((match[1], match[2].split()))
            if match := BY.match(line):
                program.reporters[match[1]] = match[2].split()
            if comment.strip() == "NORACE":
                program.silent = True
            continue
        for race, function in LOCAL.findall(comment):
            program.locals[race] = (function, place)
        for race in MARK.findall(comment):
            program.marks.setdefault(race, []).append(place)
            program.chains[race, place] = waiting.pop(race, [])
    program.mistakes += [f"{path.name}: a chain of {race} without its mark" for race in waiting]


def read_program(path):
    program = Program(path)
    read_marks(program, path)
    for source in program.sources[1:]:
        read_marks(program, source)
    if program.silent == bool(program.marks):
        program.mistakes.append("needs either NORACE or marks")
    for race, places in program.marks.items():
        if len(places) > 2:
            program.mistakes.append(f"RACE({race}) is on {len(places)} lines: name each pair")
    program.mistakes += [f"{'/'.join(words)} of {race} without its mark" for race, words in program.judged.items() if race not in program.marks]
    program.mistakes += [f"LOCAL or UNNAMED of {race} without its mark" for race in [*program.locals, *(race for race, _ in program.unnamed)]
                         if race not in program.marks]
    program.mistakes += [f"SEEN({race}) without its mark" for race, _ in program.seen if race not in program.marks]
    program.mistakes += [f"BY({race}) without its mark" for race in program.reporters if race not in program.marks]
    program.mistakes += [f"no CHAIN({race}) for {place}" for (race, place), chains in program.chains.items() if not chains]
    return program


def simple_name(function):
    """`void ns::Box<int>::Put(int) const [clone .cold]` -> Put; a lambda's call operator -> lambda."""
    name = re.sub(r"\[(clone|abi)[^\]]*\]", "", function)
    name = name.replace("operator()", "lambda").replace("(anonymous namespace)", "")
    depth = 0
    kept = []
    for letter in name:
        if letter in "<({":
            depth += 1
        elif letter in ">)}":
            depth -= 1
        elif depth == 0:
            kept.append(letter)
    name = re.sub(r" (const|volatile|&&?|noexcept)\b", "", "".join(kept)).strip()
    return re.split(r"::|[ *&]", name)[-1].split(".")[0]


class Side:
    """One access of a report, as far as it is in files of the program."""

    def __init__(self, access, files):
        own = [f for f in access["stack"] if os.path.basename(f.get("file", "")) in files]
        self.place = f"{os.path.basename(own[0]['file'])}:{own[0]['line']}" if own else "nowhere"
        self.chain = tuple(simple_name(f.get("function", "?")) for f in own)
        self.truncated = access.get("stack_truncated", False)
        self.stack = access["stack"]

    def __str__(self):
        frames = (f"{f.get('function', '?')} {os.path.basename(f.get('file', ''))}:{f.get('line')}"
                  f"{' (inlined)' if f.get('inlined') else ''}" for f in self.stack)
        return " < ".join(frames)


def compare(program, detector, build, status, report_path, output, records):
    """-> what is wrong, as lines. `build`: the compiler and the level."""
    wrong = []
    lines = [json.loads(line) for line in report_path.read_text().splitlines()] if report_path.exists() else []
    reports = [line for line in lines if line["kind"] == "data-race"]
    summaries = [line for line in lines if line["kind"] == "summary"]
    expected = program.expected(detector)
    expected_status = int((program.values("STATUS") or [REPORTED if expected else 0])[0])
    may_find_more = detector in FINDS_MORE and detector not in program.detectors
    if status != expected_status and not (may_find_more and status == REPORTED):
        wrong.append(f"exit status {status}, expected {expected_status}")
        wrong += [f"  {line}" for line in output.splitlines()[-3:] if status not in (0, expected_status, REPORTED)]
    # Children that are recorded have a helper from the start, and may end with _exit.
    if (any(not summary.get("orderly") for summary in summaries) and not records) or (reports and not summaries):
        wrong.append("the program did not end in good order")
        wrong += [f"  {line}" for line in output.splitlines() if "redflag:" in line][-3:]
    wrong += compare_reports(program, expected, reports, may_find_more)
    if may_find_more:
        return list(dict.fromkeys(wrong))
    wrong += compare_judgements(program, build, expected, reports)
    wrong += compare_misuses(program, [line for line in lines if line["kind"] == "misuse"])
    if (count := program.values("REPORTS")) and len(reports) != int(count[0]):
        wrong.append(f"{len(reports)} reports, expected {count[0]}")
    for wanted in map(int, program.values("SUPPRESSED")):
        wrong += [f"{summary['suppressed']} races were suppressed, expected {wanted}" for summary in summaries if summary["suppressed"] != wanted]
    repeated = {fingerprint: count for summary in summaries for fingerprint, count in summary["repeated"].items()}
    for least in map(int, program.values("REPEATED")):
        wrong += [f"{report['fingerprint']} was found again {repeated.get(report['fingerprint'], 0)} times, expected {least}"
                  for report in reports if repeated.get(report["fingerprint"], 0) < least]
    for report in reports:
        block = report.get("block", {})
        place = f"{block.get('place')} {block.get('thread', '')}".strip()
        wrong += [f"the place is {place}, expected {wanted}" for wanted in program.values("PLACE") if wanted != place]
    return list(dict.fromkeys(wrong))


def compare_misuses(program, misuses):
    files = {source.name for source in program.sources}
    came = []
    for misuse in misuses:
        stack = misuse["stack"] or [frame for thread in misuse["threads"] for frame in thread["created_at"]]
        own = [frame for frame in stack if os.path.basename(frame["file"]) in files]
        place = f"{os.path.basename(own[0]['file'])}:{own[0]['line']}" if own else "nowhere"
        came.append(f"{misuse['title']} at {place}")
    wanted = program.values("MISUSE")
    return [f"MISUSE: expected {' and '.join(wanted) or 'none'}, came {' and '.join(came) or 'none'}"] if sorted(came) != sorted(wanted) else []


def compare_reports(program, expected, reports, may_find_more=False):
    wrong = []
    files = {source.name for source in program.sources} | {"invisible.h"}
    seen = {}
    for report in reports:
        access = Side(report["access"], files)
        for earlier in report["earlier"]:
            pair = sorted((access, Side(earlier, files)), key=lambda side: side.place)
            seen.setdefault(tuple(side.place for side in pair), []).append(pair)
        if not report["earlier"]:
            wrong.append(f"a report with one side only: {access}")
    for race, places in expected.items():
        if places not in seen:
            wrong.append(f"RACE({race}) {places[0]} and {places[1]}: not reported")
    for places, pairs in seen.items():
        races = [race for race, wanted in expected.items() if wanted == places]
        if not races and not may_find_more:
            wrong.append(f"not expected: {places[0]} and {places[1]}")
            wrong += [f"  {side}" for side in pairs[0]]
        for pair, race in itertools.product(pairs, races):
            for side in pair:
                wanted = program.chains[race, side.place]
                if side.chain not in wanted or side.truncated:
                    wrong.append(f"RACE({race}) {side.place}: expected the chain {' or '.join(map(' < '.join, wanted))}")
                    wrong.append(f"  came {' < '.join(side.chain)}{' (truncated)' if side.truncated else ''}")
                    wrong.append(f"  from {side}")
    return wrong


def compare_judgements(program, build, expected, reports):
    """What the reports say of the races whose PATTERN, RANK, VARIABLE, LOCAL or SEEN is given; a report is of the race that its first two sides are."""
    wrong = []
    files = {source.name for source in program.sources} | {"invisible.h"}
    unnamed = {race for race, words in program.unnamed
               if all(word == build[1] if word in LEVELS else build[0].startswith(word) for word in words)}
    for report in [report for report in reports if report["earlier"]]:
        places = tuple(sorted(Side(access, files).place for access in (report["access"], report["earlier"][0])))
        judgement = report.get("judgement", {})
        said = {"PATTERN": judgement.get("pattern", ""), "VARIABLE": report["variable"] + (f"+{report['offset']}" if report["offset"] else ""),
                "RANK": judgement.get("rank") if report["detector"] == "hb" else None}
        evidence = " | ".join(re.sub(r"(?<= at )\S*/", "", seen) for seen in report.get("evidence", []))
        for race in [race for race, wanted in expected.items() if wanted == places]:
            wrong += [f"SEEN({race}): expected {text}, came {evidence}"
                      for of, text in program.seen if of == race and report["detector"] == "hb" and text not in evidence]
            judged = program.judged.get(race, {}) | ({"VARIABLE": ""} if race in unnamed else {})
            if race in program.locals:
                wrong += compare_local(race, program.locals[race], race in unnamed, report.get("block", {}))
            wrong += [f"{word}({race}): expected {wanted}, came {said[word]}"
                      for word, wanted in judged.items() if said[word] not in (wanted, None) and not (word == "VARIABLE" and report["variable"] == wanted)]
    return wrong


def compare_local(race, expected, is_unnamed, block):
    """Which function's variable it is, and where that is declared."""
    came = (simple_name(block.get("function", "")), *(f"{os.path.basename(frame['file'])}:{frame['line']}" for frame in block.get("declared_at", [])))
    if came == expected or (is_unnamed and came in (expected[:1], ("",))):
        return []
    return [f"LOCAL({race}): expected {expected}, came {came}"]


def compare_recording(program, redflag, detector, trace):
    """What was recorded: the same races, one by one, as the detector found while the program ran; and the reports that are expected."""
    offline = detector.removesuffix("-lists")  # goldilocks is, there

    def analyze(one, *options):
        return subprocess.run(["timeout", str(RUN_SECONDS), str(redflag), "analyze", "-d", offline, *options, str(one)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL if "--json" in options else subprocess.STDOUT, text=True,
                              errors="replace", check=False)
    if not trace.exists() or trace.stat().st_size == 0:
        return ["nothing was recorded"]
    wrong = []
    reports = []
    for one in [trace, *trace.parent.glob(trace.name + ".*")]:  # and what its children did
        verified = analyze(one, "--verify", "--quiet")
        if verified.returncode != 0:
            wrong += [f"--verify: exit status {verified.returncode}"] + [f"  {line}" for line in verified.stdout.splitlines()[-12:]]
        again = analyze(one, "--json")
        try:
            found = json.loads(again.stdout)["results"][0]["races"]
        except (json.JSONDecodeError, KeyError, IndexError):
            return wrong + [f"analyze: exit status {again.returncode}"] + [f"  {line}" for line in again.stdout.splitlines()[-3:]]
        if again.returncode != (REPORTED if found else 0):
            wrong.append(f"analyze: exit status {again.returncode}")
        reports += found
    expected = program.expected(detector)
    return wrong + [f"in the trace: {line}" for line in compare_reports(program, expected, reports)]


def run_one(program, builder, detector, compiler, level, keep):
    """-> what is wrong, as lines."""
    here = program.path.parent
    std = (program.values("STD") or [""])[0]
    flags = " ".join(program.values("FLAGS")).replace("{here}", str(here)).split()
    if packages := " ".join(program.values("PACKAGES")).split():
        said = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if said.returncode != 0:
            return ["pkg-config:"] + [f"  {line}" for line in said.stdout.splitlines()]
        flags += said.stdout.split()
    try:
        libraries, plugins = ([builder.compile(here / name, compiler, level, std if name.endswith(".cc") else "", [], shared=True)
                               for name in program.values(kind)] for kind in ("LIBRARY", "PLUGIN"))
        binary = builder.compile(program.path, compiler, level, std, flags, libraries)
    except subprocess.CalledProcessError as error:
        return ["does not build:"] + [f"  {line}" for line in error.stdout.splitlines()[:15]]
    except subprocess.TimeoutExpired:
        return [f"the compiler took more than {BUILD_SECONDS} s"]
    report = binary.with_name(f"{binary.name}.{detector}.{os.getpid()}.{next(serial)}.json")
    report.unlink(missing_ok=True)
    command, more = builder.execution(binary, [str(plugin) for plugin in plugins], report, detector,
                                      bool(program.values("STATUS")))
    command = ["timeout", str(RUN_SECONDS), *command]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REDFLAG_")} | more
    if options := ":".join(program.values("OPTIONS")):
        environment["REDFLAG_OPTIONS"] = options.replace("{here}", str(here))
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", check=False)
    wrong = compare(program, detector, (compiler, level), done.returncode, report, done.stdout, builder.records)
    if builder.records:
        wrong += compare_recording(program, builder.redflag, detector, trace_of(report))
    if keep:
        wrong = wrong and wrong + [f"  kept: {report}"]
    else:
        for left in report.parent.glob(report.stem + ".*"):  # the traces of its children too
            left.unlink(missing_ok=True)
    return wrong


def read_known(path):
    """-> [(program, compiler or None, level or None, reason)]"""
    known = []
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.strip() and not line.startswith("#"):
            what, _, reason = line.partition(": ")
            words = what.split()
            compiler = next((word for word in words[1:] if word not in LEVELS), None)
            level = next((word for word in words[1:] if word in LEVELS), None)
            known.append((words[0], compiler, level, reason))
    return known


def known_reason(known, program, compiler, level):
    return next((reason for name, its_compiler, its_level, reason in known
                 if name == program.name and its_compiler in (None, compiler) and its_level in (None, level)), None)


def skipped(program, compiler):
    return any(compiler in value.split() for value in program.values("SKIP"))


def combinations(programs, detector, compilers, levels, rotate):
    everything = list(itertools.product(compilers, levels))
    for program in programs:
        possible = [(compiler, level) for compiler, level in everything if not skipped(program, compiler)]
        if rotate and possible:
            possible = [possible[int(hashlib.sha256(program.name.encode()).hexdigest(), 16) % len(possible)]]
        for compiler, level in possible:
            for its_detector in [detector] if detector else program.detectors:
                yield program, its_detector, compiler, level


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redflag", required=True, type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path, default=HERE, metavar="FOLDER", help="the programs of another folder")
    parser.add_argument("--compilers", default=",".join(COMPILERS))
    parser.add_argument("--opts", default=",".join(LEVELS))
    parser.add_argument("--only", action="append", help="programs whose name contains this; may be given again")
    parser.add_argument("--rotate", action="store_true", help="each program with one compiler and level, chosen by its name")
    parser.add_argument("--detector", help="instead of hb, in programs that name none: one that finds the same races, or more")
    parser.add_argument("--record", action="store_true", help="record each run, and look at the trace as well")
    parser.add_argument("--cross", type=pathlib.Path, metavar="TREE", help="the other architecture, whose build this is")
    parser.add_argument("--stock", action="store_true", help="build without Redflag: the compiler's own -fsanitize=thread")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run each N times: it has to come out right every time")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="leave the reports in the build folder")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent.parent / "build" / "e2e")
    arguments = parser.parse_args()

    folder = arguments.programs.resolve()
    programs = [read_program(path) for path in sorted([*folder.glob("*.cc"), *folder.glob("*.c")])]
    if arguments.detector:
        programs = [program for program in programs if program.detectors == ["hb"]]
    if arguments.cross:  # there is one runtime for the emulator
        for program in programs:
            program.directives["DETECTORS"] = ["hb"] if "hb" in program.detectors else []
        programs = [program for program in programs if program.directives["DETECTORS"]]
    if arguments.only:
        programs = [program for program in programs if any(part in program.name for part in arguments.only)]
    compilers = arguments.compilers.split(",")
    prefix = f"{OTHER}-linux-gnu-" if arguments.cross else ""
    missing = [compiler for compiler in compilers if shutil.which(compiler if "clang" in compiler else prefix + compiler) is None]
    if missing:
        print(f"run.py: not installed, left out: {', '.join(missing)}", file=sys.stderr)
        compilers = [compiler for compiler in compilers if compiler not in missing]
    variant = "-stock" if arguments.stock else "-cross" if arguments.cross else "-record" if arguments.record else f"-{arguments.detector}" if arguments.detector else ""
    known = read_known(folder / f"known{variant}.txt")
    if arguments.detector or arguments.record or arguments.stock:
        known += read_known(folder / "known.txt")
    if arguments.cross:
        builder = CrossBuilder(arguments.redflag.resolve(), arguments.build.resolve() / "cross", arguments.cross.resolve())
    elif arguments.stock:
        builder = StockBuilder(arguments.redflag.resolve(), arguments.build.resolve() / "stock", arguments.record)
    else:
        builder = Builder(arguments.redflag.resolve(), arguments.build.resolve(), arguments.record)

    counts = collections.Counter()
    for program in programs:
        for mistake in program.mistakes:
            counts["failed"] += 1
            print(f"FAIL {program.name}: {mistake}")
    runs = list(combinations([p for p in programs if not p.mistakes], arguments.detector, compilers, arguments.opts.split(","),
                             arguments.rotate))
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        runs = [run for run in runs for _ in range(arguments.repeat)]
        results = pool.map(lambda run: run_one(run[0], builder, *run[1:], arguments.keep), runs)
        for (program, detector, compiler, level), wrong in zip(runs, results):
            reason = known_reason(known, program, compiler, level)
            if reason and not wrong:
                wrong, reason = [f"passes, but is known to fail: {reason}"], None
            outcome = "known" if reason else "failed" if wrong else "passed"
            counts[outcome] += 1
            counts[compiler, level, outcome] += 1
            if wrong:
                word, words = ("known", f": {reason}") if reason else ("FAIL", "")
                with_it = "" if detector == "hb" else f" with {detector}"
                print(f"{word} {program.name}{with_it} {compiler} {level}{words}", flush=True)
                for line in [] if reason else wrong:
                    print(f"  {line if len(line) < LONGEST_LINE else line[:LONGEST_LINE] + ' ...'}", flush=True)
    for compiler, level in dict.fromkeys(run[2:] for run in runs):
        words = (f"{counts[compiler, level, outcome]} {outcome}" for outcome in ("passed", "failed", "known"))
        print(f"{compiler} {level}: {', '.join(words)}")
    known_words = f", {counts['known']} known" if counts["known"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{known_words}")
    return 1 if counts["failed"] or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
