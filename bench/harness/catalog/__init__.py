"""The workloads, in the order of the tables: programs of our own, then real ones."""

from __future__ import annotations

import importlib

from ..model import Workload

_MODULES = ("core", "goldilocks", "packages")


def workloads() -> list[Workload]:
    return [w for name in _MODULES for w in importlib.import_module(f".{name}", __name__).WORKLOADS]
