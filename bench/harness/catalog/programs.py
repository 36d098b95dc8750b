"""Workloads that are one C++ file of bench/workloads each, and keep the contract of workload.h."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
from collections.abc import Mapping, Sequence

from ..model import SCALES, Command, Toolchain, Workload

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "workloads"
FLAGS = ("-std=c++20", "-O2", "-g", "-ffp-contract=off", "-pthread")


class BuildError(Exception):
    """A workload does not compile; carries the command and what the compiler said."""


def program(
    name: str,
    *,
    source: str = "",
    title: str,
    origin: str,
    sizes: Mapping[str, int],
    threads: int = 4,
    defines: Sequence[str] = (),
    flags: Sequence[str] = (),
    quick: bool = False,
    quick_heavy: bool = False,
    growth: bool = False,
    skip: Mapping[str, str] | None = None,
) -> Workload:
    """The workload `name` of bench/workloads/`source` (NAME.cc if not given).

    sizes: scale -> --size. defines: macros, as NAME or NAME=VALUE. flags: more compiler options for this program.
    """
    path = SOURCES / (source or f"{name}.cc")
    assert path.is_file(), f"{name}: there is no {path}"
    assert set(sizes) == set(SCALES), f"{name}: needs a size for each of {', '.join(SCALES)}"
    options = (*FLAGS, *flags, *(f"-D{define}" for define in defines))

    def build(toolchain: Toolchain, folder: pathlib.Path) -> None:
        compile_program(toolchain, options, path, folder / name)

    def command(folder: pathlib.Path, scale: str, threads: int) -> Command:
        argv = (str(folder / name), "--threads", str(threads), "--size", str(sizes[scale]))
        return Command(argv=argv, check=lambda output: checksum(name, output))

    return Workload(
        name=name,
        title=title,
        origin=origin,
        threads=threads,
        build=build,
        command=command,
        sources=(path, SOURCES / "workload.h", pathlib.Path(__file__)),
        quick=quick,
        quick_heavy=quick_heavy,
        growth=growth,
        skip=dict(skip or {}),
    )


def compile_program(toolchain: Toolchain, options: Sequence[str], source: pathlib.Path, binary: pathlib.Path) -> None:
    """Compiles and links one file. The binary appears whole or not at all."""
    binary.parent.mkdir(parents=True, exist_ok=True)
    unfinished = binary.with_name(f".{binary.name}.{os.getpid()}")
    argv = [toolchain.cxx, *options, *toolchain.flags, "-I", str(SOURCES), str(source)]
    argv += ["-o", str(unfinished), *toolchain.link_flags]
    try:
        result = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if result.returncode != 0:
            raise BuildError(f"{binary.name} does not build with {toolchain.name}: {' '.join(argv)}\n{result.stdout}")
        unfinished.replace(binary)
    finally:
        unfinished.unlink(missing_ok=True)


def checksum(name: str, output: str) -> str:
    """The checksum that the program printed; ValueError if it printed none."""
    found = re.search(rf"^{re.escape(name)} checksum=([0-9a-f]{{16}})$", output, re.MULTILINE)
    if found is None:
        raise ValueError(f"{name} printed no checksum, but: {output[-500:]!r}")
    return found[1]
