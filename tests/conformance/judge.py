#!/usr/bin/env python3
"""Stands in for FileCheck in the RUN lines: writes down two judgements of a program's output, and always succeeds.

  verdict   what kind of report was to come (from the CHECK lines), and what came
  text      whether FileCheck itself is content

CONFORMANCE_RESULTS names the file that they are appended to; CONFORMANCE_STEP is the RUN line, by which a step without words about
reports is judged: `%deflake` and `not` want the program to fail.
"""

import json
import os
import re
import shlex
import subprocess
import sys

FILECHECK = "FileCheck-19"
RACE = re.compile(r"race|heap-use-after-free", re.IGNORECASE)
REMARK = re.compile(r"reported |Matched |CHECK")  # lines of ThreadSanitizer's that are no reports


def kind_of(title):
    return "race" if RACE.search(title) else "other"


def expected(check_file, prefixes, step):
    """-> the reports that are to come, as {kind: [words of the title]}; {"any": []}: one of either kind; empty: silence."""
    text = open(check_file, encoding="utf-8", errors="replace").read()
    alternatives = "|".join(sorted(map(re.escape, prefixes), key=len, reverse=True))
    wanted = re.findall(rf"(?:{alternatives})(?:-NEXT|-SAME|-DAG|-EMPTY|-COUNT-\d+|-LABEL)?:(.*)", text)
    kinds = {}
    for line in wanted:
        for title in re.findall(r"ThreadSanitizer: (.+)", line):
            if not REMARK.search(title) and "FATAL" not in line and "SUMMARY" not in line:
                kinds.setdefault(kind_of(title), []).append(re.split(r"\{\{|\[\[|\(|'", title)[0].strip())
    if kinds:
        return kinds
    fails = re.search(r"(?<!not )%deflake|\bnot +%run", step)
    return {"any": []} if fails else {}


def seen(output):
    """-> the same of what a program printed."""
    kinds = {}
    for title in re.findall(r"WARNING: ThreadSanitizer: (.*)", output):
        kinds.setdefault(kind_of(title), []).append(title)
    return kinds


def agrees(wanted, came, output):
    """Of races it is enough that there is one; other reports have to be of the kind that is wanted, by the words of their title."""
    if "any" in wanted:
        return bool(came)
    if not wanted:
        return not came
    if "race" in wanted and "race" not in came:
        return False
    words = " ".join(output.split())
    return all(" ".join(title.split()) in words for title in wanted.get("other", []))


def arguments(words):
    """-> the file with the CHECK lines, the prefixes, the input if it is not standard input."""
    check_file, prefixes, given = None, [], None
    words = iter(words)
    for word in words:
        name, has_value, value = word.lstrip("-").partition("=")
        if not word.startswith("-"):
            check_file = word
        elif name in ("check-prefix", "check-prefixes"):
            prefixes += (value if has_value else next(words)).split(",")
        elif name == "input-file":
            given = value if has_value else next(words)
        elif name == "implicit-check-not" and not has_value:
            next(words)
    return check_file, prefixes or ["CHECK"], given


def kind_of_test(path, lines):
    """What a test is about, by its RUN lines: race, other or silent."""
    kinds = set()
    for line in lines:
        for call in re.findall(r"""FileCheck((?:"[^"]*"|'[^']*'|[^|;&<>"'])*)""", line):
            _, prefixes, _ = arguments(shlex.split(call.replace("%os", "Linux")))
            kinds |= set(expected(path, prefixes, line))
    if "other" in kinds:
        return "other"
    return "race" if kinds else "silent"


def main():
    check_file, prefixes, given = arguments(sys.argv[1:])
    output = open(given, "rb").read() if given else sys.stdin.buffer.read()
    done = subprocess.run([FILECHECK, *sys.argv[1:]], input=output, capture_output=True, check=False)
    text = output.decode(errors="replace")
    step = os.environ.get("CONFORMANCE_STEP", "")
    wanted, came = expected(check_file, prefixes, step), seen(text)
    result = {"expected": sorted(wanted), "seen": sorted(came), "verdict": agrees(wanted, came, text), "text": done.returncode == 0,
              "step": step, "output": text[-20000:], "filecheck": done.stderr.decode(errors="replace")[:4000]}
    with open(os.environ["CONFORMANCE_RESULTS"], "a", encoding="utf-8") as results:
        results.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
