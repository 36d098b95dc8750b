"""x264: several frames are encoded at a time, each as soon as what it refers to is."""

from __future__ import annotations

import hashlib
import pathlib

from ...model import FULL, QUICK, SMALL, Command, Toolchain, Workload
from . import building, inputs, places
from .building import Build
from .places import PackageError

FRAMES = {FULL: 60, QUICK: 12, SMALL: 5}


def recipe(build: Build) -> None:
    source = build.unpack("x264")
    absent = ("asm", "opencl", "avs", "swscale", "lavf", "ffms", "gpac", "lsmash", "bashcompletion")
    # Its own -O3 -ffast-math come before CFLAGS: of the two, the digest can't bear the second.
    options = ("--bit-depth=8", *(f"--disable-{feature}" for feature in absent))
    build.configure(source, *options, CFLAGS=f"{build.flags} -fno-fast-math")
    build.make(source, "x264")
    build.keep(source / "x264")


def build(toolchain: Toolchain, folder: pathlib.Path) -> None:
    building.build("x264", toolchain, folder, recipe)


def command(folder: pathlib.Path, scale: str, threads: int) -> Command:
    output = places.run_folder("x264") / "clip.264"
    # A constant quantizer: rate control reckons in floating point, in which compilers may differ.
    quality = ("--preset", "veryfast", "--qp", "26")
    options = (*quality, "--threads", str(threads), "--quiet", "--no-progress", "--output", str(output))

    def check(printed: str) -> str:
        try:
            stream = output.read_bytes()
        except FileNotFoundError:
            raise PackageError("it wrote no stream") from None
        output.unlink()
        if (encoded := coded_pictures(stream)) != FRAMES[scale]:
            raise PackageError(f"the stream has {encoded} pictures, not {FRAMES[scale]}")
        return hashlib.sha256(stream).hexdigest()

    return Command(argv=(str(folder / "x264"), *options, str(inputs.clip(FRAMES[scale]))), check=check)


def coded_pictures(stream: bytes) -> int:
    """H.264 Annex B: units begin with 00 00 01 and a byte whose low 5 bits tell what they are; 1 and 5 are slices."""
    units = stream.split(b"\x00\x00\x01")[1:]
    # A slice begins with the number of its first macroblock, coded so that 0 is a single 1 bit: the first of a picture.
    return sum(1 for unit in units if unit[0] & 31 in (1, 5) and unit[1] & 128)


WORKLOADS = [
    Workload(
        name="x264",
        title=f"encodes a clip of {inputs.WIDTH}x{inputs.HEIGHT} pixels, in C alone",
        origin="Debian package x264",
        threads=4,
        build=build,
        command=command,
        sources=building.recipe_sources(__file__),
    )
]
