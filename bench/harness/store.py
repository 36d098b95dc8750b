"""The log of a measurement: one JSON object a line, written as results come, so that a kill loses at most one run."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib

from .measure import Sample


@dataclasses.dataclass(frozen=True)
class Cell:
    """A square of the table: what one tool does on one workload."""

    workload: str
    tool: str
    scale: str
    threads: int


class Log:
    """What was measured so far. A log of another plan is not continued: the old one is set aside as FILE.old."""

    def __init__(self, path: pathlib.Path, plan: dict, fresh: bool = False):
        self.path = path
        self.samples: dict[Cell, list[Sample]] = {}
        self.failures: dict[Cell, str] = {}
        self.resumed = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and (fresh or not self._load(plan)):
            path.replace(path.with_suffix(".old"))
            self.samples.clear()
            self.failures.clear()
            self.resumed = 0
        self._file = open(path, "a", encoding="utf-8")
        if self._file.tell() == 0:
            self._write({"plan": plan})

    def add(self, cell: Cell, sample: Sample) -> None:
        self.samples.setdefault(cell, []).append(sample)
        self._write({"cell": dataclasses.asdict(cell), "sample": dataclasses.asdict(sample)})

    def fail(self, cell: Cell, why: str) -> None:
        self.failures[cell] = why
        self._write({"cell": dataclasses.asdict(cell), "failure": why})

    def close(self) -> None:
        self._file.close()

    def _write(self, record: dict) -> None:
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _load(self, plan: dict) -> bool:
        """Reads the log if it is of this plan. What failed is tried again. A last line that a kill cut short is dropped."""
        lines = self.path.read_bytes().splitlines(keepends=True)
        whole = 0
        for number, line in enumerate(lines):
            try:
                record = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                record = None
            if record is None:
                break
            if number == 0 and record.get("plan") != plan:
                return False
            whole += len(line)
            if "sample" in record:
                self.samples.setdefault(Cell(**record["cell"]), []).append(Sample(**record["sample"]))
                self.resumed += 1
        if whole == 0:
            return False
        os.truncate(self.path, whole)
        return True
