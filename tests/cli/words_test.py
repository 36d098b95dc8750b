#!/usr/bin/env python3
"""The command, its man page and its completions know the same words.

  words_test.py REDFLAG SOURCE_ROOT

What there is comes from `redflag --help-all` and, for REDFLAG_OPTIONS, from the table of the runtime. Each command is looked up in
its own section, so that an option of one is no excuse for another.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

REDFLAG = None
ROOT = None
HIDDEN = {"collect", "mark"}  # not for people: in the man page only
OPTION = re.compile(r"^ +(-\w)?,?(--[\w-]+)?(?: |$)")


def output(*command, **kwargs):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, **kwargs).stdout


def options_of(lines):
    found = set()
    for line in lines:
        if match := OPTION.match(line):
            found |= {option for option in match.groups() if option}
    return found


def understood():
    """command -> its options; '' has those of redflag itself."""
    before, _, commands = output(REDFLAG, "--help-all").partition("\nSubcommands:\n")
    found = {"": options_of(before.splitlines())}
    command = None
    for line in commands.split("\n\n\n")[0].splitlines():
        if line and not line.startswith(" "):
            command = line
            found[command] = set()
        elif line.startswith("    -"):
            found[command] |= options_of([line])
    for hidden in HIDDEN:
        found[hidden] = options_of(line for line in output(REDFLAG, "help", hidden).splitlines() if line.startswith("  -")) - {"-h"}
    return {command: options - {"--help", "--help-all", "-h"} for command, options in found.items()}


class Words(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.words = understood()
        cls.public = {command: options for command, options in cls.words.items() if command not in HIDDEN}

    def test_the_list_is_what_it_seems(self):
        """Guards the other tests: they are worth nothing if the help is not understood."""
        self.assertLessEqual({"c++", "cc", "run", "analyze", "list", "doctor", "symbolize", "help", "collect", ""}, set(self.words))
        self.assertEqual(self.words[""], {"-V", "--version"})
        self.assertLessEqual({"-d", "--detector", "-o", "--output", "--json", "--exit-code"}, self.words["run"])
        self.assertLessEqual({"-q", "--quiet", "--stats", "--check"}, self.words["analyze"])
        self.assertEqual(self.words["symbolize"], {"--exact"})
        self.assertIn("--ring-fd", self.words["collect"])
        for command in set(self.public) - {""}:
            self.assertRegex(output(REDFLAG, "--help"), rf"(?m)^  {re.escape(command)} +\w+", "a line each")

    def same(self, where, known):
        """`known`: command -> options there. Both ways: nothing missing, nothing that is gone."""
        for command, options in self.public.items():
            self.assertIn(command, known, where)
            self.assertEqual(known[command] - {"-h", "--help", "--help-all"}, options, f"{where}: {command or 'redflag'}")

    def test_man_page(self):
        text = (ROOT / "docs/redflag.1").read_text().replace("\\-", "-").replace("\\~", " ")
        synopsis = text[text.index(".SH SYNOPSIS"):text.index(".SH DESCRIPTION")]
        sections = {"": text[text.index(".SH OPTIONS"):text.index(".SH EXIT STATUS")]}
        for part in text[text.index(".SH COMMANDS"):text.index(".SH OPTIONS")].split("\n.SS redflag ")[1:]:
            name, _, rest = part.partition("\n")
            sections[name] = rest
        self.assertEqual(set(sections), set(self.words))
        for command, options in self.words.items():
            tags = "\n".join(re.findall(r"\n\.TP\n(.*)", sections[command]))
            known = set(re.findall(r"(?<![\w-])--?[\w-]+", re.sub(r"\\f[A-Z]", " ", tags)))
            self.assertEqual(known - {"-h", "--help", "--help-all"}, options, f"man page: {command or 'redflag'}")
            self.assertIn(f".SY redflag {command}".rstrip() + "\n", synopsis)

    def test_man_page_has_the_options_of_the_runtime(self):
        table = re.findall(r"(?m)^  FLAG\(\w+, (\w+), (\w+), ", (ROOT / "src/runtime/flags.h").read_text())
        self.assertGreater(len(table), 3)
        man = (ROOT / "docs/redflag.1").read_text()
        for name, default in table:
            shown = {"false": "0", "true": "1"}.get(default, default)
            self.assertTrue(re.search(rf"\n\.B {name}\n[^\n]*\({shown}\)", man), name)

    def test_man_page_is_well_formed(self):
        result = subprocess.run(["groff", "-man", "-ww", "-z", ROOT / "docs/redflag.1"], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def bash(self, *words):
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _redflag; '
                  'if ((${#COMPREPLY[@]})); then printf "%s\\n" "${COMPREPLY[@]}"; fi')
        return set(output("bash", "--norc", "-c", script, "bash", ROOT / "completions/redflag.bash", REDFLAG, *words).split())

    def test_bash_completion(self):
        first = self.bash("")
        known = {command: self.bash(command, "-") for command in self.public if command}
        known[""] = {word for word in first if word.startswith("-")}
        self.assertEqual({word for word in first if not word.startswith("-")}, set(self.public) - {""})
        self.assertEqual(self.bash("help", ""), first - {"-V", "--version"})
        self.same("bash", known)

    def test_bash_completion_of_values(self):
        self.assertLessEqual({"hb", "fast", "all"}, self.bash("analyze", "-d", ""))
        self.assertIn("hb", self.bash("run", "-d", ""))
        self.assertNotIn("all", self.bash("run", "-d", ""))
        self.assertEqual(self.bash("doctor", "--color", ""), {"auto", "always", "never"})
        self.assertEqual(self.bash("run", "--json", "x", "./app", "--j"), set(), "the program's own")

    def fish(self, line):
        text = output("fish", "--no-config", "-c", f"source {ROOT}/completions/redflag.fish; complete -C '{line}'",
                      env=os.environ | {"PATH": f"{os.path.dirname(REDFLAG)}:{os.environ['PATH']}", "HOME": "/nonexistent"})
        return {part.split("\t")[0] for part in text.splitlines()}

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish_completion(self):
        known = {command: self.fish(f"redflag {command} -") | self.fish(f"redflag {command} --") for command in self.public if command}
        known[""] = self.fish("redflag -") | self.fish("redflag --")
        self.assertEqual(self.fish("redflag "), set(self.public) - {""})
        self.assertEqual(self.fish("redflag help "), set(self.public) - {""})
        self.same("fish", known)
        self.assertIn("hb", self.fish("redflag run -d "))
        self.assertIn("all", self.fish("redflag analyze -d "))

    def test_zsh_completion(self):
        text = (ROOT / "completions/_redflag").read_text()
        commands = text[text.index("_redflag_commands() {"):text.index("_describe -t commands")]
        self.assertEqual(set(re.findall(r"(?m)^    '([\w+]+):", commands)), set(self.public) - {""})
        options = re.compile(r"(?<![\w-])--?[\w-]+(?=[\]=+,}\[])")
        known = {"": {"-V", "--version"} & set(options.findall(text))}
        for names, body in re.findall(r"(?s)\n        ([\w+ |]+)\)\n(.*?)\n          ;;", text):
            for name in names.split(" | "):
                known[name] = set(options.findall(body))
        self.same("zsh", known)
        if shutil.which("zsh"):
            output("zsh", "-n", ROOT / "completions/_redflag")


if __name__ == "__main__":
    REDFLAG = os.path.abspath(sys.argv[1])
    ROOT = pathlib.Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
