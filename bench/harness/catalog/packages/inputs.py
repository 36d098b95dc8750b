"""What the programs work on: generated, the same on every machine, kept under build/bench/inputs/."""

from __future__ import annotations

import hashlib
import itertools
import pathlib
import random
from collections.abc import Callable, Iterator
from typing import BinaryIO

from . import places

WIDTH, HEIGHT = 320, 240
GENERATOR = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()[:8]  # another one makes other files


def text(size: int) -> pathlib.Path:
    """Prose of made-up words, as frequent as Zipf says, with numbers in between: compresses to about a third."""
    return generated(f"text-{size}", lambda file: write_text(file, size))


def clip(frames: int) -> pathlib.Path:
    """A video, 4:2:0: a textured background that pans, and squares that move over it."""
    return generated(f"clip-{frames}.y4m", lambda file: write_clip(file, frames))


def digest(path: pathlib.Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def generated(name: str, write: Callable[[BinaryIO], None]) -> pathlib.Path:
    path = places.INPUTS / GENERATOR / name
    with places.alone(path):
        if not path.exists():
            partial = path.with_name(f"{name}.tmp")
            with open(partial, "wb") as file:
                write(file)
            partial.rename(path)
    return path


def write_text(file: BinaryIO, size: int) -> None:
    source = random.Random(1)
    endings = ("a", "e", "i", "o", "u", "ar", "en", "ist")
    syllables = [consonant + ending for consonant in "bdfgklmnprstvw" for ending in endings]
    words = ["".join(source.choices(syllables, k=source.randint(1, 4))) for _ in range(20000)]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    left = size
    while left > 0:
        line = source.choices(words, cum_weights=weights, k=12)
        line[source.randrange(12)] = str(source.randrange(1000000))
        data = (" ".join(line) + "\n").encode()[:left]
        file.write(data)
        left -= len(data)


def write_clip(file: BinaryIO, frames: int) -> None:
    file.write(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip A1:1 C420jpeg\n".encode())
    planes = [Plane(WIDTH, HEIGHT, 1), Plane(WIDTH // 2, HEIGHT // 2, 2), Plane(WIDTH // 2, HEIGHT // 2, 3)]
    for frame in range(frames):
        file.write(b"FRAME\n")
        for plane in planes:
            for row in plane.rows(frame):
                file.write(row)


class Plane:
    """One of luma and two chroma: a window that moves over a larger picture."""

    MARGIN = 64
    SQUARES = 6

    def __init__(self, width: int, height: int, seed: int):
        source = random.Random(seed)
        self.width, self.height = width, height
        wide = width + self.MARGIN
        self.picture = []
        above = [128] * wide
        for _ in range(height + self.MARGIN):
            row, left = [], 128
            # Neighbours are alike, as in pictures: a pixel is near the mean of those above and on the left.
            for x in range(wide):
                left = min(235, max(16, (above[x] + left) // 2 + source.randrange(-12, 13)))
                row.append(left)
            self.picture.append(bytes(row))
            above = row
        ranges = (range(width), range(height), range(1, 5), range(16, 236))  # x, y, speed, shade
        self.squares = [tuple(source.choice(values) for values in ranges) for _ in range(self.SQUARES)]

    def rows(self, frame: int) -> Iterator[bytes]:
        side = self.height // 8
        across, down = self.bounce(frame), self.bounce(frame // 2)
        squares = [
            ((x + speed * frame) % (self.width - side), (y + frame) % (self.height - side), shade)
            for x, y, speed, shade in self.squares
        ]
        for y in range(self.height):
            row = bytearray(self.picture[y + down][across : across + self.width])
            for left, top, shade in squares:
                if top <= y < top + side:
                    row[left : left + side] = bytes([shade]) * side
            yield bytes(row)

    def bounce(self, step: int) -> int:
        return self.MARGIN - abs(self.MARGIN - step % (2 * self.MARGIN))
