#!/usr/bin/env python3
"""The command as users meet it: help, output forms, exit codes, and input that is not what it should be.

  cli_test.py REDFLAG SOURCE_ROOT
"""

import json
import os
import pathlib
import pty
import resource
import subprocess
import sys
import tempfile
import unittest

REDFLAG = None
ROOT = None
RACY = "threads a b\na write x\nb write x\n"
QUIET = "threads a b\na write x\nb write y\n"


def limit_memory():
    """1 GiB of address space: input that needs more than that to be refused is a defect."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def run(*args, text="", env=None, timeout=60):
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR",)} | (env or {})
    return subprocess.run([REDFLAG, *args], input=text, capture_output=True, text=True, timeout=timeout, env=environment,
                          preexec_fn=None if "REDFLAG_TEST_UNLIMITED" in os.environ else limit_memory)


def analyze(text, *args, **kwargs):
    return run("analyze", "-", *args, text=text, **kwargs)


class Help(unittest.TestCase):
    def test_help_teaches(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for word in ("Examples", "Exit codes"):
            self.assertIn(word, result.stdout)
        for command in ("c\\+\\+", "cc", "run", "analyze", "report", "convert", "list", "doctor", "symbolize", "suppress", "help"):
            self.assertRegex(result.stdout, rf"(?m)^  {command} +\S+ \S+", "a line each")

    def test_each_command_has_help_with_examples_or_pointers(self):
        self.assertIn("Examples", run("analyze", "--help").stdout)
        self.assertIn("docs/algorithms", run("list", "--help").stdout)

    def test_help_of_a_command(self):
        self.assertEqual(run("help").stdout, run("--help").stdout)
        for command in ("run", "analyze", "doctor", "help", "collect"):
            self.assertEqual(run("help", command).stdout, run(command, "--help").stdout, command)
        self.assertIn("CXX='redflag c++'", run("help", "c++").stdout)
        result = run("help", "anaylze")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("'anaylze'", result.stderr)

    def test_version(self):
        result = run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^redflag \d+\.\d+\.\d+ \((x86-64|arm64)\)\n$")

    def test_no_arguments_is_an_error_that_helps(self):
        result = run()
        self.assertEqual(result.returncode, 2)
        self.assertIn("analyze", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_list_names_detectors_and_the_default(self):
        result = run("list")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"(?m)^hb .*\(default\)$")
        self.assertRegex(result.stdout, r"(?m)^null ")


class Output(unittest.TestCase):
    def test_exit_codes(self):
        self.assertEqual(analyze(RACY).returncode, 66)
        self.assertEqual(analyze(QUIET).returncode, 0)

    def test_text_names_the_race(self):
        result = analyze(RACY)
        self.assertIn("DATA RACE on x (8 bytes at", result.stdout)
        self.assertIn("<stdin>: hb: 1 race in 2 events", result.stdout)
        self.assertEqual(result.stderr, "")

    def test_quiet_is_one_line(self):
        self.assertEqual(analyze(RACY, "-q").stdout, "<stdin>: hb: 1 race in 2 events\n")

    def test_json_is_one_document(self):
        document = json.loads(analyze(RACY, "--json", "--stats", "-d", "all").stdout)
        self.assertEqual([r["detector"] for r in document["results"]][0], "hb")
        race = document["results"][0]["races"][0]
        self.assertEqual(race["variable"], "x")
        self.assertEqual(race["access"]["thread"], "b")
        self.assertEqual(race["earlier"][0]["thread"], "a")
        counts = {rule["rule"]: rule["count"] for rule in document["results"][0]["rules"]}
        self.assertEqual(counts["race"], 1)

    def test_stats_count_rules(self):
        self.assertRegex(analyze(QUIET, "--stats").stdout, r"(?m)^ +2  write +\[TS 4\.2 l\.6-7\]$")

    def test_null_never_reports(self):
        self.assertEqual(analyze(RACY, "-d", "null").returncode, 0)

    def test_several_traces(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for i, text in enumerate((RACY, QUIET)):
                paths.append(f"{folder}/{i}.trace")
                pathlib.Path(paths[-1]).write_text(text)
            result = run("analyze", "-q", *paths)
            self.assertEqual(result.returncode, 66)
            self.assertEqual(len(result.stdout.splitlines()), 2)

    def test_an_option_takes_one_value(self):
        with tempfile.NamedTemporaryFile("w", suffix=".trace") as trace:
            trace.write(QUIET)
            trace.flush()
            self.assertEqual(run("analyze", "-q", "-d", "hb", trace.name, trace.name).returncode, 0)
            self.assertEqual(len(run("analyze", "-q", "-d", "hb", "-d", "null", trace.name).stdout.splitlines()), 2)

    def test_check_reports_mismatches_with_their_line(self):
        self.assertEqual(analyze(RACY.replace("b write x", "b write x !race"), "--check").returncode, 0)
        result = analyze(RACY.replace("b write x", "b write x !norace"), "--check")
        self.assertEqual(result.returncode, 1)
        self.assertIn("<stdin>:3: check failed: hb reports a race here and should not", result.stderr)

    def test_colours_are_for_terminals(self):
        self.assertNotIn("\033", analyze(RACY).stdout)
        self.assertIn("\033", analyze(RACY, "--color", "always").stdout)
        self.assertIn("\033", self.on_terminal({"TERM": "xterm"}))
        self.assertNotIn("\033[1", self.on_terminal({"TERM": "xterm", "NO_COLOR": "1"}))
        self.assertNotIn("\033[1", self.on_terminal({"TERM": "dumb"}))

    def on_terminal(self, env):
        with tempfile.NamedTemporaryFile("w", suffix=".trace") as trace:
            trace.write(RACY)
            trace.flush()
            leader, follower = pty.openpty()
            environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | env
            process = subprocess.Popen([REDFLAG, "analyze", trace.name], stdout=follower, env=environment)
            os.close(follower)
            output = b""
            try:
                while chunk := os.read(leader, 4096):
                    output += chunk
            except OSError:
                pass  # the other side closed
            os.close(leader)
            self.assertEqual(process.wait(timeout=30), 66)
            return output.decode()


class BadInput(unittest.TestCase):
    def refused(self, text, where, message, timeout=60):
        result = analyze(text, timeout=timeout)
        self.assertEqual(result.returncode, 2, result.stderr[:500])
        self.assertTrue(result.stderr.startswith(f"<stdin>:{where}: error: "), result.stderr[:500])
        self.assertRegex(result.stderr, message)
        self.assertEqual(result.stdout, "", "nothing half-written")
        self.assertLess(len(result.stderr), 2000, "readable")

    def test_unlock_of_a_lock_not_held(self):
        self.refused("threads a b\na lock m\nb unlock m\n", "3:10", "not held|does not hold")

    def test_unlock_in_the_wrong_mode(self):
        self.refused("a rdlock m\na unlock m\n", "2:10", "read")

    def test_join_of_an_unknown_thread(self):
        self.refused("main write x\nmain join ghost\n", "2:11", "ghost")

    def test_event_of_an_ended_thread(self):
        self.refused("main fork t\nt end\nt write x\n", "3:1", "ended")
        self.refused("main fork t\nmain join t\nt write x\n", "3:1", "joined|ended")

    def test_event_of_a_thread_that_nobody_forked(self):
        self.refused("main write x\nt write x\n", "2:1", "t")

    def test_unknown_words_get_a_suggestion(self):
        self.refused("main wirte x\n", "1:6", "write")
        self.refused("main store x relase\n", "1:14", "release")

    def test_ten_thousand_locks_held(self):
        text = "".join(f"main lock m{i}\n" for i in range(10_000))
        self.refused(text, "4097:11", "4096")

    def test_a_lock_held_by_another(self):
        self.refused("threads a b\na lock m\nb lock m\n", "3:8", "held")

    def test_empty_file(self):
        self.refused("", "1:1", "no events")

    def test_only_comments(self):
        result = analyze("# nothing\n\n")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no events", result.stderr)

    def test_a_line_of_a_gigabyte(self):
        feeder = subprocess.Popen(["head", "-c", str(1 << 30), "/dev/zero"], stdout=subprocess.PIPE)
        letters = subprocess.Popen(["tr", "\\0", "a"], stdin=feeder.stdout, stdout=subprocess.PIPE)
        feeder.stdout.close()
        result = subprocess.run([REDFLAG, "analyze", "-"], stdin=letters.stdout, capture_output=True, text=True, timeout=60,
                                preexec_fn=None if "REDFLAG_TEST_UNLIMITED" in os.environ else limit_memory)
        letters.stdout.close()
        letters.wait()
        feeder.wait()
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^<stdin>:1:\d+: error: .*65536")
        self.assertLess(len(result.stderr), 2000)

    def test_bytes_that_are_no_text(self):
        result = subprocess.run([REDFLAG, "analyze", "-"], input=bytes(range(256)) * 64, capture_output=True, timeout=60)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"<stdin>:1:1: error", result.stderr)

    def test_a_huge_allocation_is_fine(self):
        self.assertEqual(analyze("threads a b\na alloc p 1099511627776\nb free p\n").returncode, 66)

    def test_missing_file_and_folder(self):
        for path in ("/nowhere/at-all.trace", "/"):
            result = run("analyze", path)
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"cannot read {path}", result.stderr)
            self.assertEqual(result.stdout, "")

    def test_bad_command_lines(self):
        for args in (["analyze"], ["analyse", "x"], ["analyze", "--jsno", "-"], ["analyze", "-", "--color", "red"], ["list", "x"]):
            result = run(*args)
            self.assertEqual(result.returncode, 2, args)
            self.assertNotEqual(result.stderr, "", args)
            self.assertEqual(result.stdout, "", args)

    def test_unknown_detector_lists_the_known(self):
        result = analyze(QUIET, "-d", "hbb")
        self.assertEqual(result.returncode, 2)
        self.assertIn("'hbb'", result.stderr)
        self.assertRegex(result.stderr, r"there are: hb .*null")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([REDFLAG, "analyze", "-"], input=RACY, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(result.returncode, 2)
        self.assertIn("cannot write", result.stderr)


class Shards(unittest.TestCase):
    TRACE = "threads a b\n" + "".join(f"{thread} write {0x1000 + 64 * i:#x}:8\n" for thread in "ab" for i in range(20))

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.trace = self.write("run.trace", self.TRACE)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def parts(self, trace, count, *args):
        paths = []
        for i in range(1, count + 1):
            paths.append(os.path.join(self.folder.name, f"{os.path.basename(trace)}.{i}of{count}{''.join(args)}"))
            result = run("analyze", "--shard", f"{i}/{count}", "-o", paths[-1], *args, trace)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        return paths

    def refused(self, why, *args):
        result = run(*args)
        self.assertEqual((result.returncode, result.stdout), (2, ""), args)
        self.assertRegex(result.stderr, why)

    def test_jobs_change_nothing(self):
        for detector in ("hb", "hybrid", "goldilocks", "fast", "racetrack", "lockset"):
            for form in ((), ("--json",)):
                whole = run("analyze", "-d", detector, *form, self.trace)
                for jobs in ("2", "3", "0"):
                    parallel = run("analyze", "-d", detector, *form, "-j", jobs, self.trace)
                    self.assertEqual((parallel.returncode, parallel.stdout), (whole.returncode, whole.stdout), detector)

    def test_merge_says_what_analyze_says(self):
        parts = self.parts(self.trace, 3)
        for form in ((), ("--json",), ("-q",)):
            whole = run("analyze", *form, self.trace)
            merged = run("merge", *form, *reversed(parts))
            self.assertEqual((merged.returncode, merged.stdout), (66, whole.stdout))

    def test_parts_that_do_not_belong_together(self):
        one, two = self.parts(self.trace, 2)
        self.refused("shard 2 of 2 is missing", "merge", one)
        self.refused("are both shard 1", "merge", one, one)
        self.refused("numbers of shards", "merge", one, *self.parts(self.trace, 3))
        self.refused("of detectors hb and hybrid", "merge", one, self.parts(self.trace, 2, "-dhybrid")[1])
        other = self.write("other.trace", self.TRACE + "a read 0x9000:8\n")
        self.refused("of different traces", "merge", one, self.parts(other, 2)[1])
        self.refused("is not the trace", "merge", "--trace", other, one, two)
        self.refused("no part of an analysis", "merge", self.trace)
        self.refused("cannot read", "merge", one + ".gone")
        with open(one) as file:
            cut = self.write("cut", file.read()[:200])
        self.refused("is damaged", "merge", cut, two)

    def test_no_half_part_is_left(self):
        self.refused("cannot write", "analyze", "--shard", "1/2", "-o", os.path.join(self.folder.name, "no", "part"), self.trace)
        self.assertEqual(os.listdir(self.folder.name), ["run.trace"])

    def test_options_that_do_not_go_together(self):
        self.refused("I/N", "analyze", "--shard", "3/2", "-o", "x", self.trace)
        self.refused("I/N", "analyze", "--shard", "0/2", "-o", "x", self.trace)
        self.refused("go together", "analyze", "--shard", "1/2", self.trace)
        self.refused("one detector", "analyze", "--shard", "1/2", "-o", "x", "-d", "all", self.trace)
        self.refused("for recordings", "analyze", "--verify", self.trace)


class Suppress(unittest.TestCase):
    FINGERPRINT = "0123456789abcdef"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "rules.txt"
        self.reports = self.folder / "races.json"
        site = {"write": True, "origin": "program", "stack": [{"file": "/src/cache.cc", "line": 12, "function": "Put"}]}
        races = [{"kind": "data-race", "variable": "cache", "fingerprint": fingerprint, "access": site, "earlier": [site | {"write": False}]}
                 for fingerprint in (self.FINGERPRINT, "0fffffffffffffff")]
        self.reports.write_text("".join(json.dumps(line) + "\n" for line in [*races, {"kind": "summary"}, 1]) + "no json\n")

    def suppress(self, *args):
        return run("suppress", "--file", self.file, *args)

    def refused(self, words, *args):
        before = self.file.read_text() if self.file.exists() else ""
        result = self.suppress(*args)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, words)
        self.assertEqual(self.file.read_text() if self.file.exists() else "", before)

    def test_writes_the_rule(self):
        result = self.suppress(self.FINGERPRINT)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.file.read_text(), f"fingerprint:{self.FINGERPRINT}\n")
        self.assertIn(f"redflag run --suppressions {self.file}", result.stdout)

    def test_appends_and_says_what_and_why(self):
        self.file.write_text("race:old")
        result = self.suppress("0123", "--in", self.reports, "--until", "2999-12-31", "--why", "not\nnow")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.file.read_text(),
                         "race:old\n# cache: write in Put (cache.cc:12), read in Put (cache.cc:12)\n# not now\n"
                         f"fingerprint:{self.FINGERPRINT} until=2999-12-31\n")

    def test_refuses_what_is_there_already(self):
        self.file.write_text(f"# x\nfingerprint:{self.FINGERPRINT.upper()} until=2000-01-01\n")
        self.refused(r"rules.txt:2 has this fingerprint already", self.FINGERPRINT)

    def test_refuses_nonsense(self):
        self.refused("16 hexadecimal digits", "0123")
        self.refused("16 hexadecimal digits", "0123456789abcdeg")
        self.refused("several races", "0", "--in", self.reports)
        self.refused("no race in", "f", "--in", self.reports)
        self.refused("cannot read", "0123", "--in", self.folder / "none.json")
        self.refused("until=YYYY-MM-DD", self.FINGERPRINT, "--until", "soon")
        self.refused("is over already", self.FINGERPRINT, "--until", "2000-01-01")
        self.assertEqual(run("suppress", self.FINGERPRINT, "--file", self.folder / "no" / "folder").returncode, 2)

    def test_many_at_once_lose_nothing(self):
        numbers = [f"{i:016x}" for i in range(20)]
        started = [subprocess.Popen([REDFLAG, "suppress", "--file", self.file, number], stdout=subprocess.DEVNULL) for number in numbers]
        self.assertEqual([process.wait(60) for process in started], [0] * len(numbers))
        self.assertEqual(sorted(self.file.read_text().splitlines()), [f"fingerprint:{number}" for number in numbers])


class Convert(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.text = self.folder / "in.trace"
        self.text.write_text(RACY)
        self.binary = self.folder / "out.rft"

    def test_there_and_back(self):
        self.assertEqual(run("convert", self.text, self.binary).returncode, 0)
        self.assertEqual(self.binary.read_bytes()[:8], b"\x89RFTRACE")
        back = run("convert", self.binary, "-")
        self.assertEqual((back.returncode, back.stderr), (0, ""))
        plain = run("convert", "--to", "text", self.text, "-")
        self.assertEqual(back.stdout, plain.stdout)
        self.assertIn("b write x", back.stdout)
        self.assertEqual(run("convert", self.binary, self.folder / "again.trace").returncode, 0)
        self.assertEqual((self.folder / "again.trace").read_text(), back.stdout)

    def test_from_standard_input(self):
        self.assertEqual(run("convert", "-", self.binary, text=RACY).returncode, 0)
        self.assertIn("a write x", run("convert", self.binary, "-").stdout)

    def test_permissions_are_those_of_a_new_file(self):
        run("convert", self.text, self.binary)
        (self.folder / "new").touch()
        self.assertEqual(self.binary.stat().st_mode, (self.folder / "new").stat().st_mode)

    def refused(self, *args, message, **kwargs):
        before = sorted(self.folder.iterdir())
        result = run("convert", *args, **kwargs)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, message)
        self.assertEqual(sorted(self.folder.iterdir()), before, "nothing half-written")

    def test_what_cannot_be_converted(self):
        self.refused(self.folder / "nowhere", self.binary, message="cannot read .*nowhere.*No such file")
        self.refused(self.folder, self.binary, message="directory")
        self.refused("-", self.binary, text="main wirte x\n", message="<stdin>:1:6: error: unknown verb")
        self.refused(self.text, "-", message="not written to standard output")
        self.refused(self.text, self.folder / "no" / "folder", message="cannot write")
        self.refused("--to", "xml", self.text, self.binary, message="xml")
        run("convert", self.text, self.binary)
        self.refused("--to", "binary", self.binary, self.folder / "x", message="binary trace already")

    def test_a_damaged_file_is_refused_and_the_old_one_stays(self):
        run("convert", self.text, self.binary)
        whole = self.binary.read_bytes()
        self.binary.write_bytes(whole[:-10])
        old = self.folder / "old"
        old.write_text("old")
        self.refused(self.binary, old, message=rf"damaged at byte \d+: the file ends in .*--partial")
        self.assertEqual(old.read_text(), "old")
        self.binary.write_bytes(whole[:8] + b"\x07" + whole[9:])
        self.refused(self.binary, old, message="version 7")

    def test_a_full_disk(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([REDFLAG, "convert", "--to", "text", "-", "-"], input=RACY, stdout=full, stderr=subprocess.PIPE,
                                    text=True, timeout=60)
        self.assertEqual(result.returncode, 2)
        self.assertIn("cannot write", result.stderr)


if __name__ == "__main__":
    REDFLAG = os.path.abspath(sys.argv[1])
    ROOT = pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
