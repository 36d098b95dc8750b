"""Adds up the records: for each planted race and each near-miss, in how many runs each tool reported it; and the totals."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from ..model import Tool
from . import judge
from .generator import Program
from .ledger import Record
from .pattern import Pattern
from .patterns import PATTERNS


@dataclasses.dataclass
class Count:
    """What a tool made of one race or near-miss, over all runs."""

    runs: int = 0
    found: int = 0  # runs with a report; for near-misses, a false one
    half: int = 0  # of those, runs in which only one of the two lines was reported
    reached: int = 0  # runs that took the rare path, where there is one

    def add(self, other: Count) -> None:
        self.runs += other.runs
        self.found += other.found
        self.half += other.half
        self.reached += other.reached

    @property
    def share(self) -> float:
        return self.found / self.runs if self.runs else 0.0


@dataclasses.dataclass
class Row:
    """A planted race or a near-miss in one program."""

    program: str
    name: str  # of the race, or of the near-miss's pattern
    pattern: str
    group: str
    rare: bool
    counts: dict[str, Count]  # tool -> count


@dataclasses.dataclass
class Totals:
    """A tool's line in the summary."""

    tool: str
    title: str
    runs: int  # of each program
    planted: int = 0
    found_once: int = 0  # true positives
    found_always: int = 0
    half_only: int = 0  # of found_once: never with both lines
    found_per_100: float = 0.0  # the mean over planted races
    near_misses: int = 0
    false_near_misses: int = 0
    false_beside: int = 0  # racy patterns with a report of lines that do not race
    false_noise: int = 0  # programs with a report outside all patterns
    broken_runs: int = 0  # did not come to their end
    unread: int = 0  # reports that no parser knew

    @property
    def false_positives(self) -> int:
        return self.false_near_misses + self.false_beside + self.false_noise

    @property
    def precision(self) -> float | None:
        reported = self.found_once + self.false_positives
        return self.found_once / reported if reported else None

    @property
    def recall(self) -> float | None:
        return self.found_once / self.planted if self.planted else None


@dataclasses.dataclass
class Tally:
    races: list[Row]
    near_misses: list[Row]
    totals: list[Totals]


def _row(program: Program, pattern: Pattern, name: str, tools: Sequence[Tool]) -> Row:
    rare = "Reached(" in pattern.code
    return Row(program.name, name, pattern.name, pattern.group, rare, {tool.name: Count() for tool in tools})


def _rows(program: Program, tools: Sequence[Tool]) -> tuple[list[Row], list[Row]]:
    """Its planted races, its near-misses."""
    races: list[Row] = []
    near_misses: list[Row] = []
    planted = judge.Truth.of(program.text).races
    for part in program.parts:
        pattern = part.pattern
        if part.racy:
            races += [_row(program, pattern, race, tools) for race in planted if race.split("/")[0] == pattern.name]
        else:
            near_misses.append(_row(program, pattern, pattern.name, tools))
    return races, near_misses


def _count(row: Row, record: Record, found: bool, half: bool) -> None:
    count = row.counts[record.tool]
    count.runs += 1
    count.found += found
    count.half += half
    count.reached += row.pattern in record.reached


def _finish(totals: Totals, tally: Tally) -> None:
    for row in tally.races:
        count = row.counts[totals.tool]
        if count.runs == 0:
            continue
        totals.planted += 1
        totals.found_once += count.found > 0
        totals.found_always += count.found == count.runs
        totals.half_only += count.found > 0 and count.half == count.found
        totals.found_per_100 += 100 * count.share
    if totals.planted:
        totals.found_per_100 = round(totals.found_per_100 / totals.planted, 1)
    for row in tally.near_misses:
        count = row.counts[totals.tool]
        totals.near_misses += count.runs > 0
        totals.false_near_misses += count.found > 0


def tally(programs: Sequence[Program], tools: Sequence[Tool], runs: dict[str, int], records: Iterable[Record]) -> Tally:
    rows = {program.name: _rows(program, tools) for program in programs}
    result = Tally(
        [row for races, _ in rows.values() for row in races],
        [row for _, near in rows.values() for row in near],
        [Totals(tool.name, tool.title, runs[tool.name]) for tool in tools],
    )
    totals = {entry.tool: entry for entry in result.totals}
    beside: dict[str, set[tuple[str, str]]] = {tool.name: set() for tool in tools}
    noise: dict[str, set[str]] = {tool.name: set() for tool in tools}
    for record in records:
        entry = totals[record.tool]
        entry.broken_runs += not record.ended
        entry.unread += record.unread
        alarms = {(where, racy) for where, racy, _ in record.false}
        races, near = rows[record.program]
        for row in races:
            how = record.found.get(row.name)
            _count(row, record, how is not None, how == judge.HALF)
        for row in near:
            _count(row, record, (row.pattern, False) in alarms, False)
        for where, racy in alarms:
            if where in (judge.NOISE, judge.ELSEWHERE):
                noise[record.tool].add(record.program)
            elif racy:
                beside[record.tool].add((record.program, where))
    for entry in result.totals:
        entry.false_beside, entry.false_noise = len(beside[entry.tool]), len(noise[entry.tool])
        _finish(entry, result)
    return result


def by_name(rows: Iterable[Row]) -> list[Row]:
    """The same race or near-miss of all programs, added up, in the order of the patterns."""
    merged: dict[str, Row] = {}
    for row in rows:
        if row.name not in merged:
            counts = {tool: Count() for tool in row.counts}
            merged[row.name] = Row("", row.name, row.pattern, row.group, row.rare, counts)
        for tool, count in row.counts.items():
            merged[row.name].counts[tool].add(count)
    order = list(PATTERNS)
    return sorted(merged.values(), key=lambda row: order.index(row.pattern))
