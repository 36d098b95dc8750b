"""LLVM's tests of ThreadSanitizer: where they are, which of them apply here, what their RUN lines say.

The tests are fetched from Debian's source package into build/conformance/, and are never part of the project.
"""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "conformance"
TREE = BUILD / "tree"
TESTS = TREE / "compiler-rt" / "test" / "tsan"
PACKAGE = "llvm-toolchain-19"
WANTED = ("compiler-rt/test/tsan", "compiler-rt/test/sanitizer_common/*.h")
UNPACK_SECONDS = 900

# Whole folders that are for other systems.
FOREIGN = {
    "Darwin": "macOS only",
    "libdispatch": "needs libdispatch and blocks, which Debian 12 does not have",
    "libcxx": "needs a libc++ that is instrumented itself",
    "Unit": "unit tests of the inside of LLVM's runtime",
}
MACHINE = os.uname().machine
TARGET = f"{MACHINE}-unknown-linux-gnu"
FEATURES = {"linux", "system-linux", f"{MACHINE}-target-arch", "stable-runtime", "shared_unwind", "compiler-rt-optimized",
            *(f"glibc-2.{minor}" for minor in (17, 19, 27, 30, 33, 34))}


def fetch():
    """Fills TREE, from the tarball of an earlier time if there is one."""
    if TESTS.exists():
        return
    sys.path.insert(0, str(ROOT))
    from bench.harness.catalog.packages import places, sources  # pylint: disable=import-outside-toplevel
    with places.alone(TREE):
        if TESTS.exists():
            return
        folder = BUILD / "source"
        if not any(folder.glob("*.orig.tar.*")):
            print(f"conformance: fetching the source package {PACKAGE}", file=sys.stderr)
            sources.download(PACKAGE, folder)
        new = TREE.with_name("tree.new")
        new.mkdir(parents=True, exist_ok=True)
        patterns = [f"*/{name}" for name in WANTED]
        subprocess.run(["tar", "-xf", next(folder.glob("*.orig.tar.*")), "--strip-components=1", "-C", new, "--wildcards", *patterns],
                       check=True, timeout=UNPACK_SECONDS)
        new.rename(TREE)


@dataclasses.dataclass
class Test:
    path: pathlib.Path
    lines: list       # RUN lines, continuations joined
    not_here: str     # why it does not apply; empty: it does

    @property
    def name(self):
        return str(self.path.relative_to(TESTS))


def holds(expression):
    """A condition of REQUIRES, UNSUPPORTED or XFAIL: features and targets, with !, && and ||."""
    def word(match):
        text = match[0]
        if text.startswith("target="):
            pattern = "".join(part[2:-2] if part.startswith("{{") else re.escape(part)
                              for part in re.split(r"(\{\{.*?\}\})", text[len("target="):]))
            return str(re.fullmatch(pattern, TARGET) is not None)
        return str(text in FEATURES or text == "*")
    words = re.sub(r"(?:target=(?:\{\{.*?\}\}|[\w.-])+|[\w.*-]+)", word, expression)
    return eval(words.replace("&&", " and ").replace("||", " or ").replace("!", " not "), {"__builtins__": {}})  # pylint: disable=eval-used


def conditions(text, keyword):
    return [part.strip() for line in re.findall(rf"\b{keyword}:(.*)", text) for part in line.split(",")]


def read(path):
    text = path.read_text(errors="replace")
    lines = []
    goes_on = False
    for line in re.findall(r"\bRUN:(.*)", text):
        line = line.strip()
        if goes_on:
            lines[-1] = lines[-1][:-1] + " " + line
        else:
            lines.append(line)
        goes_on = line.endswith("\\")
    folder = path.relative_to(TESTS).parts[0]
    not_here = FOREIGN.get(folder, "")
    if not not_here:
        missing = [need for need in conditions(text, "REQUIRES") if not holds(need)]
        unsupported = [what for what in conditions(text, "UNSUPPORTED") if holds(what)]
        if missing:
            not_here = f"requires {', '.join(missing)}"
        elif unsupported:
            not_here = f"unsupported on {', '.join(unsupported)}"
        elif not lines:
            not_here = "has no RUN line"
        elif any(holds(what) for what in conditions(text, "XFAIL")):
            not_here = "LLVM expects it to fail"
    return Test(path, lines, not_here)


def tests():
    paths = sorted(path for path in TESTS.rglob("*") if path.suffix in (".c", ".cpp", ".m", ".mm"))
    return [read(path) for path in paths]
