#!/usr/bin/env python3
"""redflag doctor: on this machine, and on machines that lack something.

  doctor_test.py REDFLAG
"""

import json
import os
import pathlib
import pty
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

REDFLAG = None
SECONDS = 280
LINE = re.compile(r"^(ok|warn|no)  +([^:]+): (.+)$")
VARIABLES = ("CC", "CXX", "REDFLAG_CC", "REDFLAG_CXX", "NO_COLOR", "REDFLAG_OPTIONS")


class Doctor(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for tool in ("as", "ld"):
            (self.bin / tool).symlink_to(shutil.which(tool))

    def compiler(self, name, script='exec {} "$@"'):
        """A compiler of this machine, the only ones there are for the doctor."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script.format(shutil.which(name))}\n")
        path.chmod(0o755)

    def environment(self, **more):
        return {k: v for k, v in os.environ.items() if k not in VARIABLES} | {"PATH": str(self.bin)} | more

    def doctor(self, *args, redflag=None, limit=None, **env):
        return subprocess.run([redflag or REDFLAG, "doctor", *args], capture_output=True, text=True, timeout=SECONDS,
                              env=self.environment(**env), cwd=self.folder,
                              preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))))

    def findings(self, result):
        """what -> (verdict, detail and advice)"""
        self.assertEqual(result.stderr, "")
        lines, _, conclusion = result.stdout.rpartition("\n\n")
        self.assertRegex(conclusion, r"^Redflag (works|does not work) here\.\n$")
        self.assertEqual("does not" in conclusion, result.returncode != 0)
        found = {}
        for line in lines.splitlines():
            self.assertRegex(line, LINE)
            verdict, what, rest = LINE.match(line).groups()
            self.assertNotIn(what, found)
            if verdict != "ok" and not what.startswith(("g++", "source lines")):
                self.assertIn(" / ", rest, "what to do")
            found[what] = (verdict, rest)
        return found

    def test_a_machine_where_all_is_well(self):
        self.compiler("g++")
        self.compiler("gcc")
        result = self.doctor()
        self.assertEqual(result.returncode, 0, result.stdout)
        found = self.findings(result)
        for what in ("runtime library", "address space", "overcommit", "memfd_create", "architecture", "g++", "gcc", "source lines"):
            self.assertEqual(found[what][0], "ok", result.stdout)
        self.assertIn("address randomization", found)
        self.assertIn("hardware breakpoints", found)
        self.assertIn("clang++-19", found["other compilers"][1])
        self.assertTrue(found["runtime library"][1].endswith("/lib/redflag/hb/libredflag_rt.so"))

    def test_every_compiler_of_this_machine(self):
        found = self.findings(self.doctor(PATH=os.environ["PATH"]))
        for program in ("g++", "clang++", "clang++-19", "gcc", "clang-19"):
            if shutil.which(program):
                self.assertEqual(found[program][0], "ok", found)

    def test_json_says_the_same(self):
        self.compiler("g++")
        result = self.doctor("--json")
        self.assertEqual(result.returncode, 0)
        document = json.loads(result.stdout)
        self.assertIs(document["works"], True)
        checks = {check["check"]: check for check in document["checks"]}
        self.assertEqual(checks["g++"]["verdict"], "ok")
        self.assertEqual(checks["gcc"]["verdict"], "no")
        self.assertIn("REDFLAG_CC", checks["gcc"]["advice"])
        self.assertEqual({what: verdict for what, (verdict, _) in self.findings(self.doctor()).items()},
                         {what: check["verdict"] for what, check in checks.items()})

    def test_no_compiler(self):
        result = self.doctor()
        self.assertEqual(result.returncode, 1)
        found = self.findings(result)
        self.assertEqual(found["g++"][0], "no")
        self.assertIn("not found", found["g++"][1])
        self.assertEqual(found["source lines"][0], "no")

    def test_the_compiler_that_would_be_used_decides(self):
        self.compiler("g++")
        result = self.doctor(CXX="/nowhere/c++")
        self.assertEqual(result.returncode, 1)
        found = self.findings(result)
        self.assertEqual(found["/nowhere/c++ ($CXX)"][0], "no")
        self.assertEqual(found["g++"][0], "ok")
        self.assertEqual(self.doctor(CXX="redflag c++").returncode, 0)

    def test_a_compiler_that_does_not_compile(self):
        self.compiler("g++", 'case $1 in --version) echo "g++ 12";; *) echo "x.cc: error: out of ideas" >&2; exit 1;; esac')
        result = self.doctor()
        self.assertEqual(result.returncode, 1)
        self.assertIn("error: out of ideas", self.findings(result)["g++"][1])

    def test_a_compiler_that_does_not_instrument(self):
        self.compiler("g++", 'for a; do shift; [ "$a" = -fsanitize=thread ] || set -- "$@" "$a"; done; exec {} "$@"')
        result = self.doctor()
        self.assertEqual(result.returncode, 1)
        verdict, text = self.findings(result)["g++"]
        self.assertEqual(verdict, "no")
        self.assertIn("race was not reported", text)

    def test_a_compiler_that_strips(self):
        self.compiler("g++", 'case "$*" in --version) exec {0} "$@";; *) exec {0} "$@" -s;; esac')
        result = self.doctor()
        self.assertEqual(result.returncode, 0, result.stdout)
        found = self.findings(result)
        self.assertEqual(found["g++"][0], "warn")
        self.assertEqual(found["source lines"][0], "warn")

    def test_a_limit_on_address_space(self):
        self.compiler("g++")
        result = self.doctor(limit=8 << 30)
        self.assertEqual(result.returncode, 1)
        found = self.findings(result)
        self.assertEqual(found["address space"][0], "no")
        self.assertIn("8192 MiB", found["address space"][1])
        self.assertEqual(found["g++"][0], "no")
        self.assertIn("45 TiB", found["g++"][1], "what the runtime itself says")

    def test_a_command_without_its_libraries(self):
        self.compiler("g++")
        shutil.copy(REDFLAG, self.bin / "redflag")
        result = self.doctor(redflag=self.bin / "redflag")
        self.assertEqual(result.returncode, 1)
        found = self.findings(result)
        self.assertEqual(found["runtime library"][0], "no")
        self.assertIn(str(self.folder / "lib/redflag"), found["runtime library"][1])

    def test_no_temporary_folder(self):
        self.compiler("g++")
        result = self.doctor(TMPDIR="/nowhere")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.findings(result)["g++"][0], "no")

    def test_options_meant_for_other_programs_do_not_matter(self):
        self.compiler("g++")
        self.assertEqual(self.doctor(REDFLAG_OPTIONS="report_bugs=0:exitcode=0", REDFLAG_JSON="/dev/full").returncode, 0)

    def test_nothing_is_left_behind(self):
        self.compiler("g++")
        temporary = self.folder / "tmp"
        temporary.mkdir()
        self.assertEqual(self.doctor(TMPDIR=str(temporary)).returncode, 0)
        self.assertEqual(list(temporary.iterdir()), [])

    def test_colours_are_for_terminals(self):
        self.assertNotIn("\033", self.doctor().stdout)
        self.assertIn("\033[1;31mno", self.doctor("--color", "always").stdout)
        self.assertIn("\033[32mok", self.on_terminal(TERM="xterm"))
        self.assertNotIn("\033", self.on_terminal(TERM="xterm", NO_COLOR="1"))

    def on_terminal(self, **env):
        leader, follower = pty.openpty()
        process = subprocess.Popen([REDFLAG, "doctor"], stdout=follower, env=self.environment(**env))
        os.close(follower)
        output = b""
        try:
            while chunk := os.read(leader, 4096):
                output += chunk
        except OSError:
            pass  # the other side closed
        os.close(leader)
        self.assertEqual(process.wait(timeout=SECONDS), 1)
        return output.decode()


if __name__ == "__main__":
    REDFLAG = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
