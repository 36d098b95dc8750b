#!/usr/bin/env python3
"""Sharded analysis as a job array: examples/slurm/analyze.sbatch under a Slurm of its own, one node on loopback.

  slurm_test.py REDFLAG SOURCE_ROOT [unittest options]

Needs slurmctld, slurmd, sbatch, scontrol and munged, and fails without them. Changes nothing outside a temporary
folder, and leaves no process behind.
"""

import contextlib
import ctypes
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

REDFLAG = None
ROOT = None
SLURM = None
SHARDS = 4
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")
START_SECONDS = 40
JOB_SECONDS = 60
TOTAL_SECONDS = 170
PATH = f"{os.environ['PATH']}:/usr/local/sbin:/usr/sbin:/sbin"
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

CONFIGURATION = """\
ClusterName=redflag
# All talk goes over loopback, whatever this machine's name is and whether it resolves. (NoInAddrAny would bind the daemons to the address
# of that name, which may be none or another; as it is they hear the whole machine, and believe who has the key that the test makes.)
SlurmctldHost=localhost(127.0.0.1)
NodeName=localhost NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=test Nodes=localhost Default=YES MaxTime=2 State=UP
SlurmctldPort={controller_port}
SlurmdPort={node_port}
# Whoever runs the test, root or not.
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
# Without cgroups.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
# Two tasks at a time, also on a machine with one processor.
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=100000
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
MpiDefault=none
"""


class Unavailable(Exception):
    pass


def die_with_the_test():
    """In a child: SIGTERM when the test ends, however it ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def free_ports(count):
    """Ports that nothing listens on, below those that outgoing connections are given."""
    ports = set()
    while len(ports) < count:
        port = random.randrange(20000, 32000)
        with socket.socket() as candidate, contextlib.suppress(OSError):
            candidate.bind(("127.0.0.1", port))
            ports.add(port)
    return ports


def children():
    """Of this process, zombies included; orphans among its descendants come to it."""
    found = []
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(status.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.append(int(status.parent.name))
    return found


class Slurm:
    """munged, slurmctld and slurmd as children of the test, with all that they write in one folder."""

    def __init__(self):
        missing = [program for program in PROGRAMS if not shutil.which(program, path=PATH)]
        if missing:
            raise Unavailable(f"not installed: {', '.join(missing)} (scripts/bootstrap.sh installs Slurm and munge)")
        # What a surrounding Slurm says does not concern this one.
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("SLURM", "SBATCH", "SCONTROL", "SHARDS"))}
        self.daemons = {}

    def __enter__(self):
        if LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise Unavailable("orphans can't be adopted: " + os.strerror(ctypes.get_errno()))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="redflag-slurm-"))
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        controller_port, node_port = free_ports(2)
        configuration = self.folder / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(folder=self.folder, user=f"{os.geteuid()}", controller_port=controller_port,
                                                      node_port=node_port))
        self.environment |= {"SLURM_CONF": str(configuration), "PATH": f"{REDFLAG.parent}:{PATH}"}
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        # By force: its folder is closed to others, which munged, meant for all users of a machine, takes for a mistake.
        self.daemon("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.socket",
                    f"--pid-file={self.folder}/munge.pid", f"--seed-file={self.folder}/munge.seed", "--num-threads=2")
        self.wait_for("munged's socket", (self.folder / "munge.socket").exists)
        self.daemon("slurmctld", "-D", "-i", "-f", configuration)
        self.daemon("slurmd", "-D", "-N", "localhost", "-f", configuration)
        self.wait_for("an idle node", lambda: "State=IDLE " in self.ask("scontrol", "-o", "show", "node", check=False))

    def daemon(self, program, *args):
        with open(self.folder / f"{program}.log", "wb") as log:
            self.daemons[program] = subprocess.Popen([shutil.which(program, path=PATH), *args], stdin=subprocess.DEVNULL, stdout=log,
                                                     stderr=log, cwd=self.folder, env=self.environment, preexec_fn=die_with_the_test)

    def wait_for(self, what, there):
        deadline = time.monotonic() + START_SECONDS
        while not there():
            for name, process in self.daemons.items():
                if process.poll() is not None:
                    raise Unavailable(f"{name} ended with {process.returncode}\n{self.logs()}")
            if time.monotonic() > deadline:
                raise Unavailable(f"{what} did not come within {START_SECONDS} s\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-5000:]}" for log in sorted(self.folder.glob("*.log")))

    def stop(self):
        """The node first, so that it starts no more jobs; then whatever remains."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)
        with contextlib.suppress(subprocess.TimeoutExpired):
            for program in reversed(self.daemons):
                self.daemons[program].terminate()
                self.daemons[program].wait(timeout=5)
        for process in self.daemons.values():
            process.kill()
            process.wait()
        while left := children():
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)
        shutil.rmtree(self.folder)

    def run(self, *command, cwd=None, timeout=JOB_SECONDS, **more):
        try:
            return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, cwd=cwd or self.folder,
                                  env=self.environment | more, preexec_fn=die_with_the_test)
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"{late}\n{self.logs()}") from None

    def ask(self, *command, check=True, **more):
        result = self.run(*command, **more)
        if check and result.returncode != 0:
            raise AssertionError(f"{command} gave {result.returncode}: {result.stderr}\n{self.logs()}")
        return result.stdout

    def tasks(self, job):
        """Every job of an array, or one: what scontrol tells of it."""
        return [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in self.ask("scontrol", "-o", "show", "job", job).splitlines() if line]


def trace():
    """Four workers, objects of many sizes under locks; every 97th is touched without. 41 races, the same ones each time."""
    chosen = random.Random(26)
    lines = []
    sizes = [chosen.choice((1, 2, 4, 8, 24, 64, 4096)) for _ in range(4000)]
    for number, size in enumerate(sizes):
        lines.append(f"var v{number} {size}")
    workers = [f"w{number}" for number in range(4)]
    lines += [f"main fork {worker} @main.cc:{number + 10}" for number, worker in enumerate(workers)]
    for number, size in enumerate(sizes):
        one, other = chosen.sample(workers, 2)
        width = min(size, chosen.choice((8, 4096)))  # those of 4096 bytes meet in every shard
        begin = chosen.randrange(0, size - width + 1)
        for worker in (one, other):
            bare = number % 97 == 50 and worker == other
            lines.append(f"{worker} enter Use{number} @use.cc:{number + 1}")
            if not bare:
                lines.append(f"{worker} lock m{number % 61} @use.cc:{number + 1}")
            lines.append(f"{worker} read v{number} @use.cc:{number + 1}")
            lines.append(f"{worker} write v{number}+{begin}:{width} @use.cc:{number + 1}")
            if not bare:
                lines.append(f"{worker} unlock m{number % 61} @use.cc:{number + 1}")
            lines.append(f"{worker} exit")
    lines += [f"main join {worker} @main.cc:{number + 20}" for number, worker in enumerate(workers)]
    return "\n".join(lines) + "\n"


class JobArray(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.example = ROOT / "examples/slurm/analyze.sbatch"
        cls.text = trace()

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(dir=SLURM.folder)))
        (self.folder / "run.trace").write_text(self.text)

    def parts(self):
        return [f"part-{shard}.json" for shard in range(1, SHARDS + 1)]

    def submit(self, *args, **more):
        return SLURM.run("sbatch", "--parsable", "--time=1", *args, cwd=self.folder, **more)

    def submitted(self, *args, code=0, **more):
        """The number of the job."""
        result = self.submit(*args, **more)
        about = result.stderr + "".join(log.read_text() for log in self.folder.glob("*.log"))
        self.assertEqual(result.returncode, code, f"{about}\n{SLURM.logs()}")
        return result.stdout.strip()

    def redflag(self, *args):
        return SLURM.run(REDFLAG, *args, cwd=self.folder)

    def assert_tasks_completed(self, job):
        """All of them, as jobs that Slurm ran, and each with the shard that is its own."""
        tasks = {int(task["ArrayTaskId"]): task for task in SLURM.tasks(job)}
        self.assertEqual(set(tasks), set(range(1, SHARDS + 1)))
        for shard, task in tasks.items():
            self.assertEqual((task["JobState"], task["ExitCode"], task["ArrayJobId"], task["NodeList"]), ("COMPLETED", "0:0", job, "localhost"))
            self.assertIn(f"shard {shard}/{SHARDS} of run.trace: job {task['JobId']} of array {job} on localhost\n",
                          (self.folder / f"part-{shard}.log").read_text())
            self.assertGreater((self.folder / f"part-{shard}.json").stat().st_size, 0)
        self.assertEqual(len({task["JobId"] for task in tasks.values()}), SHARDS)

    def assert_same(self, merged, whole):
        self.assertEqual(whole.returncode, 66, whole.stderr)
        self.assertEqual(merged, (whole.returncode, whole.stdout))

    def test_parts_merged_are_the_whole(self):
        job = self.submitted(f"--array=1-{SHARDS}", "--wait", self.example, "run.trace")
        self.assert_tasks_completed(job)
        whole = self.redflag("analyze", "run.trace")
        merged = self.redflag("merge", *self.parts())
        self.assert_same((merged.returncode, merged.stdout), whole)
        self.assertEqual(merged.stderr, whole.stderr)

        with self.subTest("a part that was lost is analyzed anew, alone"):
            third = (self.folder / "part-3.json")
            before = third.read_bytes()
            third.unlink()
            self.assertNotIn(self.redflag("merge", "part-1.json", "part-2.json", "part-4.json").returncode, (0, 66))
            self.submitted("--array=3", "--wait", self.example, "run.trace", SHARDS=str(SHARDS))
            self.assertEqual(third.read_bytes(), before)

    def test_merging_as_a_job_that_waits_for_the_parts(self):
        job = self.submitted(f"--array=1-{SHARDS}", self.example, "run.trace", "-d", "hybrid")
        last = self.submitted(f"--dependency=afterok:{job}", "--kill-on-invalid-dep=yes", "--wait", "--output=report.txt", "--error=errors.log",
                              "--wrap=redflag merge part-*.json", code=66)
        self.assert_tasks_completed(job)
        (merge,) = SLURM.tasks(last)
        self.assertEqual((merge["JobState"], merge["ExitCode"]), ("FAILED", "66:0"), "races found, as Slurm tells it")
        self.assert_same((66, (self.folder / "report.txt").read_text()), self.redflag("analyze", "-d", "hybrid", "run.trace"))

    def test_nothing_is_merged_if_a_part_failed(self):
        job = self.submitted(f"--array=1-{SHARDS}", self.example, "missing.trace")
        last = self.submit(f"--dependency=afterok:{job}", "--kill-on-invalid-dep=yes", "--wait", "--output=report.txt",
                           "--wrap=redflag merge part-*.json")
        # sbatch --wait says 0 of a job that never began: its state tells.
        self.assertEqual(last.returncode, 0, last.stderr)
        self.assertEqual({task["JobState"] for task in SLURM.tasks(job)}, {"FAILED"})
        (merge,) = SLURM.tasks(last.stdout.strip())
        self.assertEqual(merge["JobState"], "CANCELLED")
        self.assertFalse((self.folder / "report.txt").exists())
        self.assertIn("missing.trace", (self.folder / "part-1.log").read_text())


def interrupted(number, _):
    # Not SystemExit: unittest would take that for a failed test, and go on.
    raise KeyboardInterrupt(f"more than {TOTAL_SECONDS} s" if number == signal.SIGALRM else signal.Signals(number).name)


if __name__ == "__main__":
    REDFLAG = pathlib.Path(sys.argv[1]).resolve()
    ROOT = pathlib.Path(sys.argv[2]).resolve()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, interrupted)
    signal.alarm(TOTAL_SECONDS)
    try:
        with Slurm() as SLURM:
            unittest.main(argv=sys.argv[:1] + sys.argv[3:])
    except Unavailable as why:
        sys.exit(f"slurm_test: no Slurm to test with: {why}")
