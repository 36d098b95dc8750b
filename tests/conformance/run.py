#!/usr/bin/env python3
"""LLVM's own tests of ThreadSanitizer, run with our runtime: docs/conformance.md.

  run.py --redflag build/release/bin/redflag                      clang++-19 and g++-12
  run.py --redflag ... --compiler clang++-19 --only mutex_        some tests, one compiler; with --show: what they printed
  run.py --peer                                                   the same with the compilers' own ThreadSanitizer, for comparison

Each test gets two judgements: the verdict (was the kind of report that its CHECK lines want made, or silence kept?) and the text
(is FileCheck content with what was printed in the form of ThreadSanitizer?). known.txt lists each miss with its reason:

  TEST COMPILER|* verdict|text [sometimes]: reason

A test that the compiler does not build, with its own ThreadSanitizer either, does not apply to it. The run fails if anything else misses, or if a listed one passes ("sometimes": it may). Results are kept for each test under
build/conformance/, by the content of all that is involved, so a run that was ended goes on where it was.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import judge
import suite
import toolchain

HERE = pathlib.Path(__file__).resolve().parent
COMPILERS = ("clang++-19", "g++-12")
CLASSES = ("race", "other", "silent")
TEST_SECONDS = 300


@dataclasses.dataclass
class Result:
    test: str
    kind: str        # what the test is about: race, other, silent
    verdict: bool
    text: bool       # None: there is nothing to check
    why: list        # lines
    log: str = ""
    seconds: float = 0.0
    unbuilt: str = ""  # what the compiler said against it


# Of compilers and linkers; what FileCheck says is not in this output.
COMPLAINT = re.compile(r"^(?:.*: )?(?:fatal )?error: .*", re.MULTILINE)


def judge_test(test, status, steps, output):
    kind = judge.kind_of_test(test.path, test.lines)
    why = []
    for step in steps:
        if not step["verdict"]:
            why.append(f"expected {' and '.join(step['expected']) or 'silence'}, came {' and '.join(step['seen']) or 'silence'}: {step['step']}")
        elif not step["text"]:
            why.append(f"text: {first_line(step['filecheck'])}: {step['step']}")
    if status != 0:
        why.append(next((line for line in reversed(output.splitlines()) if line.startswith("conformance:")), f"status {status}"))
        why += [line for line in output.splitlines() if re.search(r"\berror\b", line)][:2]
    checks = sum("judge.py" in line or "FileCheck" in line for line in test.lines)
    verdict = status == 0 and all(step["verdict"] for step in steps)
    text = None if checks == 0 else verdict and len(steps) >= checks and all(step["text"] for step in steps)
    return kind, verdict, text, why


def first_line(text):
    found = re.search(r"error: .*", text)
    pattern = re.search(r"^// .*|^ *// .*", text, re.MULTILINE)
    return " ".join(part[0].strip() for part in (found, pattern) if part)


def run_test(test, tool, force):
    folder = suite.BUILD / "work" / tool.name / test.name
    script = tool.script(test, folder / f"{test.path.name}.tmp")
    parts = [script, tool.runtime, test.path.read_text(errors="replace"), *(path.read_text() for path in sorted(HERE.glob("*.py")))]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    cache = suite.BUILD / "results" / tool.name / f"{test.name.replace('/', '_')}.json"
    if cache.exists() and not force:
        kept = json.loads(cache.read_text())
        if kept.pop("key") == key:
            return Result(**kept)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "script.sh").write_text(script)
    results = folder / "steps.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("REDFLAG_", "TSAN_"))}
    environment |= {"CONFORMANCE_RESULTS": str(results), "TSAN_OPTIONS": "atexit_sleep_ms=0", "LC_ALL": "C",
                    "PATH": ":".join([os.environ["PATH"], *toolchain.search_path()])}
    begin = time.monotonic()
    with open(folder / "output", "wb") as output:
        process = subprocess.Popen(["bash", str(folder / "script.sh")], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(timeout=TEST_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
    seconds = time.monotonic() - begin
    output = (folder / "output").read_text(errors="replace")
    steps = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    kind, verdict, text, why = judge_test(test, status, steps, output)
    if status < 0:
        why.append(f"ended after {TEST_SECONDS} s")
    log = output + "".join(f"\n--- {step['step']}\n{step['output']}\n{step['filecheck']}" for step in steps)
    for program in folder.glob("*.tmp"):
        if program.is_file():
            program.unlink()  # a hundred megabytes for all of them
    complaint = None if verdict else COMPLAINT.search(output)
    result = Result(test.name, kind, verdict, text, why, log[-30000:], seconds, complaint[0] if complaint else "")
    cache.parent.mkdir(parents=True, exist_ok=True)
    new = cache.with_suffix(".new")
    new.write_text(json.dumps({"key": key} | dataclasses.asdict(result)))
    new.rename(cache)
    return result


def read_known(path):
    """-> {(test, compiler, what): (reason, may pass)}."""
    known = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\S+) (\S+) (verdict|text)( sometimes)?: (.+)", line)
        if not match:
            sys.exit(f"{path}:{number}: expected 'TEST COMPILER|* verdict|text [sometimes]: reason'")
        for compiler in COMPILERS if match[2] == "*" else [match[2]]:
            known[match[1], compiler, match[3]] = (match[5], bool(match[4]))
    return known


def misses(result):
    """A verdict that is wrong makes the text so, too: that is one miss, not two."""
    return [what for what, good in (("verdict", result.verdict), ("text", result.text is not False or not result.verdict)) if not good]


def compare(results, compiler, known):
    wrong = []
    for result in results:
        for what in ("verdict", "text"):
            entry = known.get((result.test, compiler, what))
            if what in misses(result) and entry is None:
                wrong.append(f"{result.test} {compiler} {what}: {'; '.join(result.why[:2])}")
            elif what not in misses(result) and entry is not None and not entry[1]:
                wrong.append(f"{result.test} {compiler} {what}: passes, and known.txt says that it does not")
    return wrong


def applying(results, chosen, compiler, is_peer):
    """-> those that the compiler builds, and the names of the others: with its own ThreadSanitizer it does not build them either."""
    peer = toolchain.Toolchain(compiler, None)
    by_name = {test.name: test for test in chosen}
    kept, dropped = [], []
    for result in results:
        is_unbuilt = bool(result.unbuilt) and (is_peer or bool(run_test(by_name[result.test], peer, False).unbuilt))
        (dropped if is_unbuilt else kept).append(result)
    return kept, [f"{result.test} ({result.unbuilt})" for result in dropped]


def table(all_results):
    lines = [f"{'':24}" + "".join(f"{name:>12}" for name in (*CLASSES, "text"))]
    for name, results in all_results.items():
        cells = []
        for kind in CLASSES:
            of_kind = [result for result in results if result.kind == kind]
            cells.append(f"{sum(result.verdict for result in of_kind)}/{len(of_kind)}")
        with_text = [result for result in results if result.text is not None]
        cells.append(f"{sum(result.text for result in with_text)}/{len(with_text)}")
        lines.append(f"{name:24}" + "".join(f"{cell:>12}" for cell in cells))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redflag", type=pathlib.Path, default=suite.ROOT / "build" / "release" / "bin" / "redflag")
    parser.add_argument("--compiler", action="append", choices=COMPILERS, help="may be given again; default: both")
    parser.add_argument("--only", default="", metavar="PATTERN", help="a regular expression that names of tests match")
    parser.add_argument("--peer", action="store_true", help="with the compiler's own ThreadSanitizer")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path, help="where the results go; default: build/conformance/results.json")
    parser.add_argument("--show", action="store_true", help="print what the tests printed")
    parser.add_argument("--force", action="store_true", help="run what has been run already, too")
    parser.add_argument("--list", action="store_true", help="print the tests that do not apply, with the reason, and run nothing")
    options = parser.parse_args()
    suite.fetch()
    every = suite.tests()
    if options.list:
        for test in every:
            if test.not_here:
                print(f"{test.name}: {test.not_here}")
        return 0
    chosen = [test for test in every if not test.not_here and re.search(options.only, test.name)]
    if not chosen:
        sys.exit("conformance: no test has such a name")
    known = read_known(HERE / "known.txt")
    all_results, wrong = {}, []
    for compiler in options.compiler or COMPILERS:
        tool = toolchain.Toolchain(compiler, None if options.peer else options.redflag.resolve())
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(lambda test, tool=tool: run_test(test, tool, options.force), chosen))
        results, dropped = applying(results, chosen, compiler, options.peer)
        for name in dropped:
            print(f"{compiler} does not build {name}")
        all_results[tool.name] = results
        for result in results:
            if options.show:
                print(f"==== {result.test} {tool.name}: {result.kind}, {result.seconds:.1f} s\n{result.log}")
            if (options.only or options.peer) and (not result.verdict or result.text is False):
                print(f"{result.test} {tool.name}: " + "\n    ".join([", ".join(misses(result)), *result.why]))
        if not options.peer:
            wrong += compare(results, compiler, known)
    out = options.json or suite.BUILD / ("results-peer.json" if options.peer else "results.json")
    if not options.only or options.json:
        out.write_text(json.dumps({name: [dataclasses.asdict(result) for result in results] for name, results in all_results.items()}, indent=1))
    print(table(all_results))
    counts = collections.Counter(test.not_here for test in every if test.not_here)
    print(f"{len(chosen)} tests; {sum(counts.values())} do not apply here (--list says why)")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
