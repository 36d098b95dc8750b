"""The tools that are compared, at the settings their makers would choose for speed."""

from __future__ import annotations

import hashlib
import pathlib
import platform
import shutil
import subprocess

from .model import Tool, Toolchain

# What every program is compiled with; the workloads' own builds add -O2 -g, the same for all.
GCC = Toolchain("gcc", "gcc-12", "g++-12", ())
CLANG = Toolchain("clang", "clang-19", "clang++-19", ())
GCC_TSAN = Toolchain("gcc-tsan", "gcc-12", "g++-12", ("-fsanitize=thread",))
CLANG_TSAN = Toolchain("clang-tsan", "clang-19", "clang++-19", ("-fsanitize=thread",))

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_COMPILERS = _ROOT / "bench" / "compilers"
_REDFLAG = _ROOT / "build" / "release" / "bin" / "redflag"
_RUNTIMES = _ROOT / "build" / "release" / "lib" / "redflag"
_ENTRY_POINTS = _RUNTIMES / "entry_points.o"
GCC_REDFLAG = Toolchain("gcc-redflag", str(_COMPILERS / "redflag-gcc"), str(_COMPILERS / "redflag-g++"), (), linked=(_ENTRY_POINTS,))
CLANG_REDFLAG = Toolchain("clang-redflag", str(_COMPILERS / "redflag-clang"), str(_COMPILERS / "redflag-clang++"), (), linked=(_ENTRY_POINTS,))
_EMPTY_CALLS = _ROOT / "build" / "release" / "bench" / "libempty_calls.a"
CLANG_CALLS = Toolchain("clang-calls", str(_COMPILERS / "calls-clang"), str(_COMPILERS / "calls-clang++"), (), linked=(_EMPTY_CALLS,))

# ThreadSanitizer maps its shadow at fixed addresses: some kernels place programs in the way unless told not to.
_FIXED_ADDRESSES = ("setarch", platform.machine(), "-R")
# exitcode: a report is not a failure here. The default history, no waiting at the end for reports that can't come.
_TSAN_ENV = {"TSAN_OPTIONS": "exitcode=0:atexit_sleep_ms=0"}
_TSAN_REPORT = r"WARNING: ThreadSanitizer: "


def _valgrind(*options: str) -> tuple[str, ...]:
    return ("valgrind", "--quiet", "--fair-sched=try", *options)


_DRD = ("--tool=drd", "--segment-merging=yes", "--check-stack-var=no")
_HELGRIND_REPORT = r"Possible data race"
_DRD_REPORT = r"Conflicting (?:load|store)"


# As users run it, its host side measured with it. A report is not a failure here either.
def _redflag(detector: str, toolchain: Toolchain, baseline: str, title: str, suffix: str = "", full_only: bool = False) -> Tool:
    return Tool(f"redflag-{detector}{suffix}", title, toolchain, baseline,
                (str(_REDFLAG), "run", "-d", detector, "--exit-code", "0", "--"), ours=True, report=r"DATA RACE on ",
                parts=(_REDFLAG, _ENTRY_POINTS, _RUNTIMES / detector / "libredflag_rt.so"), full_only=full_only)

TOOLS: tuple[Tool, ...] = (
    Tool("native-gcc", "native, g++ 12", GCC, "native-gcc"),
    Tool("native-clang", "native, clang 19", CLANG, "native-clang"),
    Tool("tsan-clang", "ThreadSanitizer, clang 19", CLANG_TSAN, "native-clang", _FIXED_ADDRESSES, _TSAN_ENV,
         report=_TSAN_REPORT),
    Tool("tsan-gcc", "ThreadSanitizer, g++ 12", GCC_TSAN, "native-gcc", _FIXED_ADDRESSES, _TSAN_ENV, report=_TSAN_REPORT),
    _redflag("hb", CLANG_REDFLAG, "native-clang", "Redflag hb, clang 19"),
    _redflag("hb", GCC_REDFLAG, "native-gcc", "Redflag hb, g++ 12", "-gcc"),
    _redflag("hybrid", CLANG_REDFLAG, "native-clang", "Redflag hybrid, clang 19"),
    _redflag("fast", CLANG_REDFLAG, "native-clang", "Redflag fast, clang 19"),
    *(_redflag(detector, CLANG_REDFLAG, "native-clang", f"Redflag {detector}, clang 19", full_only=True)
      for detector in ("goldilocks", "racetrack", "lockset", "null")),
    # No tool: what is left of the time of one that does nothing at all when it is called.
    Tool("calls-clang", "the compiler's calls alone, clang 19", CLANG_CALLS, "native-clang", ours=True, full_only=True,
         parts=(_REDFLAG, _EMPTY_CALLS)),
    Tool("helgrind-fast", "Helgrind, no history", GCC, "native-gcc",
         _valgrind("--tool=helgrind", "--history-level=none"), heavy=True, report=_HELGRIND_REPORT),
    Tool("helgrind", "Helgrind", GCC, "native-gcc", _valgrind("--tool=helgrind"), heavy=True, full_only=True,
         report=_HELGRIND_REPORT),
    Tool("drd-fast", "DRD, no stacks of the other access", GCC, "native-gcc", _valgrind(*_DRD, "--show-confl-seg=no"),
         heavy=True, report=_DRD_REPORT),
    Tool("drd", "DRD", GCC, "native-gcc", _valgrind(*_DRD), heavy=True, full_only=True, report=_DRD_REPORT),
)


def by_name(names: list[str]) -> list[Tool]:
    """The tools of these names, with the baselines that they need, in the order of TOOLS. ValueError names a wrong one."""
    known = {tool.name: tool for tool in TOOLS}
    for name in names:
        if name not in known:
            raise ValueError(f"there is no tool '{name}'; there are: {', '.join(known)}")
    wanted = set(names) | {known[name].baseline for name in names}
    return [tool for tool in TOOLS if tool.name in wanted]


def missing(tool: Tool) -> str:
    """Why a tool can't be used on this machine; empty if it can."""
    for program in (tool.toolchain.cxx, *tool.prefix[:1]):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    for part in tool.parts:
        if not part.exists():
            return f"{part.relative_to(_ROOT)} is not built"
    return ""


def made_from(tool: Tool) -> str:
    """Which build of a tool of ours: figures of two are not to be mixed. Empty for the peers."""
    digest = hashlib.sha256()
    for part in tool.parts:
        digest.update(part.read_bytes())
    return f"{tool.name}={digest.hexdigest()[:16]}" if tool.parts else ""


def version(tool: Tool) -> str:
    if tool.ours:
        return f"{_first_line(str(_REDFLAG))}, {compiler_version(tool.toolchain)}"
    return _first_line("valgrind") if tool.heavy else compiler_version(tool.toolchain)


def compiler_version(toolchain: Toolchain) -> str:
    return _first_line(toolchain.cxx)


def _first_line(program: str) -> str:
    out = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    return out.splitlines()[0] if out else "unknown"
