"""What the RUN lines mean by a compiler and by running a program: ours, or the compiler's own ThreadSanitizer (a peer)."""

import dataclasses
import hashlib
import pathlib
import re
import shlex
import shutil
import sys

import suite

RUN_SECONDS = 60
HERE = pathlib.Path(__file__).resolve().parent
C_COMPILER = {"g++": "gcc", "clang++": "clang"}


@dataclasses.dataclass
class Toolchain:
    compiler: str              # g++-12, clang++-19
    redflag: pathlib.Path      # None: the compiler's own runtime
    runtime: str = ""          # hash of what is linked and run

    def __post_init__(self):
        if self.redflag:
            libraries = sorted((self.redflag.parent.parent / "lib" / "redflag").rglob("*.so"))
            self.runtime = hashlib.sha256(b"".join(part.read_bytes() for part in [self.redflag, *libraries])).hexdigest()

    @property
    def name(self):
        return f"{self.compiler}{'' if self.redflag else '-tsan'}"

    def compile_words(self, is_cxx):
        family, _, version = self.compiler.partition("-")
        program = self.compiler if is_cxx else f"{C_COMPILER[family]}-{version}"
        flags = ["-fsanitize=thread", "-Wall", "-gline-tables-only" if family == "clang++" else "-g1", f"-I{suite.TESTS.parent}"]
        flags += ["-std=c++11"] if is_cxx else []
        flags += ["-fPIE", "-pie", "-ldl", "-lrt"] if family == "g++" else []
        flags += ["-pthread"]
        if self.redflag:
            variable = "REDFLAG_CXX" if is_cxx else "REDFLAG_CC"
            return ["env", f"{variable}={program}", str(self.redflag), "c++" if is_cxx else "cc", *flags]
        return [program, *flags]

    def substitutions(self, test, out):
        """(from, to) in the order in which lit applies them; `out` is %t."""
        run = ["timeout", "--foreground", "-k", "5", str(RUN_SECONDS)]
        if self.redflag:
            run += ["env", "REDFLAG_TEXT=tsan", f"REDFLAG_COMMAND={self.redflag}"]
        library = out.with_name("lib" + out.name + ".so")
        return [
            ("%clangxx_tsan ", shlex.join(self.compile_words(True)) + " "),
            # gcc links no C++ library where clang's tests need none.
            ("%clang_tsan ", shlex.join(self.compile_words(self.compiler.startswith("g++") and test.path.suffix == ".cpp")) + " "),
            ("%env_tsan_opts=", "env TSAN_OPTIONS=atexit_sleep_ms=0:"),
            ("%deflake ", f"{suite.TESTS / 'deflake.bash'} 10 "),
            ("%run ", shlex.join(run) + " "),
            ("CHECK-%os", "CHECK-Linux"),
            ("%link_libcxx_tsan", ""),
            ("%darwin_min_target_with_tls_support", ""),
            ("%ld_flags_rpath_exe", f"-Wl,-rpath,{out.parent} -L{out.parent} -l{out.name}"),
            ("%ld_flags_rpath_so", f"-Wl,-soname,{library.name}"),
            ("%dynamiclib", str(library)),
        ]

    def script(self, test, out):
        lines = ["set -o pipefail", "ulimit -c 0"]
        for line in test.lines:
            text = line
            for old, new in self.substitutions(test, out):
                text = text.replace(old, new)
            text = re.sub(r"%t\b", str(out), text)
            text = re.sub(r"%s\b", str(test.path), text)
            text = re.sub(r"%[pS]\b", str(test.path.parent), text)
            text = re.sub(r"\bFileCheck\b", shlex.join([sys.executable, str(HERE / "judge.py")]), text)
            lines.append(f"export CONFORMANCE_STEP={shlex.quote(line)}")
            lines.append(f"{{ {text} ; }} || {{ echo \"conformance: status $? of: $CONFORMANCE_STEP\" >&2; exit 1; }}")
        return "\n".join(lines) + "\n"


def search_path():
    """Folders in front of PATH, where `not` and llvm-objdump are."""
    return [f"/usr/lib/llvm-{version}/bin" for version in (19, 14) if shutil.which("not", path=f"/usr/lib/llvm-{version}/bin")]
