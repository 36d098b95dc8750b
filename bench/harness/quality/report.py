"""Writes the results: quality.json for programs, quality.md for readers, quality.svg for the eye."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Callable, Sequence

from . import heatmap
from .pattern import GROUPS
from .patterns import PATTERNS
from .tally import Count, Row, Tally, Totals, by_name

FORMAT = 1

_HEAD = """# Detection quality

Every race here was planted: a program was generated around a pattern that has a data race by the C++20 standard, and beside
it a near-miss, the same code made right. A tool finds a race in a run if it reports the two lines that race (*half*: one of
them, and for the other none or a wrong one of the same pattern). Any other report is a false alarm.

"Mean of 100" is in how many of 100 runs a planted race is found, on average over all planted races. Precision and recall are
of races and near-misses, not of runs: what a tool reports in at least one run counts. False alarms count once for each
near-miss, for each racy pattern with a report of lines that do not race, and for each program with a report outside its
patterns.
"""


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """`left`: so many columns are text, the others figures."""
    lines = ["| " + " | ".join(head) + " |"]
    lines.append("|" + "|".join("--" if i < left else "--:" for i in range(len(head))) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _summary(totals: Sequence[Totals]) -> str:
    columns: dict[str, Callable[[Totals], object]] = {
        "tool": lambda entry: entry.title,
        "runs": lambda entry: entry.runs,
        "races planted": lambda entry: entry.planted,
        "found at least once": lambda entry: entry.found_once,
        "(half only)": lambda entry: entry.half_only,
        "found in every run": lambda entry: entry.found_always,
        "mean of 100": lambda entry: f"{entry.found_per_100:.0f}",
        "near-misses": lambda entry: entry.near_misses,
        "false alarms on them": lambda entry: entry.false_near_misses,
        "beside races": lambda entry: entry.false_beside,
        "elsewhere": lambda entry: entry.false_noise,
        "precision": lambda entry: _percent(entry.precision),
        "recall": lambda entry: _percent(entry.recall),
        "broken runs": lambda entry: entry.broken_runs,
    }
    return _table(list(columns), [[str(value(entry)) for value in columns.values()] for entry in totals])


def _outcomes(totals: Sequence[Totals]) -> str:
    """The four outcomes of a classifier, a planted race or a near-miss being the unit."""
    rows = []
    for entry in totals:
        missed, quiet = entry.planted - entry.found_once, entry.near_misses - entry.false_near_misses
        rows.append([entry.title, *map(str, (entry.found_once, missed, entry.false_positives, quiet))])
    return _table(["tool", "true positives", "false negatives", "false positives", "true negatives"], rows)


def _cell(count: Count) -> str:
    if count.runs == 0:
        return "-"
    return f"{count.found}/{count.runs}" + (" half" if count.found and count.half == count.found else "")


def _races(rows: Sequence[Row], totals: Sequence[Totals]) -> str:
    lines = []
    for row in by_name(rows):
        taken = max((count.reached / count.runs for count in row.counts.values() if count.runs), default=0.0)
        title = PATTERNS[row.pattern].title + (f" *(taken by {_percent(taken)} of runs)*" if row.rare else "")
        lines.append([row.group, f"`{row.name}`", title, *(_cell(row.counts[entry.tool]) for entry in totals)])
    return _table(["class", "race", "what", *(entry.title for entry in totals)], lines, left=3)


def _false_alarms(rows: Sequence[Row], totals: Sequence[Totals]) -> str:
    lines = []
    for row in by_name(rows):
        if any(count.found for count in row.counts.values()):
            right = PATTERNS[row.pattern].right
            lines.append([row.group, f"`{row.name}`", right, *(_cell(row.counts[entry.tool]) for entry in totals)])
    if not lines:
        return "None.\n"
    return _table(["class", "near-miss", "why it is right", *(entry.title for entry in totals)], lines, left=3)


def markdown(tally: Tally) -> str:
    classes = "\n".join(f"- **{name}**: {what}" for name, what in GROUPS.items())
    return "\n".join([
        _HEAD,
        "## Summary\n", _summary(tally.totals),
        _outcomes(tally.totals),
        "![Share of runs in which each race is found](quality.svg)\n",
        "## Planted races\n",
        "In how many runs each was found, over all programs that have it.\n", classes + "\n",
        _races(tally.races, tally.totals),
        "## False alarms on near-misses\n",
        "In how many runs a near-miss was reported; those never reported by any tool are left out.\n",
        _false_alarms(tally.near_misses, tally.totals),
    ])  # fmt: skip


def as_json(tally: Tally, seed: int) -> str:
    def rows(given: Sequence[Row]) -> list[dict[str, object]]:
        return [dataclasses.asdict(row) for row in given]

    summary = [
        {**dataclasses.asdict(entry), "false_positives": entry.false_positives, "precision": entry.precision,
         "recall": entry.recall} for entry in tally.totals
    ]  # fmt: skip
    whole = {
        "format": FORMAT,
        "seed": seed,
        "summary": summary,
        "races": rows(tally.races),
        "near_misses": rows(tally.near_misses),
    }
    return json.dumps(whole, indent=1) + "\n"


def write(tally: Tally, seed: int, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    svg = heatmap.draw(by_name(tally.races), by_name(tally.near_misses), [(t.tool, t.title) for t in tally.totals])
    for name, text in (("quality.json", as_json(tally, seed)), ("quality.md", markdown(tally)), ("quality.svg", svg)):
        unfinished = folder / (name + ".unfinished")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.rename(folder / name)
