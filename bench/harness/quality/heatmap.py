"""Draws the heat map: a row for each planted race, a column for each tool; blue where it is found, and red, in a second block,
where the near-miss beside it is reported."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from .pattern import GROUPS
from .tally import Count, Row

_ROW, _CELL, _NAMES, _GAP, _MARGIN = 17, 62, 210, 26, 16
_HEAD, _FOOT, _GROUP_GAP = 84, 58, 18  # the head without the slanted titles of the columns
_LETTER, _SLANT = 6.0, 32  # about the width of a letter, and degrees
_TEXT, _PALE, _BACKGROUND = "#1c2430", "#6a7380", "#ffffff"
_BLUE, _RED, _NOTHING = (19, 94, 170), (190, 38, 38), (240, 242, 245)


def _colour(share: float, full: tuple[int, int, int]) -> str:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(_NOTHING, full))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _text(x: float, y: float, words: str, size: int = 11, fill: str = _TEXT, extra: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" {extra}>{escape(words)}</text>'


def _cell(x: float, y: float, count: Count | None, full: tuple[int, int, int]) -> list[str]:
    if count is None or count.runs == 0:
        middle = y + _ROW / 2
        return [f'<line x1="{x + 26:g}" y1="{middle:g}" x2="{x + 34:g}" y2="{middle:g}" stroke="{_PALE}"/>']
    colour = _colour(count.share, full)
    ink = "#ffffff" if count.share > 0.55 else _TEXT
    figure = f"{round(100 * count.share)}" + ("½" if count.found and count.half == count.found else "")
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{_CELL - 2}" height="{_ROW - 2}" rx="2" fill="{colour}"/>',
        _text(x + _CELL / 2 - 1, y + 11.5, figure, 10, ink, 'text-anchor="middle"'),
    ]


def _legend(x: float, y: float, words: str, full: tuple[int, int, int]) -> list[str]:
    lines = [_text(x, y + 11, words)]
    for step in range(5):
        left = x + 170 + step * 40
        lines.append(f'<rect x="{left:g}" y="{y:g}" width="38" height="15" rx="2" fill="{_colour(step / 4, full)}"/>')
        ink = "#ffffff" if step > 2 else _TEXT
        lines.append(_text(left + 19, y + 11, f"{25 * step} %", 10, ink, 'text-anchor="middle"'))
    return lines


def draw(races: Sequence[Row], near_misses: Sequence[Row], tools: Sequence[tuple[str, str]]) -> str:
    """`tools`: name and title of each."""
    near = {row.name: row for row in near_misses}
    block = len(tools) * _CELL
    second = _MARGIN + _NAMES + block + _GAP
    longest = _LETTER * max(len(title) for _, title in tools)
    top = _HEAD + longest * math.sin(math.radians(_SLANT)) + 8
    width = max(second + block + longest * math.cos(math.radians(_SLANT)), 2 * _MARGIN + 800)
    body: list[str] = []
    y = top
    group, pattern = "", ""
    for row in races:
        if row.group != group:
            group = row.group
            y += _GROUP_GAP
            words = f"{group}: {GROUPS[group]}"
            body.append(_text(_MARGIN, y - 4, words, 11, _PALE, 'font-weight="bold"'))
        body.append(_text(_MARGIN + 8, y + 12, row.name))
        for column, (tool, _) in enumerate(tools):
            body += _cell(_MARGIN + _NAMES + column * _CELL, y, row.counts.get(tool), _BLUE)
            if row.pattern != pattern and row.pattern in near:
                body += _cell(second + column * _CELL, y, near[row.pattern].counts.get(tool), _RED)
        pattern = row.pattern
        y += _ROW
    height = y + _FOOT

    head = [
        _text(_MARGIN, 30, "Planted races found, and near-misses reported", 17, _TEXT, 'font-weight="bold"'),
        _text(_MARGIN, 50, "Figures: in how many of 100 runs. ½: only one of the two lines was named. Each race is a row; "
              "its near-miss is the same code made right.", 11, _PALE),
        _text(_MARGIN + _NAMES, 74, "races found", 12, _TEXT, 'font-weight="bold"'),
        _text(second, 74, "false alarms on the near-miss", 12, _TEXT, 'font-weight="bold"'),
    ]  # fmt: skip
    for column, (_, title) in enumerate(tools):
        for left in (_MARGIN + _NAMES, second):
            x = left + column * _CELL + _CELL / 2
            head.append(_text(x, top - 4, title, 11, _TEXT, f'transform="rotate({-_SLANT} {x:g} {top - 4:g})"'))
    foot = _legend(_MARGIN, y + 18, "share of runs: race found", _BLUE)
    foot += _legend(_MARGIN + 400, y + 18, "near-miss reported", _RED)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}" '
        'font-family="Helvetica, Arial, sans-serif">',
        f'<rect width="{width:g}" height="{height:g}" fill="{_BACKGROUND}"/>',
        *head, *body, *foot,
        "</svg>",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"
