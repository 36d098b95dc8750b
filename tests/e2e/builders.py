"""How the programs of this folder are built and run: with `redflag c++`, for the other architecture, or by a compiler alone."""

import hashlib
import os
import pathlib
import subprocess
import threading

HERE = pathlib.Path(__file__).resolve().parent
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}.get(os.uname().machine, "")
BUILD_SECONDS = 300
C_COMPILER = {"g++": "gcc", "clang++": "clang"}


def trace_of(report):
    return report.with_suffix(".rft")


class Builder:
    """Builds in build/e2e, once for each content of sources, compiler, flags and the redflag installation."""

    def __init__(self, redflag, folder, records=False):
        self.redflag = redflag
        self.folder = folder
        self.records = records
        folder.mkdir(parents=True, exist_ok=True)
        linked = [path for path in sorted((redflag.parent.parent / "lib" / "redflag").rglob("*")) if path.suffix in (".so", ".o")]
        parts = [redflag, *linked, *sorted(HERE.rglob("*.h"))]
        self.base = hashlib.sha256(b"".join(part.read_bytes() for part in parts) + str(redflag).encode()).hexdigest()
        self.lock = threading.Lock()
        self.locks = {}

    def compilation(self, is_c, compiler):
        """-> the command that compiles and links, and the environment."""
        environment = os.environ | {"REDFLAG_CC" if is_c else "REDFLAG_CXX": compiler}
        return [str(self.redflag), "cc" if is_c else "c++"], environment

    def execution(self, binary, arguments, report, detector, alone):
        """-> the command that runs a program, and what it needs in its environment. `alone`: without `redflag run`."""
        if alone:
            library = self.redflag.parent.parent / "lib" / "redflag" / detector / "libredflag_rt.so"
            more = {"REDFLAG_RECORD": str(trace_of(report))} if self.records else {}
            more |= {"LD_PRELOAD": str(library)} if detector != "hb" else {}
            return [str(binary), *arguments], {"REDFLAG_JSON": str(report)} | more
        record = ["--record", str(trace_of(report))] if self.records else []
        return [str(self.redflag), "run", "-d", detector, "--json", str(report), *record, str(binary), *arguments], {}

    def compile(self, source, compiler, level, std, flags, libraries=(), shared=False):
        """-> path of the program or library; raises CalledProcessError with the compiler's words."""
        is_c = source.suffix == ".c"
        if is_c:
            name, dash, version = compiler.partition("-")
            compiler = C_COMPILER.get(name, "cc") + dash + version
        command, environment = self.compilation(is_c, compiler)
        command += [f"-std={std or ('gnu11' if is_c else 'c++17')}", "-g", f"-{level}", "-Wall", "-Wextra", *flags, str(source)]
        if shared:
            command += ["-shared", "-fPIC"]
        for library in libraries:
            command += [str(library), f"-Wl,-rpath,{library.parent}"]
        key = hashlib.sha256((self.base + compiler + repr(command)).encode() + source.read_bytes()).hexdigest()[:16]
        stem, suffix = f"{source.stem}-{compiler}-{level}-", ".so" if shared else ""
        out = self.folder / (stem + key + suffix)
        with self.lock:
            own = self.locks.setdefault(out, threading.Lock())
        with own:
            if not out.exists():
                new = out.with_name(f"{out.name}.{os.getpid()}.new")
                subprocess.run(command + ["-o", str(new), "-pthread"], env=environment, check=True, timeout=BUILD_SECONDS,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                for old in self.folder.glob(stem + "?" * len(key) + suffix):
                    old.unlink()
                new.rename(out)
        return out


class CrossBuilder(Builder):
    """The same for the other architecture: its compilers, the runtime with a small window, and an emulator to run it."""

    def __init__(self, redflag, folder, tree):
        self.runtime = tree / "lib" / "redflag" / "small"
        super().__init__(redflag, folder)
        for part in (self.runtime / "libredflag_rt.so", self.runtime.parent / "entry_points.o"):
            self.base += hashlib.sha256(part.read_bytes()).hexdigest()

    def compilation(self, is_c, compiler):
        triple = f"{OTHER}-linux-gnu"
        name, _, version = compiler.partition("-")
        own = [compiler, f"--target={triple}"] if name.startswith("clang") else [f"{triple}-{compiler}"]
        # Not -fsanitize=thread where it is linked: that would ask for the compiler's own runtime.
        return [str(HERE / "cross-cc"), str(self.runtime), *own], dict(os.environ)

    def execution(self, binary, arguments, report, detector, alone):
        command = [f"qemu-{OTHER}", "-L", f"/usr/{OTHER}-linux-gnu", str(binary), *arguments]
        return command, {"REDFLAG_JSON": str(report), "REDFLAG_COMMAND": str(self.redflag)}


class StockBuilder(Builder):
    """Programs that a compiler has built and linked with its own runtime, as a shared library, in whose place `redflag run` puts ours."""

    def compilation(self, is_c, compiler):
        shared = ["-shared-libsan"] if compiler.startswith("clang") else []
        return [compiler, "-fsanitize=thread", *shared], dict(os.environ)

    def execution(self, binary, arguments, report, detector, alone):
        command, more = super().execution(binary, arguments, report, detector, alone)
        if alone:
            folder = self.redflag.parent.parent / "lib" / "redflag"
            libraries = [folder / detector / "libredflag_rt.so", *sorted((folder / "stand-ins").iterdir())]
            more |= {"LD_PRELOAD": ":".join(map(str, libraries)), "REDFLAG_COMMAND": str(self.redflag)}
        return command, more
