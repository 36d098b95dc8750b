"""The results of all runs so far, one JSON object a line. What is written stays written: a kill loses no finished run."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import pathlib
from typing import Any


@dataclasses.dataclass(frozen=True)
class Record:
    """One run of one program under one tool."""

    program: str
    tool: str
    run: int
    stamp: str  # what the run depends on: a record with another stamp is of another program or tool
    ended: bool  # the program came to its end, in time
    exit: int | None  # None: timed out
    seconds: float
    reports: int
    found: dict[str, str]
    false: list[list[Any]]  # where, racy, lines
    unread: int  # reports that the tool says it made and no parser knew
    reached: list[str]  # rare paths that this run took

    @property
    def key(self) -> tuple[str, str, int, str]:
        return self.program, self.tool, self.run, self.stamp


class Ledger:
    """Appends records to a file and knows those that are in it. One process at a time: raises BlockingIOError for a second."""

    def __init__(self, path: pathlib.Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._records: dict[tuple[str, str, int, str], Record] = {}
        self._file = open(path, "ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise
        text = path.read_bytes()
        whole = text.rfind(b"\n") + 1  # a kill may leave half a line at the end
        self._file.truncate(whole)
        for line in text[:whole].splitlines():
            record = self._read(line)
            if record is not None:
                self._records[record.key] = record

    @staticmethod
    def _read(line: bytes) -> Record | None:
        try:
            return Record(**json.loads(line))
        except (ValueError, TypeError):  # written by another version: measured again
            return None

    def __contains__(self, key: tuple[str, str, int, str]) -> bool:
        return key in self._records

    def __getitem__(self, key: tuple[str, str, int, str]) -> Record:
        return self._records[key]

    def add(self, record: Record) -> None:
        self._records[record.key] = record
        line = json.dumps(dataclasses.asdict(record), separators=(",", ":")) + "\n"
        self._file.write(line.encode())
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
