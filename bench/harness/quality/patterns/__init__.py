"""All patterns, one module a class or two."""

from __future__ import annotations

from ..pattern import GROUPS, Pattern
from . import hidden, lifetime, locks, order, plain, protocols, publication, rare, scale, structures, sync


def _collect() -> dict[str, Pattern]:
    found: dict[str, Pattern] = {}
    order_of = list(GROUPS)
    modules = (plain, rare, locks, order, protocols, hidden, publication, lifetime, sync, structures, scale)
    for pattern in sorted((p for m in modules for p in m.PATTERNS), key=lambda p: order_of.index(p.group)):
        if pattern.name in found:
            raise ValueError(f"two patterns are called {pattern.name}")
        found[pattern.name] = pattern
    return found


PATTERNS: dict[str, Pattern] = _collect()
