#!/usr/bin/env python3
"""Checks that no dependency between the folders of src/ runs backwards.

  tools/check_layers.py               check src/ of this checkout
  tools/check_layers.py --src DIR     check another tree
  tools/check_layers.py --self-test   plant a violation of each kind and see that it is found

Rules:
  folder      every folder of src/ is in the table ALLOWED, and every source is in a folder
  spelling    includes of our own files are quoted and give folder and file: "base/arena.h"
  missing     what they name exists
  layer       a folder includes only itself and what ALLOWED grants it
  generated   a header that CMake writes is included only where GENERATED grants it
  cycle       no file includes itself, directly or through others
  once        every header has `#pragma once`

Each violation is one line, FILE:LINE: rule: what. Exit code 0: none; 1: some; 2: there is no such tree.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# folder -> the other folders it may include. docs/design.md has the reasons; change both together.
ALLOWED = {
    "base": [],
    "events": ["base"],
    "clocks": ["base", "events"],
    "detectors": ["base", "events", "clocks"],
    "intercept": ["base", "events"],
    "runtime": ["base", "events", "clocks", "detectors", "intercept"],
    "tolerate": ["base", "events", "runtime"],  # of the runtime, the table of options
    "trace": ["base", "events"],
    "report": ["base", "events"],
    "collect": ["base", "events", "trace", "report"],
    "collider": ["base", "events"],
    "trap": ["base", "events"],
    "sample": ["base", "events", "report", "collect", "collider"],
    "offline": ["base", "events", "clocks", "detectors", "trace", "report", "collect"],
    "cli": ["base", "events", "trace", "offline", "report", "collect", "sample"],
}

# Headers that exist in the build tree only -> the folders that may include them.
GENERATED = {"detectors/list.inc": ["offline"]}

SUFFIXES = {".h", ".cc", ".def", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]*)"|<([^>]*)>)')
PRAGMA_ONCE = re.compile(r"^\s*#\s*pragma\s+once\b")
FOLDER_AND_FILE = re.compile(r"^\w[\w-]*(/\w[\w.-]*)+$")


class Checker:
    def __init__(self, src):
        self.src = src
        self.violations = []
        self.edges = {}  # file -> [(included file, line)], both relative to src

    def report(self, file, line, rule, what):
        self.violations.append((file, line, rule, what))

    def run(self):
        for folder in sorted(path.name for path in self.src.iterdir() if path.is_dir()):
            if folder not in ALLOWED:
                self.report(folder, 1, "folder", f"{folder}/ is not in the table of tools/check_layers.py")
        files = sorted(path for path in self.src.rglob("*") if path.is_file() and path.suffix in SUFFIXES)
        for path in files:
            self.check_file(path)
        self.check_cycles()
        return sorted(self.violations)

    def check_file(self, path):
        file = path.relative_to(self.src).as_posix()
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        self.edges[file] = []
        if "/" not in file:
            self.report(file, 1, "folder", "a source file belongs into a folder")
        if path.suffix == ".h" and not any(PRAGMA_ONCE.match(line) for line in lines):
            self.report(file, 1, "once", "no `#pragma once`")
        for number, line in enumerate(lines, start=1):
            match = INCLUDE.match(line)
            if match:
                self.check_include(file, number, quoted=match.group(1), angled=match.group(2))

    def check_include(self, file, line, quoted, angled):
        if quoted is None:
            if (self.src / angled).is_file():
                self.report(file, line, "spelling", f"<{angled}> is our own: quote it")
            return
        if not FOLDER_AND_FILE.match(quoted):
            self.report(file, line, "spelling", f'"{quoted}" does not give folder and file')
            return
        folder = file.split("/")[0]
        if quoted in GENERATED:
            if folder not in GENERATED[quoted]:
                self.report(file, line, "generated", f'{folder}/ may not include "{quoted}"')
            return
        target = quoted.split("/")[0]
        if target != folder and target not in ALLOWED.get(folder, []):
            self.report(file, line, "layer", f'{folder}/ may not include "{quoted}"')
        if (self.src / quoted).is_file():
            self.edges[file].append((quoted, line))
        else:
            self.report(file, line, "missing", f'there is no "{quoted}" in {self.src.name}/')

    # Depth first; an include of a file that is still open closes a cycle. Each closing include is reported once.
    def check_cycles(self):
        done = set()
        for root in self.edges:
            if root in done:
                continue
            path, open_files = [root], {root}
            iterators = [iter(self.edges[root])]
            while iterators:
                for target, line in iterators[-1]:
                    if target in open_files:
                        cycle = path[path.index(target):] + [target]
                        self.report(path[-1], line, "cycle", " -> ".join(cycle))
                    elif target not in done:
                        path.append(target)
                        open_files.add(target)
                        iterators.append(iter(self.edges[target]))
                        break
                else:
                    iterators.pop()
                    open_files.discard(path[-1])
                    done.add(path.pop())


def check(src):
    return Checker(src).run()


# A tree without violations ...
CLEAN_TREE = {
    "base/ids.h": "#pragma once\n",
    "events/event.h": '#pragma once\n\n#include <vector>\n\n#include "base/ids.h"\n',
    "detectors/list.def": "",
    "offline/analysis.h": '#pragma once\n#include "events/event.h"\n',
    "offline/analysis.cc": '#include "offline/analysis.h"\n#include "detectors/list.inc"\n',
    "cli/main.cc": '// #include "detectors/not_really.h"\n#include "offline/analysis.h"\n',
}
# ... and ways to spoil it: files to add or replace, and the violations that must be found, no more and no fewer.
SPOILT = [
    ({"extra/x.h": "#pragma once\n"}, [("extra", 1, "folder")]),
    ({"main.cc": "int main() {}\n"}, [("main.cc", 1, "folder")]),
    ({"base/ids.h": "// pragma once\n"}, [("base/ids.h", 1, "once")]),
    ({"cli/x.cc": '\n#include "main.h"\n'}, [("cli/x.cc", 2, "spelling")]),
    ({"cli/x.cc": '#include "../base/ids.h"\n'}, [("cli/x.cc", 1, "spelling")]),
    ({"cli/x.cc": '#include "cli/../base/ids.h"\n'}, [("cli/x.cc", 1, "spelling")]),
    ({"cli/x.cc": "#include <base/ids.h>\n"}, [("cli/x.cc", 1, "spelling")]),
    ({"cli/x.cc": '#include "base/gone.h"\n'}, [("cli/x.cc", 1, "missing")]),
    ({"base/ids.h": '#pragma once\n # include "base/other.h"\n'}, [("base/ids.h", 2, "missing")]),
    ({"events/x.cc": '#include "base/ids.h"\n#include "offline/analysis.h"\n'}, [("events/x.cc", 2, "layer")]),
    ({"cli/x.cc": '#include "detectors/list.def"\n'}, [("cli/x.cc", 1, "layer")]),
    ({"cli/x.cc": '#include "detectors/list.inc"\n'}, [("cli/x.cc", 1, "generated")]),
    ({"base/ids.h": '#pragma once\n\n#include "base/ids.h"\n'}, [("base/ids.h", 3, "cycle")]),
    (
        {
            "trace/a.h": '#pragma once\n#include "trace/b.h"\n',
            "trace/b.h": '#pragma once\n#include "trace/c.h"\n',
            "trace/c.h": '#pragma once\n#include "base/ids.h"\n#include "trace/a.h"\n',
        },
        [("trace/c.h", 3, "cycle")],
    ),
    (
        {"base/ids.h": '#pragma once\n#include "events/event.h"\n'},
        [("base/ids.h", 2, "layer"), ("events/event.h", 5, "cycle")],
    ),
]


def self_test():
    failures = []

    def expect(what, got, wanted):
        if got != wanted:
            failures.append(f"{what}\n  expected {wanted}\n  got      {got}")

    def write(src, tree):
        for name, text in tree.items():
            (src / name).parent.mkdir(parents=True, exist_ok=True)
            (src / name).write_text(text, encoding="utf-8")

    def exit_code(src):
        command = [sys.executable, __file__, "--src", str(src)]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode

    rules_seen = set()
    with tempfile.TemporaryDirectory() as top:
        clean = pathlib.Path(top, "clean", "src")
        write(clean, CLEAN_TREE)
        expect("clean tree", check(clean), [])
        expect("exit code of a clean tree", exit_code(clean), 0)
        expect("exit code without a tree", exit_code(pathlib.Path(top, "nowhere")), 2)
        for i, (files, wanted) in enumerate(SPOILT):
            src = pathlib.Path(top, str(i), "src")
            write(src, CLEAN_TREE | files)
            found = [violation[:3] for violation in check(src)]
            expect(f"tree with {files}", found, wanted)
            rules_seen |= {rule for _, _, rule in found}
            if i == 0:
                expect("exit code of a spoilt tree", exit_code(src), 1)
    rules = re.findall(r"^  (\w+)   +\w", __doc__.split("Rules:")[1].split("Each violation")[0], re.MULTILINE)
    expect("rules that the self-test exercises", sorted(rules_seen), sorted(rules))
    for folder, allowed in ALLOWED.items():
        for other in allowed:
            expect(f"{other}/ is in the table, and {folder}/ -> {other}/ has no way back",
                   other in ALLOWED and folder not in ALLOWED[other], True)
    for failure in failures:
        print(f"self-test: {failure}", file=sys.stderr)
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--src", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "src")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    if not args.src.is_dir():
        print(f"check_layers: no such folder: {args.src}", file=sys.stderr)
        return 2
    violations = check(args.src)
    for file, line, rule, what in violations:
        print(f"{args.src.name}/{file}:{line}: {rule}: {what}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
