#!/usr/bin/env python3
"""Real programs, built from Debian's source packages and run under Redflag: each has to do its work right, and each report has to be
one that docs/field-notes.md explains.

  run.py --redflag build/release/bin/redflag                      all programs, two compilers
  run.py --redflag ... --only sqlite --compilers gcc --scale full
  run.py --redflag ... --list

The programs, their inputs and the checks of their results are those that bench/run measures (bench/harness/catalog/packages).

explained.txt has one line for each race that was looked at in the source:

  program: function | function: heading      the innermost functions of the program in both stacks, in any order; `*` is any.
                                             The heading is one of docs/field-notes.md

A race that no line fits fails the run; its report is left in build/bench/field/.
"""

import argparse
import collections
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NOTES = ROOT / "docs" / "field-notes.md"
sys.path.insert(0, str(ROOT))

from bench.harness import tools  # noqa: E402: found by the line above
from bench.harness.catalog.packages import WORKLOADS, PackageError, places  # noqa: E402
from bench.harness.catalog.packages.__main__ import Failure, Run  # noqa: E402
from bench.harness.model import SCALES, SMALL  # noqa: E402
from bench.harness.session import Builder  # noqa: E402

TOOLCHAINS = {"gcc": tools.GCC_REDFLAG, "clang": tools.CLANG_REDFLAG}
REPORTS = places.BUILD / "field"


def read_explained(path, notes):
    """-> {program: [(function, function, heading)]}; a line whose heading is not there is a mistake."""
    headings = set(re.findall(r"^#+ +(.*?) *$", notes, re.MULTILINE))
    explained = collections.defaultdict(list)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\S+): (.+?) \| (.+?): (.+)", line)
        if match is None:
            raise SystemExit(f"{path.name}:{number}: not `program: function | function: heading`")
        if match[4] not in headings:
            raise SystemExit(f"{path.name}:{number}: {NOTES.name} has no heading '{match[4]}'")
        explained[match[1]].append(match.groups()[1:])
    return explained


def innermost(access):
    """The function of the program in which the access is made: not one of a header of the C++ library, or of libc."""
    for frame in access.get("stack", []):
        if frame.get("file") and not frame["file"].startswith("/usr/"):
            return re.sub(r"\(.*", "", frame["function"])
    return "?"


def sides(report):
    """The two functions of a race; what is not a race has its kind, and where it is."""
    if report["kind"] != "data-race":
        return report["kind"], innermost(report.get("access", report))
    earlier = report.get("earlier") or [{}]
    return innermost(report["access"]), innermost(earlier[0])


def heading_of(report, lines):
    first, second = sides(report)
    for one, other, heading in lines:
        for a, b in ((first, second), (second, first)):
            if one in ("*", a) and other in ("*", b):
                return heading
    return None


def run_one(workload, name, options, explained):
    """-> what is wrong, as lines; and how often each heading explained a report."""
    toolchain = TOOLCHAINS[name]
    builder = Builder(places.BUILD)
    seen = collections.Counter()
    try:
        builder.build(toolchain, workload)
        folder = builder.folder(toolchain, workload)
        REPORTS.mkdir(parents=True, exist_ok=True)
        kept = REPORTS / f"{workload.name}-{name}.json"
        kept.unlink(missing_ok=True)
        under = (str(options.redflag), "run", "-d", options.detector, "--exit-code", "0", "--json", str(kept), "--")
        Run(workload.command(folder, options.scale, workload.threads), under)
    except (Failure, PackageError, OSError) as error:
        return [str(error)], seen
    reports = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    wrong = []
    for report in (report for report in reports if report["kind"] != "summary"):
        heading = heading_of(report, explained.get(workload.name, ()))
        if heading is None:
            wrong.append("not explained: {} | {}".format(*sides(report)))
        else:
            seen[heading] += 1
    return wrong + ([f"`redflag report {kept}` shows them"] if wrong else []), seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redflag", type=pathlib.Path, default=ROOT / "build" / "release" / "bin" / "redflag")
    parser.add_argument("--only", action="append", help="programs whose name contains this; may be given again")
    parser.add_argument("--compilers", default=",".join(TOOLCHAINS), help="of gcc and clang")
    parser.add_argument("--detector", default="hb")
    parser.add_argument("--scale", choices=SCALES, default=SMALL)
    parser.add_argument("--repeat", type=int, default=1, metavar="N")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true", help="see only that explained.txt and docs/field-notes.md agree")
    options = parser.parse_args()
    options.redflag = options.redflag.resolve()
    chosen = [workload for workload in WORKLOADS if not options.only or any(part in workload.name for part in options.only)]
    if options.list:
        for workload in chosen:
            print(f"{workload.name:14} {workload.title} ({workload.origin})")
        return 0
    explained = read_explained(HERE / "explained.txt", NOTES.read_text())
    if unknown := set(explained) - {workload.name for workload in WORKLOADS}:
        raise SystemExit(f"explained.txt: there is no {', '.join(sorted(unknown))}")
    if options.check:
        return 0
    failed = 0
    for workload in chosen:
        for name in options.compilers.split(","):
            for _ in range(options.repeat):
                wrong, seen = run_one(workload, name, options, explained)
                known = ", ".join(f"{heading} ({count})" for heading, count in sorted(seen.items()))
                print(f"{'FAIL' if wrong else 'ok':4} {workload.name:14} {name:6} {known or 'no reports' if not wrong else known}", flush=True)
                for line in wrong:
                    print(f"       {line}", flush=True)
                failed += bool(wrong)
    print(f"{failed} failed" if failed else "all right")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
