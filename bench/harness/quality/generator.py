"""Makes programs out of patterns: the same for the same seed, down to the byte.

A program has noise threads with locks of their own around one pattern, or around a few that run one after the other or side by
side. Its text says all that the judge has to know: the marks of the planted races, and the lines each pattern takes.
"""

from __future__ import annotations

import dataclasses
import pathlib
import random
from collections.abc import Iterable, Sequence

from .pattern import Pattern
from .patterns import PATTERNS

SUPPORT = pathlib.Path(__file__).with_name("support.h")

_TYPES = ("int", "unsigned", "long", "short", "std::int64_t", "std::uint8_t")
_MIXED_RACY_SHARE = 0.6


@dataclasses.dataclass(frozen=True)
class Part:
    """One pattern in a program."""

    pattern: Pattern
    racy: bool
    variant: int


@dataclasses.dataclass(frozen=True)
class Program:
    name: str  # also the stem of its file
    text: str
    parts: tuple[Part, ...]

    @property
    def file(self) -> str:
        return self.name + ".cc"


def _values(part: Part, rng: random.Random) -> dict[str, str]:
    choices = part.pattern.choices
    return {
        "T": rng.choice(_TYPES),
        "few": str(rng.randint(3, 6)),
        "delay": str(rng.choice((1500, 2000, 3000))),
        **choices[part.variant % len(choices)],
    }


def _noise(rng: random.Random) -> tuple[list[str], int]:
    """Threads that share cells under locks, properly; and how many of them there are."""
    locks, rounds, step = rng.randint(2, 4), rng.randint(10, 30), rng.randint(1, 3)
    lines = [
        "// Threads with nothing to hide.",
        "namespace noise {  // BEGIN(noise) right",
        f"std::mutex locks[{locks}];",
        f"long cells[{locks}] = {{}};",
        "",
        "void Work(int who) {",
        f"  for (int i = 0; i < {rounds}; ++i) {{",
        f"    const int at = (who + i * {step}) % {locks};",
        "    std::lock_guard lock(locks[at]);",
        "    cells[at] += i;",
        "  }",
        "}",
        "}  // END(noise)",
    ]
    return lines, rng.randint(1, 3)


def _main(parts: Sequence[Part], noise_threads: int, side_by_side: bool) -> list[str]:
    lines = [
        "int main(int argc, char** argv) {",
        "  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;",
    ]
    lines += [f"  std::thread noise_{i} = Spawn([] {{ noise::Work({i}); }});" for i in range(noise_threads)]
    if side_by_side:
        lines += [
            f"  std::thread part_{i}([seed] {{ {part.pattern.namespace}::Run(seed); }});" for i, part in enumerate(parts)
        ]
        lines += [f"  part_{i}.join();" for i in range(len(parts))]
    else:
        lines += [f"  {part.pattern.namespace}::Run(seed);" for part in parts]
    lines += [f"  noise_{i}.join();" for i in range(noise_threads)]
    lines += ['  std::puts("done");', "  return 0;", "}"]
    return lines


def make_program(name: str, parts: Sequence[Part], seed: int, draw: str = "") -> Program:
    """Programs with the same `draw` (their own name, if not given) get the same random numbers."""
    rng = random.Random(f"{seed}/{draw or name}")
    noise, noise_threads = _noise(rng)
    side_by_side = len(parts) > 1 and rng.random() < 0.5
    headers = sorted({"cstdint", "cstdio", "cstdlib", "mutex", "thread"} | {h for part in parts for h in part.pattern.headers})
    lines = [f"// {name}: generated with seed {seed}.", '#include "support.h"', ""]
    lines += [f"#include <{header}>" for header in headers]
    lines += ["", "using namespace support;"]
    for part in parts:
        lines += ["", *part.pattern.expand(part.racy, _values(part, rng))]
    lines += ["", *noise, "", *_main(parts, noise_threads, side_by_side)]
    return Program(name, "\n".join(lines) + "\n", tuple(parts))


def single_programs(variants: int, seed: int, patterns: Iterable[Pattern] = PATTERNS.values()) -> list[Program]:
    """One program for each pattern, variant and side."""
    programs = []
    for pattern in patterns:
        for variant in range(variants):
            stem = f"{pattern.name}-{variant + 1}"
            for racy in (True, False):  # the same numbers, so that the patch is the only difference
                name = f"{stem}-{'racy' if racy else 'right'}"
                programs.append(make_program(name, [Part(pattern, racy, variant)], seed, draw=stem))
    return programs


def mixed_programs(count: int, seed: int) -> list[Program]:
    """Programs with 3 to 5 patterns each, racy and right together. At least one of each."""
    programs = []
    for number in range(count):
        rng = random.Random(f"{seed}/mixed/{number}")
        chosen = rng.sample(list(PATTERNS.values()), rng.randint(3, 5))
        sides = [True, False] + [rng.random() < _MIXED_RACY_SHARE for _ in chosen[2:]]
        parts = [Part(pattern, racy, rng.randrange(2)) for pattern, racy in zip(chosen, sides)]
        rng.shuffle(parts)
        programs.append(make_program(f"mixed-{number + 1}", parts, seed))
    return programs


def all_programs(variants: int, mixed: int, seed: int) -> list[Program]:
    return single_programs(variants, seed) + mixed_programs(mixed, seed)


def write_programs(programs: Iterable[Program], folder: pathlib.Path) -> None:
    """Leaves alone what is already there, so that build tools see no change."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {SUPPORT.name: SUPPORT.read_text(encoding="utf-8"), **{p.file: p.text for p in programs}}
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
