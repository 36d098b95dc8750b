#!/usr/bin/env python3
"""Reports as users get them: `redflag report`, the forms of `redflag run`, and what other programs make of them.

  report_test.py REDFLAG SOURCE_ROOT CACHE

SARIF is held against its schema, which comes from a package of the npm registry, by name, version and checksum, and is kept in CACHE.
"""

import base64
import hashlib
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import urllib.parse

try:
    import jsonschema
except ImportError:  # a Python that is not Debian's; the package is, and is all Python
    sys.path.append("/usr/lib/python3/dist-packages")
    import jsonschema

REDFLAG = None
ROOT = None
CACHE = None

PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
CHECKSUM = "A1fOhPd6Ic5iDk4F9YPw1qNB4XF+7+IviR7xl8r2F6QzQkx5cpY9LsGk2rExiFIEcBbjpVnSmwWGBukASkiQ9A=="
MEMBER = "package/lib/schemas/sarif-2.1.0-rtm.5.json"

RACY = """
#include <pthread.h>
#include <stdio.h>
int shared;

// Both threads.
void* Write(void*) {
  ++shared;  // not under a lock
  return nullptr;
}
int main() {
  pthread_t a, b;
  pthread_create(&a, nullptr, Write, nullptr);
  pthread_create(&b, nullptr, Write, nullptr);
  pthread_join(a, nullptr);
  pthread_join(b, nullptr);
  puts("done");
}
"""
TRACE = "threads a b\na write x @src/a.cc:3\nb write x @src/b.cc:4\nb write y @src/b.cc:5\na read y @src/a.cc:6\n"


def limit_memory():
    """1 GiB of address space: input that needs more than that to be refused is a defect."""
    if "REDFLAG_TEST_UNLIMITED" not in os.environ:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def run(*args, text=None, timeout=120, cwd=None, limited=True, **env):
    unwanted = ("NO_COLOR", "TSAN_OPTIONS", "REDFLAG_OPTIONS", "REDFLAG_OUTPUT", "REDFLAG_JSON", "REDFLAG_TEXT")
    environment = {k: v for k, v in os.environ.items() if k not in unwanted} | env
    return subprocess.run([str(a) for a in args], input=text, capture_output=True, text=True, timeout=timeout, env=environment,
                          cwd=cwd, preexec_fn=limit_memory if limited else None)


def sarif_schema():
    path = CACHE / pathlib.PurePosixPath(MEMBER).name
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, timeout=120, stdout=subprocess.DEVNULL)
            archive, = pathlib.Path(folder).glob("*.tgz")
            if base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != CHECKSUM:
                raise RuntimeError(f"{PACKAGE} is not what it was")
            copy = archive.with_suffix(".json")
            with tarfile.open(archive) as tar:
                copy.write_bytes(tar.extractfile(MEMBER).read())
            os.replace(copy, path)
    return json.loads(path.read_text())


def problems(schema, document):
    validator = jsonschema.validators.validator_for(schema)(schema)
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in validator.iter_errors(document)]


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.made.cleanup)
        cls.home = pathlib.Path(cls.made.name).resolve()
        (cls.home / "racy.cc").write_text(RACY)
        result = run(REDFLAG, "c++", "-g", "-O1", "-pthread", "-o", cls.home / "racy", cls.home / "racy.cc", limited=False)
        assert result.returncode == 0, result.stderr
        (cls.home / "app.trace").write_text(TRACE)
        document = json.loads(run(REDFLAG, "analyze", "--json", cls.home / "app.trace").stdout)
        races = document["results"][0]["races"]
        assert len(races) == 2, document
        for race in races:  # tests give their own: the same race may be there twice
            del race["fingerprint"], race["judgement"]
        (cls.home / "document.json").write_text(json.dumps(document, indent=2))
        cls.races = races

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def lines(self, *races, name="races.json"):
        path = self.folder / name
        path.write_text("".join(json.dumps(race) + "\n" for race in races))
        return path

    def race(self, index=0, **more):
        return self.races[index] | more

    def run_racy(self, *args, **kwargs):
        return run(REDFLAG, "run", *args, self.home / "racy", limited=False, **kwargs)


class Report(Base):
    def test_help_teaches(self):
        text = run(REDFLAG, "report", "--help").stdout
        for word in ("Examples", "Exit codes", "--sarif", "docs/reports.md"):
            self.assertIn(word, text)

    def test_text_is_the_default(self):
        result = run(REDFLAG, "report", self.lines(*self.races))
        self.assertEqual(result.returncode, 66, result.stderr)
        self.assertEqual(len(re.findall("(?m)^DATA RACE on [xy] ", result.stdout)), 2)
        self.assertTrue(result.stdout.endswith("\n2 data races\n"))

    def test_exit_codes(self):
        self.assertEqual(run(REDFLAG, "report", self.lines()).returncode, 0)
        for args in ([], ["/nowhere/at/all"], [self.folder], ["--compat=helgrind", self.lines()]):
            result = run(REDFLAG, "report", *args)
            self.assertEqual(result.returncode, 2, args)
            self.assertNotEqual(result.stderr, "")

    def test_the_document_of_analyze_and_standard_input(self):
        from_lines = run(REDFLAG, "report", self.lines(*self.races))
        self.assertEqual(run(REDFLAG, "report", self.home / "document.json").stdout, from_lines.stdout)
        self.assertEqual(run(REDFLAG, "report", "-", text=self.lines(*self.races).read_text()).stdout, from_lines.stdout)

    def test_one_report_for_each_fingerprint_of_several_files(self):
        first = self.lines(self.race(0, fingerprint="f1"), self.race(1, judgement={"rank": "low"}),
                           {"kind": "summary", "pid": 1, "races": 2, "suppressed": 0, "repeated": {"f1": 5}}, name="1.json")
        second = self.lines(self.race(0, fingerprint="f1"),
                            self.race(1, fingerprint="f2", judgement={"rank": "high", "reasons": ["because"]}), name="2.json")
        result = run(REDFLAG, "report", "--json", "-", first, second)
        self.assertEqual(result.returncode, 66)
        found = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([race.get("fingerprint") for race in found], ["f2", "f1", None])
        self.assertEqual([race.get("repeated") for race in found], [None, 6, None])
        text = run(REDFLAG, "report", first, second).stdout
        self.assertIn("  rank: high: because\n", text)
        self.assertIn("  seen 6 more times\n", text)
        self.assertTrue(text.endswith("\n3 data races: 1 high, 1 low; seen 6 more times\n"), text[-200:])

    def test_several_forms_at_once(self):
        out = {form: self.folder / form for form in ("text", "json", "sarif")}
        result = run(REDFLAG, "report", "--github", "--editor", *(w for form, path in out.items() for w in (f"--{form}", path)),
                     self.lines(*self.races, name="in"))
        self.assertEqual((result.returncode, result.stderr), (66, ""))
        self.assertIn("DATA RACE", out["text"].read_text())
        self.assertEqual([json.loads(line) for line in out["json"].read_text().splitlines()], self.races)
        self.assertEqual(len(json.loads(out["sarif"].read_text())["runs"][0]["results"]), 2)
        self.assertEqual(len(re.findall(r"(?m)^::warning file=src/\w\.cc,line=\d+,title=", result.stdout)), 2)
        self.assertEqual(len(re.findall(r"(?m)^src/\w\.cc:\d+: warning: data race on [xy]: ", result.stdout)), 2)

    def test_files_are_replaced_as_a_whole(self):
        target = self.folder / "out.sarif"
        target.write_text("before")
        result = run(REDFLAG, "report", "--sarif", "/nowhere/out.sarif", self.home / "document.json")
        self.assertEqual(result.returncode, 2)
        self.assertIn("cannot write /nowhere/out.sarif", result.stderr)
        self.assertEqual(run(REDFLAG, "report", "--sarif", target, self.home / "document.json").returncode, 66)
        self.assertEqual(json.loads(target.read_text())["version"], "2.1.0")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["out.sarif"], "nothing is left behind")

    def test_output_that_cannot_be_written(self):
        result = run(REDFLAG, "report", "--text", "/dev/full", self.home / "document.json")
        self.assertEqual(result.returncode, 2)
        self.assertIn("cannot write /dev/full", result.stderr)

    def test_compat(self):
        text = run(REDFLAG, "report", "--compat=tsan", self.home / "document.json").stdout
        self.assertEqual(text.count("WARNING: ThreadSanitizer: data race (pid=0)\n"), 2)
        self.assertEqual(text.count("SUMMARY: ThreadSanitizer: data race src/"), 2)
        self.assertTrue(text.endswith("==================\nThreadSanitizer: reported 2 warnings\n"))

    def test_colours_are_for_terminals(self):
        self.assertNotIn("\033", run(REDFLAG, "report", self.home / "document.json").stdout)
        self.assertIn("\033", run(REDFLAG, "report", "--color=always", self.home / "document.json").stdout)


class BadInput(Base):
    def good_ones_kept(self, before, after=b"", message=""):
        """`before` is damaged, and two good records are around it."""
        good = json.dumps(self.races[0]).encode() + b"\n"
        path = self.folder / "hostile.json"
        path.write_bytes(good + before + after + (good if after.endswith(b"\n") or before.endswith(b"\n") else b""))
        result = run(REDFLAG, "report", path)
        self.assertEqual(result.returncode, 2, result.stderr[:500])
        self.assertRegex(result.stderr, message)
        self.assertLess(len(result.stderr), 3000, "readable")
        return result.stdout.count("DATA RACE on")

    def test_a_cut_off_last_line(self):
        half = json.dumps(self.races[1]).encode()[:300]
        self.assertEqual(self.good_ones_kept(half, message="hostile.json:2: the last line is cut off"), 1)

    def test_every_place_of_a_cut(self):
        whole = json.dumps(self.races[1])
        lines = self.folder / "cut"
        for at in range(1, len(whole), 97):
            lines.write_text(json.dumps(self.races[0]) + "\n" + whole[:at])
            result = run(REDFLAG, "report", lines)
            self.assertEqual((result.returncode, result.stdout.count("DATA RACE on")), (2, 1), at)

    def test_random_bytes(self):
        self.assertEqual(self.good_ones_kept(os.urandom(100_000).replace(b"\n", b" ") + b"\n", message="hostile.json:2: "), 2)
        self.assertEqual(self.good_ones_kept(os.urandom(200_000), b"\n", message="hostile.json:2: "), 2)

    def test_deep_nesting(self):
        self.assertEqual(self.good_ones_kept(b"[" * 10_000_000 + b"\n", message="nested too deeply"), 2)
        self.assertEqual(self.good_ones_kept(b'{"kind":' * 1_000_000 + b"\n", message="nested too deeply"), 2)

    def test_many_keys_and_many_elements(self):
        keys = b'{"kind":"data-race",' + b",".join(b'"%d":1' % i for i in range(1_000_000)) + b"}\n"
        self.assertEqual(self.good_ones_kept(keys, message="there is no"), 2)
        self.assertEqual(self.good_ones_kept(b"[" + b"1," * 8_000_000 + b"1]\n", message="an object was expected"), 2)

    def test_a_name_of_a_gigabyte(self):
        path = self.folder / "giant.json"
        good = json.dumps(self.races[0]).encode() + b"\n"
        with open(path, "wb") as file:
            file.write(good + b'{"kind":"data-race","detector":"')
            for _ in range(1024):
                file.write(b"x" * (1 << 20))
            file.write(b'"}\n' + good)
        result = run(REDFLAG, "report", path)
        self.assertEqual(result.returncode, 2)
        self.assertIn("giant.json:2: a line of more than 16 MiB", result.stderr)
        self.assertEqual(result.stdout.count("DATA RACE on"), 2)

    def test_a_hundred_thousand_damaged_records(self):
        whole = json.dumps(self.races[1])
        with open(self.folder / "many", "w") as file:
            for i in range(100_000):
                file.write(whole[:i % len(whole)] + "\n")
            file.write(whole + "\n")
        result = run(REDFLAG, "report", self.folder / "many")
        self.assertEqual((result.returncode, result.stdout.count("DATA RACE on")), (2, 1))
        self.assertIn("more like that", result.stderr)
        self.assertLess(len(result.stderr), 3000)

    def test_input_without_end(self):
        for device, message in (("/dev/zero", "a line without end"), ("/dev/urandom", "hardly a file of reports")):
            result = run(REDFLAG, "report", device, timeout=300)
            self.assertEqual(result.returncode, 2)
            self.assertIn(message, result.stderr)

    def test_wrong_types_are_told_with_their_place(self):
        bad = json.loads(json.dumps(self.races[0]))
        bad["access"]["stack"][0]["line"] = "three"
        result = run(REDFLAG, "report", self.lines(bad, self.races[1]))
        self.assertEqual(result.returncode, 2)
        self.assertIn("races.json:1: access.stack[0].line: a whole number was expected", result.stderr)
        self.assertEqual(result.stdout.count("DATA RACE on"), 1)


class Schemas(Base):
    def racy_records(self):
        path = self.folder / "run.json"
        self.assertEqual(self.run_racy("--json", path).returncode, 66)
        return path

    def test_sarif_is_sarif(self):
        schema = sarif_schema()
        judged = self.race(0, fingerprint="f", repeated=4, notes=["a note"],
                           judgement={"rank": "low", "pattern": "flag", "suggestion": "make it atomic", "reasons": ["r"]})
        odd = json.loads(json.dumps(self.races[0]))
        odd["access"]["stack"] = [{"file": "/a b/[x]#?%.cc", "line": 1}, {"file": "", "line": 0, "offset": "0x12"}]
        odd["earlier"][0]["stack"] = []
        odd["variable"] = ""
        for name, path in {"program": self.racy_records(), "trace": self.home / "document.json",
                           "odd": self.lines(judged, odd), "none": self.lines(name="none")}.items():
            document = json.loads(run(REDFLAG, "report", "--sarif", "-", path).stdout)
            self.assertEqual(problems(schema, document), [], name)
            for uri in re.findall(r'"uri": "([^"]*)"', json.dumps(document)):
                self.assertRegex(uri, r"^(file:///)?[\w.~/%-]+$", "a valid reference")
                self.assertEqual(urllib.parse.quote(urllib.parse.unquote(uri), safe="/:~"), uri)
        broken = json.loads(run(REDFLAG, "report", "--sarif", "-", self.home / "document.json").stdout)
        broken["runs"][0]["results"][0]["level"] = "fatal"
        self.assertNotEqual(problems(schema, broken), [], "the schema has been applied")

    def test_sarif_has_all_of_a_program(self):
        document = json.loads(run(REDFLAG, "report", "--sarif", "-", "--root", self.home, self.racy_records()).stdout)
        sarif, = document["runs"]
        self.assertEqual(sarif["originalUriBaseIds"]["SRCROOT"]["uri"], f"file://{self.home}/")
        result, = sarif["results"]
        place = result["locations"][0]["physicalLocation"]
        self.assertEqual(place["artifactLocation"], {"uri": "racy.cc", "uriBaseId": "SRCROOT"})
        self.assertEqual(place["region"]["startLine"], 8)
        flows = result["codeFlows"][0]["threadFlows"]
        self.assertEqual({flow["id"] for flow in flows}, {"T1", "T2"})
        for flow in flows:
            self.assertGreaterEqual(len(flow["locations"][-1]["stack"]["frames"]), 2)

    def test_our_own_json(self):
        schema = json.loads((ROOT / "docs/report.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        records = [json.loads(line) for line in self.racy_records().read_text().splitlines()]
        self.assertEqual([record["kind"] for record in records], ["data-race", "summary"])
        judged = self.race(0, fingerprint="f", repeated=4, notes=["a note"],
                           judgement={"rank": "low", "pattern": "flag", "suggestion": "make it atomic", "reasons": ["r"]})
        for record in [*records, *self.races, judged]:
            self.assertEqual(problems(schema, record), [])
        for spoil in ({"size": "8"}, {"judgement": {"rank": "top"}}, {"access": {}}, {"address": 4096}, {"kind": "deadlock"}):
            self.assertNotEqual(problems(schema, judged | spoil), [], spoil)
        known = set(schema["$defs"]["race"]["properties"])
        table = (ROOT / "docs/json.md").read_text()
        table = table[table.index("\nRACE:"):table.index("\nACCESS:")]
        self.assertEqual(set(re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `")))),
                         known, "docs/json.md and the schema name the same fields")


class Run(Base):
    def test_any_number_of_forms(self):
        out = {form: self.folder / form for form in ("text", "json", "sarif")}
        result = self.run_racy("--github", "--editor", *(w for form, path in out.items() for w in (f"--{form}", path)), cwd=self.home)
        self.assertEqual(result.returncode, 66, result.stderr)
        self.assertIn("DATA RACE on shared", result.stderr, "as it happens")
        self.assertTrue(result.stdout.startswith("done\n"), "the program's own comes first")
        self.assertRegex(result.stdout, r"(?m)^racy\.cc:8:\d+: warning: data race on shared: ")
        self.assertRegex(result.stdout, r"(?m)^::\w+ file=racy\.cc,line=8,col=\d+,title=Data race on shared::")
        self.assertIn("DATA RACE on shared", out["text"].read_text())
        self.assertEqual(len(json.loads(out["sarif"].read_text())["runs"][0]["results"]), 1)
        self.assertEqual([json.loads(line)["kind"] for line in out["json"].read_text().splitlines()], ["data-race", "summary"])

    def test_json_is_appended_to_and_other_forms_are_of_this_run(self):
        for count in (1, 2):
            self.run_racy("--json", self.folder / "json", "--sarif", self.folder / "sarif")
            self.assertEqual((self.folder / "json").read_text().count('"kind":"data-race"'), count)
            self.assertEqual(len(json.loads((self.folder / "sarif").read_text())["runs"][0]["results"]), 1)

    def test_a_file_that_cannot_be_written_is_known_before_the_program_runs(self):
        result = self.run_racy("--sarif", "/nowhere/x.sarif")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("cannot write /nowhere/x.sarif", result.stderr)

    def test_the_compiler_warns_of_it_too(self):
        guarded = 'struct __attribute__((capability("mutex"))) Mutex {} mutex; int shared __attribute__((guarded_by(mutex)));'
        warned = run("clang++-19", "-Wthread-safety", "-fsyntax-only", "-x", "c++", "-", limited=False,
                     text=f'#line 1 "{self.home / "racy.cc"}"\n' + RACY.replace("int shared;", guarded))
        self.assertIn("-Wthread-safety", warned.stderr)
        warnings = self.folder / "warnings.txt"
        warnings.write_text(warned.stderr)
        result = self.run_racy("--warnings", warnings, "--text", "-", "--json", self.folder / "json")
        self.assertRegex(result.stdout, r"confirmed by -Wthread-safety-analysis at \S*racy.cc:8\n")
        again = run(REDFLAG, "report", "--warnings", warnings, self.folder / "json")
        self.assertEqual(again.returncode, 66, again.stderr)
        self.assertIn("confirmed by -Wthread-safety-analysis", again.stdout)
        self.assertNotIn("confirmed", run(REDFLAG, "report", self.folder / "json").stdout)
        lost = run(REDFLAG, "report", "--warnings", "/nowhere", self.folder / "json")
        self.assertEqual(lost.returncode, 2)
        self.assertIn("cannot read /nowhere", lost.stderr)
        self.assertEqual(self.run_racy("--warnings", warnings).returncode, 2, "there is nothing to write")

    def test_a_quiet_program(self):
        result = run(REDFLAG, "run", "--sarif", self.folder / "sarif", "--text", "-", "true", limited=False)
        self.assertIn("nothing in true was compiled for race detection", result.stderr)
        self.assertEqual(result.stdout, "0 data races\n")
        self.assertEqual(json.loads((self.folder / "sarif").read_text())["runs"][0]["results"], [])

    def test_a_program_that_is_killed(self):
        (self.folder / "killed.cc").write_text(RACY.replace('puts("done")', "__builtin_trap()"))
        self.assertEqual(run(REDFLAG, "c++", "-g", "-pthread", "-o", self.folder / "killed", self.folder / "killed.cc",
                             limited=False).returncode, 0)
        result = run(REDFLAG, "run", "--sarif", self.folder / "sarif", self.folder / "killed", limited=False)
        self.assertEqual(result.returncode, 66, result.stderr)
        self.assertEqual(len(json.loads((self.folder / "sarif").read_text())["runs"][0]["results"]), 1)

    def test_source_lines_and_stacks(self):
        short = self.run_racy().stderr
        self.assertEqual(short.count("    8 | ++shared;  // not under a lock\n"), 2, short)
        self.assertIn("not shown: --full)", short)
        full = self.run_racy("--full").stderr
        self.assertNotIn("not shown", full)
        self.assertGreater(len(re.findall(r"(?m)^ +#\d+ ", full)), len(re.findall(r"(?m)^ +#\d+ ", short)))

    def test_a_source_that_changed_is_not_shown(self):
        later = time.time() + 3600
        try:
            os.utime(self.home / "racy.cc", (later, later))
            self.assertNotIn(" | ++shared", self.run_racy().stderr)
        finally:
            os.utime(self.home / "racy.cc", (0, 0))

    def test_compat_live(self):
        for result in (self.run_racy("--compat=tsan"), run(self.home / "racy", limited=False, REDFLAG_TEXT="tsan")):
            self.assertEqual(result.returncode, 66)
            self.assertNotIn("DATA RACE", result.stderr)
            self.assertRegex(result.stderr, TSAN_REPORT)
            self.assertTrue(result.stderr.endswith("ThreadSanitizer: reported 1 warnings\n"), result.stderr[-300:])

    def test_a_form_that_is_not_known_is_told(self):
        result = run(self.home / "racy", limited=False, REDFLAG_TEXT="tsam")
        self.assertIn("there is no form of text called 'tsam'", result.stderr)
        self.assertIn("DATA RACE on shared", result.stderr)

    def test_the_log_of_tsan_options(self):
        log = self.folder / "the log"
        result = run(self.home / "racy", limited=False, TSAN_OPTIONS=f"history_size=7:log_path='{log}':verbosity=0")
        self.assertEqual(result.returncode, 66)
        self.assertEqual(result.stderr, "")
        found, = self.folder.iterdir()
        self.assertRegex(found.name, r"^the log\.\d+$")
        self.assertRegex(found.read_text(), TSAN_REPORT)


TSAN_REPORT = re.compile(r"""==================
WARNING: ThreadSanitizer: data race \(pid=(\d+)\)
  (?:Write|Read) of size 4 at (0x[0-9a-f]{12}) by thread T\d(?: '\w+')?:
    #0 Write\(void\*\) \S+racy\.cc:8:\d+ \(racy\+0x[0-9a-f]+\)
(?:    #\d+ .*\n)*
  Previous (?:write|read) of size 4 at \2 by thread T\d(?: '\w+')?:
    #0 Write\(void\*\) \S+racy\.cc:8:\d+ \(racy\+0x[0-9a-f]+\)
(?:    #\d+ .*\n)*
  Location is global 'shared' of size 4 at \2 \(racy\+0x[0-9a-f]+\)

  Thread T\d(?: '\w+')? \(tid=\d+, (?:running|finished)\) created by main thread at:
(?:    #\d+ .*\n)+
  Thread T\d(?: '\w+')? \(tid=\d+, (?:running|finished)\) created by main thread at:
(?:    #\d+ .*\n)+
SUMMARY: ThreadSanitizer: data race \S+racy\.cc:8:\d+ in Write\(void\*\)
==================
""")


class MemCheck(Base):
    """CTest's own reader of ThreadSanitizer's logs must find the defect, and CDash's form of it must say so."""

    def test_ctest(self):
        (self.folder / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.25)
project(checked NONE)
include(CTest)
add_test(NAME racy COMMAND {self.home}/racy)
add_test(NAME clean COMMAND {sys.executable} -c pass)
""")
        build = self.folder / "build"
        configured = run("cmake", "-G", "Ninja", "-S", self.folder, "-B", build, "-DMEMORYCHECK_TYPE=ThreadSanitizer", limited=False)
        self.assertEqual(configured.returncode, 0, configured.stderr)
        (build / "nightly.cmake").write_text(f"""
set(CTEST_SOURCE_DIRECTORY {self.folder})
set(CTEST_BINARY_DIRECTORY {build})
set(CTEST_MEMORYCHECK_TYPE ThreadSanitizer)
ctest_start(Experimental)
ctest_memcheck(DEFECT_COUNT defects)
message("defects: ${{defects}}")
""")
        for command in (["ctest", "-T", "memcheck"], ["ctest", "-S", "nightly.cmake", "-V"]):
            result = run(*command, cwd=build, limited=False)
            text = result.stdout + result.stderr
            self.assertRegex(text, r"data race - 1", text)
            self.assertRegex(text, r"Defect count: 1|MemCheck log files can be found")
        self.assertIn("defects: 1", text)
        documents = list(build.glob("Testing/*/DynamicAnalysis.xml"))
        self.assertTrue(documents)
        for document in documents:
            self.assertRegex(document.read_text(), r'<Defect type="data race">\s*1\s*</Defect>')


if __name__ == "__main__":
    REDFLAG = os.path.abspath(sys.argv[1])
    ROOT = pathlib.Path(sys.argv[2]).resolve()
    CACHE = pathlib.Path(sys.argv[3])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
