"""Builds a package with a toolchain, out of tree: the source is copied, and only the binaries that are run are kept.

Every toolchain gets the same: -O2 -g, no optional features, no assembler that a detector can't see into.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable

from ...model import Toolchain
from . import places, sources
from .logs import Log

FLAGS = ("-O2", "-g")
STEP_SECONDS = 1800
CONFIGURE_SECONDS = 900  # a configure script runs what it compiles, under the detector
JOBS = os.environ.get("JOBS", "2")

# For programs that are not measured: that put load on a server, or read what another one wrote.
CLIENT = Toolchain(name="client", cc="gcc-12", cxx="g++-12", flags=())


class Build:
    """The packages that one workload needs, being built with one toolchain in a scratch folder."""

    def __init__(self, name: str, toolchain: Toolchain, scratch: pathlib.Path, kept: pathlib.Path):
        self.toolchain = toolchain
        self.scratch = scratch
        self.kept = kept
        self.log = Log(places.LOGS / f"build-{name}-{toolchain.name}.log", f"{name} with {toolchain.name}")
        self.flags = " ".join([*FLAGS, *toolchain.flags])
        self.link_flags = " ".join([*toolchain.flags, *toolchain.link_flags])
        self.prefix = fixed_addresses()

    def unpack(self, package: str) -> pathlib.Path:
        """A copy of the package's source, to build in."""
        copy = self.scratch / package
        shutil.copytree(sources.unpacked(package), copy, symlinks=True)
        return copy

    def run(self, folder: pathlib.Path, *argv: object, seconds: float = STEP_SECONDS, **env: str) -> None:
        """Runs a command in folder with the toolchain in the environment; env changes that."""
        self.log.run([*self.prefix, *argv], folder, seconds, {**self.environment(), **env})

    def configure(self, folder: pathlib.Path, *options: object, **env: str) -> None:
        # Patches make some files newer than what was generated from them, and nothing is to be generated anew.
        generators = {name: ":" for name in ("ACLOCAL", "AUTOCONF", "AUTOHEADER", "AUTOMAKE")}
        self.run(folder, "./configure", *options, seconds=CONFIGURE_SECONDS, **{**generators, **env})

    def make(self, folder: pathlib.Path, *words: object, **env: str) -> None:
        """Targets, and VARIABLE=value for what the Makefile sets itself."""
        self.run(folder, "make", f"-j{JOBS}", *words, **env)

    def keep(self, *binaries: pathlib.Path) -> None:
        for binary in binaries:
            if not binary.is_file():
                self.log.fail(f"the build made no {binary.name}")
            shutil.copy2(binary, self.kept / binary.name)

    def environment(self) -> dict[str, str]:
        return {
            "CC": self.toolchain.cc,
            "CXX": self.toolchain.cxx,
            "CPPFLAGS": "",
            "CFLAGS": self.flags,
            "CXXFLAGS": self.flags,
            "LDFLAGS": self.link_flags,
            # Builds run what they compile. Races there are not what they are asked about.
            "TSAN_OPTIONS": "report_bugs=0:exitcode=0",
            # Version scripts of packages ask git, and would be told about this repository.
            "GIT_CEILING_DIRECTORIES": str(places.REPOSITORY.parent),
            "GIT_DIR": "/nonexistent",
            # The harness may itself be run by make, whose jobs are not to be shared.
            "MAKEFLAGS": "",
            "MAKELEVEL": "",
        }


def build(name: str, toolchain: Toolchain, folder: pathlib.Path, recipe: Callable[[Build], None]) -> None:
    """Leaves in folder what the recipe keeps; all of it or, with a PackageError, nothing."""
    with places.alone(folder):
        build_alone(name, toolchain, folder, recipe)


def build_alone(name: str, toolchain: Toolchain, folder: pathlib.Path, recipe: Callable[[Build], None]) -> None:
    kept = folder.with_name(f"{folder.name}.tmp")
    scratch = folder.with_name(f"{folder.name}.build")
    for leftover in (kept, scratch):
        shutil.rmtree(leftover, ignore_errors=True)
        leftover.mkdir(parents=True)
    try:
        recipe(Build(name, toolchain, scratch, kept))
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(kept, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(kept, ignore_errors=True)


def client(name: str, recipe: Callable[[Build], None]) -> pathlib.Path:
    """The folder with the native programs of a recipe, built if they are not there yet."""
    folder = places.CLIENTS / name
    with places.alone(folder):
        if not folder.is_dir():
            build_alone(name, CLIENT, folder, recipe)
    return folder


def recipe_sources(module: str) -> tuple[pathlib.Path, ...]:
    """For Workload.sources: the module that has the recipe, and this one."""
    return (pathlib.Path(module), pathlib.Path(__file__))


def fixed_addresses() -> tuple[str, ...]:
    """A command prefix that turns off address randomization, which not every ThreadSanitizer can cope with."""
    prefix = ("setarch", os.uname().machine, "-R")
    try:
        allowed = subprocess.run([*prefix, "true"], capture_output=True).returncode == 0
    except OSError:
        allowed = False
    return prefix if allowed else ()
