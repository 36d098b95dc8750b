#!/usr/bin/env python3
"""Races as exceptions: redflag/race_error.hpp, redflag/checked.hpp, `redflag c++ --throw`, on_race=throw.

  throw_test.py REDFLAG [unittest options]

The programs of this folder check themselves and say "all is well".
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
REDFLAG = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else HERE.parents[1] / "build/release/bin/redflag"
EXAMPLES = HERE.parents[1] / "examples" / "goldilocks"
COMPILERS = ("g++-12", "clang++-14", "clang++-19")
PRECISE = ("hb", "goldilocks")
REPORTED = 66

# A write that races with one of another thread, through a pointer, and is caught.
CAUGHT = """
#include <redflag/race_error.hpp>
#include <cstdio>
#include <thread>
#include "invisible.h"
__attribute__((noinline)) void Write(int* p) { *p = 2; }
int main() {
  int* const p = new int(0);
  std::thread other([p] { *p = 1; Arrive(); Await(2); });
  Await(1);
  try {
    Write(p);
    puts("it happened");
  } catch (const redflag::data_race_error&) {
    puts("thrown");
  }
  Arrive();
  other.join();
  printf("%d\\n", *p);
}
"""


# One thread hands what it wrote on through a lock and an atomic variable to a third; the second takes neither.
HANDED_ON = """
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>
#include "invisible.h"
std::mutex door;
std::atomic<int> flag;
int value;
int main() {
  std::thread first([] { value = 1; door.lock(); door.unlock(); Arrive(); Await(3); });
  std::thread third([] { Await(1); door.lock(); door.unlock(); flag = 1; Arrive(); Await(3); });
  Await(2);
  printf("%d\\n", value);
  Arrive();
  first.join();
  third.join();
}
"""


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="redflag-throw-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compile(self, source, compiler, *options, throws=False, check=True):
        """-> the program, or what the compiler said if it failed."""
        if isinstance(source, str):
            path = self.folder / "program.cc"
            path.write_text(source)
            source = path
        program = self.folder / "program"
        result = subprocess.run([REDFLAG, "c++", *(["--throw"] if throws else []), "-std=c++17", "-g", "-Wall", "-Wextra", "-pthread",
                                 f"-I{INCLUDE}", f"-I{HERE.parent / 'e2e'}", *options, "-o", program, source],
                                env=os.environ | {"REDFLAG_CXX": compiler}, capture_output=True, text=True, timeout=300)
        if not check:
            return result
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return program

    def run_it(self, program, *options, environment=""):
        return subprocess.run([REDFLAG, "run", *options, program], env=os.environ | {"REDFLAG_OPTIONS": environment},
                              capture_output=True, text=True, timeout=300)


class Throw(Programs):
    def check_well(self, result):
        self.assertEqual(result.returncode, 0, result.stderr[-3000:])
        self.assertIn("all is well", result.stdout)
        self.assertIn("DATA RACE", result.stderr, "the report is written too")
        self.assertNotIn("terminate called", result.stderr)

    def test_checked_throws_with_every_compiler(self):
        for compiler in COMPILERS:
            for level in ("-O0", "-O2"):
                program = self.compile(HERE / "checked.cc", compiler, level)
                for detector in PRECISE:
                    with self.subTest(compiler=compiler, level=level, detector=detector):
                        self.check_well(self.run_it(program, "-d", detector, "--exit-code", "0"))

    def test_checked_throws_in_code_that_is_not_instrumented(self):
        program = self.compile(HERE / "checked.cc", "g++-12", "-O2", "-fno-sanitize=thread")
        self.check_well(self.run_it(program, "--exit-code", "0"))

    def test_checked_costs_no_runtime(self):
        """Without one, nothing is checked."""
        source = '#include <redflag/checked.hpp>\nredflag::checked<int> x;\nint main() { x = 3; ++x; const redflag::race_scope scope(' \
                 'redflag::on_race::throw_error); return x - 4; }\n'
        path = self.folder / "alone.cc"
        path.write_text(source)
        subprocess.run(["g++-12", f"-I{INCLUDE}", "-o", self.folder / "alone", path], check=True, timeout=300)
        self.assertEqual(subprocess.run([self.folder / "alone"], timeout=60, check=False).returncode, 0)

    def test_accesses_throw_that_the_compiler_instrumented(self):
        for level in ("-O0", "-O1", "-O2"):
            program = self.compile(HERE / "automatic.cc", "g++-12", level, "-Wno-maybe-uninitialized", throws=True)
            for detector in PRECISE:
                with self.subTest(level=level, detector=detector):
                    result = self.run_it(program, "-d", detector, "--exit-code", "0", "--on-race", "throw")
                    self.check_well(result)
                    self.assertIn("it is in a noexcept function or a destructor", result.stderr)
                    self.assertIn("nobody catches it", result.stderr)

    def test_what_is_not_asked_for_is_not_thrown(self):
        program = self.compile(CAUGHT, "g++-12", "-O1", throws=True)
        self.assertEqual(self.run_it(program, "--on-race", "throw").stdout, "thrown\n1\n")
        result = self.run_it(program)
        self.assertEqual((result.stdout, result.returncode), ("it happened\n2\n", REPORTED))

    def test_what_cannot_be_thrown_is_reported(self):
        program = self.compile(CAUGHT, "g++-12", "-O1")
        result = self.run_it(program, "--on-race", "throw")
        self.assertEqual(result.stdout, "it happened\n2\n")
        self.assertIn("this race is not thrown: the compiler did not expect this access to throw", result.stderr)
        result = self.run_it(program, "--on-race", "throw", environment="throw_else=end")
        self.assertEqual((result.stdout, result.returncode), ("", REPORTED))

    def test_says_that_clang_does_not_throw(self):
        result = self.compile(CAUGHT, "clang++-19", "-O1", throws=True, check=False)
        self.assertEqual(result.returncode, 0)
        self.assertIn("redflag::checked<T>", result.stderr)
        result = self.run_it(self.folder / "program", "--on-race", "throw")
        self.assertEqual(result.stdout, "it happened\n2\n")
        self.assertIn("this race is not thrown", result.stderr)

    def test_says_what_to_include(self):
        program = self.compile(CAUGHT.replace("#include <redflag/race_error.hpp>", "namespace redflag { struct data_race_error {}; }"),
                               "g++-12", "-O1", throws=True)
        result = self.run_it(program, "--on-race", "throw")
        self.assertEqual(result.stdout, "it happened\n2\n")
        self.assertIn("include <redflag/race_error.hpp>", result.stderr)

    def test_says_that_unwind_tables_are_missing(self):
        source = CAUGHT.replace("try {", "{").replace("} catch (const redflag::data_race_error&) {", "if (false)").replace(
            'puts("thrown");\n  }', 'puts("thrown");\n  }', 1)
        source = source.replace("Write(p);", "const redflag::checked_reference<int> r(*p); r = 2;").replace("race_error.hpp", "checked.hpp")
        program = self.compile(source, "g++-12", "-O1", "-fno-exceptions", "-fno-asynchronous-unwind-tables")
        result = self.run_it(program)
        self.assertIn("2\n", result.stdout)
        self.assertIn("compiled with -fno-exceptions", result.stderr)

    def test_what_is_suppressed_is_not_thrown(self):
        program = self.compile(CAUGHT, "g++-12", "-O1", throws=True)
        rules = self.folder / "rules.txt"
        rules.write_text("race:Write\n")
        result = self.run_it(program, "--on-race", "throw", "--suppressions", rules)
        self.assertEqual((result.stdout, result.returncode), ("it happened\n2\n", 0), result.stderr)

    def test_a_detector_that_may_be_wrong_does_not_throw(self):
        program = self.compile(CAUGHT, "g++-12", "-O1", throws=True)
        result = self.run_it(program, "-d", "hybrid", "--on-race", "throw")
        self.assertEqual(result.stdout, "it happened\n2\n")
        self.assertIn("use hb or goldilocks", result.stderr)

    def test_refuses_types_that_it_cannot_hold(self):
        for kind, compiler in (("std::string", "g++-12"), ("std::unique_ptr<int>", "clang++-19"), ("std::string", "clang++-14")):
            with self.subTest(kind=kind, compiler=compiler):
                result = self.compile(f"#include <redflag/checked.hpp>\nredflag::checked<{kind}> x;\nint main() {{}}\n", compiler, check=False)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("make its fields checked", result.stderr)


class Examples(Programs):
    """Those of the paper, section 2; examples/goldilocks."""

    def build(self, name, *options, compiler="g++-12"):
        return self.compile(EXAMPLES / f"{name}.cc", compiler, "-O1", *options)

    def test_a_server_survives_its_races(self):
        program = self.build("ftp_server")
        for detector in PRECISE:
            with self.subTest(detector=detector):
                result = subprocess.run([REDFLAG, "run", "-d", detector, "--exit-code", "0", program, "10000", "100"], capture_output=True,
                                        text=True, timeout=300)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr[-2000:])
                self.assertIn("server: 9900 served, 100 raced; clients: 9900 good, 100 told so, 0 lost", result.stdout)
                self.assertIn("left: 0 connections, 0 descriptors", result.stdout)

    def test_boxes_are_handed_over(self):
        program = self.build("boxes")
        for detector in PRECISE:
            self.assertEqual(self.run_it(program, "-d", detector).returncode, 0)
        self.assertIn("DATA RACE", self.run_it(program, "-d", "lockset").stderr)

    def test_conflicts_are_rolled_back(self):
        program = self.build("optimistic")
        for detector in PRECISE:
            result = self.run_it(program, "-d", detector, "--exit-code", "0")
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertIn("400 counts, 0 wrong", result.stdout)

    def test_reports_say_who_has_what_the_thread_has_not(self):
        program = self.compile(HANDED_ON, "g++-12", "-O1")
        sentences = {"goldilocks": "the write by T1 was handed on to T2 (through door), and to whoever locks door (unlocked by T1) or acquires "
                                   "flag (released by T2); main is none of them",
                     "goldilocks-lists": "the write by T1 was handed on to T2, and to whoever locks door or acquires flag; main is none of them"}
        for detector, sentence in sentences.items():
            with self.subTest(detector=detector):
                result = self.run_it(program, "-d", detector)
                self.assertEqual((result.returncode, result.stdout), (REPORTED, "1\n"), result.stderr[-3000:])
                self.assertIn(sentence, " ".join(result.stderr.split()))

    def test_transactions_order(self):
        for name in ("transactional_list", "multiset"):
            program = self.build(name, "-fgnu-tm")
            for detector in PRECISE:
                with self.subTest(name=name, detector=detector):
                    result = self.run_it(program, "-d", detector)
                    self.assertEqual((result.returncode, result.stdout), (0, "all is well\n"), result.stderr[-3000:])

    def test_transactions_do_not_order_what_is_outside(self):
        program = self.build("account", "-fgnu-tm")
        for detector in PRECISE:
            result = self.run_it(program, "-d", detector)
            self.assertEqual(result.returncode, REPORTED)
            self.assertRegex(result.stderr, r"DATA RACE on .*checking\.bal")

    def test_what_a_transaction_has_undone_is_forgotten(self):
        for level in ("-O0", "-O2"):
            program = self.compile(HERE / "nested_transactions.cc", "g++-12", "-fgnu-tm", level)
            for detector in PRECISE:
                with self.subTest(level=level, detector=detector):
                    result = self.run_it(program, "-d", detector)
                    self.assertEqual((result.returncode, result.stdout), (0, "all is well\n"), result.stderr[-3000:])

    def test_other_transactions(self):
        for compiler in COMPILERS:
            program = self.compile(HERE / "own_transactions.cc", compiler, "-O1")
            for detector in PRECISE:
                with self.subTest(compiler=compiler, detector=detector):
                    result = self.run_it(program, "-d", detector)
                    self.assertEqual((result.returncode, result.stdout), (REPORTED, "all is well\n"), result.stderr[-3000:])
                    self.assertEqual(result.stderr.count("DATA RACE on"), 1, result.stderr[-3000:])
                    self.assertIn("DATA RACE on mixed", result.stderr)

    def test_a_transaction_manager_taken_for_ordinary_code_is_reported(self):
        for compiler in ("g++-12", "clang++-19"):
            for options, expected in (((), 0), (("-DORDINARY_CODE",), REPORTED)):
                program = self.build("own_stm", *options, compiler=compiler)
                for detector in PRECISE:
                    with self.subTest(compiler=compiler, options=options, detector=detector):
                        result = self.run_it(program, "-d", detector)
                        self.assertEqual((result.returncode, result.stdout), (expected, "all is well\n"), result.stderr[-3000:])
                        self.assertEqual("DATA RACE on (anonymous namespace)::elements" in result.stderr, expected == REPORTED)

    def test_what_orders_transactions_is_a_choice(self):
        program = self.compile(HERE / "commit_orders.cc", "g++-12", "-O1")
        in_order = {"common": {"both-write", "reads", "blind"}, "reads": {"reads", "blind"}, "all": {"both-write", "reads", "blind", "apart"}}
        for detector in PRECISE:
            for order, cases in in_order.items():
                for case in ("both-write", "reads", "blind", "apart"):
                    with self.subTest(detector=detector, order=order, case=case):
                        result = subprocess.run([REDFLAG, "run", "-d", detector, program, case], env=os.environ | {"REDFLAG_OPTIONS": f"transactions={order}"},
                                                capture_output=True, text=True, timeout=300)
                        self.assertEqual((result.returncode, result.stdout), (0 if case in cases else REPORTED, "1\n"), result.stderr[-3000:])
                        # Two transactions never race.
                        self.assertEqual(result.stderr.count("DATA RACE on"), 0 if case in cases else 1, result.stderr[-3000:])
                        self.assertEqual("handed_over" in result.stderr, case not in cases, result.stderr[-3000:])

    def test_the_order_of_reads_is_not_known_to_all(self):
        program = self.compile(HERE / "commit_orders.cc", "g++-12", "-O1")
        result = subprocess.run([REDFLAG, "run", "-d", "hybrid", program, "both-write"], env=os.environ | {"REDFLAG_OPTIONS": "transactions=reads"},
                                capture_output=True, text=True, timeout=300)
        self.assertIn("transactions=reads is known to hb and goldilocks only", result.stderr)
        self.assertEqual(result.stdout, "1\n")

    def test_bad_use_of_transactions(self):
        program = self.compile(HERE / "own_transactions.cc", "g++-12", "-O1")
        result = subprocess.run([REDFLAG, "run", program, "wrong"], capture_output=True, text=True, timeout=300)
        self.assertIn("redflag_transaction_commit without redflag_transaction_begin", result.stderr)
        self.assertIn("redflag_transaction_access outside of a transaction: begin one first", result.stderr)
        self.assertIn("redflag_transaction_abort without redflag_transaction_begin", result.stderr)
        self.assertIn("redflag_transaction_abort in a nested transaction ends the outer one too", result.stderr)


if __name__ == "__main__":
    unittest.main()
