#!/usr/bin/env python3
"""Programs under Redflag in a hostile world: environments x programs, each run held against what is promised everywhere:

  - what the program prints, and how it ends, is what it is without Redflag in the same environment (a race changes the status to 66)
  - the race is reported: with names and lines by the helper process, or briefly by the program itself where there can be none
  - what cannot be had is said, with the reason, and the program runs unchecked
  - nothing hangs

  run.py --redflag build/release/bin/redflag               the matrix
  run.py --redflag build/release/bin/redflag --long        the storms, at full length
  run.py --redflag ... --only NAME                         cases whose names contain this
  run.py --list

Every program is built twice: plainly, to see what is right, and by `redflag c++`. A case that this machine does not allow (a namespace, a
controller of memory) is listed as not tried, with the reason.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
SECONDS = 120
REPORTED = 66
FULL = r"DATA RACE"
BRIEF = r"Redflag: data race"
UNCHECKED = r"unchecked|switched off|not checked"


class NotHere(Exception):
    """The machine does not allow this case."""


@dataclasses.dataclass
class World:
    """Where the suite runs: what was built, and a folder for each case."""
    redflag: pathlib.Path
    build: pathlib.Path
    long: bool

    def native(self, name):
        return self.build / f"{name}.native"

    def checked(self, name):
        return self.build / name


@dataclasses.dataclass
class Result:
    status: int  # as a shell says it: 128 and the signal, if one ended it
    out: str
    err: str


@dataclasses.dataclass
class Case:
    """One program in one environment, under `redflag run` and by itself."""
    name: str
    program: str = "race"
    arguments: tuple = ()
    wrap: object = None       # argv, World -> argv: what stands before the command
    prepare: object = None    # before exec, in the child: limits, descriptors
    environment: dict = dataclasses.field(default_factory=dict)
    during: object = None     # Popen, World: while it runs
    reports: str = FULL       # what standard error or the record has of the race; None: nothing may be reported
    says: str = None          # standard error has this as well
    status: object = None     # if it is not that of the program without us: {"run": 66, "alone": 3}
    launches: tuple = ("run", "alone")
    options: tuple = ()       # of `redflag run`
    keeps_stderr: bool = True  # or can't the report be read there?
    has_native: bool = True   # is there something to compare with?
    long: bool = False
    seconds: int = SECONDS


def run(case, world, argv, folder, detached=True):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("REDFLAG")} | case.environment
    argv = case.wrap([str(word) for word in argv], world) if case.wrap else [str(word) for word in argv]

    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if case.prepare:
            case.prepare()

    out, err = folder / "out", folder / "err"
    with open(out, "wb") as out_file, open(err, "wb") as err_file:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out_file, stderr=err_file, env=environment, cwd=folder,
                                   preexec_fn=prepare, start_new_session=detached)
        try:
            if case.during:
                case.during(process, world)
            process.wait(case.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise AssertionError(f"hangs: {' '.join(argv)}") from None
    status = process.returncode
    if status == 125 and "deny" in argv[0]:
        raise NotHere(err.read_text(errors="replace").strip() or "no seccomp")
    return Result(status if status >= 0 else 128 - status, out.read_text(errors="replace"), err.read_text(errors="replace"))


def await_text(path, pattern, seconds=10):
    """The helper process may need a moment after the program has gone."""
    end = time.monotonic() + seconds
    while True:
        text = path.read_text(errors="replace") if path.exists() else ""
        if re.search(pattern, text) or time.monotonic() > end:
            return text
        time.sleep(0.05)


def check(case, world):
    """The complaints, one for each promise that was not kept."""
    complaints = []
    for launch in case.launches:
        # A helper process may still be writing there.
        with tempfile.TemporaryDirectory(dir=world.build, prefix=f"{case.name}.", ignore_cleanup_errors=True) as name:
            folder = pathlib.Path(name)
            os.chmod(folder, 0o755)
            record = folder / "races.json"
            command = [world.checked(case.program), *case.arguments]
            if launch == "run":
                command = [world.redflag, "run", "--json", record, *case.options, "--", *command]
            try:
                got = run(case, world, command, folder)
            except AssertionError as error:
                complaints.append(f"{launch}: {error}")
                continue

            def complain(what, launch=launch, got=got):
                complaints.append(f"{launch}: {what}\n      status {got.status}\n      out: {got.out[-300:]!r}\n      err: {got.err[-700:]!r}")

            want = (case.status or {}).get(launch)
            if case.has_native:
                native_folder = folder / "native"
                native_folder.mkdir()
                quiet = dataclasses.replace(case, during=case.during if case.program == "ends" else None)
                arguments = [word.replace("plugin.so", "plugin.native.so") for word in case.arguments]
                native = run(quiet, world, [world.native(case.program), *arguments], native_folder)
                if got.out != native.out:
                    complain(f"prints something else than {native.out!r}")
                if want is None:
                    is_killed = native.status > 128 and launch == "alone"
                    want = REPORTED if case.reports and not is_killed else native.status
            if want is not None and got.status != want:
                complain(f"does not end with {want}")
            told = got.err
            if case.reports:
                told = await_text(folder / "err", case.reports) if case.keeps_stderr else ""
                if launch == "run" and case.reports == FULL:
                    lines = [json.loads(line) for line in await_text(record, '"kind":').splitlines()]
                    if not any("fingerprint" in line for line in lines):
                        complain("the record has no race")
                if case.keeps_stderr and not re.search(case.reports, told):
                    complain(f"no report: {case.reports}")
            elif re.search(f"{FULL}|{BRIEF}", told):
                complain("a report where there is no race")
            if case.says and not re.search(case.says, told):
                complain(f"does not say: {case.says}")
    return complaints


# ---- Environments ----

def shell(script):
    """The command behind a line of shell, in a mount namespace of its own."""
    def wrap(argv, world):
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            raise NotHere("no namespaces")
        return ["unshare", "-m", "sh", "-c", script + ' && exec "$@"', "sh", *argv]
    return wrap


def deny(names):
    return lambda argv, world: [str(world.build / "deny"), names, "--", *argv]


def limit(which, amount):
    """As `ulimit -S` does: the hard limit stays."""
    return lambda: resource.setrlimit(which, (amount, resource.getrlimit(which)[1]))


def hard_limit(which, amount):
    return lambda: resource.setrlimit(which, (amount, amount))


def close(*descriptors):
    def closes():
        for descriptor in descriptors:
            os.close(descriptor)
    return closes


def preload(pattern):
    """The first library of this name, as programs are run with another allocator."""
    def wrap(argv, world):
        found = sorted(pathlib.Path("/usr/lib").glob(f"*/{pattern}"))
        if not found:
            raise NotHere(f"no {pattern}")
        return ["env", f"LD_PRELOAD={found[0]}", *argv]
    return wrap


def pid_one(argv, world):
    if subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True).returncode != 0:
        raise NotHere("no namespaces")
    return ["unshare", "-pf", "--mount-proc", *argv]


def limited_memory(megabytes):
    """A group of processes of its own, with this much memory."""
    def wrap(argv, world):
        root = pathlib.Path("/sys/fs/cgroup")
        two = (root / "cgroup.controllers").exists()
        group = (root if two else root / "memory") / f"redflag-hostile-{os.getpid()}"
        try:
            group.mkdir(exist_ok=True)
            (group / ("memory.max" if two else "memory.limit_in_bytes")).write_text(str(megabytes << 20))
        except OSError as error:
            raise NotHere(f"no groups with a limit of memory: {error}") from None
        return ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh", *argv]
    return wrap


def without_overcommit(argv, world):
    """The whole machine has it so while the program runs: there is ten times the memory to promise, which is enough for others."""
    script = """
        mount -t proc proc /proc 2>/dev/null
        mode=/proc/sys/vm/overcommit_memory
        ratio=/proc/sys/vm/overcommit_ratio
        before=$(cat $mode) && ratio_before=$(cat $ratio) || exit 125
        trap 'echo $before >$mode; echo $ratio_before >$ratio' EXIT
        echo 1000 >$ratio && echo 2 >$mode || exit 125
        "$@"
    """
    tried = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", "true"], capture_output=True)
    if tried.returncode != 0:
        raise NotHere("it cannot be set here")
    return ["unshare", "-m", "sh", "-c", script, "sh", *argv]


def in_chroot(argv, world):
    """A tree with the program and its libraries, and no more."""
    tree = pathlib.Path(tempfile.mkdtemp(dir=world.build, prefix="chroot."))
    library = world.redflag.parents[1] / "lib" / "redflag" / "hb" / "libredflag_rt.so"
    for binary in (argv[0], library):
        listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
        for path in {argv[0], str(library), *re.findall(r"(/\S+)", listed)}:
            to = tree / str(path).lstrip("/")
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(path), to)
    return ["chroot", str(tree), *argv]


def setuid(argv, world):
    """A copy of the program that runs as somebody else."""
    copy = world.build / "setuid" / pathlib.Path(argv[0]).name
    copy.parent.mkdir(exist_ok=True)
    shutil.copy(argv[0], copy)
    try:
        shutil.chown(copy, "nobody")
        copy.chmod(0o4755)
    except (OSError, LookupError) as error:
        raise NotHere(f"no other users: {error}") from None
    return [str(copy), *argv[1:]]


def descendants(pid):
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"collect" in words and b"--pid" in words and words[words.index(b"--pid") + 1] == str(pid).encode():
            yield int(entry.name)


def helpers_of(process, seconds=20):
    """The helper processes of a program, or of what `redflag run` started."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        try:
            pids = [process.pid, *map(int, children.read_text().split())]
        except OSError:
            pids = [process.pid]
        if found := [helper for pid in pids for helper in descendants(pid)]:
            return found
        time.sleep(0.02)
    return []


def kill_helper(process, world):
    helpers = helpers_of(process)
    if not helpers:
        raise AssertionError("there is no helper process")
    time.sleep(0.3)  # until it reads
    for helper in helpers:
        os.kill(helper, signal.SIGKILL)


def helper_dies_at_once(argv, world):
    """The first helper is killed before it has begun to read; the second one is a real one."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=world.build, prefix="helper."))
    command = folder / "redflag"
    command.write_text(f'#!/bin/sh\nmkdir {folder}/killed 2>/dev/null && kill -9 $$\nexec {world.redflag} "$@"\n')
    command.chmod(0o755)
    return ["env", f"REDFLAG_COMMAND={command}", *argv]


def await_output(process, pattern):
    end = time.monotonic() + 60
    out = pathlib.Path(f"/proc/{process.pid}/fd/1").resolve()
    while time.monotonic() < end and pattern not in out.read_text(errors="replace"):
        time.sleep(0.05)


def kill_helper_when(pattern):
    """Kills the helper once the program has printed this, while it holds reports back."""
    def kill(process, world):
        await_output(process, pattern)
        time.sleep(0.5)
        kill_helper(process, world)
    return kill


def kill_when(pattern, which):
    """Kills the whole session once the program has printed this."""
    def kill(process, world):
        await_output(process, pattern)
        time.sleep(1)  # longer than reports wait to see more
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        program = int(children[0]) if children and "redflag" in process.args[0] else process.pid
        os.kill(program, which)
    return kill


ALLOCATORS = (("jemalloc", "libjemalloc.so.2"), ("tcmalloc", "libtcmalloc_minimal.so.4"), ("mimalloc", "libmimalloc.so.2*"))

EVERYWHERE = [
    Case("plain"),
    Case("clean", "clean", reports=None),
    # Descriptors
    Case("no-stdin", prepare=close(0)),
    Case("no-stdout", prepare=close(1), has_native=False, status={"run": REPORTED, "alone": REPORTED}),
    Case("no-stderr", prepare=close(2), keeps_stderr=False),
    Case("no-descriptors", prepare=close(0, 1, 2), keeps_stderr=False, has_native=False, status={"run": REPORTED, "alone": REPORTED}),
    Case("no-descriptors-clean", "clean", prepare=close(0, 1, 2), reports=None),
    Case("closes-all", "ends", ("close-all",)),
    Case("few-descriptors", prepare=limit(resource.RLIMIT_NOFILE, 10)),
    Case("few-descriptors-ever", "clean", prepare=hard_limit(resource.RLIMIT_NOFILE, 10), reports=None),
    Case("fewest-descriptors", "clean", prepare=limit(resource.RLIMIT_NOFILE, 4), reports=None, launches=("alone",)),
    # Limits
    Case("address-space", prepare=limit(resource.RLIMIT_AS, 4 << 30), reports=None, says=UNCHECKED),
    Case("no-overcommit", wrap=deny("large-mmap"), reports=None, says=UNCHECKED),
    Case("overcommit-off", wrap=without_overcommit, reports=None, says=UNCHECKED, long=True),  # it is a setting of the whole machine
    Case("small-stack", prepare=limit(resource.RLIMIT_STACK, 256 << 10)),
    Case("any-stack", prepare=limit(resource.RLIMIT_STACK, resource.RLIM_INFINITY)),
    Case("small-files", prepare=limit(resource.RLIMIT_FSIZE, 4096)),
    Case("smallest-files", prepare=hard_limit(resource.RLIMIT_FSIZE, 4096), launches=("alone",), reports=BRIEF),
    Case("processes", prepare=limit(resource.RLIMIT_NPROC, 1)),
    Case("memory-of-group", wrap=limited_memory(256)),
    Case("memory-of-group-clean", "clean", wrap=limited_memory(256), reports=None),
    # System calls
    Case("no-pipe", wrap=deny("pipe,pipe2" if os.uname().machine == "x86_64" else "pipe2"), launches=("alone",)),
    Case("no-memfd", wrap=deny("memfd_create"), launches=("alone",), reports=BRIEF),
    Case("no-fork", wrap=deny("new-process"), launches=("alone",), reports=BRIEF),
    Case("no-membarrier", wrap=deny("membarrier")),
    Case("no-membarrier-clean", "clean", wrap=deny("membarrier"), reports=None),
    Case("no-madvise", wrap=deny("madvise,mincore")),
    Case("no-open", "clean", wrap=deny("ptrace,process_vm_readv"), reports=None),
    # Files
    Case("no-proc", wrap=shell("mount -t tmpfs none /proc")),
    Case("no-proc-clean", "clean", wrap=shell("mount -t tmpfs none /proc"), reports=None),
    Case("read-only-proc", wrap=shell("mount -o remount,bind,ro /proc")),
    Case("no-tmp", wrap=shell("mount -t tmpfs -o size=4k,mode=000 none /tmp"), environment={"TMPDIR": "/nowhere"}),
    Case("chroot", wrap=in_chroot, launches=("alone",), reports=BRIEF),
    Case("full-disk", options=("-o", "/dev/full"), launches=("run",), reports="No space left|cannot write|could not write"),
    # Who we are
    Case("pid-one", wrap=pid_one),
    Case("pid-one-waits", "waits", wrap=pid_one),
    Case("waits", "waits"),
    Case("waits-subreaper", "waits", ("subreaper",)),
    Case("setuid", wrap=setuid, launches=("alone",), reports=BRIEF, environment={"REDFLAG_OPTIONS": "exitcode=0:nonsense=1"}),
    *(Case(name, name, launches=("run",), reports=None, says="statically linked", has_native=False, status={"run": 2})
      for name in ("static", "static-pie")),
    # Ends
    *(Case(f"ends-by-{how}", "ends", (how,)) for how in (
        "_exit", "quick_exit", "abort", "terminate", "throw", "segv", "trap", "kill", "term", "exit-in-thread", "pthread_exit")),
    Case("ends-by-exec", "ends", ("exec",), status={"run": REPORTED, "alone": 3}),
    Case("hangs-and-is-killed", "ends", ("hang",), during=kill_when("raced", signal.SIGKILL)),
    Case("hangs-and-is-terminated", "ends", ("hang",), during=kill_when("raced", signal.SIGTERM)),
    Case("out-of-memory", "ends", ("out-of-memory",), wrap=limited_memory(256)),
    Case("helper-is-killed", "storm", ("threads", "2000"), during=kill_helper),
    Case("helper-is-killed-with-a-report", "later", during=kill_helper_when("raced"), environment={"REDFLAG_OPTIONS": "watch_ms=8000"}),
    Case("helper-is-killed-at-once", "race", wrap=helper_dies_at_once, launches=("alone",), environment={"REDFLAG_OPTIONS": "flush_timeout_ms=500"}),
    # Allocators
    *(Case(f"{name}-first", "clean", wrap=preload(pattern), launches=("alone",), reports=None, says="allocator comes before")
      for name, pattern in ALLOCATORS),
    *(Case(f"{name}{suffix}", program, wrap=preload(pattern), launches=("run",), reports=reports)
      for name, pattern in ALLOCATORS
      for suffix, program, reports in (("", "race", FULL), ("-clean", "clean", None))),
    Case("no-memory", "memory"),
    # Stacks
    Case("deep", "stacks", ("deep", "200000")),
    Case("exceptions", "stacks", ("throw", "1000")),
    Case("jumps", "stacks", ("jump",)),
    Case("coroutines", "stacks", ("coroutine",)),
    # Storms, short
    Case("everything", "storm", ("everything", "3")),
    Case("signals", "storm", ("signals", "20000")),
    Case("libraries", "storm", ("libraries", "100", "{build}/plugin.so")),
    Case("forks", "storm", ("forks", "40")),
    Case("threads", "storm", ("threads", "2000")),
    Case("joins", "storm", ("joins", "3"), says="redflag: 1 data race"),
    # The same at length
    Case("everything-long", "storm", ("everything", "60"), long=True, seconds=600),
    Case("signals-long", "storm", ("signals", "2000000"), long=True, seconds=900),
    Case("libraries-long", "storm", ("libraries", "1000", "{build}/plugin.so"), long=True, seconds=900),
    Case("forks-long", "storm", ("forks", "1000"), long=True, seconds=900),
    Case("threads-long", "storm", ("threads", "100000"), long=True, seconds=900),
    Case("deep-long", "stacks", ("deep", "10000000"), long=True, seconds=900),
]


def build(world, compiler):
    world.build.mkdir(parents=True, exist_ok=True)
    flags = ["-O1", "-g", "-std=c++17", "-pthread"]
    jobs = [["gcc-12", "-O1", "-o", world.build / "deny", PROGRAMS / "deny.c"],
            [compiler, *flags, "-shared", "-fPIC", "-o", world.build / "plugin.native.so", PROGRAMS / "plugin.cc"],
            [world.redflag, "c++", *flags, "-shared", "-fPIC", "-o", world.build / "plugin.so", PROGRAMS / "plugin.cc"]]
    for kind in ("static", "static-pie"):
        jobs.append([compiler, *flags, f"-{kind}", "-o", world.checked(kind), PROGRAMS / "clean.cc"])
    for source in sorted(PROGRAMS.glob("*.cc")):
        if source.stem == "plugin":
            continue
        jobs.append([compiler, *flags, "-o", world.native(source.stem), source])
        jobs.append([world.redflag, "c++", *flags, "-o", world.checked(source.stem), source])
    for job in jobs:
        done = subprocess.run([str(word) for word in job], capture_output=True, text=True, env=os.environ | {"CXX": compiler})
        if done.returncode != 0:
            sys.exit(f"run.py: {' '.join(map(str, job))}\n{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redflag", type=pathlib.Path, default=pathlib.Path("build/release/bin/redflag"))
    parser.add_argument("--build", type=pathlib.Path, help="where programs are built")
    parser.add_argument("--compiler", default="g++-12")
    parser.add_argument("--only", default="")
    parser.add_argument("--long", action="store_true", help="the cases that take long, instead of the others")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    cases = [case for case in EVERYWHERE if options.only in case.name and case.long == options.long]
    if options.list:
        for case in EVERYWHERE:
            print(case.name, "(long)" if case.long else "")
        return 0
    if not cases:
        sys.exit(f"run.py: no case is called {options.only}")
    redflag = options.redflag.resolve()
    world = World(redflag, (options.build or redflag.parents[1] / "hostile").resolve(), options.long)
    build(world, options.compiler)
    failed, untried = [], []
    for case in cases:
        case = dataclasses.replace(case, arguments=tuple(word.replace("{build}", str(world.build)) for word in case.arguments))
        try:
            complaints = check(case, world)
        except NotHere as reason:
            untried.append(case.name)
            print(f"not tried  {case.name}: {reason}", flush=True)
            continue
        print(f"{'FAILED' if complaints else 'ok':10} {case.name}", flush=True)
        for complaint in complaints:
            print(f"    {complaint}", flush=True)
        if complaints:
            failed.append(case.name)
    print(f"{len(cases) - len(failed) - len(untried)} of {len(cases)} kept their promises, {len(failed)} did not, {len(untried)} not tried")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
