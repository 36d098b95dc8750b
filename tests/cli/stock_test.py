#!/usr/bin/env python3
"""Programs that a compiler has linked with its own runtime of race detection, under `redflag run`.

  stock_test.py REDFLAG
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

REDFLAG = None
ARCHITECTURE = platform.machine()
NAMES = ("libtsan.so.2", "libtsan.so.0", f"libclang_rt.tsan-{ARCHITECTURE}.so", "libclang_rt.tsan.so")
CLANGS = [name for name in ("clang-14", "clang-19") if shutil.which(name)]
RACY = """#include <pthread.h>
#include <stdio.h>
int counter;
static void* work(void* unused) { counter++; return unused; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  puts("done");
  return 0;
}
"""
PLUGIN = """int counter;
void touch(void) { counter++; }
"""
HOST = """#include <dlfcn.h>
#include <pthread.h>
static void* work(void* touch) { ((void (*)(void))touch)(); return 0; }
int main(int argc, char** argv) {
  void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
  void* touch = plugin ? dlsym(plugin, "touch") : 0;
  pthread_t a, b;
  if (touch == 0) return 3;
  pthread_create(&a, 0, work, touch);
  pthread_create(&b, 0, work, touch);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
"""


class Stock(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.write("racy.c", RACY)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def call(self, *command, env=None):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("REDFLAG_")} | (env or {})
        return subprocess.run([str(word) for word in command], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120,
                              check=False)

    def build(self, *command):
        result = self.call(*command)
        self.assertEqual(result.returncode, 0, result.stderr)

    def assert_race(self, *command):
        result = self.call(REDFLAG, "run", *command)
        self.assertEqual(result.returncode, 66, result.stderr)
        self.assertIn("DATA RACE on counter", result.stderr)
        self.assertNotIn("ThreadSanitizer", result.stderr)

    def test_gcc(self):
        self.build("gcc", "-g", "-fsanitize=thread", "racy.c", "-o", "app")
        self.assert_race("./app")

    def test_other_detectors_take_the_place_too(self):
        self.build("gcc", "-g", "-fsanitize=thread", "racy.c", "-o", "app")
        for detector in ("hybrid", "goldilocks"):
            self.assert_race("-d", detector, "./app")

    def test_a_run_path_to_the_compilers_own_does_not_count(self):
        own = subprocess.run(["gcc", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True).stdout.strip()
        folder = pathlib.Path(own).resolve().parent
        for option in ("--enable-new-dtags", "--disable-new-dtags"):
            self.build("gcc", "-g", "-fsanitize=thread", "racy.c", f"-Wl,-rpath,{folder},{option}", "-o", "app")
            self.assert_race("./app")

    def test_clang_with_a_shared_runtime(self):
        for clang in CLANGS:
            self.build(clang, "-g", "-fsanitize=thread", "-shared-libsan", "racy.c", "-o", "app")
            self.assert_race("./app")

    def test_every_name_that_compilers_give_it(self):
        """Also those of compilers that are not here: the library that is linked is not the one that is run."""
        self.build("gcc", "-g", "-fsanitize=thread", "-c", "racy.c", "-o", "racy.o")
        needed = re.findall(r"\bU (__tsan_\w+)", self.call("nm", "racy.o").stdout)
        self.write("functions.c", "".join(f"void {function}(void) {{}}\n" for function in needed))
        for name in NAMES:
            self.build("gcc", "-shared", "-fPIC", "functions.c", f"-Wl,-soname,{name}", "-o", name)
            self.build("gcc", "racy.o", f"./{name}", "-o", "app")
            (self.folder / name).unlink()
            self.assert_race("./app")

    def test_a_process_that_is_started_by_another_program(self):
        self.build("gcc", "-g", "-fsanitize=thread", "racy.c", "-o", "app")
        self.assert_race("sh", "-c", "./app; true")

    def test_a_library_in_a_program_that_is_not_instrumented(self):
        self.write("plugin.c", PLUGIN)
        self.write("host.c", HOST)
        self.build("gcc", "-g", "-fsanitize=thread", "-shared", "-fPIC", "plugin.c", "-o", "plugin.so")
        self.build("gcc", "host.c", "-o", "host")
        self.assert_race("./host", "./plugin.so")

    def test_what_has_it_linked_statically_is_refused(self):
        builds = [["gcc", "-static-libtsan"], *([clang] for clang in CLANGS)]
        for build in builds:
            self.build(*build, "-g", "-fsanitize=thread", "racy.c", "-o", "app")
            for program in ("./app", str(self.folder / "app")):
                result = self.call(REDFLAG, "run", program)
                self.assertEqual((result.returncode, result.stdout), (2, ""), build)
                self.assertRegex(result.stderr, r"^redflag run: \S+ has ThreadSanitizer linked into it[^\n]*`redflag c\+\+`[^\n]*-shared-libsan\n$")

    def test_where_that_shows_only_in_the_process_it_says_so(self):
        for build in [["gcc", "-static-libtsan"], *([clang] for clang in CLANGS)]:
            self.build(*build, "-g", "-fsanitize=thread", "racy.c", "-o", "app")
            # Its own report would make the status another.
            result = self.call(REDFLAG, "run", "setarch", ARCHITECTURE, "-R", "./app", env={"TSAN_OPTIONS": "report_bugs=0"})
            self.assertEqual((result.returncode, result.stdout), (0, "done\n"), result.stderr)
            self.assertIn("Redflag is switched off in this process: it has a pthread_mutex_lock of its own", result.stderr)


if __name__ == "__main__":
    REDFLAG = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
