#!/usr/bin/env python3
"""`redflag sample` on programs that are compiled without us.

  run.py --redflag REDFLAG --build FOLDER [--long] [--only NAME]

--long: races found in 20 of 20 runs within the time they should take, 10,000 self-checks.
"""

import argparse
import ctypes
import errno
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ARGS = None

# On a machine where many others want the processors, a pause takes longer than was meant, and so uses up the budget.
BUSY = ["--budget", "20%"]


def build(name, *flags):
    program = ARGS.build / (name + "".join(flag.replace("/", "_") for flag in flags))
    subprocess.run(["g++-12", "-std=c++20", "-g", "-O2", "-pthread", "-w", *flags, str(HERE / f"{name}.cc"), "-o", str(program)], check=True)
    return program


def can_be_nobody(program):
    """May somebody without rights run what is to be run?"""
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "test", "-x"]
    return all(subprocess.run([*command, str(path)], check=False, cwd="/").returncode == 0 for path in (program, ARGS.redflag))


def forbid_reading_of_processes():
    """As some containers do it: process_vm_readv fails with EPERM, for this process and all that it starts."""
    load_number, jump_if_equal, give = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
    allow, fail = 0x7FFF0000, 0x00050000 | errno.EPERM
    number = {"x86_64": 310, "aarch64": 270}[os.uname().machine]
    steps = [(load_number, 0, 0, 0), (jump_if_equal, 0, 1, number), (give, 0, 0, fail), (give, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    set_no_new_privileges, set_filter = 38, 22
    if libc.prctl(set_no_new_privileges, 1, 0, 0, 0) != 0 or libc.prctl(set_filter, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


class Sampled:
    """One run. `first` is called before the command, in its process. `reports`: what came as JSON; `counts`: what --stats says."""

    def __init__(self, program, *arguments, options=(), timeout=120, first=None):
        json_path = ARGS.build / "reports.json"
        json_path.unlink(missing_ok=True)
        command = [str(ARGS.redflag), "sample", "--stats", "--json", str(json_path), *options, "--", str(program), *arguments]
        self.result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, preexec_fn=first)
        self.code, self.stdout, self.stderr = self.result.returncode, self.result.stdout, self.result.stderr
        lines = [json.loads(line) for line in json_path.read_text().splitlines()] if json_path.exists() else []
        self.reports = [line for line in lines if line.get("kind") == "data-race"]

    def count(self, pattern):
        found = re.search(pattern, self.stderr)
        return int(found.group(1)) if found else None


class SampleTest(unittest.TestCase):
    def test_hot_race(self):
        run = Sampled(build("hot"), "3", options=BUSY)
        self.assertEqual((run.code, run.stdout), (66, "counted\n"), run.stderr)
        self.assertIn("DATA RACE on counter", run.stderr)
        self.assertNotIn("on done", run.stderr)
        self.assertIn("caught in the act", run.stderr)
        first = run.stderr.split("\n\n")[0]
        self.assertEqual(first.count("hot.cc:14"), 2, run.stderr)  # both sides; a change that is merely seen has one

    def test_where_processes_may_not_be_read(self):
        run = Sampled(build("hot"), "3", options=BUSY, first=forbid_reading_of_processes)
        self.assertEqual((run.code, run.stdout), (66, "counted\n"), run.stderr)
        self.assertEqual(run.count(r"(\d+) unreadable"), 0, run.stderr)

    def test_cold_race(self):
        run = Sampled(build("cold"), "10", options=BUSY)
        self.assertEqual((run.code, run.stdout), (66, "read\n"), run.stderr)
        self.assertIn("DATA RACE on shared_value", run.stderr)

    def test_nothing_on_locked_and_atomic_data(self):
        run = Sampled(build("clean"), "3", options=["--rate", "1000", "--budget", "20%"])
        self.assertEqual((run.code, run.stdout), (0, "clean\n"), run.stderr)
        self.assertGreater(run.count(r"met, (\d+) sampled"), 20, run.stderr)
        self.assertNotIn("DATA RACE", run.stderr)

    def test_stripped_program(self):
        run = Sampled(build("hot", "-s"), "3", options=BUSY)
        self.assertEqual((run.code, run.stdout), (66, "counted\n"), run.stderr)

    def test_program_at_a_fixed_address(self):
        run = Sampled(build("hot", "-no-pie"), "3", options=BUSY)
        self.assertEqual((run.code, run.stdout), (66, "counted\n"), run.stderr)
        self.assertIn("DATA RACE on counter", run.stderr)

    def test_repeated_read_is_said_and_finds_changes(self):
        run = Sampled(build("hot"), "3", options=["--repeated-read", *BUSY])
        self.assertEqual(run.code, 66, run.stderr)
        self.assertIn("without data breakpoints", run.stderr)
        self.assertIn("an unknown writer", run.stderr)
        self.assertIn("no data breakpoint was to be had", run.stderr)

    def test_the_kernel_as_a_writer(self):
        run = Sampled(build("kernel_writes"), "3", options=["--rate", "1000", "--budget", "30%"])
        self.assertEqual((run.code, run.stdout), (66, "read\n"), run.stderr)
        self.assertIn("DATA RACE on buffer", run.stderr)
        self.assertIn("an unknown writer", run.stderr)

    def test_programs_do_what_they_do_without_us(self):
        program = build("surroundings")
        alone = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=False)
        for options in ([], ["--children"], ["--rate", "5000", "--budget", "50%"]):
            run = Sampled(program, options=["--exit-code", "0", *options])
            self.assertEqual((run.code, run.stdout), (alone.returncode, alone.stdout), run.stderr)

    def test_self_check(self):
        # One that runs for a while, and one that does unusual things and starts itself again: there is more than one line of these.
        for program, arguments, least in (("clean", ["2"], 500), ("surroundings", [], 1)):
            run = Sampled(build(program), *arguments, options=["--self-check", "--rate", "20000"])
            tried, met = (sum(map(int, re.findall(pattern, run.stderr))) for pattern in (r"self-check: (\d+) tried", r"tried, (\d+) met"))
            self.assertGreaterEqual(tried, least, run.stderr)
            self.assertEqual(tried, met, run.stderr)

    def test_seconds_are_those_of_sampling(self):
        # Not of working out what there is to sample, which is long for a large program that was not seen before.
        os.environ["XDG_CACHE_HOME"], kept = str(ARGS.build / f"empty-{os.getpid()}"), os.environ["XDG_CACHE_HOME"]
        try:
            run = Sampled(sys.executable, "-c", "import time; time.sleep(4)", options=["--seconds", "0.5"])
        finally:
            shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
            os.environ["XDG_CACHE_HOME"] = kept
        self.assertGreater(float(re.search(r"of ([0-9.]+) s of all threads", run.stderr)[1]), 0.4, run.stderr)

    def test_no_thread_pays_for_those_that_sleep(self):
        run = Sampled(build("sleepers"), "3", options=["--rate", "10000", "--budget", "5%"])
        self.assertEqual((run.code, run.stdout), (0, "worked\n"), run.stderr)
        self.assertGreater(run.count(r"met, (\d+) sampled"), 20, run.stderr)
        stopped, everybody, worst = map(float, re.search(r"stopped for ([0-9.]+) s of ([0-9.]+) s .* no thread for more than ([0-9.]+) %", run.stderr).groups())
        # It has 0.3 s, 0.015 s that was kept, and the last pause may be late; all 32 threads together would have 4.8 s.
        self.assertLess(stopped, 0.6, run.stderr)
        self.assertLess(worst, 20, run.stderr)
        self.assertGreater(everybody, 30, run.stderr)
        inside, process = map(float, re.search(r"processor time: ([0-9.]+) s at breakpoints, of ([0-9.]+) s", run.stderr).groups())
        self.assertTrue(0 < inside < process, run.stderr)

    def test_budget_zero_stops_nobody(self):
        run = Sampled(build("hot"), "1", options=["--budget", "0%", "--delay", "1"])
        self.assertEqual(run.code, 0, run.stderr)

    def test_rate_zero_sets_no_breakpoints(self):
        run = Sampled(build("hot"), "1", options=["--rate", "0"])
        self.assertEqual((run.code, run.count(r"; (\d+) breakpoints met")), (0, 0), run.stderr)

    def test_outputs_are_those_of_run(self):
        sarif, text = ARGS.build / "out.sarif", ARGS.build / "out.txt"
        run = Sampled(build("hot"), "3", options=["--sarif", str(sarif), "--text", str(text), "--exit-code", "9", *BUSY])
        self.assertEqual(run.code, 9, run.stderr)
        self.assertTrue(json.loads(sarif.read_text())["runs"][0]["results"])
        self.assertIn("counter", text.read_text())
        report = run.reports[0]
        self.assertEqual(report["detector"], "sample")

    def test_suppressions_and_special_variables(self):
        rules = ARGS.build / "rules.txt"
        rules.write_text("race:Count\n")
        run = Sampled(build("hot"), "2", options=["--suppressions", str(rules)])
        self.assertEqual((run.code, "DATA RACE" in run.stderr), (0, False), run.stderr)

    def test_focus(self):
        run = Sampled(build("hot"), "2", options=["--focus", "hot.cc:14", *BUSY])
        self.assertEqual(run.code, 66, run.stderr)
        wrong = Sampled(build("hot"), "0.2", options=["--focus", "no_such_function"])
        self.assertIn("nothing in", wrong.stderr)

    def test_refusals(self):
        static = build("hot", "-static")
        run = Sampled(static)
        self.assertEqual(run.code, 2)
        self.assertIn("statically linked", run.stderr)
        self.assertEqual(Sampled("/nonexistent").code, 127)
        self.assertEqual(Sampled("/bin/true", options=["--budget", "lots"]).code, 2)

    def test_focus_from_reports(self):
        program = build("hot")
        first = Sampled(program, "3", options=BUSY)
        self.assertTrue(first.reports, first.stderr)
        # Reports of another tool, or of an earlier run: it is looked at where they lead.
        reports = ARGS.build / "earlier.json"
        reports.write_text("".join(json.dumps(report) + "\n" for report in first.reports))
        run = Sampled(program, "3", options=["--focus-from", str(reports), *BUSY])
        self.assertEqual(run.code, 66, run.stderr)
        self.assertNotIn("nothing in", run.stderr)
        # Those of another program lead nowhere, and that is said.
        wrong = Sampled(build("cold"), "0.2", options=["--focus-from", str(reports)])
        self.assertIn("nothing in", wrong.stderr)

    def test_stop_leaves_both_threads_there(self):
        command = [str(ARGS.redflag), "sample", "--on-race", "stop", *BUSY, "--", str(build("hot")), "5"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                stopped = self.await_stopped_child(process)
                os.kill(stopped, signal.SIGCONT)
                stdout, stderr = process.communicate(timeout=60)
            except BaseException:
                process.kill()
                raise
        self.assertEqual((process.returncode, stdout), (66, "counted\n"), stderr)
        self.assertIn(f"gdb -p {stopped}", stderr)
        self.assertIn("both threads are at their accesses", stderr)

    def await_stopped_child(self, process):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            self.assertIsNone(process.poll())
            for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                if "State:\tT" in pathlib.Path(f"/proc/{child}/status").read_text():
                    return int(child)
            time.sleep(0.02)
        raise AssertionError("not stopped")

    def test_seccomp(self):
        for how in ("prctl", "syscall"):
            run = Sampled(build("seccomp"), how, options=["--exit-code", "0", "--rate", "5000", *BUSY])
            self.assertEqual((run.code, run.stdout), (0, "restricted\n"), run.stderr)
            self.assertIn("restricts its system calls", run.stderr)
            self.assertGreater(run.count(r"; (\d+) breakpoints met"), 0, run.stderr)

    def test_setuid_programs_are_refused(self):
        program = ARGS.build / "setuid"
        shutil.copy(build("hot"), program)
        program.chmod(0o4755)
        if not os.stat(program).st_mode & stat.S_ISUID:
            self.skipTest("this file system has no setuid programs")
        command = [str(ARGS.redflag), "sample", "--", str(program), "0.1"]
        # For root they are programs like others.
        if os.geteuid() == 0:
            self.assertIn(subprocess.run(command, capture_output=True, timeout=60, check=False).returncode, (0, 66))
            if not can_be_nobody(program):
                self.skipTest("nobody may not read what is in here")
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd="/")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("setuid", run.stderr)

    def test_a_library_that_is_loaded_later(self):
        library = build("loads", "-DLIBRARY", "-shared", "-fPIC").rename(ARGS.build / "libcounts.so")
        program = build("loads")
        run = Sampled(program, str(library), "4", options=["--modules", "libcounts", *BUSY])
        self.assertEqual((run.code, run.stdout), (66, "counted\n"), run.stderr)
        self.assertIn("DATA RACE on counted", run.stderr)
        self.assertIn("CountInLibrary", run.stderr)

    def test_core_leaves_both_threads_there(self):
        run = Sampled(build("hot"), "5", options=["--on-race", "core", *BUSY])
        self.assertEqual(run.code, 66, run.stderr)
        self.assertIn("both threads are at their accesses", run.stderr)
        self.assertNotIn("counted", run.stdout)


class LongTest(unittest.TestCase):
    def test_races_are_found_in_time(self):
        both = hits = 0
        for name, seconds in [("hot", "1"), ("cold", "5")]:
            program = build(name)
            runs = [Sampled(program, options=["--seconds", seconds]) for _ in range(20)]
            found = sum(run.code == 66 for run in runs)
            both += sum(run.count(r"both stacks in (\d+) of") for run in runs)
            hits += sum(run.count(r"both stacks in \d+ of (\d+)") for run in runs)
            conflicts = sorted(run.count(r"conflicts: (\d+)") for run in runs)
            print(f"{name}: found in {found} of 20 runs of {seconds} s; {conflicts[0]} to {conflicts[-1]} conflicts a run")
            self.assertEqual(found, 20, name)
        print(f"both stacks: {both} of {hits}")
        self.assertGreaterEqual(both, 0.95 * hits)

    def test_nothing_is_found_where_nothing_is(self):
        for _ in range(20):
            run = Sampled(build("clean"), "2", options=["--rate", "1000", *BUSY])
            self.assertEqual((run.code, run.reports), (0, []), run.stderr)

    def test_ten_thousand_self_checks(self):
        tried = met = 0
        for _ in range(50):
            code = "import json,re\nfor i in range(300): json.loads(json.dumps({str(k):[k,'x'*k] for k in range(40)}))"
            run = Sampled("/usr/bin/python3", "-c", code, options=["--self-check", "--rate", "20000", "--seconds", "5"])
            tried += run.count(r"self-check: (\d+) tried")
            met += run.count(r"tried, (\d+) met")
            if tried >= 10000:
                break
        print(f"self-check: {met} of {tried}")
        self.assertGreaterEqual(tried, 10000)
        self.assertEqual(tried, met)


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redflag", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", default="")
    ARGS = parser.parse_args()
    ARGS.redflag, ARGS.build = ARGS.redflag.resolve(), ARGS.build.resolve()
    ARGS.build.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_CACHE_HOME"] = str(ARGS.build / "cache")
    suite = unittest.TestSuite()
    for case in [LongTest] if ARGS.long else [SampleTest]:
        for name in unittest.defaultTestLoader.getTestCaseNames(case):
            if ARGS.only in name:
                suite.addTest(case(name))
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
