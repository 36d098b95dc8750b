"""Source lines of offsets in a binary, each asked for once.

The ThreadSanitizers run with symbolize=0: symbolizing in the process takes longer than the program, and clang's runtime finds
a symbolizer on few machines. llvm-symbolizer is asked first: addr2line misses some of clang's inlined frames.
"""

from __future__ import annotations

import functools
import pathlib
import shutil
import subprocess


@functools.cache
def _command() -> tuple[str, ...]:
    for name in ("llvm-symbolizer-19", "llvm-symbolizer"):
        if shutil.which(name):
            return name, "--output-style=GNU", "--functions=none", "--inlining", "-e"
    return "addr2line", "-i", "-e"


class Symbols:
    def __init__(self, binary: pathlib.Path) -> None:
        self._binary = binary
        self._known: dict[int, list[tuple[str, int]]] = {}

    def lookup(self, offset: int) -> list[tuple[str, int]]:
        """(file name without folders, line) of the instruction, innermost inlined call first; none if unknown."""
        if offset not in self._known:
            self._known[offset] = self._ask(offset)
        return self._known[offset]

    def _ask(self, offset: int) -> list[tuple[str, int]]:
        command = [*_command(), str(self._binary), hex(offset)]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        frames = []
        for line in answer.splitlines():
            file, _, number = line.split(" (discriminator")[0].rpartition(":")
            if number.isdigit() and int(number) > 0:
                frames.append((pathlib.PurePath(file).name, int(number)))
        return frames
