"""Detection quality of race detectors on generated programs with planted races and near-misses.

  bench/run quality [--quick] [--runs N] [--heavy-runs N] [--variants N] [--seed N] [--tools A,B] [--only NAME,...] [--out DIR]

Builds each program once for each toolchain, runs it under every tool in turn, and appends each result to DIR/runs.jsonl at
once: after a kill, the same command goes on where it stopped. At the end it writes quality.json, quality.md and quality.svg.
Exit code: 0, 1 if something could not be built or measured, 2 for bad options.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Sequence

from ..model import Tool, Toolchain
from . import generator, report
from .build import Builder, BuildError
from .generator import Program
from .ledger import Ledger
from .session import Plan, Session
from .tally import tally

DEFAULT_OUT = pathlib.Path(__file__).resolve().parents[2] / "results" / "quality"
RUNS, HEAVY_RUNS, QUICK_RUNS, QUICK_HEAVY_RUNS = 100, 3, 10, 1
VARIANTS, MIXED_A_VARIANT = 1, 4


def _positive(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 to 1000000")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of up to 9 digits")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench/run quality", description="Detection quality on planted races and near-misses.",
                                     allow_abbrev=False)  # fmt: skip
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_RUNS} and {QUICK_HEAVY_RUNS} runs")
    parser.add_argument("--runs", type=_positive, metavar="N", help=f"runs of each program under quick tools ({RUNS})")
    parser.add_argument("--heavy-runs", type=_positive, metavar="N",
                        help=f"runs under heavy tools ({HEAVY_RUNS}; at most a tenth of --runs)")  # fmt: skip
    parser.add_argument("--variants", type=_positive, default=VARIANTS, metavar="N",
                        help=f"programs of each pattern ({VARIANTS})")  # fmt: skip
    parser.add_argument("--seed", type=_seed, default=1, metavar="N", help="of the programs and of their runs (1)")
    parser.add_argument("--tools", metavar="A,B", help="only these")
    parser.add_argument("--only", metavar="NAME,...",
                        help="only programs of these patterns or classes, or whose names start so")  # fmt: skip
    parser.add_argument("--out", type=pathlib.Path, default=DEFAULT_OUT, metavar="DIR", help="where results go")
    return parser


def _chosen_tools(parser: argparse.ArgumentParser, names: str | None, tools: Sequence[Tool]) -> list[Tool]:
    """Those that report races at all: the tool lists of the speed benchmarks have native code among them."""
    able = {tool.name: tool for tool in tools if tool.report}
    if names is None:
        return list(able.values())
    wanted = names.split(",")
    for name in wanted:
        if name not in able:
            parser.error(f"--tools: there is no tool '{name}' (there are {', '.join(able)})")
    return [tool for tool in able.values() if tool.name in wanted]


def _fits(program: Program, word: str) -> bool:
    patterns = [part.pattern for part in program.parts]
    return program.name.startswith(word) or any(word in (pattern.name, pattern.group) for pattern in patterns)


def _chosen_programs(parser: argparse.ArgumentParser, only: str | None, programs: Sequence[Program]) -> list[Program]:
    if only is None:
        return list(programs)
    chosen: dict[str, Program] = {}
    for word in only.split(","):
        fitting = [p for p in programs if word and _fits(p, word)]
        if not fitting:
            parser.error(f"--only: no program's name starts with '{word}', and it is no pattern or class")
        chosen.update((p.name, p) for p in fitting)
    return [p for p in programs if p.name in chosen]


def _runs_of(options: argparse.Namespace) -> tuple[int, int]:
    light = options.runs or (QUICK_RUNS if options.quick else RUNS)
    heavy = min(QUICK_HEAVY_RUNS if options.quick else HEAVY_RUNS, max(1, light // 10))
    return light, options.heavy_runs or heavy


def measure(plan: Plan, out: pathlib.Path) -> list[str]:
    """Runs what is missing, writes the results, and returns what could not be built."""
    sources = out / "programs"
    generator.write_programs(plan.programs, sources)
    with Ledger(out / "runs.jsonl") as ledger:
        session = Session(plan, Builder(sources, out / "binaries"), out, ledger)
        session.run()
        records = [ledger[task.key] for task in session.tasks if task.key in ledger]
    report.write(tally(plan.programs, plan.tools, dict(plan.runs), records), plan.seed, out)
    return session.build_errors


def main(argv: Sequence[str], tools: Sequence[Tool]) -> int:
    parser = _parser()
    try:
        options = parser.parse_args(argv)
        chosen = _chosen_tools(parser, options.tools, tools)
        made = generator.all_programs(options.variants, options.variants * MIXED_A_VARIANT, options.seed)
        programs = _chosen_programs(parser, options.only, made)
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    if not chosen:
        print("quality: none of the tools reports races on this machine", file=sys.stderr)
        return 1
    light, heavy = _runs_of(options)
    runs = {tool.name: heavy if tool.heavy else light for tool in chosen}
    try:
        errors = measure(Plan(programs, chosen, runs, options.seed), options.out)
    except BlockingIOError:
        print(f"quality: another session is writing to {options.out}", file=sys.stderr)
        return 1
    except (OSError, BuildError) as error:
        print(f"quality: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("quality: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    for error in errors:
        print(f"quality: could not build {error}", file=sys.stderr)
    print(options.out / "quality.md")
    return 1 if errors else 0


def _own_tools() -> list[Tool]:
    """Enough to try this module on its own: python3 -m bench.harness.quality.run, from the root of the tree."""
    tsan_flags = ("-O1", "-g", "-fsanitize=thread")
    clang = Toolchain("clang-tsan", "clang-19", "clang++-19", tsan_flags)
    gcc = Toolchain("gcc-tsan", "gcc-12", "g++-12", tsan_flags)
    native = Toolchain("gcc", "gcc-12", "g++-12", ("-O1", "-g"))
    tsan_env = {"TSAN_OPTIONS": "exitcode=0:report_bugs=1"}
    tsan_report = "WARNING: ThreadSanitizer: (?:data race|heap-use-after-free)"
    fixed = ("setarch", "-R")  # older runtimes do not start where addresses are random enough
    helgrind = ("valgrind", "--tool=helgrind", "--history-level=full")
    drd = ("valgrind", "--tool=drd")
    return [
        Tool("clang-tsan", "clang 19 TSan", clang, "clang", fixed, tsan_env, report=tsan_report),
        Tool("gcc-tsan", "gcc 12 TSan", gcc, "gcc", fixed, tsan_env, report=tsan_report),
        Tool("helgrind", "Helgrind", native, "gcc", helgrind, heavy=True, report="Possible data race during"),
        Tool("drd", "DRD", native, "gcc", drd, heavy=True, report="Conflicting (?:load|store) by thread"),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], _own_tools()))
