"""Results for people: a Markdown page, three plots, and the comparison of two measurements."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

from . import svg
from .results import Results, write_whole
from .stats import Ratio

# Below this many cores in use by others, a machine is called quiet.
QUIET = 0.25


def write(results: Results, folder: pathlib.Path) -> list[pathlib.Path]:
    """Writes table.md and the plots; returns what was written."""
    files = {"table.md": markdown(results), "slowdown.svg": slowdown_plot(results), "memory.svg": memory_plot(results)}
    if growth_threads(results):
        files["growth.svg"] = growth_plot(results)
    for name, text in files.items():
        write_whole(folder / name, text)
    return [folder / name for name in files]


def markdown(results: Results) -> str:
    m = results.machine
    quiet = (f"The machine was quiet: nothing else used more than {results.noise:.2f} cores during any run."
             if results.noise <= QUIET else
             f"**The machine was not quiet**: something else used up to {results.noise:.2f} cores during a run.")
    out = [
        "# Side by side", "",
        f"{m['cpu']}, {m['cores']} cores, {m['memory']}, {m['architecture']}, Linux {m['kernel']}; {m['date']}. {quiet}", "",
        "Same source, same flags (`-O2 -g`), same input, interleaved runs. CPU time is user + system; a slow-down is the "
        "minimum of a tool's runs over the minimum of native runs with the same compiler. ± is half of the range that it has "
        "when each side may be anything from its minimum to its maximum. † marks tools that run on smaller inputs, each "
        "compared with native code on the same small input.", "",
        "| tool | what | version |", "|---|---|---|",
        *(f"| {name}{_mark(tool)} | {tool['title']} | {tool['version']} |" for name, tool in results.tools.items()), "",
        "## Slow-down (times native CPU time)", "",
        *_ratio_table(results, results.slowdown, natives=True), "",
        "## Memory (times native peak resident memory)", "",
        *_ratio_table(results, results.memory, natives=False), "",
    ]
    out += _reports(results) + _growth(results) + _losses(results) + _failures(results)
    return "\n".join(out) + "\n"


def _mark(tool: dict) -> str:
    return " †" if tool["heavy"] else ""


def _ratio_table(results: Results, of: Callable[[str, str], Ratio | None], natives: bool) -> list[str]:
    columns = results.measured_tools()
    bases = sorted({results.tools[c]["baseline"] for c in columns})
    unit = "s" if natives else "MB"
    head = ["workload", *(f"{b} ({unit})" for b in bases), *(c + _mark(results.tools[c]) for c in columns)]
    out = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for workload in results.workloads:
        row = [workload]
        for base in bases:
            s = results.summary(workload, base)
            row.append("" if s is None else f"{s.cpu_min:.2f}" if natives else f"{s.rss / 1024:.0f}")
        for column in columns:
            ratio = of(workload, column)
            row.append("-" if ratio is None else f"{_figure(ratio.value)} ±{ratio.spread:.0%}")
        out.append("| " + " | ".join(row) + " |")
    means = []
    for column in columns:
        mean, count = results.geomean(column, of)
        means.append("-" if mean is None else f"**{_figure(mean)}** of {count}")
    out.append("| " + " | ".join(["**geometric mean**", *("" for _ in bases), *means]) + " |")
    return out


def _figure(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _reports(results: Results) -> list[str]:
    columns = results.measured_tools()
    rows = [(w, [results.summary(w, c) for c in columns]) for w in results.workloads]
    rows = [(w, cells) for w, cells in rows if any(s and s.reports for s in cells)]
    out = ["## Reports", "", "Workloads of our own are free of data races: a report there is a false alarm. What real programs "
           "do is not known beforehand.", ""]
    if not rows:
        return [*out, "No tool reported anything.", ""]
    out += ["| workload | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    out += [f"| {w} | " + " | ".join("-" if s is None else f"{s.reports:.1f}" for s in cells) + " |" for w, cells in rows]
    return [*out, ""]


def growth_threads(results: Results) -> list[int]:
    normal = {w: d["threads"] for w, d in results.workloads.items()}
    extra = {c.threads for c in results.cells if c.threads != normal[c.workload]}
    return sorted(extra | {normal[c.workload] for c in results.cells if extra and c.threads in normal.values()})


def _growth_workloads(results: Results) -> list[str]:
    counts: dict[str, set[int]] = {}
    for cell in results.cells:
        counts.setdefault(cell.workload, set()).add(cell.threads)
    return [w for w in results.workloads if len(counts.get(w, ())) > 1]


def _growth(results: Results) -> list[str]:
    threads = growth_threads(results)
    if not threads:
        return []
    out = ["## Growth with threads (slow-down, the same work shared out)", ""]
    out += ["| workload | tool | " + " | ".join(map(str, threads)) + " |", "|---|---|" + "---:|" * len(threads)]
    for workload in _growth_workloads(results):
        for tool in results.measured_tools():
            ratios = [results.slowdown(workload, tool, t) for t in threads]
            if sum(r is not None for r in ratios) > 1:
                out.append(f"| {workload} | {tool} | " + " | ".join(_figure(r.value) if r else "-" for r in ratios) + " |")
    return [*out, ""]


def _losses(results: Results) -> list[str]:
    ours = [n for n, t in results.tools.items() if t["ours"]]
    out = ["## Where we lose", ""]
    if not ours:
        return [*out, "No tool of ours took part in this measurement.", ""]
    losses = results.losses()
    if not losses:
        return [*out, f"Nowhere in this measurement ({', '.join(ours)}).", ""]
    out += ["| workload | ours | peer | times slower |", "|---|---|---|---:|"]
    out += [f"| {w} | {o} | {p} | {times:.2f} |" for w, o, p, times in losses]
    for workload, tool in dict.fromkeys((w, o) for w, o, _, _ in losses):
        profile = results.profiles.get(f"{workload} {tool}")
        out += ["", f"Where {tool} spends its time on {workload}:", "", "```", *(profile or ["no profile was taken"]), "```"]
    return [*out, ""]


def _failures(results: Results) -> list[str]:
    if not results.failures:
        return []
    out = ["## Not measured", "", "| workload | tool | why |", "|---|---|---|"]
    for cell, why in results.failures.items():
        first = why.strip().splitlines()[0].replace("|", "\\|")
        out.append(f"| {cell.workload} | {cell.tool} | {first} |")
    return [*out, ""]


def _bar_plot(results: Results, title: str, axis: str, of: Callable[[str, str], Ratio | None]) -> str:
    series = [svg.Series(results.tools[t]["title"], [r.value if (r := of(w, t)) else None for w in results.workloads]
                         + [results.geomean(t, of)[0]]) for t in results.measured_tools()]
    return svg.bars(title, axis, [*results.workloads, "geometric mean"], series)


def slowdown_plot(results: Results) -> str:
    return _bar_plot(results, "Slow-down", "times native CPU time (logarithmic)", results.slowdown)


def memory_plot(results: Results) -> str:
    return _bar_plot(results, "Memory", "times native peak resident memory (logarithmic)", results.memory)


def growth_plot(results: Results) -> str:
    threads = growth_threads(results)
    panels = []
    for workload in _growth_workloads(results):
        series = []
        for tool in results.measured_tools():
            values = [r.value if (r := results.slowdown(workload, tool, t)) else None for t in threads]
            if sum(v is not None for v in values) > 1:
                series.append(svg.Series(results.tools[tool]["title"], values))
        panels.append((workload, series))
    return svg.lines("Growth with threads", "threads", "times native CPU time", threads, panels)


def compare(first: Results, second: Results) -> tuple[str, int, int]:
    """A line for each figure that both have, how many there are, and how many agree within their stated spreads."""
    out, total, agreed = [], 0, 0
    for workload in first.workloads:
        for tool in first.measured_tools():
            if workload not in second.workloads or tool not in second.tools:
                continue
            a, b = first.slowdown(workload, tool), second.slowdown(workload, tool)
            if a is None or b is None:
                continue
            total += 1
            agreed += a.agrees(b)
            verdict = "agree" if a.agrees(b) else "DIFFER"
            out.append(f"{workload:16} {tool:16} {_figure(a.value):>7} [{_figure(a.low)}, {_figure(a.high)}]  "
                       f"{_figure(b.value):>7} [{_figure(b.low)}, {_figure(b.high)}]  {verdict}")
    return "\n".join(out), total, agreed
