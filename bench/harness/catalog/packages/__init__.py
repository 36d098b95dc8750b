"""Workloads that are real programs, built from Debian's source packages.

To try them, `python3 -m bench.harness.catalog.packages --help`. A new one is a recipe (building.Build), a command that
works on what inputs.py generates, and a check of its result; a package that can't be had raises a PackageError.
"""

from . import compressors, leveldb, memcached, redis, sqlite, x264
from .places import PackageError

__all__ = ["WORKLOADS", "PackageError"]

WORKLOADS = [
    *compressors.WORKLOADS,
    *memcached.WORKLOADS,
    *redis.WORKLOADS,
    *leveldb.WORKLOADS,
    *sqlite.WORKLOADS,
    *x264.WORKLOADS,
]
