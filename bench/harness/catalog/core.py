"""Workloads that cover the ways in which programs synchronize, and those of the papers that we could not get."""

from __future__ import annotations

from ..model import FULL, QUICK, SMALL, Workload
from .programs import program


# What small means is set by DRD and Helgrind, which should not take more than 20 s: their cost grows with the number of
# locks taken, so that where there is little else, the native time is below that of the scale.
def _sizes(full: int, quick: int, small: int) -> dict[str, int]:
    return {FULL: full, QUICK: quick, SMALL: small}


_OWN = "Redflag"
_RACETRACK = "RaceTrack paper, 4.2"
_GOLDILOCKS = "Goldilocks paper, 6.1"

WORKLOADS: list[Workload] = [
    program(
        "matmul-ijk",
        source="matmul.cc",
        defines=("ORDER_IJK",),
        title="matrix multiply, dot products; threads share rows",
        origin=_OWN,
        sizes=_sizes(800, 500, 340),
    ),
    program(
        "matmul-ikj",
        source="matmul.cc",
        title="matrix multiply, row by row; threads share rows",
        origin=_OWN,
        sizes=_sizes(880, 530, 355),
    ),
    program(
        "nbody",
        title="all-pairs n-body, barriers between steps",
        origin=_OWN,
        sizes=_sizes(2700, 1240, 680),
    ),
    program(
        "raytracer",
        title="ray tracer, parallel readers of one scene",
        origin=_OWN,
        sizes=_sizes(1_080, 480, 260),
        quick=True,
        quick_heavy=True,
        growth=True,
    ),
    program(
        "hashmap",
        title="hash map, striped locks",
        origin=_OWN,
        sizes=_sizes(6_500_000, 1_400_000, 420_000),
        quick=True,
        growth=True,
    ),
    program(
        "queue",
        title="producers and consumers, bounded queue",
        origin=_OWN,
        sizes=_sizes(950_000, 200_000, 55_000),
        quick=True,
        growth=True,
    ),
    program(
        "btree",
        title="B-tree, a reader-writer lock per node",
        origin=f"{_RACETRACK}: Boxwood",
        sizes=_sizes(3_000_000, 600_000, 60_000),
    ),
    program(
        "sat",
        title="SAT solver, single-threaded, tiny arrays",
        origin=f"{_RACETRACK}: SATsolver",
        threads=1,
        sizes=_sizes(240, 48, 12),
        quick=True,
        quick_heavy=True,
    ),
    program(
        "warehouse",
        title="orders and payments in warehouses, ordered locks",
        origin=f"{_RACETRACK}: SpecJBB",
        sizes=_sizes(1_300_000, 250_000, 32_000),
    ),
    program(
        "crawler",
        title="web crawler on a made-up web, thread pool",
        origin=f"{_RACETRACK}: Crawler",
        sizes=_sizes(45_000, 9_000, 2_700),
    ),
    program(
        "vclient",
        title="video client, stages joined by ring buffers",
        origin=f"{_RACETRACK}: Vclient",
        sizes=_sizes(1_200, 240, 70),
    ),
    program(
        "multiset",
        title="multiset, transactions by two-phase locking",
        origin=f"{_GOLDILOCKS}: Multiset",
        sizes=_sizes(750_000, 150_000, 20_000),
    ),
    program(
        "multiset-tm",
        source="multiset.cc",
        defines=("USE_TM",),
        flags=("-fgnu-tm",),
        title="multiset, transactions by the compiler",
        origin=f"{_GOLDILOCKS}: Multiset",
        threads=2,
        sizes=_sizes(300_000, 45_000, 12_000),
        skip={
            "clang": "clang has no -fgnu-tm",
            "clang-tsan": "clang has no -fgnu-tm",
            "clang-redflag": "clang has no -fgnu-tm",
            "gcc-redflag": "g++ 12 crashes on -fgnu-tm with -fsanitize=thread",
            "gcc-tsan": "g++ 12 crashes on -fgnu-tm with -fsanitize=thread",
        },
    ),
]
