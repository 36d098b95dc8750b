#!/usr/bin/env python3
"""The detection quality harness: its programs, its judge, its bookkeeping. Needs g++-12 and no race detector."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import xml.etree.ElementTree
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.harness.model import Tool, Toolchain  # noqa: E402
from bench.harness.quality import generator, heatmap, judge, report, run, session  # noqa: E402
from bench.harness.quality.generator import Part  # noqa: E402
from bench.harness.quality.ledger import Ledger, Record  # noqa: E402
from bench.harness.quality.pattern import GROUPS  # noqa: E402
from bench.harness.quality.patterns import PATTERNS  # noqa: E402
from bench.harness.quality.tally import by_name, tally  # noqa: E402

# What the recorded outputs below are of. The lines matter.
SAMPLE = """\
#include <cstdio>
#include <thread>
#include <mutex>
int g;  namespace p {  // BEGIN(add) racy
void w() { g += 1; }  // RACE(add)
int r() {
  return g;  // RACE(add)
}
}  // END(add)
int main() {
  std::thread a(w);
  std::thread b([] { volatile int v = r(); (void)v; });
  // BEGIN(free) racy
  std::thread c([p] { *p = 3; });  // RACE(free)
  std::thread d([p] { delete p; });  // RACE(free)
  // END(free)
}
"""

GCC_TSAN = """\
==================
WARNING: ThreadSanitizer: data race (pid=11549)
  Read of size 4 at 0x55dc3587d094 by thread T2:
    #0 r() /tmp/q/a.cc:7 (a.g++-12+0x1469)
    #1 operator() /tmp/q/a.cc:11 (a.g++-12+0x1469)
    #2 __invoke_impl<void, main()::<lambda()> > /usr/include/c++/12/bits/invoke.h:61 (a.g++-12+0x1469)
    #3 <null> <null> (libstdc++.so.6+0xd44a2)

  Previous write of size 4 at 0x55dc3587d094 by thread T1:
    #0 w() /tmp/q/a.cc:5 (a.g++-12+0x1249)
    #1 <null> <null> (libstdc++.so.6+0xd44a2)

  Location is global 'g' of size 4 at 0x55dc3587d094 (a.g++-12+0x4094)

  Thread T2 (tid=11552, running) created by main thread at:
    #0 pthread_create ../../../../src/libsanitizer/tsan/tsan_interceptors_posix.cpp:1001 (libtsan.so.2+0x5e686)
    #1 main /tmp/q/a.cc:12 (a.g++-12+0x1500)

SUMMARY: ThreadSanitizer: data race /tmp/q/a.cc:7 in r()
==================
==================
WARNING: ThreadSanitizer: data race (pid=11549)
  Write of size 8 at 0x7b0400000020 by thread T4:
    #0 operator delete(void*, unsigned long) ../../../../src/libsanitizer/tsan/tsan_new_delete.cpp:150 (libtsan.so.2+0x86c3d)
    #1 operator() /tmp/q/a.cc:15 (a.g++-12+0x12b5)
    #2 <null> <null> (libstdc++.so.6+0xd44a2)

  Previous write of size 4 at 0x7b0400000020 by thread T3:
    #0 operator() /tmp/q/a.cc:14 (a.g++-12+0x127e)
    #1 <null> <null> (libstdc++.so.6+0xd44a2)

SUMMARY: ThreadSanitizer: data race ../../../../src/libsanitizer/tsan/tsan_new_delete.cpp:150 in operator delete
==================
ThreadSanitizer: reported 2 warnings
"""

# Not symbolized, and the second stack was lost.
CLANG_TSAN = """\
==================
WARNING: ThreadSanitizer: data race (pid=23451)
  Read of size 4 at 0x5579edde2ae8 by thread T2:
    #0 <null> <null> (a.clang++-19+0xe7d08) (BuildId: d9c11ab9549b6cfc78144cc9c59c9cdf8a4c7f6f)
    #1 <null> <null> (libstdc++.so.6+0xd44a2) (BuildId: 289ee39f8c07bd4fa48102dfeeb7e6f9c76158b4)

  Previous write of size 4 at 0x5579edde2ae8 by thread T1:
    [failed to restore the stack]

  As if synchronized via sleep:
    #0 <null> <null> (a.clang++-19+0xe77ee)

SUMMARY: ThreadSanitizer: data race (/tmp/q/a.clang++-19+0xe7d08) (BuildId: d9c11ab9549b6cfc78144cc9c59c9cdf8a4c7f6f)
==================
ThreadSanitizer: reported 1 warnings
"""

HELGRIND = """\
==11566== Helgrind, a thread error detector
==11566== ---Thread-Announcement------------------------------------------
==11566==
==11566== Thread #3 was created
==11566==    at 0x4BA8B3F: clone (clone.S:76)
==11566==    by 0x10931B: main (a.cc:11)
==11566==
==11566== ----------------------------------------------------------------
==11566==
==11566== Possible data race during read of size 4 at 0x10C054 by thread #3
==11566== Locks held: none
==11566==    at 0x10927A: r (a.cc:7)
==11566==    by 0x10927A: operator() (a.cc:11)
==11566==    by 0x4BA8B4F: clone (clone.S:100)
==11566==
==11566== This conflicts with a previous write of size 4 by thread #2
==11566== Locks held: 1, at address 0x10C080
==11566==    at 0x10919A: w() (a.cc:5)
==11566==    by 0x4BA8B4F: clone (clone.S:100)
==11566==  Address 0x10c054 is 0 bytes inside a block of size 4 alloc'd
==11566==    at 0x483C9F3: operator new (vg_replace_malloc.c:422)
==11566==    by 0x10931B: main (a.cc:13)
==11566==
==11566== ----------------------------------------------------------------
==11566==
==11566== Thread #2: pthread_cond_{signal,broadcast}: dubious: associated lock is not held by any thread
==11566==    at 0x4848F2A: pthread_cond_signal_WRK (hg_intercepts.c:1559)
==11566==    by 0x1095FB: main (a.cc:14)
==11566==
==11566== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)
"""

DRD = """\
==11575== drd, a thread error detector
==11575== Thread 3:
==11575== Conflicting load by thread 3 at 0x0010c054 size 4
==11575==    at 0x10927A: r (a.cc:7)
==11575==    by 0x10927A: operator() (a.cc:11)
==11575==    by 0x4BC9B4F: clone (clone.S:100)
==11575== Allocation context: BSS section of /tmp/q/a.nat
==11575== Other segment start (thread 2)
==11575==    at 0x4849A2B: pthread_mutex_lock (drd_pthread_intercepts.c:1018)
==11575==    by 0x10919A: main (a.cc:14)
==11575== Other segment end (thread 2)
==11575==    (thread finished, call stack no longer available)
==11575==
==11575== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 8 from 4)
"""

REDFLAG = """\
DATA RACE on g (4 bytes at 0x55dc3587d094)
  read of 4 bytes by thread T2
    #0 r()  /tmp/q/a.cc:7:10 (inlined)
    #1 main::{lambda()#1}::operator()() const  /tmp/q/a.cc:12:39 (inlined)
    #2 std::__invoke_impl<void, main()::<lambda()> >  /usr/include/c++/12/bits/invoke.h:61:36
    holds 0x55b5224f8eb0, taken at:
      #0 std::mutex::lock()  /usr/include/c++/12/bits/std_mutex.h:100:37 (inlined)
      #1 main  /tmp/q/a.cc:11:3
  earlier write of 4 bytes by thread T1
    #0 p::w()  /tmp/q/a.cc:5:14
    locks held: none
  the bytes are global, in the data of /tmp/q/a+0x4094
  thread T2 (13300) was created by main at:
    #0 std::thread::_M_start_thread()  /usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30+0xd4579
    #1 main  /tmp/q/a.cc:12:15
  why: nothing in this run orders the write by T1 before the read by T2; neither thread holds a lock
  in: /tmp/q/a (process 13296)

redflag: 1 data race in /tmp/q/a (process 13296)
"""


def judged(text: str, lookup=None) -> judge.Verdict:
    binary = re.search(r"\((a\.[a-z]+\+\+-\d+)", text)
    resolver = judge.Resolver("a.cc", binary[1] if binary else "a.nat", lookup)
    return judge.judge(judge.parse(text, resolver), judge.Truth.of(SAMPLE))


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = generator.all_programs(variants=2, mixed=8, seed=1)

    def test_the_same_seed_gives_the_same_programs_and_another_seed_gives_others(self):
        self.assertEqual(self.programs, generator.all_programs(variants=2, mixed=8, seed=1))
        other = {p.name: p.text for p in generator.all_programs(variants=2, mixed=8, seed=2)}
        self.assertTrue(any(other[p.name] != p.text for p in self.programs if p.name in other))

    def test_hashing_of_strings_has_no_say(self):
        code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from bench.harness.quality import generator as g, build\n"
        code += "print(build.digest(*(p.text for p in g.all_programs(1, 4, 7))))"
        texts = {
            subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, text=True,
                           capture_output=True, check=True).stdout for seed in ("1", "2")
        }  # fmt: skip
        self.assertEqual(len(texts), 1)

    def test_every_pattern_has_its_near_miss_and_every_class_has_patterns(self):
        names = [p.name for p in self.programs]
        self.assertEqual(len(set(names)), len(names))
        self.assertGreaterEqual(len(PATTERNS), 24)
        self.assertEqual({p.group for p in PATTERNS.values()}, set(GROUPS))
        for pattern in PATTERNS:
            for variant in (1, 2):
                self.assertIn(f"{pattern}-{variant}-racy", names)
                self.assertIn(f"{pattern}-{variant}-right", names)

    def test_every_planted_race_has_at_least_two_lines_and_near_misses_have_none(self):
        for program in self.programs:
            truth = judge.Truth.of(program.text)
            ok = re.findall(r"// OK\(([^)/]+)", program.text)
            for part in program.parts:
                races = {r: lines for r, lines in truth.races.items() if r.split("/")[0] == part.pattern.name}
                region = next(r for r in truth.regions if r.name == part.pattern.name)
                self.assertEqual(region.racy, part.racy)
                self.assertEqual(bool(races), part.racy, program.name)
                self.assertEqual(part.pattern.name in ok, not part.racy, program.name)
                for race, lines in races.items():
                    self.assertGreaterEqual(len(lines), 2, f"{program.name} {race}")
                    self.assertTrue(all(region.first < line < region.last for line in lines))

    def test_nothing_of_the_templates_is_left(self):
        for program in self.programs:
            self.assertIsNone(re.search(r"\$|//@|^[-+]\|", program.text, re.MULTILINE), program.name)

    def test_mixed_programs_have_three_to_five_patterns_of_both_sides(self):
        for program in generator.mixed_programs(20, seed=3):
            self.assertIn(len(program.parts), (3, 4, 5))
            self.assertEqual({part.racy for part in program.parts}, {True, False})

    def test_every_pattern_compiles_without_a_warning(self):
        """All of them in one program: one compilation for each side."""
        for racy in (True, False):
            parts = [Part(pattern, racy, variant=int(racy)) for pattern in PATTERNS.values()]
            program = generator.make_program("all", parts, seed=1)
            with self.subTest(racy=racy), tempfile.TemporaryDirectory() as folder:
                generator.write_programs([program], pathlib.Path(folder))
                command = ["g++-12", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", program.file]
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_program_runs_to_its_end(self):
        program = next(p for p in self.programs if p.name == "rare-run-1-racy")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            generator.write_programs([program], folder)
            builder = run.Builder(folder, folder / "cache")
            native = Toolchain("gcc", "gcc-12", "g++-12", ("-O1",))
            binary = builder.binary(program, native)
            with mock.patch("bench.harness.quality.build.subprocess.run", side_effect=AssertionError("built twice")):
                self.assertEqual(builder.binary(program, native), binary)
            outputs = [subprocess.run([binary, str(seed)], capture_output=True, text=True, timeout=20) for seed in range(24)]
        self.assertEqual({o.returncode for o in outputs}, {0})
        self.assertEqual({o.stdout for o in outputs}, {"done\n", "reached rare-run\ndone\n"})


class Judging(unittest.TestCase):
    def test_tsan_gives_both_lines_and_an_inlined_or_library_frame_does_not_hide_them(self):
        verdict = judged(GCC_TSAN)
        self.assertEqual(verdict.found, {"add": judge.FULL, "free": judge.FULL})
        self.assertEqual((verdict.reports, verdict.false), (2, ()))

    def test_tsan_frames_without_symbols_are_looked_up_and_a_lost_stack_makes_a_half(self):
        frames = {0xE7D08: [("invoke.h", 61), ("a.cc", 7), ("a.cc", 11)]}
        self.assertEqual(judged(CLANG_TSAN, lambda offset: frames[offset]).found, {"add": judge.HALF})

    def test_helgrind_gives_both_lines_and_allocation_stacks_and_other_errors_do_not_count(self):
        verdict = judged(HELGRIND)
        self.assertEqual((verdict.reports, verdict.found, verdict.false), (1, {"add": judge.FULL}, ()))

    def test_ours_gives_both_lines_and_stacks_of_locks_and_threads_do_not_count(self):
        verdict = judged(REDFLAG)
        self.assertEqual((verdict.reports, verdict.found, verdict.false), (1, {"add": judge.FULL}, ()))

    def test_drd_gives_one_line(self):
        verdict = judged(DRD)
        self.assertEqual((verdict.reports, verdict.found, verdict.false), (1, {"add": judge.HALF}, ()))

    def test_lines_of_different_races_or_of_none_are_a_false_alarm(self):
        truth = judge.Truth.of(SAMPLE)
        cases = {
            (5, 14): judge.FalseAlarm("add", True, (5, 14)),
            (8, 6): judge.FalseAlarm("add", True, (8, 6)),
            (5, 13): judge.FalseAlarm("add", True, (5, 13)),
            (11, None): judge.FalseAlarm(judge.ELSEWHERE, False, (11,)),
            (None, None): judge.FalseAlarm(judge.ELSEWHERE, False, ()),
        }
        for lines, alarm in cases.items():
            with self.subTest(lines=lines):
                self.assertEqual(judge.judge([judge.Report(*lines)] * 2, truth), judge.Verdict(2, {}, (alarm,)))

    def test_one_right_line_beside_a_wrong_one_of_the_same_pattern_is_a_half(self):
        for lines in ((8, 5), (5, 8)):
            self.assertEqual(judge.judge([judge.Report(*lines)], judge.Truth.of(SAMPLE)).found, {"add": judge.HALF})

    def test_both_lines_count_for_more_than_one(self):
        reports = [judge.Report(5, 7), judge.Report(7, None)]
        for order in (reports, reports[::-1]):
            self.assertEqual(judge.judge(order, judge.Truth.of(SAMPLE)).found, {"add": judge.FULL})

    def test_a_report_on_a_near_miss_is_a_false_alarm_there(self):
        truth = judge.Truth.of(SAMPLE.replace("RACE(add)", "OK(add)").replace("BEGIN(add) racy", "BEGIN(add) right"))
        self.assertEqual(judge.judge([judge.Report(5, 7)], truth).false, (judge.FalseAlarm("add", False, (5, 7)),))

    def test_another_tool_is_another_parser(self):
        def parse_own(text, resolver):
            for line in text.splitlines():
                if line.startswith("race "):
                    yield judge.Report(*(resolver.lines(frame)[0] for frame in line.split()[1:]))

        reports = judge.parse("race a.cc:5 src/a.cc:7\n", judge.Resolver("a.cc", "a"), [parse_own])
        self.assertEqual(reports, [judge.Report(5, 7)])


# Stands for a compiler: what it "builds" is a script that logs its run, reports a race on the lines it is told, and ends.
FAKE_COMPILER = """\
#!/bin/sh
[ "$1" = --version ] && { echo fake 1.0; exit 0; }
echo built >> "$FAKE_LOG"
while [ "$1" != -o ]; do case "$1" in *.cc) source=$1 ;; esac; shift; done
lines=$(grep -n 'RACE(' "$source" | head -2 | cut -d: -f1 | tr '\\n' ' ')
cat > "$2" <<END
#!/bin/sh
echo "run $source \\$1" >> "$FAKE_LOG"
sleep \\${FAKE_SLEEP:-0}
set -- $lines
[ -n "\\$1" ] && cat >&2 <<REPORT
WARNING: ThreadSanitizer: data race (pid=1)
  Read of size 4 at 0x1 by thread T2:
    #0 r() /x/$source:\\$1 (x+0x1)
  Previous write of size 4 at 0x1 by thread T1:
    #0 w() /x/$source:\\$2 (x+0x2)
SUMMARY: ThreadSanitizer: data race
REPORT
echo done
END
chmod +x "$2"
"""


class Sessions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.compiler = self.folder / "c++"
        self.compiler.write_text(FAKE_COMPILER, encoding="utf-8")
        self.compiler.chmod(0o755)
        self.log = self.folder / "log"
        self.log.touch()
        self.out = self.folder / "out"
        self.ledger = self.out / "runs.jsonl"
        patch = mock.patch.dict(os.environ, {"FAKE_LOG": str(self.log)})
        patch.start()
        self.addCleanup(patch.stop)

    def tools(self):
        chain = Toolchain("fake", "cc", str(self.compiler), ())
        return [
            Tool("quick", "Quick", chain, "quick", report="WARNING: ThreadSanitizer"),
            Tool("slow", "Slow", chain, "quick", heavy=True, report="WARNING: ThreadSanitizer"),
            Tool("native", "Native", chain, "native"),
        ]

    def run_main(self, *argv):
        with contextlib.redirect_stderr(io.StringIO()) as err, contextlib.redirect_stdout(io.StringIO()):
            code = run.main([*argv, "--out", str(self.out)], self.tools())
        return code, err.getvalue()

    def runs(self):
        return [line for line in self.log.read_text().splitlines() if line.startswith("run")]

    def records(self):
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]

    def test_a_session_builds_once_runs_all_and_writes_the_results(self):
        code, err = self.run_main("--quick", "--runs", "4", "--only", "counter-1")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(self.log.read_text().count("built"), len({r["program"] for r in self.records()}))
        per_tool = [sum(r["tool"] == tool for r in self.records()) for tool in ("quick", "slow", "native")]
        self.assertEqual(per_tool, [4 * per_tool[1], per_tool[1], 0])
        whole = json.loads((self.out / "quality.json").read_text())
        row = next(r for r in whole["races"] if r["program"] == "counter-1-racy")
        self.assertEqual(row["counts"]["quick"], {"runs": 4, "found": 4, "half": 0, "reached": 0})
        self.assertIn("`counter`", (self.out / "quality.md").read_text())
        self.assertEqual(xml.etree.ElementTree.parse(self.out / "quality.svg").getroot().tag, "{http://www.w3.org/2000/svg}svg")

    def test_a_second_session_repeats_nothing_and_a_larger_one_adds_what_is_missing(self):
        self.run_main("--quick", "--runs", "2", "--only", "counter-1-racy")
        log, ledger = self.log.read_text(), self.ledger.read_text()
        self.run_main("--quick", "--runs", "2", "--only", "counter-1-racy")
        self.assertEqual((self.log.read_text(), self.ledger.read_text()), (log, ledger))
        self.run_main("--quick", "--runs", "3", "--only", "counter-1-racy", "--tools", "quick")
        self.assertEqual(len(self.runs()), log.count("run ") + 1)

    def test_after_a_kill_nothing_is_lost_and_nothing_repeated(self):
        code = f"""
            import sys
            sys.path.insert(0, {str(ROOT)!r})
            from bench.harness.model import Tool, Toolchain
            from bench.harness.quality import run
            chain = Toolchain("fake", "cc", {str(self.compiler)!r}, ())
            tools = [Tool("quick", "Quick", chain, "quick", report="WARNING: ThreadSanitizer")]
            sys.exit(run.main(["--quick", "--runs", "30", "--only", "counter-1-racy", "--out", {str(self.out)!r}], tools))
        """
        command = [sys.executable, "-c", textwrap.dedent(code)]
        child = subprocess.Popen(command, env={**os.environ, "FAKE_SLEEP": "0.05"}, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while len(self.runs()) < 6 and time.monotonic() < deadline:
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=20)
        before = self.ledger.read_bytes()
        kept = before[: before.rfind(b"\n") + 1]
        self.assertGreaterEqual(kept.count(b"\n"), 4)
        self.assertLess(kept.count(b"\n"), 30)
        with open(self.ledger, "ab") as file:  # as if the kill had come within a write
            file.write(b'{"program":"counter-1-racy","to')
        again = subprocess.run(command, stdout=subprocess.DEVNULL, timeout=20)
        self.assertEqual(again.returncode, 0)
        self.assertTrue(self.ledger.read_bytes().startswith(kept))
        keys = [(r["program"], r["tool"], r["run"]) for r in self.records()]
        self.assertEqual(sorted(keys), [("counter-1-racy", "quick", n) for n in range(30)])
        self.assertLessEqual(len(self.runs()), 31)  # the one that the kill cut short, a second time
        self.assertEqual(self.log.read_text().count("built"), 1)

    def test_a_run_that_does_not_end_is_ended_and_noted(self):
        with mock.patch.object(session, "_LIMIT", 0.2), mock.patch.dict(os.environ, {"FAKE_SLEEP": "600"}):
            self.run_main("--quick", "--runs", "1", "--tools", "quick", "--only", "counter-1-racy")
        (record,) = self.records()
        self.assertEqual((record["ended"], record["exit"], record["found"]), (False, None, {}))
        self.assertTrue((self.out / "samples" / "counter-1-racy.quick.txt").exists())

    def test_what_does_not_compile_is_told_and_the_rest_goes_on(self):
        failing = FAKE_COMPILER.replace("echo built", 'case "$*" in *counter-1-right*) echo no >&2; exit 1 ;; esac\necho built')
        self.compiler.write_text(failing, encoding="utf-8")
        code, err = self.run_main("--quick", "--runs", "1", "--tools", "quick", "--only", "counter-1-r")
        self.assertEqual(code, 1)
        self.assertIn("could not build counter-1-right with fake", err)
        self.assertIn("counter-1-racy", {r["program"] for r in self.records()})

    def test_without_a_tool_there_is_nothing_to_do(self):
        with contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(run.main(["--out", str(self.out)], self.tools()[2:]), 1)
        self.assertEqual(err.getvalue(), "quality: none of the tools reports races on this machine\n")

    def test_two_sessions_do_not_share_a_folder(self):
        with Ledger(self.ledger):
            code, err = self.run_main("--quick", "--only", "counter-1-racy")
        self.assertEqual((code, err), (1, f"quality: another session is writing to {self.out}\n"))

    def test_bad_options_are_told_and_nothing_is_run(self):
        cases = {
            ("--runs", "0"): "argument --runs: '0' is not a whole number from 1 to 1000000",
            ("--runs", "many"): "argument --runs: 'many' is not a whole number from 1 to 1000000",
            ("--heavy-runs", "-1"): "argument --heavy-runs: '-1' is not a whole number from 1 to 1000000",
            ("--seed", "1.5"): "argument --seed: '1.5' is not a whole number of up to 9 digits",
            ("--tools", "quick,valgrind"): "--tools: there is no tool 'valgrind' (there are quick, slow)",
            ("--tools", "native"): "--tools: there is no tool 'native' (there are quick, slow)",
            ("--only", "no-such-pattern"): "--only: no program's name starts with 'no-such-pattern', and it is no pattern or class",
            ("--only", ""): "--only: no program's name starts with ''",
            ("--fast",): "unrecognized arguments: --fast",
        }
        for argv, message in cases.items():
            with self.subTest(argv=argv):
                code, err = self.run_main(*argv)
                self.assertEqual(code, 2)
                self.assertIn(message, err)
        self.assertEqual(self.log.read_text(), "")
        self.assertFalse(self.out.exists())


class Adding(unittest.TestCase):
    def setUp(self):
        self.tools = [Tool("t", "The tool", Toolchain("c", "cc", "c++", ()), "t", report="x")]
        self.programs = [
            p for p in generator.single_programs(1, 1) if p.name in ("counter-1-racy", "counter-1-right", "rare-run-1-racy")
        ]

    def record(self, program, number, found=(), false=(), reached=()):
        return Record(program, "t", number, "s", True, 0, 0.1, 1, dict(found), [list(f) for f in false], 0, list(reached))

    def totals(self, *records):
        return tally(self.programs, self.tools, {"t": 2}, records)

    def test_every_outcome_is_counted_once(self):
        result = self.totals(
            self.record("counter-1-racy", 0, found={"counter": "full"}, false=[("counter", True, [3, 4])]),
            self.record("counter-1-racy", 1, found={"counter": "half"}, false=[("counter", True, [3, 4])]),
            self.record("counter-1-right", 0, false=[("counter", False, [5, 6]), ("noise", False, [9])]),
            self.record("counter-1-right", 1),
            self.record("rare-run-1-racy", 0, reached=["rare-run"]),
            self.record("rare-run-1-racy", 1),
        )
        entry = result.totals[0]
        self.assertEqual((entry.planted, entry.found_once, entry.found_always, entry.half_only), (2, 1, 1, 0))
        self.assertEqual((entry.near_misses, entry.false_near_misses, entry.false_beside, entry.false_noise), (1, 1, 1, 1))
        self.assertEqual((entry.found_per_100, entry.recall, entry.precision), (50.0, 0.5, 0.25))
        text = report.markdown(result)
        self.assertIn("*(taken by 50 % of runs)* | 0/2 |", text)
        self.assertIn("| 2/2 |", text)

    def test_a_tool_that_says_nothing_has_no_precision(self):
        entry = self.totals(self.record("counter-1-racy", 0)).totals[0]
        self.assertEqual((entry.precision, entry.recall), (None, 0.0))

    def test_the_heat_map_has_a_row_for_each_race_even_where_nothing_ran(self):
        result = self.totals(self.record("counter-1-racy", 0, found={"counter": "half"}))
        drawing = heatmap.draw(by_name(result.races), by_name(result.near_misses), [("t", "A <tool>")])
        texts = [e.text for e in xml.etree.ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]
        for words in ("counter", "rare-run", "A <tool>", "100½"):
            self.assertIn(words, texts)


if __name__ == "__main__":
    unittest.main()
