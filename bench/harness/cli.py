"""The command line of bench/run."""

from __future__ import annotations

import argparse
import pathlib
import sys

from . import catalog, micro, profile, render, results, tools
from .measure import Launcher
from .model import FULL, QUICK, Tool, Workload
from .session import Builder, Plan, measure
from .store import Cell, Log

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "bench"
RESULTS = ROOT / "bench" / "results"

_EPILOG = """\
parts:
  programs    whole programs: slow-down, memory, growth with threads (if no part is named)
  micro       single operations: nanoseconds each
  quality     planted races and near-misses: what is found, how often, and what is a false alarm (quality --help)

examples:
  bench/run                            every workload under every tool: more than an hour
  bench/run --quick                    six workloads: 5 minutes
  bench/run --long                     larger inputs, and all variants of the slow tools everywhere: three hours or more
  bench/run --only hashmap,queue --tools tsan-clang,tsan-gcc
  bench/run quality --quick
  bench/run --compare OLD/results.json NEW/results.json

A measurement that was stopped goes on where it was when the same command is given again.
Results: results.json, table.md, slowdown.svg, memory.svg and growth.svg in bench/results (or --out).
"""


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench/run", description="Measures race detectors side by side.", epilog=_EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=("programs", "micro"), default="programs",
                        help="see below")
    parser.add_argument("--quick", action="store_true", help="fits 5 minutes: fewer workloads and tools")
    parser.add_argument("--long", action="store_true", help="inputs that take five times as long, all tools on all workloads")
    parser.add_argument("--only", type=_names, metavar="W,W", help="these workloads")
    parser.add_argument("--tools", type=_names, metavar="T,T", help="these tools, and the native code they are compared with")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="runs of each (default 5)")
    parser.add_argument("--no-growth", action="store_true", help="leave out the runs with 1 to 64 threads")
    parser.add_argument("--wait", type=float, metavar="S", help="wait so long for a quiet machine (default 60, --quick 10)")
    parser.add_argument("--timeout", type=float, default=600, metavar="S", help="stop a run after so long (default 600)")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS, metavar="DIR", help="where results go")
    parser.add_argument("--fresh", action="store_true", help="begin anew, even if there is something to go on with")
    parser.add_argument("--list", action="store_true", help="list the workloads and tools, measure nothing")
    parser.add_argument("--compare", nargs=2, type=pathlib.Path, metavar=("A", "B"),
                        help="do two results.json agree within their stated spreads? Exit code 1 if not")
    return parser


def main(argv: list[str]) -> int:
    if argv[:1] == ["quality"]:
        from .quality import run as quality  # has options of its own
        return quality.main(argv[1:], [t for t in tools.TOOLS if not tools.missing(t) and not t.full_only])
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        if options.compare:
            return _compare(*options.compare)
        if options.repetitions < 1:
            raise ValueError("--repetitions must be at least 1")
        chosen_tools, chosen_workloads = _choose(options)
        if options.list:
            return _list(chosen_tools, chosen_workloads)
        if options.part == "micro":
            return _micro(options, chosen_tools)
        return _measure(options, chosen_tools, chosen_workloads)
    except (ValueError, OSError, RuntimeError) as error:
        print(f"bench/run: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nbench/run: stopped; the same command goes on from here", file=sys.stderr)
        return 130


def _choose(options: argparse.Namespace) -> tuple[list[Tool], list[Workload]]:
    workloads = catalog.workloads()
    known = {w.name: w for w in workloads}
    for name in options.only or ():
        if name not in known:
            raise ValueError(f"there is no workload '{name}'; there are: {', '.join(known)}")
    if options.only:
        workloads = [known[name] for name in options.only]
    elif options.quick:
        workloads = [w for w in workloads if w.quick]
    names = options.tools or [t.name for t in tools.TOOLS if not (options.quick and t.full_only)]
    chosen = []
    for tool in tools.by_name(names):
        if why := tools.missing(tool):
            print(f"bench/run: leaving out {tool.name}: {why}", file=sys.stderr)
        else:
            chosen.append(tool)
    if not any(t.baseline != t.name for t in chosen):
        raise ValueError("none of these tools can be measured here")
    return chosen, workloads


def _list(chosen: list[Tool], workloads: list[Workload]) -> int:
    print("Tools:")
    for tool in chosen:
        print(f"  {tool.name:16} {tool.title}{' (small inputs)' if tool.heavy else ''}")
    print("Workloads:")
    for w in workloads:
        print(f"  {w.name:16} {w.title} ({w.origin}){' [quick]' if w.quick else ''}")
    return 0


def _measure(options: argparse.Namespace, chosen: list[Tool], workloads: list[Workload]) -> int:
    wait = options.wait if options.wait is not None else 10.0 if options.quick else 60.0
    if options.quick and options.long:
        raise ValueError("--quick and --long: which?")
    picked = bool(options.only or options.tools)
    plan = Plan(chosen, workloads, FULL if options.long else QUICK, options.repetitions,
                growth=not (options.no_growth or options.quick), timeout=options.timeout, wait=wait,
                spare_heavy=options.quick and not picked, spare_variants=not (options.long or picked))
    builder = Builder(BUILD)
    made_from = sorted({f"{t.toolchain.name}/{w.name}={builder.key(t.toolchain, w)}" for t in chosen for w in workloads
                        if t.toolchain.name not in w.skip})
    made_from += filter(None, map(tools.made_from, chosen))
    described = {"scale": plan.scale, "repetitions": plan.repetitions, "growth": plan.growth, "machine": results.machine(),
                 "tools": [t.name for t in chosen], "workloads": [w.name for w in workloads]}
    log = Log(options.out / "runs.jsonl", {**described, "made from": made_from}, options.fresh)
    # What was measured is shown, also when the user or the machine has had enough of it.
    try:
        measure(plan, builder, Launcher(BUILD), log)
    finally:
        log.close()
        found = results.collect(log, chosen, workloads, described)
        _profile_losses(plan, builder, found)
        results.save(found, options.out / "results.json")
        written = render.write(found, options.out)
    log.path.replace(log.path.with_suffix(".done"))
    print((options.out / "table.md").read_text(encoding="utf-8"))
    print("bench: wrote " + ", ".join(str(p) for p in (options.out / "results.json", *written)))
    return 1 if log.failures else 0


def _micro(options: argparse.Namespace, chosen: list[Tool]) -> int:
    rounds, seconds = (1, 0.01) if options.quick else (3, 0.1)
    costs = micro.measure(chosen, Builder(BUILD), rounds, seconds)
    written = micro.save(costs, chosen, options.out)
    print(micro.markdown(costs, chosen))
    print("bench: wrote " + ", ".join(map(str, written)))
    return 0


def _profile_losses(plan: Plan, builder: Builder, found: results.Results) -> None:
    tool_of, workload_of = {t.name: t for t in plan.tools}, {w.name: w for w in plan.workloads}
    for workload, ours, _, _ in found.losses():
        if f"{workload} {ours}" not in found.profiles:
            w, t = workload_of[workload], tool_of[ours]
            command = w.command(builder.folder(t.toolchain, w), plan.scale, w.threads)
            found.profiles[f"{workload} {ours}"] = profile.profile(t, command)


def _compare(first: pathlib.Path, second: pathlib.Path) -> int:
    text, total, agreed = render.compare(results.load(first), results.load(second))
    if total == 0:
        raise ValueError("the two have no figure in common")
    print(text)
    print(f"{agreed} of {total} figures agree within their stated spreads")
    return 0 if agreed == total else 1
