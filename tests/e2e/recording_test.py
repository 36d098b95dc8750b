#!/usr/bin/env python3
"""Recordings: of programs that are killed, crash, fork or have many threads, and to places where they cannot be.

  recording_test.py REDFLAG [unittest options]
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

REDFLAG = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path("build/release/bin/redflag").resolve()
SECONDS = 120

RACE = """
#include <mutex>
#include <thread>
#include <cstdio>
int shared, ordered;
std::mutex mutex;
void Count() {
  { std::lock_guard guard(mutex); ++ordered; }
  std::lock_guard guard(mutex);
  ++ordered;
}
int main() {
  std::thread a([] { shared = 1; Count(); });
  std::thread b([] { shared = 2; Count(); });
  a.join();
  b.join();
  std::puts("done");
}
"""

# Races, says so, and goes on for ever, in one thread that writes and one that has nothing to do.
FOREVER = """
#include <atomic>
#include <thread>
#include <unistd.h>
int shared;
long array[1000];
int main() {
  std::thread a([] { shared = 1; });
  a.join();
  std::thread idle([] { shared = 2; pause(); });
  sleep(1);
  shared = 3;
  if (write(1, "raced\\n", 6) != 6) return 1;
  for (;;) for (long& x : array) ++x;
}
"""

CRASH = """
#include <thread>
int shared;
int main() {
  std::thread a([] { shared = 1; });
  std::thread b([] { shared = 2; });
  a.join();
  b.join();
  __builtin_trap();
}
"""

FORK = """
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
int parents, childs;
void Race(int& x) {
  std::thread a([&] { x = 1; });
  std::thread b([&] { x = 2; });
  a.join();
  b.join();
}
int main() {
  const pid_t child = fork();
  if (child == 0) {
    Race(childs);
    return 0;
  }
  Race(parents);
  int status;
  waitpid(child, &status, 0);
}
"""

MANY = """
#include <thread>
#include <vector>
long counters[400 * 8];
int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 400; ++i) threads.emplace_back([i] { for (int n = 0; n < 200; ++n) ++counters[i * 8]; });
  for (auto& t : threads) t.join();
}
"""


# Both sides hold locks; the one that comes later is the one that waited.
LOCKED = """
#include <mutex>
#include <thread>
#include <unistd.h>
int shared;
std::mutex first, second, third;
void Take() { first.lock(); }
int main() {
  std::thread early([] {
    Take();
    std::lock_guard guard(second);
    shared = 1;
    first.unlock();
    pause();
  });
  early.detach();
  usleep(300000);
  std::lock_guard guard(third);
  shared = 2;
}
"""


def run(*command, **kwargs):
    return subprocess.run(["timeout", str(SECONDS), *map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **kwargs)


class RecordingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.here = pathlib.Path(cls.folder.name)
        for name, source in (("race", RACE), ("forever", FOREVER), ("crash", CRASH), ("fork", FORK), ("many", MANY), ("locked", LOCKED)):
            (cls.here / f"{name}.cc").write_text(source)
            built = run(REDFLAG, "c++", "-g", "-O1", "-o", cls.here / name, cls.here / f"{name}.cc", "-pthread")
            assert built.returncode == 0, built.stdout

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.trace = self.here / f"{self.id()}.rft"

    def races(self, trace, *options, status=66):
        done = run(REDFLAG, "analyze", *options, trace)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def test_record_reports_nothing_and_analyze_does(self):
        done = run(REDFLAG, "record", "-o", self.trace, self.here / "race")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("DATA RACE", done.stdout)
        self.assertIn("recorded to", done.stdout)
        text = self.races(self.trace)
        self.assertIn("DATA RACE on shared", text)
        self.assertIn("race.cc:13", text)
        self.assertIn("race.cc:14", text)
        self.assertIn("was created by main", text)

    def test_record_beside_a_detector(self):
        done = run(REDFLAG, "run", "--record", self.trace, self.here / "race")
        self.assertEqual(done.returncode, 66, done.stdout)
        self.assertIn("DATA RACE on shared", done.stdout)
        self.races(self.trace, "--verify", status=0)

    def test_reports_are_those_of_the_running_program(self):
        live = self.here / "live.txt"
        run(REDFLAG, "run", "--record", self.trace, "-o", live, self.here / "locked")
        said = live.read_text().split("\nredflag: ")[0].rstrip()
        said = "".join(line for line in said.splitlines(keepends=True) if not line.startswith("  seen: "))  # of running programs only
        self.assertEqual(said.count("taken at:"), 3, said)
        self.assertEqual(self.races(self.trace).rpartition("\n" + str(self.trace))[0].rstrip(), said)

    def test_a_second_run_replaces_the_first(self):
        for _ in range(2):
            run(REDFLAG, "record", "-o", self.trace, self.here / "race")
        self.races(self.trace)
        self.assertEqual(list(self.here.glob(self.trace.name + ".*")), [])

    def test_every_detector(self):
        run(REDFLAG, "record", "-o", self.trace, self.here / "race")
        text = self.races(self.trace, "-d", "all", "-q")
        for detector in ("hb", "hybrid", "goldilocks"):
            self.assertIn(f"{detector}: 1 race", text)
        for detector in ("fast", "racetrack", "lockset", "null"):  # what these say depends on who came first
            self.assertIn(f"{detector}: ", text)

    def forever(self, *more):
        program = subprocess.Popen([str(REDFLAG), "record", "-o", str(self.trace), *more, str(self.here / "forever")],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait, SECONDS)
        self.addCleanup(self.kill_all, program.pid)
        self.assertEqual(program.stdout.readline(), "raced\n")
        return program

    @staticmethod
    def kill_all(group):
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def kill_children(self, program):
        children = run("pgrep", "-P", program.pid).stdout.split()
        self.assertTrue(children)
        for child in children:
            os.kill(int(child), signal.SIGKILL)

    def test_killed(self):
        program = self.forever()
        time.sleep(0.3)
        self.kill_children(program)
        self.assertEqual(program.wait(SECONDS), 128 + signal.SIGKILL)
        self.assertIn("DATA RACE on shared", self.races(self.trace))  # at once: `redflag record` waited for the file

    def test_killed_together_with_its_helper(self):
        program = self.forever()
        time.sleep(2.5)  # longer than from one checkpoint to the next
        busy = run(REDFLAG, "analyze", self.trace)
        self.assertEqual(busy.returncode, 2, busy.stdout)
        self.assertIn("still being recorded", busy.stdout)
        helper = run("pgrep", "-f", f"[c]ollect.*{self.trace}").stdout.split()
        self.assertEqual(len(helper), 1)
        os.kill(int(helper[0]), signal.SIGKILL)
        self.kill_children(program)
        program.wait(SECONDS)
        broken = run(REDFLAG, "analyze", self.trace)
        self.assertEqual(broken.returncode, 2, broken.stdout)
        self.assertIn("--partial", broken.stdout)
        self.assertIn("DATA RACE on shared", self.races(self.trace, "--partial"))

    def test_program_goes_on_if_its_helper_is_killed(self):
        program = self.forever()
        helper = run("pgrep", "-f", f"[c]ollect.*{self.trace}").stdout.split()
        os.kill(int(helper[0]), signal.SIGKILL)
        time.sleep(1)
        self.assertIsNone(program.poll())
        self.kill_children(program)
        program.wait(SECONDS)

    def test_crashed(self):
        done = run(REDFLAG, "record", "-o", self.trace, self.here / "crash")
        self.assertIn(done.returncode, (128 + signal.SIGILL, 128 + signal.SIGTRAP), done.stdout)
        self.assertIn("DATA RACE on shared", self.races(self.trace))

    def test_children_of_a_fork(self):
        done = run(REDFLAG, "record", "-o", self.trace, self.here / "fork")
        self.assertEqual(done.returncode, 0, done.stdout)
        text = self.races(self.trace)
        self.assertIn("DATA RACE on parents", text)
        self.assertNotIn("DATA RACE on childs", text)
        others = list(self.here.glob(self.trace.name + ".*"))
        self.assertEqual(len(others), 1)
        self.assertIn("DATA RACE on childs", self.races(others[0]))

    def test_many_threads(self):
        done = run(REDFLAG, "run", "--record", self.trace, self.here / "many")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.races(self.trace, "--verify", status=0)

    def test_places_that_cannot_be_written(self):
        for place in (self.here, self.here / "missing" / "x.rft", "/dev/full"):
            done = run(REDFLAG, "record", "-o", place, self.here / "race")
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("cannot record to", done.stdout)
            self.assertNotIn("done", done.stdout)

    def test_uninstrumented_programs_leave_nothing(self):
        done = run(REDFLAG, "record", "-o", self.trace, "/bin/sh", "-c", f"{self.here / 'race'}; /bin/true")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("DATA RACE on shared", self.races(self.trace))
        self.assertEqual(list(self.here.glob(self.trace.name + ".*")), [])


if __name__ == "__main__":
    unittest.main()
