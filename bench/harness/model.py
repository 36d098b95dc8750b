"""What is measured: toolchains, tools, workloads, and the commands they come down to. No behaviour beyond naming."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Mapping

# How large a run is. A scale is a class of run time, so that each workload states its own inputs for it.
FULL = "full"  # 0.5-1 s of CPU natively: --long
QUICK = "quick"  # 0.1-0.2 s natively: the usual
SMALL = "small"  # 0.03-0.06 s natively: for tools that are 50-100 times slower; marked in every table
SCALES = (FULL, QUICK, SMALL)


@dataclasses.dataclass(frozen=True)
class Toolchain:
    """How programs are compiled. Tools that share one share its binaries."""

    name: str
    cc: str
    cxx: str
    flags: tuple[str, ...]  # for compiling and linking, C and C++ alike
    link_flags: tuple[str, ...] = ()
    linked: tuple[pathlib.Path, ...] = ()  # files of ours that become part of the program


@dataclasses.dataclass(frozen=True)
class Tool:
    """One column of the tables."""

    name: str
    title: str
    toolchain: Toolchain
    baseline: str  # the tool it is compared with: native code of the same compiler; its own name if it is that
    prefix: tuple[str, ...] = ()  # the program runs under this command
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    heavy: bool = False  # runs at scale SMALL
    full_only: bool = False  # not part of --quick, and on all workloads with --long only
    ours: bool = False  # Redflag, not a peer
    parts: tuple[pathlib.Path, ...] = ()  # files of ours that it is made of
    report: str = ""  # a regular expression: each match in the program's standard error is one report


@dataclasses.dataclass(frozen=True)
class Command:
    """One run of a program. What is measured is this process and its children, never the client."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    stdin: pathlib.Path | None = None
    # For servers: called with the pid once the process runs; puts a bounded load on it over loopback and returns when done
    # (raises on failure); then the process is asked to end with SIGTERM.
    client: Callable[[int], None] | None = None
    # Called after the run with what the program printed: raises if the result is wrong, else returns a digest that must be
    # the same under every tool.
    check: Callable[[str], str] | None = None


@dataclasses.dataclass(frozen=True)
class Workload:
    """One row. `build(toolchain, folder)` leaves binaries in folder; `command(folder, scale, threads)` says how to run."""

    name: str
    title: str  # one line: what it does
    origin: str  # which paper or package it comes from
    threads: int  # the number that it is normally run with; 1 if it can't be chosen
    build: Callable[[Toolchain, pathlib.Path], None]
    command: Callable[[pathlib.Path, str, int], Command]
    sources: tuple[pathlib.Path, ...] = ()  # what the binaries are made from; a change of any builds them again
    quick: bool = False  # part of --quick
    quick_heavy: bool = False  # there also under the heavy tools; without --long, under all variants of them
    growth: bool = False  # also run at 1-64 threads
    skip: Mapping[str, str] = dataclasses.field(default_factory=dict)  # toolchain name -> why it can't be built with it
