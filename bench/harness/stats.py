"""From samples to figures. Every figure is a ratio to native code of the same run, with the spread that it was seen with."""

from __future__ import annotations

import dataclasses
import math
import random
import statistics
from collections.abc import Iterable, Sequence

from .measure import Sample


@dataclasses.dataclass(frozen=True)
class Summary:
    """Several runs of one cell. Noise only ever adds time, so that the minimum is the figure and the others tell the noise."""

    runs: int
    cpu_min: float
    cpu_median: float
    cpu_max: float
    wall_min: float
    wall_median: float
    rss: int  # KiB: the median of the peaks
    rss_min: int
    rss_max: int
    reports: float  # a run, on average
    others: float  # the most cores that anything else used during a run


def summarize(samples: Sequence[Sample]) -> Summary:
    cpu = [s.cpu for s in samples]
    wall = [s.wall for s in samples]
    rss = [s.rss for s in samples]
    return Summary(runs=len(samples), cpu_min=min(cpu), cpu_median=statistics.median(cpu), cpu_max=max(cpu),
                   wall_min=min(wall), wall_median=statistics.median(wall), rss=int(statistics.median(rss)),
                   rss_min=min(rss), rss_max=max(rss), reports=statistics.mean(s.reports for s in samples),
                   others=max(s.others for s in samples))


@dataclasses.dataclass(frozen=True)
class Ratio:
    """A ratio of minima, and the range in which it lies as far as these runs can tell."""

    value: float
    low: float
    high: float

    def agrees(self, other: "Ratio") -> bool:
        return self.low <= other.high and other.low <= self.high

    @property
    def spread(self) -> float:
        """Half of the range, as a share of the value."""
        return (self.high - self.low) / 2 / self.value if self.value else 0.0


# CPU time is read in steps of this many seconds; it bounds how exact a ratio of short runs can be.
_STEP = 0.001


def slowdown(of: Summary, to: Summary) -> Ratio:
    """CPU time of a tool over native CPU time. The range lets each side be anything that was seen of it."""
    base = max(to.cpu_min, _STEP)
    return Ratio(of.cpu_min / base, of.cpu_min / (max(to.cpu_max, base) + _STEP), (of.cpu_max + _STEP) / base)


def memory(of: Summary, to: Summary) -> Ratio:
    """Peak resident memory over that of native code."""
    return Ratio(of.rss / to.rss, of.rss_min / to.rss_max, of.rss_max / to.rss_min)


def geomean(values: Iterable[float]) -> float | None:
    logs = [math.log(v) for v in values if v > 0]
    return math.exp(sum(logs) / len(logs)) if logs else None


@dataclasses.dataclass(frozen=True)
class Interval:
    """A figure, and where it lies with a confidence of 95 %."""

    value: float
    low: float
    high: float


def paired_overhead(pairs: Sequence[tuple[float, float]], draws: int = 10_000) -> Interval:
    """By how much the second of each pair is more than the first, as a share of it: the median over the pairs, and the interval by bootstrap (draws of
    pairs, with the same seed each time). The median, since somebody else's work falls on single runs."""
    shares = [after / before - 1 for before, after in pairs]
    choice = random.Random(1)
    medians = sorted(statistics.median(choice.choices(shares, k=len(shares))) for _ in range(draws))
    return Interval(statistics.median(shares), medians[int(0.025 * draws)], medians[int(0.975 * draws)])
