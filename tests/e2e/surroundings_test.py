#!/usr/bin/env python3
"""The runtime in surroundings that programs meet: address layouts, limits, small stacks, many threads, memory, a debugger.

  surroundings_test.py REDFLAG [unittest options]
"""

import json
import os
import pathlib
import platform
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

REDFLAG = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path("build/release/bin/redflag").resolve()
GDB_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "redflag-gdb.py"

RACE = """
#include <thread>
#include <cstdio>
int shared;
int main() {
  std::thread a([] { shared = 1; });
  std::thread b([] { shared = 2; });
  a.join();
  b.join();
  std::puts("done");
}
"""

# A race that is expected and does not come; the annotations of a program that is not checked are nothing.
EXPECTING = """
#include <redflag/annotations.h>
#include <cstdio>
int never;
int main(int argc, char**) {
  ANNOTATE_EXPECT_RACE(&never, "in vain");
  if (argc > 1) ANNOTATE_FLUSH_EXPECTED_RACES();
  never = 1;
  std::puts("done");
}
"""

# Sixteen readers, 400 calls deep, and as deep each lock that they hold: more than a message can say.
DEEP_LOCKS = """
#include <pthread.h>
#include <atomic>
#include <cstdio>
#include <thread>
constexpr int kLocks = 12, kReaders = 16;
pthread_rwlock_t locks[kLocks];
int shared;
volatile int use;
std::atomic<int> done;
__attribute__((noinline)) int Down(int depth) {
  if (depth < kLocks) pthread_rwlock_rdlock(&locks[depth]);
  const int below = depth == 0 ? shared : Down(depth - 1);
  use = below;
  return below;
}
int main() {
  for (pthread_rwlock_t& lock : locks) pthread_rwlock_init(&lock, nullptr);
  std::thread readers[kReaders];
  for (std::thread& reader : readers) {
    reader = std::thread([] {
      Down(400);
      for (pthread_rwlock_t& lock : locks) pthread_rwlock_unlock(&lock);
      done.fetch_add(1, std::memory_order_relaxed);
    });
  }
  while (done.load(std::memory_order_relaxed) < kReaders) std::this_thread::yield();
  shared = 1;
  for (std::thread& reader : readers) reader.join();
  std::puts("done");
}
"""

SMALL_STACKS = """
#include <pthread.h>
#include <cstdio>
int shared;
void* Touch(void*) { shared = 1; return nullptr; }
int main() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, 65536) != 0) return 3;
  pthread_t threads[2];
  for (pthread_t& t : threads) if (pthread_create(&t, &attributes, Touch, nullptr) != 0) return 4;
  for (pthread_t& t : threads) pthread_join(t, nullptr);
  std::puts("done");
}
"""

# 500 threads that live at one time; two of them, far apart, race.
MANY_AT_ONCE = """
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>
std::mutex mutex;
std::condition_variable all_here;
int here, shared;
int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 500; ++i) {
    threads.emplace_back([i] {
      {
        std::unique_lock lock(mutex);
        if (++here == 500) all_here.notify_all();
        all_here.wait(lock, [] { return here == 500; });
      }
      if (i == 7 || i == 400) shared = i;
    });
  }
  for (std::thread& t : threads) t.join();
  std::puts("done");
}
"""

# N threads one after the other, which all read what main wrote; then two that race. Prints its own peak of memory before and after most of them.
MANY_IN_A_ROW = """
#include <sys/resource.h>
#include <cstdio>
#include <thread>
int shared, counted;
long table[16384];
volatile long sum;
void Run() {
  ++counted;
  long all = 0;
  for (long word : table) all += word;
  sum = all;
}
long Peak() { rusage used; getrusage(RUSAGE_SELF, &used); return used.ru_maxrss; }
int main() {
  for (long& word : table) word = 1;
  for (int i = 0; i < 500; ++i) std::thread(Run).join();
  const long before = Peak();
  for (int i = 0; i < 9500; ++i) std::thread(Run).join();
  std::printf("grown %ld KB\\n", Peak() - before);
  std::thread a([] { shared = 1; });
  std::thread b([] { shared = 2; });
  a.join();
  b.join();
}
"""

# Detached and never joined threads: each is ordered with nobody, so that the last write of main races.
NOT_JOINED = """
#include <semaphore.h>
#include <unistd.h>
#include <cstdio>
#include <thread>
int shared[3];
int main() {
  for (int i = 0; i < 2000; ++i) std::thread([] { static thread_local int mine; mine = 1; }).detach();
  std::thread([] { shared[0] = 1; }).detach();
  usleep(200000);
  for (int i = 0; i < 100; ++i) std::thread([] {}).join();
  shared[0] = 2;
  std::puts("done");
}
"""

MEMORY = """
#include <sys/mman.h>
#include <cstdio>
#include <cstdlib>
long Resident() {
  long size = 0, resident = 0;
  std::FILE* statm = std::fopen("/proc/self/statm", "r");
  if (std::fscanf(statm, "%ld %ld", &size, &resident) != 2) return -1;
  std::fclose(statm);
  return resident * 4 / 1024;
}
void Fill(void* p, size_t bytes) { for (size_t i = 0; i < bytes / 8; ++i) static_cast<volatile long*>(p)[i] = 1; }
int main() {
  constexpr size_t kBytes = 64 << 20;
  const long before = Resident();
  for (int i = 0; i < 3; ++i) {
    void* block = std::malloc(kBytes);
    Fill(block, kBytes);
    const long full = Resident();
    std::free(block);
    std::printf("malloc %ld %ld\\n", full - before, Resident() - before);
    void* pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    Fill(pages, kBytes);
    const long mapped = Resident();
    munmap(pages, kBytes);
    std::printf("mmap %ld %ld\\n", mapped - before, Resident() - before);
  }
}
"""

LIMITED = """
#include <sys/resource.h>
#include <cstdio>
#include <thread>
#include <vector>
int shared;
int main() {
  std::vector<long> many(12 << 20);  // 96 MB
  for (int round = 0; round < 2; ++round) for (long& x : many) x = round;
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  std::printf("peak %ld MB\\n", used.ru_maxrss / 1024);
  std::thread a([] { shared = 1; });
  std::thread b([] { shared = 2; });
  a.join();
  b.join();
}
"""

# Two counters, one of them without its lock.
LIBRARY = """
#include <mutex>
#include <thread>
static std::mutex mutex;
static int guarded, shared;
static void Add() {
  for (int i = 0; i < 1000; ++i) {
    const std::lock_guard lock(mutex);
    ++guarded;
  }
  ++shared;
}
void Count() {
  std::thread other(Add);
  Add();
  other.join();
}
"""


class Surroundings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls._folder.name)
        cls._built: dict[tuple, pathlib.Path] = {}

    @classmethod
    def tearDownClass(cls):
        cls._folder.cleanup()

    def build(self, source: str, *flags: str, compiler: str = "g++-12") -> pathlib.Path:
        key = (source, flags, compiler)
        if key not in self._built:
            program = self.folder / f"program{len(self._built)}"
            program.with_suffix(".cc").write_text(source)
            subprocess.run([REDFLAG, "c++", "-std=c++17", "-O1", "-g", "-pthread", *flags, "-o", program,
                            program.with_suffix(".cc")], check=True, timeout=120, env={**os.environ, "REDFLAG_CXX": compiler})
            self._built[key] = program
        return self._built[key]

    def run_it(self, *command, options: str = "", limit: int | None = None, run: bool = True):
        def before():
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        words = [*([REDFLAG, "run"] if run else []), *command]
        return subprocess.run(words, capture_output=True, text=True, timeout=240, preexec_fn=before,
                              env={**os.environ, "REDFLAG_OPTIONS": options})

    def check_one_race(self, result, status: int = 66):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(len(re.findall("^DATA RACE on", result.stderr, re.MULTILINE)), 1, result.stderr)
        return result

    def test_address_layouts(self):
        for flags in ((), ("-no-pie", "-fno-pie"), ("-static-libstdc++",)):
            program = self.build(RACE, *flags)
            for prefix in ((), ("setarch", platform.machine(), "-R")):
                with self.subTest(flags=flags, prefix=prefix):
                    for _ in range(3):
                        self.check_one_race(self.run_it(*prefix, program))

    def test_alone(self):
        self.check_one_race(self.run_it(self.build(RACE), run=False))

    def test_under_a_debugger(self):
        result = self.run_it("gdb", "-q", "-batch", "-ex", "run", self.build(RACE), run=False)
        self.assertIn("exited with code 0102", result.stdout)
        self.assertIn("DATA RACE on shared", result.stdout + result.stderr)

    def test_debugger_sees_both_sides(self):
        """The program stops where the race was completed, goes on when it is told to, and the race is there to be looked at."""
        result = self.run_it("gdb", "-q", "-batch", "-x", GDB_SCRIPT, "-ex", "run", "-ex", "redflag race", "-ex", "continue",
                             self.build(RACE), run=False, options="on_race=stop")
        self.assertIn("SIGTRAP", result.stdout)
        shown = result.stdout[result.stdout.index("SIGTRAP"):]
        self.assertRegex(shown, r"DATA RACE on shared \(0x")
        self.assertRegex(shown, r"  write of 4 bytes at 0x\w+ by thread T\d \(gdb's thread \d\)")
        self.assertRegex(shown, r"  earlier write of 4 bytes at 0x\w+ by thread T\d")
        self.assertEqual(len(re.findall(r"^    #0 .*program\d*\.cc:[67]$", shown, re.MULTILINE)), 2, shown)
        self.assertIn("exited with code 0102", shown)

    def test_nothing_to_show_in_a_debugger(self):
        result = self.run_it("gdb", "-q", "-batch", "-x", GDB_SCRIPT, "-ex", "start", "-ex", "redflag race", self.build(RACE), run=False)
        self.assertIn("No race so far", result.stdout)

    def test_stops_without_a_debugger(self):
        """As if by the keyboard: it says how to go on, and does when it is continued."""
        program = subprocess.Popen([self.build(RACE)], env=os.environ | {"REDFLAG_OPTIONS": "on_race=stop"}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pid, status = os.waitpid(program.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status), status)
        os.kill(pid, signal.SIGCONT)
        out, errors = program.communicate(timeout=60)
        self.assertIn("done", out)
        self.assertIn("DATA RACE on shared", errors)
        self.assertIn("kill -CONT", errors)

    def test_aborts(self):
        for action in ("abort", "core"):
            with self.subTest(action=action):
                result = self.run_it("env", "-C", self.folder, self.build(RACE), run=False, options=f"on_race={action}")
                self.assertEqual(result.returncode, -signal.SIGABRT)
                self.assertIn("DATA RACE on shared", result.stderr)
                self.assertNotIn("done", result.stdout)
        cores = list(self.folder.glob("core*"))
        if not cores:  # the system may send them elsewhere, or nowhere
            pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text()
            self.assertTrue(pattern.startswith(("|", "/")) or resource.getrlimit(resource.RLIMIT_CORE)[1] == 0, pattern)
            return
        self.assertLess(cores[0].stat().st_size, 1 << 30, "the tables of the runtime are in it")
        seen = self.run_it("gdb", "-q", "-batch", "-x", GDB_SCRIPT, "-ex", "redflag race", self.build(RACE), cores[0], run=False)
        self.assertRegex(seen.stdout, r"DATA RACE on shared \(0x")

    def test_ends(self):
        ended = self.run_it("--on-race", "end", self.build(RACE))
        self.assertNotIn("done", self.check_one_race(ended).stdout)

    def test_does_not_stop_at_what_is_suppressed(self):
        rules = self.folder / "rules.txt"
        rules.write_text("race:shared\n")
        result = self.run_it(self.build(RACE), run=False, options=f"on_race=abort:suppressions={rules}")
        self.assertEqual((result.returncode, result.stdout.strip()), (0, "done"), result.stderr)

    def test_more_than_a_message_can_say(self):
        """The report comes all the same, and says what is missing. (Two, as `use` races too.)"""
        result = self.run_it(self.build(DEEP_LOCKS))
        self.assertEqual(result.returncode, 66, result.stderr)
        self.assertNotIn("makes no sense", result.stderr)
        report = result.stderr[result.stderr.index("DATA RACE on shared"):]
        self.assertIn("(outer frames are missing)", report)
        self.assertIn("other locks held: not known", report)

    def test_limit_of_address_space(self):
        result = self.run_it(self.build(RACE), limit=4 << 30)
        self.assertEqual(result.returncode, 0)
        self.assertIn("done", result.stdout)
        self.assertIn("ulimit -v", result.stderr)
        self.assertIn("ran unchecked", result.stderr)

    def test_only_a_library_is_instrumented(self):
        """Its locks would go unseen, since libc comes first: it says so, and reports nothing. With `redflag run` all is well."""
        library, program = self.folder / "libcounter.so", self.folder / "plain"
        library.with_suffix(".cc").write_text(LIBRARY)
        program.with_suffix(".cc").write_text("void Count(); int main() { Count(); }")
        subprocess.run([REDFLAG, "c++", "-O1", "-g", "-shared", "-fPIC", "-o", library, library.with_suffix(".cc")], check=True,
                       timeout=120)
        subprocess.run(["g++-12", "-o", program, program.with_suffix(".cc"), library, f"-Wl,-rpath,{self.folder}"], check=True,
                       timeout=120)
        alone = self.run_it(program, run=False)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertIn("start it with `redflag run`", alone.stderr)
        self.assertNotIn("DATA RACE", alone.stderr)
        self.check_one_race(self.run_it(program))

    def test_small_stacks(self):
        self.check_one_race(self.run_it(self.build(SMALL_STACKS)))

    def test_500_threads_at_once(self):
        self.check_one_race(self.run_it(self.build(MANY_AT_ONCE)))

    def test_10000_threads_in_a_row_cost_what_few_do(self):
        result = self.check_one_race(self.run_it(self.build(MANY_IN_A_ROW)))
        self.assertLess(int(re.search(r"grown (-?\d+) KB", result.stdout)[1]), 2048)

    def test_threads_that_nobody_joins(self):
        self.check_one_race(self.run_it(self.build(NOT_JOINED)))

    def test_memory_goes_back(self):
        result = self.run_it(self.build(MEMORY))
        self.assertEqual(result.returncode, 0, result.stderr)
        figures = re.findall(r"(malloc|mmap) (\d+) (-?\d+)", result.stdout)
        self.assertEqual(len(figures), 6)
        for what, full, left in figures:
            self.assertGreater(int(full), 150, what)  # the program's 64 MB and 128 of cells
            self.assertLess(int(left), 16, what)

    def test_limit_of_memory(self):
        program = self.build(LIMITED)
        peak = {}
        for limit in (0, 200):
            result = self.check_one_race(self.run_it(program, options=f"memory_limit_mb={limit}"))
            peak[limit] = int(re.search(r"peak (\d+) MB", result.stdout)[1])
            self.assertEqual("memory_limit_mb" in result.stderr, limit != 0, result.stderr)
        self.assertGreater(peak[0], 270)
        self.assertLess(peak[200], 230)

    def test_a_race_that_is_expected_and_does_not_come(self):
        include = pathlib.Path(__file__).resolve().parents[2] / "include"
        program = self.build(EXPECTING, f"-I{include}")
        for arguments in ((), ("flush",)):
            for run in (True, False):
                result = self.run_it(program, *arguments, run=run)
                self.assertEqual(result.returncode, 66, result.stderr)
                self.assertRegex(result.stderr, r"expected and not found: in vain \(.*:\d+\)")
        plain = self.folder / "plain"
        subprocess.run(["g++-12", f"-I{include}", "-Wall", "-Wextra", "-Werror", "-o", plain, program.with_suffix(".cc")],
                       check=True, timeout=120)
        self.assertEqual(subprocess.run([plain], capture_output=True, text=True, timeout=60).stderr, "")

    def test_options(self):
        program = self.build(RACE)
        self.assertNotIn("done", self.check_one_race(self.run_it(program, options="halt_on_error=1")).stdout)
        self.assertIn("done", self.check_one_race(self.run_it(program, "--", options="exitcode=5"), 66).stdout)
        self.check_one_race(self.run_it(program, options="exitcode=5", run=False), 5)
        self.assertEqual(self.run_it(program, options="report_bugs=0").returncode, 0)
        self.assertRegex(self.run_it(program, options="print_stats=1").stderr, r"1 races reported")
        self.assertRegex(self.run_it(program, options="halt_on_eror=1").stderr, "halt_on_error")

    def test_suppressions(self):
        program = self.build(RACE)
        good, other = self.folder / "good.txt", self.folder / "other.txt"
        good.write_text("variable:^shared$\n")
        other.write_text("race:nowhere\nvariable:shared until=2001-01-01\ndeadlock:m\n")
        silent = self.run_it("--suppressions", other, "--suppressions", good, "--", program, options="print_suppressions=1")
        self.assertEqual(silent.returncode, 0, silent.stderr)
        for words in ("has expired", "nothing matched by deadlock:m", "1 race matched by variable:.shared", "nothing matched by race:nowhere"):
            self.assertRegex(silent.stderr, words)
        self.check_one_race(self.run_it("--suppressions", other, "--", program))
        self.assertEqual(self.run_it(program, options=f"suppressions={other}:suppressions={good}").returncode, 0)
        self.assertEqual(self.run_it("--suppressions", self.folder / "none", "--", program).returncode, 2)

    def test_a_race_is_suppressed_by_its_fingerprint(self):
        program = self.build(RACE)
        reports, rules = self.folder / "races.json", self.folder / "rules.txt"
        self.check_one_race(self.run_it("--json", reports, "--", program))
        fingerprint = json.loads(reports.read_text().splitlines()[0])["fingerprint"]
        subprocess.run([REDFLAG, "suppress", fingerprint[:6], "--in", reports, "--file", rules], check=True, timeout=60)
        self.assertRegex(rules.read_text(), r"# shared: write in main::.*, write in main::.*\nfingerprint:" + fingerprint)
        self.assertEqual(self.run_it("--suppressions", rules, "--", program).returncode, 0)


if __name__ == "__main__":
    unittest.main()
