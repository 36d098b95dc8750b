"""Plain SVG charts: bars on a logarithmic scale, and lines. Readable without a legend lookup, in print and on a dark page."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Sequence

# Told apart by people who don't see red and green as different (after Okabe and Ito).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b", "#000000", "#882255", "#44aa99", "#999933", "#ddcc77", "#117733",
            "#aa4499")
_FONT = 'font-family="system-ui, sans-serif"'
_INK, _GRID, _PAPER = "#1b1b1b", "#dddddd", "#ffffff"


@dataclasses.dataclass(frozen=True)
class Series:
    name: str
    values: Sequence[float | None]  # one for each label; None where there is no figure


def _text(x: float, y: float, text: str, size: int = 12, anchor: str = "start", weight: str = "normal") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
            f'fill="{_INK}">{html.escape(text)}</text>')


def _document(width: float, height: float, title: str, body: list[str]) -> str:
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" {_FONT} role="img"><title>{html.escape(title)}</title>'
            f'<rect width="100%" height="100%" fill="{_PAPER}"/>')
    return "\n".join([head, *body, "</svg>", ""])


def _legend(series: Sequence[Series], x: float, y: float, width: float) -> tuple[list[str], float]:
    """The names, each beside its colour, in as many rows as they need; and where the chart may begin."""
    out, at = [], x
    for i, one in enumerate(series):
        need = 26 + 7 * len(one.name)
        if at > x and at + need > x + width:
            at, y = x, y + 20
        out.append(f'<rect x="{at:.1f}" y="{y - 10:.1f}" width="12" height="12" fill="{_COLOURS[i % len(_COLOURS)]}"/>')
        out.append(_text(at + 17, y, one.name))
        at += need
    return out, y + 20


def _decades(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, ... from at most low to at least high."""
    steps = [m * 10.0**e for e in range(-3, 7) for m in (1, 2, 5)]
    first = max((i for i, s in enumerate(steps) if s <= low), default=0)
    last = min((i for i, s in enumerate(steps) if s >= high), default=len(steps) - 1)
    return steps[first:last + 1]


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def bars(title: str, axis: str, labels: Sequence[str], series: Sequence[Series]) -> str:
    """A group of horizontal bars for each label, from 1 (as fast, as large as native code) outwards."""
    bar, left, plot, right = 11, 150, 560, 60
    known = [v for s in series for v in s.values if v]
    if not known:
        return _document(400, 60, title, [_text(20, 35, f"{title}: nothing was measured")])
    ticks = _decades(min(1.0, *known), max(2.0, *known))
    low, high = math.log(ticks[0]), math.log(ticks[-1])

    def x_of(value: float) -> float:
        return left + plot * (math.log(value) - low) / (high - low)

    body = [_text(16, 26, title, 16, weight="bold")]
    legend, top = _legend(series, 16, 52, left + plot + right - 32)
    body += legend
    group = bar * len(series) + 12
    bottom = top + group * len(labels) + 6
    for tick in ticks:
        body.append(f'<line x1="{x_of(tick):.1f}" y1="{top}" x2="{x_of(tick):.1f}" y2="{bottom}" stroke="{_GRID}"/>')
        body.append(_text(x_of(tick), bottom + 16, f"{_number(tick)}x", 11, "middle"))
    for row, label in enumerate(labels):
        y = top + group * row + 6
        body.append(_text(left - 8, y + bar * len(series) / 2 + 4, label, 12, "end"))
        for i, one in enumerate(series):
            value = one.values[row]
            if not value:
                continue
            start, end = sorted((x_of(1.0), x_of(value)))
            body.append(f'<rect x="{start:.1f}" y="{y + bar * i:.1f}" width="{max(end - start, 1.5):.1f}" '
                        f'height="{bar - 2}" fill="{_COLOURS[i % len(_COLOURS)]}"><title>'
                        f'{html.escape(label)}, {html.escape(one.name)}: {value:.2f}x</title></rect>')
            body.append(_text(end + 4, y + bar * i + 8, _number(value), 9))
    body.append(_text(left + plot / 2, bottom + 36, axis, 12, "middle"))
    return _document(left + plot + right, bottom + 50, title, body)


def lines(title: str, x_axis: str, y_axis: str, xs: Sequence[int], panels: Sequence[tuple[str, Sequence[Series]]]) -> str:
    """A panel beside a panel, each a set of lines over the same xs; both axes logarithmic."""
    names = list(dict.fromkeys(s.name for _, series in panels for s in series))
    known = [v for _, series in panels for s in series for v in s.values if v]
    if not known or len(xs) < 2:
        return _document(400, 60, title, [_text(20, 35, f"{title}: nothing was measured")])
    side, gap, left = 250, 50, 60
    width = left + len(panels) * (side + gap)
    ticks = _decades(min(known), max(*known, min(known) * 1.5))
    body = [_text(16, 26, title, 16, weight="bold")]
    legend, top = _legend([Series(n, ()) for n in names], 16, 52, width - 32)
    body += legend
    top += 24

    def y_of(value: float) -> float:
        return top + side * (1 - (math.log(value) - math.log(ticks[0])) / (math.log(ticks[-1]) - math.log(ticks[0])))

    for index, (name, series) in enumerate(panels):
        origin = left + index * (side + gap)

        def x_of(value: float) -> float:
            return origin + side * (math.log(value) - math.log(xs[0])) / (math.log(xs[-1]) - math.log(xs[0]))

        body.append(_text(origin + side / 2, top - 8, name, 13, "middle", "bold"))
        for tick in ticks:
            body.append(f'<line x1="{origin}" y1="{y_of(tick):.1f}" x2="{origin + side}" y2="{y_of(tick):.1f}" '
                        f'stroke="{_GRID}"/>')
            body.append(_text(origin - 5, y_of(tick) + 4, f"{_number(tick)}x", 10, "end"))
        for x in xs:
            body.append(_text(x_of(x), top + side + 16, str(x), 10, "middle"))
        for one in series:
            colour = _COLOURS[names.index(one.name) % len(_COLOURS)]
            points = [(x_of(x), y_of(v)) for x, v in zip(xs, one.values) if v]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        body.append(_text(origin + side / 2, top + side + 36, x_axis, 12, "middle"))
    body.append(f'<g transform="translate(14 {top + side / 2:.0f}) rotate(-90)">{_text(0, 0, y_axis, 12, "middle")}</g>')
    return _document(width, top + side + 50, title, body)


def curves(title: str, x_axis: str, y_axis: str, labels: Sequence[str], series: Sequence[Series]) -> str:
    """Lines over labels at equal distances, from zero (or below, if a value is) on a linear scale."""
    known = [v for s in series for v in s.values if v is not None]
    if not known or len(labels) < 2:
        return _document(400, 60, title, [_text(20, 35, f"{title}: nothing was measured")])
    width, height, left, right = 520, 280, 70, 30
    low, high = min(0.0, *known), max(*known, min(0.0, *known) + 1e-9)
    step = 10.0**math.floor(math.log10((high - low) / 4))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= 6)
    first, last = math.floor(low / step), math.ceil(high / step)
    body = [_text(16, 26, title, 16, weight="bold")]
    legend, top = _legend(series, 16, 52, left + width + right - 32)
    body += legend

    def x_of(index: int) -> float:
        return left + width * index / (len(labels) - 1)

    def y_of(value: float) -> float:
        return top + height * (1 - (value - first * step) / ((last - first) * step))

    for tick in range(first, last + 1):
        y = y_of(tick * step)
        body.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}" stroke="{_INK if tick == 0 else _GRID}"/>')
        body.append(_text(left - 6, y + 4, f"{tick * step:g}", 11, "end"))
    for index, label in enumerate(labels):
        body.append(_text(x_of(index), top + height + 18, label, 11, "middle"))
    for i, one in enumerate(series):
        colour = _COLOURS[i % len(_COLOURS)]
        points = [(x_of(at), y_of(v), v) for at, v in enumerate(one.values) if v is not None]
        body.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"><title>{html.escape(one.name)}: {v:.3g}</title></circle>' for x, y, v in points]
    body.append(_text(left + width / 2, top + height + 38, x_axis, 12, "middle"))
    body.append(f'<g transform="translate(16 {top + height / 2:.0f}) rotate(-90)">{_text(0, 0, y_axis, 12, "middle")}</g>')
    return _document(left + width + right, top + height + 52, title, body)
