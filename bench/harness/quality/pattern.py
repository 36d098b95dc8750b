"""What a pattern is: one piece of C++20 with a planted race, and the same piece made right.

Both come from one text, written like a patch: lines that start with `-|` are in the racy program alone, lines that start with
`+|` in the right one alone, all others in both. `//@` at the end of a line marks it as one of the lines that race, `//@part`
where a pattern has several races; it becomes `// RACE(id)` or `// OK(id)`. `$name` is filled in from a choice, `$T`, `$few`
and `$delay` by the generator. The text defines `void Run(std::uint64_t seed)` in a namespace of its own, and it may use
everything in support.h.
"""

from __future__ import annotations

import dataclasses
import re
import string
from collections.abc import Mapping

# The classes of patterns, in the order of the tables.
GROUPS = {
    "plain": "no synchronization at all",
    "rare": "a path that few runs take",
    "lock": "the wrong lock, or not enough of it",
    "order": "an atomic order that is too weak",
    "hidden": "usually ordered by something unrelated",
    "publication": "publication and initialization",
    "lifetime": "threads and objects that end",
    "sync": "misused barriers, condition variables, semaphores, futures",
    "structure": "containers and queues",
    "scale": "simultaneous, far apart, or many",
}

_MARK = re.compile(r"//@([a-z-]*)$")


@dataclasses.dataclass(frozen=True)
class Pattern:
    name: str
    group: str
    title: str  # one line for the tables
    racy: str  # why the racy program has a data race: C++20, or POSIX 4.12 for POSIX's own functions
    right: str  # why the right one has none
    code: str
    headers: tuple[str, ...] = ()
    choices: tuple[Mapping[str, str], ...] = ({},)  # variant n takes number n modulo their count

    @property
    def namespace(self) -> str:
        return "p_" + self.name.replace("-", "_")

    def expand(self, racy: bool, values: Mapping[str, str]) -> list[str]:
        """The lines of one instance, its namespace included."""
        kept = "-|" if racy else "+|"
        dropped = "+|" if racy else "-|"
        word = "RACE" if racy else "OK"

        def marked(match: re.Match[str]) -> str:
            return f"// {word}({self.name}/{match[1]})" if match[1] else f"// {word}({self.name})"

        lines = [
            f"// {self.title}.",
            f"// {'Racy: ' + self.racy if racy else 'Right: ' + self.right}.",
            f"namespace {self.namespace} {{  // BEGIN({self.name}) {'racy' if racy else 'right'}",
        ]
        for line in self.code.strip("\n").splitlines():
            if line.startswith(dropped):
                continue
            lines.append(_MARK.sub(marked, line.removeprefix(kept)))
        lines.append(f"}}  // END({self.name})")
        return string.Template("\n".join(lines)).substitute(values, id=self.name).splitlines()
