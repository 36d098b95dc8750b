#!/usr/bin/env python3
"""Checks that code which runs inside programs under test needs nothing of the C++ runtime and no malloc.

  tools/check_inprocess.py ARCHIVE...           static libraries (or objects) that are linked together
  tools/check_inprocess.py --nm NM ARCHIVE...   with another nm, for another architecture: aarch64-linux-gnu-nm
  tools/check_inprocess.py --interposing OBJECT...
                                                objects of a library that takes the place of memcpy and its like: these they
                                                must not need, because it would be a call of the library's own interceptors
  tools/check_inprocess.py --self-test          compile code that breaks each rule and see that it is caught
                                                (--cxx COMPILER: with which compiler)

A symbol that an object needs must be defined in one of the archives or be in ALLOWED below. Each violation is one
line, ARCHIVE(OBJECT): needs SYMBOL: why not. Exit code 0: none; 1: some; 2: an archive could not be judged.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# What compilers call without being asked, and what every linker provides. Nothing else.
ALLOWED = re.compile(
    r"""
    mem(cpy|move|set|cmp)       # [freestanding]: the compiler may emit these anywhere
    | _GLOBAL_OFFSET_TABLE_     # made by the linker
    | __stack_chk_(fail|guard)  # where the distribution's compiler protects stacks by default
    # libgcc.a, hidden, no calls: atomic instructions chosen by what the processor has
    | __aarch64_(cas|swp|ldadd|ldclr|ldeor|ldset)(1|2|4|8|16)_(relax|acq|rel|acq_rel)
    """,
    re.VERBOSE,
)

# Why a symbol that is not allowed is not. The first that matches the mangled name; the last matches everything.
REASONS = [
    (r"_Zn[wa]|_Zd[la]", "operator new and delete: memory comes from base/arena.h"),
    (r"(malloc|calloc|realloc|free|aligned_alloc|posix_memalign|memalign)$", "memory comes from base/arena.h"),
    (r"__cxa_guard_", "a static local variable with a dynamic initializer"),
    (r"__cxa_pure_virtual|_ZTVN10__cxxabiv", "virtual functions or RTTI of libstdc++"),
    (r"__cxa_atexit|__dso_handle", "a static object with a destructor"),
    (r"__cxa_|__gxx_personality|_Unwind_", "exceptions"),
    (r"_Z(T[VIST])?N?K?S[tabsiod]", "libstdc++"),
    (r"__tls_get_addr", "thread-local storage that is not initial-exec"),
    (r"", "neither in the given archives nor in the allow list"),
]

NM_LINE = re.compile(r"^(?:[0-9a-f]+)? +([A-Za-z?-]) (.+)$")
UNDEFINED = set("Uwv")


class CannotJudge(Exception):
    pass


class Symbol:
    def __init__(self, archive, member, kind, name, shown):
        self.archive = archive
        self.member = member  # the object in the archive; empty if the file is an object itself
        self.kind = kind
        self.name = name
        self.shown = shown  # demangled

    def place(self):
        return f"{self.archive}({self.member})" if self.member else str(self.archive)


def run_nm(nm, archive, demangle):
    command = [nm, "--no-sort"] + (["--demangle"] if demangle else []) + [str(archive)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CannotJudge(f"cannot run {nm}: {error.strerror}") from error
    if result.returncode != 0:
        raise CannotJudge(f"{archive}: {nm} failed: {result.stderr.strip()}")
    return result.stdout.splitlines()


# Names are compared mangled, because different symbols may look the same demangled, and shown demangled. Without
# sorting, nm lists both in the same order.
def read_symbols(nm, archive):
    symbols = []
    member = ""
    for raw, pretty in zip(run_nm(nm, archive, False), run_nm(nm, archive, True), strict=True):
        match = NM_LINE.match(raw)
        if match:
            symbols.append(Symbol(archive, member, match.group(1), match.group(2), NM_LINE.match(pretty).group(2)))
        elif raw.endswith(":"):
            member = raw[:-1]
    if not any(symbol.kind not in UNDEFINED for symbol in symbols):
        raise CannotJudge(f"{archive}: defines no symbols: is this the right file?")
    return symbols


def violations(nm, archives):
    symbols = [symbol for archive in archives for symbol in read_symbols(nm, archive)]
    defined = {symbol.name for symbol in symbols if symbol.kind not in UNDEFINED}
    found = []
    for symbol in symbols:
        if symbol.kind in UNDEFINED and symbol.name not in defined and not ALLOWED.fullmatch(symbol.name):
            why = next(reason for pattern, reason in REASONS if re.match(pattern, symbol.name))
            found.append(f"{symbol.place()}: needs {symbol.shown}: {why}")
    return found


def calls_of_interceptors(nm, objects):
    names = re.compile(r"mem(cpy|move|set|cmp)")
    return [f"{symbol.place()}: needs {symbol.name}: base/builtins.h has to come first"
            for path in objects for symbol in read_symbols(nm, path)
            if symbol.kind in UNDEFINED and names.fullmatch(symbol.name)]  # fmt: skip


def check(nm, archives, judge):
    try:
        found = judge(nm, archives)
    except CannotJudge as error:
        print(f"check_inprocess: {error}", file=sys.stderr)
        return 2
    for line in found:
        print(line)
    return 1 if found else 0


# Source, and patterns that must each be found in one violation; without patterns there must be no violation.
SELF_TESTS = [
    ("int* Make() { return new int(1); }", [r"\(x\.o\): needs operator new\(unsigned long\): operator new"]),
    ("void Drop(int* p) { delete p; }", [r"\(x\.o\): needs operator delete\(void\*.*\): operator new"]),
    ("#include <cstdlib>\nvoid* Get(int n) { return std::malloc(n); }", [r"\(x\.o\): needs malloc: memory"]),
    ("#include <cstdlib>\nvoid Put(void* p) { std::free(p); }", [r"\(x\.o\): needs free: memory"]),
    ("void Throw() { throw 1; }", [r"needs __cxa_throw: exceptions", r"needs typeinfo for int: neither"]),
    (
        "void Call(); struct S { ~S() { Call(); } }; void Run() { S s; Call(); }",
        [r"needs Call\(\): neither", r"needs __gxx_personality_v0: exceptions", r"needs _Unwind_Resume: exceptions"],
    ),
    ("int Init(); int Get() { static int x = Init(); return x; }", [r"needs __cxa_guard_acquire: a static local"]),
    ("struct S { ~S(); }; S s;", [r"needs S::~S\(\): neither", r"needs __cxa_atexit: a static object"]),
    ("struct S { virtual void F() = 0; virtual void G(); }; void S::G() {}", [r"__cxa_pure_virtual: virtual", r"vtable for"]),
    ('#include <string>\nint Is(std::string& s) { return s.compare("x"); }', [r"needs std::.*compare.*: libstdc\+\+"]),
    ("int Weak() __attribute__((weak)); int Get() { return Weak ? Weak() : 0; }", [r"needs Weak\(\): neither"]),
    ('extern "C" void memset_s(); void Clear() { memset_s(); }', [r"needs memset_s: neither"]),
    ("void Clear(char* p, unsigned long n) { __builtin_memset(p, 0, n); }", []),
    ("long Add(long* p) { return __atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL); }", []),
]


def self_test(nm, cxx):
    failures = []

    def expect(ok, what, got):
        if not ok:
            failures.append(f"{what}; got {got}")

    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)

        def archive(name, source):
            (top / "x.cc").write_text(source + "\n", encoding="utf-8")
            subprocess.run([cxx, "-O1", "-c", str(top / "x.cc"), "-o", str(top / "x.o")], check=True)
            (top / name).unlink(missing_ok=True)
            subprocess.run(["ar", "cr", str(top / name), str(top / "x.o")], check=True)
            return top / name

        for i, (source, patterns) in enumerate(SELF_TESTS):
            found = violations(nm, [archive(f"{i}.a", source)])
            for pattern in patterns:
                count = sum(bool(re.search(pattern, line)) for line in found)
                expect(count == 1, f"{source}\n  must be caught by /{pattern}/", found)
            expect(patterns or not found, f"{source}\n  is clean", found)

        needs = archive("needs.a", "namespace redflag { int Answer(); } int Ask() { return redflag::Answer(); }")
        has = archive("has.a", "namespace redflag { int Answer() { return 42; } }")
        expect(not violations(nm, [needs, has]), "one archive provides what the other needs", violations(nm, [needs, has]))
        alone = violations(nm, [needs])
        expect(alone == [f"{needs}(x.o): needs redflag::Answer(): {REASONS[-1][1]}"], "alone it is missing", alone)

        (top / "text.a").write_text("not an archive\n", encoding="utf-8")
        subprocess.run(["ar", "cr", str(top / "empty.a")], check=True)
        nothing = archive("nothing.a", "extern int x;")
        clears = archive("clears.a", "void Clear(char* p, unsigned long n) { __builtin_memset(p, 0, n); }")
        for arguments, wanted in [
            (["--interposing", has], 0), (["--interposing", clears], 1),
            ([has], 0), ([needs], 1), ([top / "text.a"], 2), ([top / "empty.a"], 2), ([nothing], 2),
            ([has, top / "absent.a"], 2), (["--nm", "no-such-nm", has], 2),
        ]:
            command = [sys.executable, __file__, "--nm", nm, *map(str, arguments)]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            shown = [pathlib.Path(argument).name for argument in arguments]
            expect(result.returncode == wanted, f"exit code {wanted} for {shown}", f"{result.returncode} {result.stderr}")
    for failure in failures:
        print(f"self-test: {failure}", file=sys.stderr)
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", metavar="ARCHIVE", type=pathlib.Path, nargs="*")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--cxx", default=os.environ.get("CXX"))
    parser.add_argument("--interposing", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        cxx = args.cxx or next(filter(shutil.which, ["c++", "g++", "g++-12", "clang++", "clang++-19"]), None)
        if cxx is None:
            print("check_inprocess: the self-test needs a C++ compiler: --cxx", file=sys.stderr)
            return 2
        return self_test(args.nm, cxx)
    if not args.archives:
        parser.error("no ARCHIVE given")
    return check(args.nm, args.archives, calls_of_interceptors if args.interposing else violations)


if __name__ == "__main__":
    sys.exit(main())
