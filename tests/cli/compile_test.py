#!/usr/bin/env python3
"""redflag cc and redflag c++ as build systems and people call them, around every compiler that is here.

  compile_test.py REDFLAG
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

REDFLAG = None
COMPILERS = [name for name in ("gcc", "clang-14", "clang-19") if shutil.which(name)]
RACY = """#include <pthread.h>
int counter;
static void* work(void* unused) { counter++; return unused; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
"""
LIBRARY = """#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int locked, bare;
void with_lock(void) { pthread_mutex_lock(&mutex); locked++; pthread_mutex_unlock(&mutex); }
void without(void) { bare++; }
"""
USER = """#include <pthread.h>
void with_lock(void);
void without(void);
static void* work(void* careless) { if (careless) without(); else with_lock(); return 0; }
int main(int argc, char** argv) {
  pthread_t a, b;
  void* careless = argc > 1 ? argv : 0;
  pthread_create(&a, 0, work, careless);
  pthread_create(&b, 0, work, careless);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
"""


class Compile(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.write("racy.c", RACY)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def call(self, *command, env=None, text=None):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("REDFLAG_") and k not in ("CC", "CXX")}
        return subprocess.run(command, cwd=self.folder, env=environment | (env or {}), input=text, text=True,
                              capture_output=True, timeout=120)

    def cc(self, compiler, *args, text=None, command="cc"):
        return self.call(REDFLAG, command, *args, env={"REDFLAG_CC": compiler}, text=text)

    def build(self, compiler, *args, text=None):
        result = self.cc(compiler, "-g", *args, text=text)
        self.assertEqual(result.returncode, 0, f"{compiler} {args}: {result.stderr}")
        self.assertEqual(result.stderr, "", f"{compiler} {args}")

    def assert_races(self, program="./app", *args, context=""):
        result = self.call(REDFLAG, "run", program, *args)
        self.assertEqual(result.returncode, 66, f"{context}: {result.stderr}")
        self.assertEqual(result.stderr.count("DATA RACE on"), 1, f"{context}: {result.stderr}")
        return result

    def assert_clean(self, program="./app", *args, context=""):
        result = self.call(REDFLAG, "run", program, *args)
        self.assertEqual((result.returncode, result.stderr), (0, ""), context)

    def each(self):
        for compiler in COMPILERS:
            yield compiler
            for leftover in ("app", "app.o"):
                (self.folder / leftover).unlink(missing_ok=True)

    def test_rules_are_one_file_and_the_rest_is_the_program(self):
        """The program and its arguments are not taken for more files of rules; `fun` hides what it names."""
        self.write("library.c", LIBRARY)
        self.write("user.c", USER)
        self.write("rules.txt", "fun:^without$\n")
        self.write("other.txt", "fun:^with_lock$\n")
        self.build("gcc", "-o", "app", "user.c", "library.c")
        for rules, status in (("rules.txt", 0), ("other.txt", 66)):
            result = self.call(REDFLAG, "run", "--suppressions", rules, "./app", "rules.txt")
            self.assertEqual(result.returncode, status, result.stderr)

    def test_ignore_list(self):
        """What it names is not instrumented by clang; gcc instruments it and says so. In C and in C++."""
        names = {"c": ("cc", "CC", COMPILERS, "left_out"), "cc": ("c++", "CXX", [{"gcc": "g++"}.get(c, c.replace("clang", "clang++")) for c in COMPILERS], "ns::Box::left_out")}
        self.write("a.c", "int x;\nvoid left_out(void) { x = 1; }\nvoid kept(void) { x = 2; }\n")
        self.write("a.cc", "int x;\nnamespace ns { struct Box { void left_out(int); void kept(int); }; }\n"
                           "void ns::Box::left_out(int) { x = 1; }\nvoid ns::Box::kept(int) { x = 2; }\n")
        for suffix, (command, variable, compilers, name) in names.items():
            self.write("rules.txt", f"# reviewed\nfun:^{name}$\nfun:any*thing\nrace:other\n")
            for compiler in compilers:
                by_option = self.call(REDFLAG, command, "--ignorelist", "rules.txt", "-O1", "-S", "-o", "-", f"a.{suffix}", env={f"REDFLAG_{variable}": compiler})
                by_variable = self.call(REDFLAG, command, "-O1", "-S", "-o", "-", f"a.{suffix}",
                                        env={f"REDFLAG_{variable}": compiler, "REDFLAG_IGNORELIST": "rules.txt"})
                self.assertEqual((by_option.returncode, by_option.stdout), (0, by_variable.stdout), compiler)
                writes = sum("__tsan_write4" in line and ".addrsig" not in line for line in by_option.stdout.splitlines())
                if compiler.startswith("clang"):
                    self.assertEqual(writes, 1, compiler)
                    self.assertIn("rules.txt: 'fun:any*thing' is not the name of a function", by_option.stderr)
                else:
                    self.assertEqual(writes, 2, compiler)
                    self.assertIn("only clang can leave code out", by_option.stderr)
        missing = self.call(REDFLAG, "cc", "--ignorelist", "nowhere.txt", "-c", "a.c")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("nowhere.txt", missing.stderr)

    def test_questions_are_answered_by_the_compiler(self):
        for compiler in self.each():
            for question in ("--version", "-dumpmachine", "-print-search-dirs"):
                self.assertEqual(self.cc(compiler, question).stdout, self.call(compiler, question).stdout)

    def test_help_is_of_both(self):
        for compiler in self.each():
            result = self.cc(compiler, "--help")
            self.assertEqual(result.returncode, 0)
            theirs = self.call(compiler, "--help").stdout
            self.assertTrue(result.stdout.startswith(theirs))
            self.assertIn("redflag cc -O1 -g", result.stdout[len(theirs):])

    def test_no_arguments_is_an_error_that_helps(self):
        result = self.call(REDFLAG, "cc")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("REDFLAG_CC", result.stderr)

    def test_a_compiler_that_is_not_there(self):
        result = self.cc("/nowhere/cc", "racy.c")
        self.assertEqual(result.returncode, 127)
        self.assertIn("/nowhere/cc", result.stderr)

    def test_one_step(self):
        for compiler in self.each():
            self.build(compiler, "-Werror", "racy.c", "-o", "app")
            self.assert_races()

    def test_objects_are_linked_later(self):
        for compiler in self.each():
            self.build(compiler, "-Werror", "-c", "racy.c", "-o", "app.o")
            self.build(compiler, "-Werror", "app.o", "-o", "app")
            self.assert_races()

    def test_an_archive_alone(self):
        for compiler in self.each():
            self.build(compiler, "-c", "racy.c", "-o", "app.o")
            self.assertEqual(self.call("ar", "rc", "libapp.a", "app.o").returncode, 0)
            self.build(compiler, "-L.", "-lapp", "-o", "app")
            self.assert_races()
            (self.folder / "libapp.a").unlink()

    def test_assembly(self):
        for compiler in self.each():
            self.build(compiler, "-S", "racy.c", "-o", "racy.s")
            shutil.copy(self.folder / "racy.s", self.folder / "racy.S")
            for source in ("racy.s", "racy.S"):
                self.build(compiler, "-Werror", source, "-o", "app")
                self.assert_races()

    def test_standard_input(self):
        for compiler in self.each():
            self.build(compiler, "-x", "c", "-", "-o", "app", text=RACY)
            self.assert_races()

    def test_a_language_and_objects_behind_it(self):
        self.write("racy.txt", RACY)
        self.write("more.c", "int more;\n")
        for compiler in self.each():
            self.build(compiler, "-c", "more.c", "-o", "app.o")
            self.build(compiler, "-Werror", "-x", "c", "racy.txt", "-x", "none", "app.o", "-o", "app")
            self.assert_races()

    def test_response_files(self):
        for compiler in self.each():
            self.write("one.rsp", "-Werror racy.c -o app\n")
            self.build(compiler, "@one.rsp")
            self.assert_races()
            self.write("compile.rsp", "-Werror -c\n'racy.c' -o app.o")
            self.write("link.rsp", "-Werror -fsanitize=thread app.o -o app")
            self.build(compiler, "@compile.rsp")
            self.build(compiler, "@link.rsp")
            self.assert_races()

    def test_a_precompiled_header(self):
        self.write("all.h", "#include <pthread.h>\n")
        for compiler in self.each():
            output = "all.h.gch" if compiler.startswith("gcc") else "all.h.pch"
            self.build(compiler, "-Werror", "-x", "c-header", "all.h", "-o", output)
            self.build(compiler, "-Werror", "-Winvalid-pch", "-include", "all.h", "racy.c", "-o", "app")
            self.assert_races()
            (self.folder / output).unlink()

    def test_a_shared_library_has_nothing_undefined(self):
        self.write("library.c", LIBRARY)
        self.write("user.c", USER)
        for compiler in self.each():
            self.build(compiler, "-shared", "-fPIC", "-Wl,-z,defs", "library.c", "-o", "library.so")
            self.build(compiler, "user.c", "./library.so", "-o", "app")
            self.assert_clean()
            self.assert_races("./app", "careless")

    def test_a_shared_library_in_a_program_that_is_not_ours(self):
        self.write("library.c", LIBRARY)
        self.write("user.c", USER)
        for compiler in self.each():
            self.build(compiler, "-shared", "-fPIC", "library.c", "-o", "library.so")
            self.assertEqual(self.call("gcc", "user.c", "./library.so", "-o", "app").returncode, 0)
            self.assert_clean()
            self.assert_races("./app", "careless")

    def test_thread_sanitizers_own_options_are_ours(self):
        for compiler in self.each():
            for options in (["-fsanitize=thread"], ["-fsanitize=thread", "-static-libtsan"], ["-fsanitize=undefined,thread"]):
                if compiler != "gcc" and "-static-libtsan" in options:
                    continue
                self.build(compiler, *options, "racy.c", "-o", "app")
                self.assertNotIn("ThreadSanitizer", self.assert_races(context=options).stderr)

    def test_a_file_left_out(self):
        self.write("user.c", USER)
        self.write("library.c", LIBRARY)
        for compiler in self.each():
            self.build(compiler, "-c", "user.c", "-o", "app.o")
            self.build(compiler, "-fno-sanitize=thread", "library.c", "app.o", "-o", "app")
            self.assert_clean("./app", "careless")
            self.build(compiler, "library.c", "app.o", "-o", "app")
            self.assert_races("./app", "careless")

    def test_without_default_libraries(self):
        for compiler in self.each():
            self.build(compiler, "-nodefaultlibs", "racy.c", "-lc", "-o", "app")
            self.assert_races()

    def test_a_static_standard_library_is_not_taken(self):
        self.write("racy.cc", "#include <string>\n#include <thread>\nint counter;\n"
                              "void Work() { try { counter++; throw std::string(99, 'x'); } catch (std::string&) {} }\n"
                              "int main() { std::thread a(Work), b(Work); a.join(); b.join(); }\n")
        for compiler in self.each():
            cxx = {"gcc": "g++"}.get(compiler, compiler.replace("clang", "clang++"))
            result = self.call(REDFLAG, "c++", "-g", "-static-libstdc++", "-static-libgcc", "racy.cc", "-o", "app",
                               env={"REDFLAG_CXX": cxx})
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assert_races()

    def test_as_needed(self):
        for compiler in self.each():
            self.build(compiler, "-Wl,--as-needed", "racy.c", "-o", "app")
            self.assert_races()

    def test_what_cannot_work_is_refused(self):
        for compiler in self.each():
            for option in ("-static", "-fsanitize=address", "-fsanitize=memory", "-fsanitize=leak"):
                result = self.cc(compiler, option, "racy.c", "-o", "app")
                self.assertEqual(result.returncode, 2, option)
                self.assertRegex(result.stderr, rf"^redflag: {option} [^\n]*\n$")
                self.assertFalse((self.folder / "app").exists())

    def test_the_variable_that_names_us_is_not_followed(self):
        script = self.folder / "redflag-cc"
        script.write_text(f'#!/bin/sh\nexec {REDFLAG} cc "$@"\n')
        script.chmod(0o755)
        for value in ("redflag cc", f"{REDFLAG} cc", str(script)):
            result = self.call(REDFLAG, "cc", "--version", env={"CC": value})
            self.assertTrue(result.stdout.startswith("gcc"), f"{value}: {result.stdout}{result.stderr}")
        inside = self.folder / "redflag" / "my-cc"
        inside.parent.mkdir()
        inside.write_text("#!/bin/sh\necho mine\n")
        inside.chmod(0o755)
        self.assertEqual(self.call(REDFLAG, "cc", "--version", env={"CC": str(inside)}).stdout, "mine\n")

    def test_a_launcher_before_the_compiler(self):
        if not shutil.which("ccache"):
            self.skipTest("no ccache")
        environment = {"REDFLAG_CC": "ccache gcc", "CCACHE_DIR": str(self.folder / "cache")}
        for _ in range(2):
            self.assertEqual(self.call(REDFLAG, "cc", "-g", "-c", "racy.c", "-o", "app.o", env=environment).returncode, 0)
        self.build("gcc", "app.o", "-o", "app")
        self.assert_races()


if __name__ == "__main__":
    REDFLAG = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
