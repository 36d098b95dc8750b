"""Source lines of offsets in a binary, each asked for once, and all of one output together.

The ThreadSanitizers run with symbolize=0: symbolizing in the process takes longer than the program, and clang's runtime finds
a symbolizer on few machines. llvm-symbolizer is asked first: addr2line misses some of clang's inlined frames.
"""

from __future__ import annotations

import functools
import pathlib
import re
import shutil
import subprocess


@functools.cache
def _command() -> tuple[str, ...]:
    for name in ("llvm-symbolizer-19", "llvm-symbolizer"):
        if shutil.which(name):
            return name, "--output-style=GNU", "--functions=none", "--inlining", "--addresses", "-e"
    return "addr2line", "-i", "-a", "-e"


class Symbols:
    def __init__(self, binary: pathlib.Path) -> None:
        self._binary = binary
        self._known: dict[int, list[tuple[str, int]]] = {}

    def lookup(self, offset: int) -> list[tuple[str, int]]:
        """(file name without folders, line) of the instruction, innermost inlined call first; none if unknown."""
        if offset not in self._known:
            self._ask([offset])
        return self._known[offset]

    def learn(self, output: str) -> None:
        """Looks up every offset that a tool's output has."""
        found = re.findall(rf"{re.escape(self._binary.name)}\+0x([0-9a-f]+)\)", output)
        new = {int(offset, 16) for offset in found} - self._known.keys()
        if new:
            self._ask(sorted(new))

    def _ask(self, offsets: list[int]) -> None:
        self._known.update((offset, []) for offset in offsets)
        command = [*_command(), str(self._binary), *map(hex, offsets)]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        frames: list[tuple[str, int]] = []
        for line in answer.splitlines():
            if line.startswith("0x"):
                frames = self._known[int(line, 16)]
                continue
            file, _, number = line.split(" (discriminator")[0].rpartition(":")
            if number.isdigit() and int(number) > 0:
                frames.append((pathlib.PurePath(file).name, int(number)))
