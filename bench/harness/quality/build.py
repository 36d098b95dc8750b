"""Compiles programs, each once for a toolchain: what a binary is made of decides its place, so nothing is built twice."""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import subprocess

from ..model import Toolchain
from .generator import SUPPORT, Program

# After the toolchain's own, so that every tool sees the same code: optimized, but with each access still on its line.
_FLAGS = ("-std=c++20", "-O1", "-g", "-pthread")
_TIMEOUT = 300.0


class BuildError(Exception):
    """The compiler's complaint."""


@functools.cache
def _version(compiler: str) -> str:
    try:
        return subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildError(f"{compiler} does not run: {error}") from error


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


class Builder:
    """`sources` holds the written programs, `cache` the binaries of this and of every earlier session."""

    def __init__(self, sources: pathlib.Path, cache: pathlib.Path) -> None:
        self._sources = sources
        self._cache = cache
        self._support = SUPPORT.read_text(encoding="utf-8")

    def key(self, program: Program, toolchain: Toolchain) -> str:
        flags = (*toolchain.flags, "--", *toolchain.link_flags, "--", *_FLAGS)
        return digest(program.text, self._support, toolchain.cxx, _version(toolchain.cxx), *flags)

    def binary(self, program: Program, toolchain: Toolchain) -> pathlib.Path:
        """Raises BuildError."""
        folder = self._cache / self.key(program, toolchain)
        binary = folder / program.name
        if binary.exists():
            return binary
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f"unfinished-{os.getpid()}"
        command = [toolchain.cxx, *toolchain.flags, *_FLAGS, program.file, "-o", str(unfinished.resolve())]
        command += toolchain.link_flags
        try:
            done = subprocess.run(command, cwd=self._sources, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BuildError(f"{program.name} with {toolchain.name}: {error}") from error
        if done.returncode != 0:
            raise BuildError(f"{program.name} with {toolchain.name}: {' '.join(command)}\n{done.stderr.strip()}")
        unfinished.rename(binary)
        return binary
