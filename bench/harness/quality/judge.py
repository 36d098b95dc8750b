"""Reads what a tool reported about a program, and holds it against what was planted there.

Each parser recognizes the reports of one family of tools and skips everything else, so every output goes through all of them:
a new tool is a new parser in PARSERS, and nothing else. A parser sees the report text and a Resolver; it yields the program's
own line for each of the two accesses, innermost first where several frames lie in the program.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator

VERSION = 1  # part of every stored result: raise it when the same output would be judged differently

FULL = "full"  # a report names two of the lines that race
HALF = "half"  # it names one, and for the other nothing, or a line of the same pattern that does not race
NOISE = "noise"
ELSEWHERE = "elsewhere"  # outside all patterns, or nowhere in the program


@dataclasses.dataclass(frozen=True)
class Resolver:
    """From a frame to lines of the program's source file."""

    source: str  # its name without folders
    binary: str  # likewise
    # Offset in the binary -> (file name, line) of each inlined call, innermost first.
    lookup: Callable[[int], Iterable[tuple[str, int]]] | None = None

    def lines(self, frame: str) -> list[int]:
        """The program's lines in one frame, as printed by any tool; unsymbolized frames may stand for several, inlined."""
        named = re.search(rf"(?:^|[\s/(]){re.escape(self.source)}:(\d+)", frame)
        if named:
            return [int(named[1])]
        raw = re.search(r"([^\s/()]+)\+0x([0-9a-f]+)\)", frame)
        if raw and self.lookup and raw[1] == self.binary and "<null>" in frame:
            return [line for name, line in self.lookup(int(raw[2], 16)) if name == self.source]
        return []


@dataclasses.dataclass(frozen=True)
class Report:
    """One data race as reported. A side is None if the tool gave no stack for it, or none that touches the program."""

    first: int | None
    second: int | None

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(line for line in (self.first, self.second) if line is not None)


Parser = Callable[[str, Resolver], Iterator[Report]]


class _Sides:
    """Collects the innermost line of the program on either side while a report is read."""

    def __init__(self) -> None:
        self._found: list[int | None] = [None, None]
        self.side: int | None = 0

    def frame(self, text: str, resolver: Resolver) -> None:
        if self.side is not None and self._found[self.side] is None:
            self._found[self.side] = next(iter(resolver.lines(text)), None)

    def report(self) -> Report:
        return Report(*self._found)


def parse_tsan(text: str, resolver: Resolver) -> Iterator[Report]:
    """ThreadSanitizer of LLVM and GCC. A use after free is a race of the use with the free."""
    current: _Sides | None = None
    for line in text.splitlines():
        if re.match(r"WARNING: ThreadSanitizer: (data race|heap-use-after-free|race on )", line):
            current = _Sides()
            current.side = None
        elif current is None:
            continue
        elif line.startswith(("SUMMARY: ThreadSanitizer", "=====")):
            yield current.report()
            current = None
        elif re.match(r"  Previous (atomic )?(read|write) of size", line):
            current.side = 1
        elif re.match(r"  (Atomic )?([Rr]ead|[Ww]rite) of size", line):
            current.side = 0
        elif re.match(r"    #\d+ ", line):
            current.frame(line, resolver)
        elif re.match(r"  \S", line):  # where the memory, the threads and the mutexes come from
            current.side = None
    if current is not None:
        yield current.report()


def _valgrind_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        match = re.match(r"==\d+== ?(.*)", line)
        if match:
            yield match[1]


_VALGRIND_FRAME = re.compile(r"   (at|by) 0x[0-9A-F]+: ")


def parse_helgrind(text: str, resolver: Resolver) -> Iterator[Report]:
    current: _Sides | None = None
    for line in _valgrind_lines(text):
        if line.startswith("Possible data race during"):
            if current is not None:
                yield current.report()
            current = _Sides()
        elif current is None:
            continue
        elif line.startswith("This conflicts with a previous"):
            current.side = 1
        elif _VALGRIND_FRAME.match(line):
            current.frame(line, resolver)
        elif line.strip() and not line.startswith("Locks held"):
            current.side = None
            if line.startswith("----"):
                yield current.report()
                current = None
    if current is not None:
        yield current.report()


def parse_drd(text: str, resolver: Resolver) -> Iterator[Report]:
    """DRD knows of the other access only between which two synchronizations it lies: there is no second line."""
    current: _Sides | None = None
    for line in _valgrind_lines(text):
        if re.match(r"Conflicting (load|store) by thread", line):
            if current is not None:
                yield current.report()
            current = _Sides()
        elif current is None:
            continue
        elif _VALGRIND_FRAME.match(line):
            current.frame(line, resolver)
        else:
            yield current.report()
            current = None
    if current is not None:
        yield current.report()


def parse_redflag(text: str, resolver: Resolver) -> Iterator[Report]:
    """Ours. Of several earlier accesses the first counts."""
    current: _Sides | None = None
    for line in text.splitlines():
        if line.startswith("DATA RACE on "):
            if current is not None:
                yield current.report()
            current = _Sides()
            current.side = None
        elif current is None:
            continue
        elif re.match(r"  earlier .* by thread ", line):
            current.side = 1
        elif re.match(r"  (atomic )?(read|write|free|allocation)\b.* by thread ", line):
            current.side = 0
        elif re.match(r"    #\d+ ", line):
            current.frame(line, resolver)
        elif re.match(r"  \S", line):  # where the memory and the threads come from, why
            current.side = None
    if current is not None:
        yield current.report()


PARSERS: list[Parser] = [parse_tsan, parse_helgrind, parse_drd, parse_redflag]


@dataclasses.dataclass(frozen=True)
class Region:
    """The lines of one pattern, or of the noise."""

    name: str
    racy: bool
    first: int
    last: int


@dataclasses.dataclass(frozen=True)
class Truth:
    """What a program's own text says about it."""

    races: dict[str, frozenset[int]]
    regions: tuple[Region, ...]

    @classmethod
    def of(cls, text: str) -> Truth:
        races: dict[str, set[int]] = {}
        regions: list[Region] = []
        begun: tuple[str, bool, int] | None = None
        for number, line in enumerate(text.splitlines(), 1):
            for race in re.findall(r"// RACE\(([^)]+)\)", line):
                races.setdefault(race, set()).add(number)
            if begin := re.search(r"// BEGIN\(([^)]+)\) (racy|right)$", line):
                begun = (begin[1], begin[2] == "racy", number)
            elif re.search(r"// END\(", line) and begun:
                regions.append(Region(*begun, number))
                begun = None
        return cls({race: frozenset(lines) for race, lines in races.items()}, tuple(regions))

    def is_marked(self, line: int) -> bool:
        return any(line in lines for lines in self.races.values())

    def region(self, line: int) -> Region | None:
        return next((r for r in self.regions if r.first <= line <= r.last), None)


@dataclasses.dataclass(frozen=True)
class FalseAlarm:
    """A report of what is not a race."""

    where: str  # the name of a pattern, NOISE or ELSEWHERE
    racy: bool  # whether that pattern is planted racy here: an alarm beside the race
    lines: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What one run of a tool on a program came to."""

    reports: int
    found: dict[str, str]  # planted race -> FULL or HALF
    false: tuple[FalseAlarm, ...]  # without repetitions


def _attribute(report: Report, truth: Truth) -> tuple[str, str] | FalseAlarm:
    lines = report.lines
    for race, marked in truth.races.items():
        named = [line for line in lines if line in marked]
        if len(named) == 2:
            return race, FULL
        beside = [line for line in lines if line not in marked]
        if named and all(not truth.is_marked(line) and truth.region(line) == truth.region(named[0]) for line in beside):
            return race, HALF
    for line in lines:
        if region := truth.region(line):
            return FalseAlarm(region.name, region.racy, lines)
    return FalseAlarm(ELSEWHERE, False, lines)


def parse(text: str, resolver: Resolver, parsers: Iterable[Parser] | None = None) -> list[Report]:
    return [report for parser in (PARSERS if parsers is None else parsers) for report in parser(text, resolver)]


def judge(reports: Iterable[Report], truth: Truth) -> Verdict:
    found: dict[str, str] = {}
    false: dict[FalseAlarm, None] = {}
    count = 0
    for report in reports:
        count += 1
        outcome = _attribute(report, truth)
        if isinstance(outcome, FalseAlarm):
            false[outcome] = None
        elif found.get(outcome[0]) != FULL:
            found[outcome[0]] = outcome[1]
    return Verdict(count, found, tuple(false))
