"""pbzip2 and zstd: a file is cut into blocks that threads compress."""

from __future__ import annotations

import bz2
import hashlib
import os
import pathlib
import subprocess
from collections.abc import Callable, Mapping

from ...model import FULL, QUICK, SMALL, Command, Toolchain, Workload
from . import building, inputs, places
from .building import Build
from .places import PackageError

CHECK_SECONDS = 60


def build_pbzip2(build: Build) -> None:
    library = build.unpack("bzip2")
    build.make(library, "libbz2.a", f"CC={build.toolchain.cc}", f"CFLAGS={build.flags} -D_FILE_OFFSET_BITS=64")
    program = build.unpack("pbzip2")
    # -L finds the static library alone. The code is older than C++11, in which clang refuses some of its literals.
    build.make(program, "pbzip2", CPPFLAGS=f"-std=gnu++98 -I{library}", LDFLAGS=f"-L{library} {build.link_flags}")
    build.keep(program / "pbzip2")


def build_zstd(build: Build) -> None:
    programs = build.unpack("libzstd") / "programs"
    absent = ("HAVE_ZLIB=0", "HAVE_LZMA=0", "HAVE_LZ4=0", "ZSTD_LEGACY_SUPPORT=0")
    build.make(programs, "zstd-release", "ZSTD_NO_ASM=1", *absent)
    build.keep(programs / "zstd")


def unzstd(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=True, timeout=CHECK_SECONDS).stdout


VERIFIED: set[tuple[pathlib.Path, str]] = set()  # what runs wrote before need not be decompressed again


def compressed_digest(output: pathlib.Path, original: pathlib.Path, decompress: Callable[[bytes], bytes]) -> str:
    """The digest of what a run wrote, once that is known to be right. Removes it: the next run writes its own."""
    try:
        data = output.read_bytes()
    except FileNotFoundError:
        raise PackageError(f"it wrote no {output.name}") from None
    output.unlink()
    digest = hashlib.sha256(data).hexdigest()
    if (original, digest) not in VERIFIED:
        try:
            content = decompress(data)
        except (OSError, EOFError, ValueError, subprocess.SubprocessError) as error:
            raise PackageError(f"what it wrote can't be decompressed: {error}") from error
        if hashlib.sha256(content).hexdigest() != inputs.digest(original):
            raise PackageError(f"what it wrote decompresses to something else than {original}")
        VERIFIED.add((original, digest))
    return digest


def compressor(
    name: str,
    *,
    title: str,
    origin: str,
    recipe: Callable[[Build], None],
    options: Callable[[int], tuple[str, ...]],
    suffix: str,
    decompress: Callable[[bytes], bytes],
    sizes: Mapping[str, int],
    quick: bool = False,
) -> Workload:
    """A program that turns FILE into FILE.suffix; options(threads) are its own. sizes: scale -> bytes of text."""

    def build(toolchain: Toolchain, folder: pathlib.Path) -> None:
        building.build(name, toolchain, folder, recipe)

    def command(folder: pathlib.Path, scale: str, threads: int) -> Command:
        original = inputs.text(sizes[scale])
        copy = places.run_folder(name) / "text"
        os.link(original, copy)
        output = copy.with_name(f"text{suffix}")
        return Command(
            argv=(str(folder / name), *options(threads), str(copy)),
            check=lambda printed: compressed_digest(output, original, decompress),
        )

    return Workload(
        name=name,
        title=title,
        origin=origin,
        threads=4,
        build=build,
        command=command,
        sources=building.recipe_sources(__file__),
        quick=quick,
    )


WORKLOADS = [
    compressor(
        "pbzip2",
        title="compresses text in blocks of 200 kB",
        origin="Debian packages pbzip2 and bzip2",
        recipe=build_pbzip2,
        options=lambda threads: (f"-p{threads}", "-b2", "-9", "--keep", "--force", "--quiet"),
        suffix=".bz2",
        decompress=bz2.decompress,
        sizes={FULL: 10_000_000, QUICK: 2_000_000, SMALL: 600_000},
        quick=True,
    ),
    compressor(
        "zstd",
        title="compresses text in jobs of 512 kB, level 6",
        origin="Debian package libzstd",
        recipe=build_zstd,
        options=lambda threads: (f"-T{threads}", "-6", "-B512KB", "--keep", "--force", "--quiet"),
        suffix=".zst",
        decompress=unzstd,
        sizes={FULL: 30_000_000, QUICK: 7_000_000, SMALL: 2_000_000},
    ),
]
