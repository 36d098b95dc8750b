#!/usr/bin/env python3
"""Do the compiler's calls before each access to memory work without a stack frame? Every program calls them all the time.

  tools/check_frames.py libredflag_rt.so entry_points.o ...

Each entry point must store nothing on the stack and call nothing; what is more to do is jumped to. Exit code 1 names those that do not keep to
that.
"""

from __future__ import annotations

import re
import subprocess
import sys

ENTRY = re.compile(r"__tsan_(?:unaligned_)?(?:volatile_)?(?:read|write|read_write)(?:1|2|4|8|16)")
HEAD = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\s+(\S+)\s*(.*)$")
LEAST = 25  # entry points: otherwise this looks at the wrong thing


def needs_frame(name: str, operands: str) -> bool:
    """Whether the instruction is one that only a function with a frame has; x86-64 or arm64."""
    if name.startswith("push") or name in ("call", "callq", "bl", "blr"):
        return True
    if name in ("sub", "subq", "add", "addq") and re.search(r"%rsp$|^sp,", operands):
        return True
    return name in ("stp", "str") and "[sp" in operands


def frames(disassembly: str) -> tuple[set[str], dict[str, str]]:
    """The entry points, and those that have a frame with the first instruction that says so."""
    seen: set[str] = set()
    wrong: dict[str, str] = {}
    current = ""
    for line in disassembly.splitlines():
        if head := HEAD.match(line):
            name = head[1].split(".")[0]  # compilers make aliases of their own
            current = name if ENTRY.fullmatch(name) else ""
            seen |= {current} - {""}
        elif current and (found := INSTRUCTION.match(line)) and needs_frame(found[1], found[2]):
            wrong.setdefault(current, f"{found[1]} {found[2]}")
    return seen, wrong


def check(path: str) -> int:
    """The exit code for one library or object file."""
    run = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        print(f"check_frames: objdump: {run.stderr}", file=sys.stderr)
        return 2
    seen, wrong = frames(run.stdout)
    if len(seen) < LEAST:
        print(f"check_frames: {path} has {len(seen)} entry points for accesses, {LEAST} were expected", file=sys.stderr)
        return 1
    for name, why in sorted(wrong.items()):
        print(f"check_frames: {path}: {name} has a stack frame: {why}", file=sys.stderr)
    print(f"{path}: {len(seen) - len(wrong)} of {len(seen)} entry points have no frame")
    return 1 if wrong else 0


def main() -> int:
    paths = sys.argv[1:]
    if not paths or paths[0].startswith("-"):
        print(__doc__, file=sys.stdout if paths else sys.stderr)
        return 0 if paths else 2
    return max([check(path) for path in paths])


if __name__ == "__main__":
    sys.exit(main())
