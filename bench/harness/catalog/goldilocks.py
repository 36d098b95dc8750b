"""The eleven Java programs of the Goldilocks paper's Table 1, written anew in C++."""

from __future__ import annotations

from ..model import FULL, QUICK, SMALL, Workload
from .programs import program


def _sizes(full: int, quick: int, small: int) -> dict[str, int]:
    return {FULL: full, QUICK: quick, SMALL: small}


_JAVA_GRANDE = "Goldilocks paper, 6: Java Grande"
_OTHER = "Goldilocks paper, 6"
_ETH = "Goldilocks paper, 6: ETH benchmarks"

WORKLOADS: list[Workload] = [
    program(
        "colt",
        title="matrices and histograms behind synchronized views",
        origin=_OTHER,
        sizes=_sizes(80_000, 16_000, 4_000),
    ),
    program(
        "hedc",
        title="meta search, a pool of workers, cancelled tasks",
        origin=_ETH,
        sizes=_sizes(4_500, 900, 280),
    ),
    program(
        "lufact",
        title="LU factorization, barriers, columns change hands",
        origin=_JAVA_GRANDE,
        sizes=_sizes(1_300, 800, 480),
    ),
    program(
        "moldyn",
        title="molecular dynamics, barriers, a force array per thread",
        origin=_JAVA_GRANDE,
        sizes=_sizes(180, 36, 11),
        quick=True,
        quick_heavy=True,
    ),
    program(
        "montecarlo",
        title="Monte Carlo price paths, results in a locked vector",
        origin=_JAVA_GRANDE,
        sizes=_sizes(20_000, 4_000, 1_150),
    ),
    program(
        "philo",
        title="dining philosophers, a monitor with condition variables",
        origin=_ETH,
        sizes=_sizes(600_000, 120_000, 40_000),
    ),
    program(
        "raytracer-jgf",
        source="jgf_raytracer.cc",
        title="ray tracer, 64 spheres, interlaced rows",
        origin=_JAVA_GRANDE,
        sizes=_sizes(150, 70, 42),
    ),
    program(
        "series",
        title="Fourier coefficients, nearly all time in libm",
        origin=_JAVA_GRANDE,
        sizes=_sizes(10_000, 2_000, 600),
    ),
    program(
        "sor",
        title="red-black relaxation, neighbours wait on atomic counters",
        origin=_JAVA_GRANDE,
        sizes=_sizes(1_800, 380, 110),
    ),
    program(
        "sor2",
        title="red-black relaxation, colours apart, std::barrier",
        origin=_ETH,
        sizes=_sizes(1_300, 280, 70),
    ),
    program(
        "tsp",
        title="travelling salesman, a locked queue of partial tours",
        origin=_ETH,
        sizes=_sizes(17, 16, 15),
    ),
]
