#!/usr/bin/env python3
"""`redflag attach` on processes that run already.

  run.py --redflag REDFLAG --build FOLDER [--long] [--only NAME]

--long: attached to and left a hundred times; killed while attached, fifty times.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SAMPLE = HERE.parent / "sample"
ARGS = None
PATIENCE = 120  # seconds; whatever takes longer hangs

# On a machine where many others want the processors, a pause takes longer than was meant, and so uses up the budget.
BUSY = ["--budget", "20%"]


def build(source, *flags):
    program = ARGS.build / (source.stem + "".join(flag.replace("/", "_") for flag in flags))
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["g++-12", "-std=c++20", "-g", "-O2", "-pthread", "-w", *flags, str(source), "-o", str(program)], check=True)
    return program


@contextlib.contextmanager
def running(*command, **options):
    """A process, ended at the latest at the end of the block."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
        process.stdout.close()


def status(pid, name):
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return None


def used_seconds(pid):
    """Processor time of a process in user mode."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


def await_true(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not {what} after {PATIENCE} s")
        time.sleep(0.01)


def await_threads(pid, count):
    await_true(lambda: int(status(pid, "Threads") or 0) >= count, f"{count} threads")


def await_traced(pid):
    await_true(lambda: status(pid, "TracerPid") not in ("0", None), "traced")


def await_left(pid):
    await_true(lambda: status(pid, "TracerPid") in ("0", None), "left alone")


def text_is_as_in_file(pid, program):
    """Every executable byte of the program in memory is what its file has."""
    file, compared = program.read_bytes(), 0
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            words = line.split()
            if len(words) < 6 or words[5] != str(program) or "x" not in words[1]:
                continue
            begin, end = (int(word, 16) for word in words[0].split("-"))
            offset = int(words[2], 16)
            expected = file[offset : offset + end - begin]
            memory.seek(begin)
            if memory.read(end - begin)[: len(expected)] != expected:
                return False
            compared += len(expected)
    return compared > 0


class Attached:
    """One run. `reports`: what came as JSON."""

    def __init__(self, pid, *options):
        path = ARGS.build / "reports.json"
        path.unlink(missing_ok=True)
        command = [str(ARGS.redflag), "attach", "--stats", "--json", str(path), *options, str(pid)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.code, self.stdout, self.stderr = result.returncode, result.stdout, result.stderr
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        self.reports = [line for line in lines if line.get("kind") == "data-race"]


class Client(threading.Thread):
    """Asks a server until it is told to stop; every answer has to be right."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.done, self.asked, self.problem = path, threading.Event(), 0, None
        self.start()

    def run(self):
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(PATIENCE)
                connection.connect(str(self.path))
                answers = connection.makefile()
                while not self.done.is_set():
                    self.asked += 1
                    connection.sendall(f"{self.asked % 1000} line\n".encode())
                    answer = answers.readline()
                    if answer != f"{self.asked % 1000} line {self.asked}\n":
                        self.problem = f"{answer!r} as the answer to request {self.asked}"
                        return
        except OSError as error:
            self.problem = str(error)

    def finish(self):
        self.done.set()
        self.join(PATIENCE)
        if self.is_alive():
            self.problem = "no answer"


@contextlib.contextmanager
def server(*arguments):
    program, path = build(HERE / "server.cc"), ARGS.build / f"socket{os.getpid()}"
    with running(program, path, *arguments) as process:
        process.path, process.program = path, program
        if process.stdout.readline() != "ready\n":
            raise AssertionError("the server does not start")
        yield process


def signal_state(pid):
    """What the process does about signals, and the code that the kernel has mapped into it."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        begin, end = next((int(word, 16) for word in line.split()[0].split("-")) for line in maps if line.endswith("[vdso]\n"))
        memory.seek(begin)
        return [status(pid, name) for name in ("SigCgt", "SigIgn")], memory.read(end - begin)


def tracer_of(redflag):
    """The child that does the work; 0: it is not there yet."""
    try:
        children = pathlib.Path(f"/proc/{redflag.pid}/task/{redflag.pid}/children").read_text().split()
    except OSError:
        return 0
    return int(children[0]) if children else 0


UNDISTURBED = "interrupted 0, wrong masks 0, wrong children 0, children, signals {}\n"


class AttachTest(unittest.TestCase):
    def attach_and_leave(self, times, options):
        with server() as process:
            clients = [Client(process.path) for _ in range(3)]
            signals = signal_state(process.pid)
            for _ in range(times):
                before = sum(client.asked for client in clients)
                os.kill(process.pid, signal.SIGUSR1)
                run = Attached(process.pid, *options)
                self.assertEqual(run.code, 0, run.stderr)
                self.assertEqual(status(process.pid, "TracerPid"), "0")
                self.assertTrue(text_is_as_in_file(process.pid, process.program))
                self.assertEqual(signal_state(process.pid), signals)
                await_true(lambda: sum(client.asked for client in clients) > before or any(client.problem for client in clients), "served")
            self.served_all(process, clients, times)

    def served_all(self, process, clients, signals):
        for client in clients:
            client.finish()
        self.assertEqual([client.problem for client in clients], [None] * len(clients))
        process.terminate()
        self.assertEqual((process.wait(PATIENCE), process.stdout.read()), (7, UNDISTURBED.format(signals)))
        print(f"{sum(client.asked for client in clients)} requests", end=" ", file=sys.stderr)

    def kill_as_it_begins(self, times):
        """The process that was started; its child leaves then, if there is one already. What is left behind the next one takes away."""
        moments = random.Random(os.getpid())
        with server("unblocked") as process:
            clients = [Client(process.path) for _ in range(3)]
            signals = signal_state(process.pid)
            for number in range(times):
                with running(ARGS.redflag, "attach", "--seconds", "0", "--rate", "1000", *BUSY, process.pid, stderr=subprocess.DEVNULL) as redflag:
                    time.sleep(moments.uniform(0, 0.06))
                    redflag.kill()
                await_left(process.pid)
                self.assertIsNone(process.poll(), f"ended after {number + 1} times")
            run = Attached(process.pid, "--seconds", "0.2", "--exit-code", "0", *BUSY)
            self.assertEqual(run.code, 0, run.stderr)
            self.assertTrue(text_is_as_in_file(process.pid, process.program))
            self.assertEqual(signal_state(process.pid), signals)
            self.served_all(process, clients, 0)

    def kill_the_tracer(self, times):
        """At any moment, from the first on. Without the thread that has all signals blocked: the kernel lets nobody keep that alive."""
        moments, taken = random.Random(os.getpid()), 0
        with server("unblocked") as process:
            clients = [Client(process.path) for _ in range(3)]
            signals = signal_state(process.pid)
            for number in range(times):
                with running(ARGS.redflag, "attach", "--seconds", "0", "--rate", "1000", *BUSY, process.pid, stderr=subprocess.PIPE) as redflag:
                    await_true(lambda: tracer_of(redflag), "with a child")
                    time.sleep(moments.uniform(0, 0.5))
                    os.kill(tracer_of(redflag), signal.SIGKILL)
                    code, said = redflag.wait(PATIENCE), redflag.stderr.read()
                    redflag.stderr.close()
                self.assertEqual(code, 128 + 9, said)
                self.assertIsNone(process.poll(), f"ended after {number + 1} times: {said}")
                taken += "; 0 breakpoints" not in said
                self.assertEqual(status(process.pid, "TracerPid"), "0")
                self.assertTrue(text_is_as_in_file(process.pid, process.program))
                self.assertEqual(signal_state(process.pid), signals)
            self.assertGreater(taken, 0, "it never had breakpoints")
            self.served_all(process, clients, 0)
            print(f"killed {times} times, {taken} of them with breakpoints", end=" ", file=sys.stderr)


class ShortTest(AttachTest):
    def test_hot_race(self):
        for flags in ([], ["-static"], ["-no-pie"]):
            with self.subTest(flags=flags), running(build(SAMPLE / "hot.cc", *flags), "60") as process:
                await_threads(process.pid, 3)
                run = Attached(process.pid, "--seconds", "3", *BUSY)
                self.assertEqual(run.code, 66, run.stderr)
                self.assertIn("DATA RACE on counter", run.stderr)
                self.assertNotIn("on done", run.stderr)
                self.assertIn("caught in the act", run.stderr)
                self.assertEqual(run.stderr.split("\n\n")[0].count("hot.cc:14"), 2, run.stderr)  # both sides
                self.assertIsNone(process.poll())
                self.assertTrue(text_is_as_in_file(process.pid, build(SAMPLE / "hot.cc", *flags)))

    def test_nothing_on_locked_and_atomic_data(self):
        for flags in ([], ["-static"]):
            with self.subTest(flags=flags), running(build(SAMPLE / "clean.cc", *flags), "60") as process:
                await_threads(process.pid, 4)
                run = Attached(process.pid, "--seconds", "2", "--rate", "1000", *BUSY)
                self.assertEqual((run.code, run.reports), (0, []), run.stderr)
                self.assertIsNone(process.poll())

    def test_a_server_is_not_disturbed(self):
        self.attach_and_leave(4, ["--seconds", "1", "--rate", "1000", *BUSY])

    def test_libraries(self):
        self.attach_and_leave(1, ["--seconds", "1", "--rate", "1000", "--modules", "all", "--exit-code", "0", *BUSY])

    def test_ctrl_c(self):
        for what in (signal.SIGINT, signal.SIGTERM):
            with running(build(SAMPLE / "hot.cc"), "60") as process:
                await_threads(process.pid, 3)
                with running(ARGS.redflag, "attach", "--seconds", "0", process.pid, stderr=subprocess.DEVNULL) as redflag:
                    await_traced(process.pid)
                    time.sleep(0.5)
                    redflag.send_signal(what)
                    self.assertIn(redflag.wait(PATIENCE), (0, 66))
                self.assertEqual(status(process.pid, "TracerPid"), "0")
                self.assertTrue(text_is_as_in_file(process.pid, build(SAMPLE / "hot.cc")))
                self.assertIsNone(process.poll())

    def test_who_started_it_is_killed(self):
        self.killed_with(lambda redflag: redflag.kill())

    def test_all_of_that_name_are_killed(self):
        self.killed_with(lambda redflag: subprocess.run(["pkill", "-9", "-f", f"attach .*{redflag.args[-1]}"], check=True))

    def killed_with(self, kill):
        with server() as process:
            client = Client(process.path)
            with running(ARGS.redflag, "attach", "--seconds", "0", "--rate", "1000", *BUSY, process.pid, stderr=subprocess.DEVNULL) as redflag:
                await_traced(process.pid)
                time.sleep(0.5)
                kill(redflag)
                redflag.wait(PATIENCE)
            await_left(process.pid)
            self.assertTrue(text_is_as_in_file(process.pid, process.program))
            client.finish()
            self.assertIsNone(client.problem)
            process.terminate()
            self.assertEqual((process.wait(PATIENCE), process.stdout.read()), (7, UNDISTURBED.format(0)))

    def test_the_tracer_is_killed_at_any_moment(self):
        self.kill_the_tracer(5)

    def test_it_is_killed_as_it_begins(self):
        self.kill_as_it_begins(20)

    def test_the_tracer_of_a_quiet_process_is_killed(self):
        with server("quiet") as process:
            with running(ARGS.redflag, "attach", "--seconds", "0", "--rate", "1000", process.pid, stderr=subprocess.PIPE) as redflag:
                await_traced(process.pid)
                await_true(lambda: not text_is_as_in_file(process.pid, process.program), "with breakpoints")
                tracer = int(status(process.pid, "TracerPid"))
                os.kill(int(status(tracer, "Tgid")), signal.SIGKILL)
                self.assertEqual(redflag.wait(PATIENCE), 128 + 9)
                self.assertIn("taken out", redflag.stderr.read())
                redflag.stderr.close()
            await_left(process.pid)
            self.assertTrue(text_is_as_in_file(process.pid, process.program))
            client = Client(process.path)
            await_true(lambda: client.asked > 100 or client.problem, "served")
            client.finish()
            self.assertIsNone(client.problem)
            process.terminate()
            self.assertEqual(process.wait(PATIENCE), 7)

    def test_all_are_killed_and_the_next_one_mends_it(self):
        with server("quiet") as process:  # with no children: who was forked with breakpoints keeps them
            clients = [Client(process.path) for _ in range(3)]
            signals = signal_state(process.pid)
            with running(ARGS.redflag, "attach", "--seconds", "0", "--rate", "1000", *BUSY, process.pid, stderr=subprocess.DEVNULL) as redflag:
                await_true(lambda: not text_is_as_in_file(process.pid, process.program), "with breakpoints")
                tracer = tracer_of(redflag)
                redflag.send_signal(signal.SIGSTOP)  # it takes nothing out
                os.kill(tracer, signal.SIGKILL)
                redflag.kill()
                redflag.wait(PATIENCE)
            await_left(process.pid)
            run = Attached(process.pid, "--seconds", "0.5", "--exit-code", "0", *BUSY)
            self.assertEqual(run.code, 0, run.stderr)
            self.assertTrue(text_is_as_in_file(process.pid, process.program))
            self.assertEqual(signal_state(process.pid), signals)
            for client in clients:
                client.finish()
            self.assertEqual([client.problem for client in clients], [None] * 3)

    @contextlib.contextmanager
    def sampled_traps(self, *arguments):
        program = build(HERE / "traps.cc")
        with running(program, *arguments, stdin=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            with running(ARGS.redflag, "attach", "--seconds", "0", "--rate", "1000", *BUSY, process.pid, stderr=subprocess.DEVNULL) as redflag:
                await_true(lambda: not text_is_as_in_file(process.pid, program), "with breakpoints")
                yield process
                redflag.terminate()
                self.assertIn(redflag.wait(PATIENCE), (0, 66))
            process.stdin.close()
            process.end = (process.wait(PATIENCE), process.stdout.read())

    def test_traps_of_the_program_end_it(self):
        for what in ("int3", "raise"):
            with self.subTest(what=what), self.sampled_traps() as process:
                process.stdin.write(what + "\n")
                process.stdin.flush()
                process.wait(PATIENCE)
            self.assertEqual(process.end, (-signal.SIGTRAP, ""))

    def test_traps_that_the_program_handles(self):
        with self.sampled_traps("handles") as process:
            for what in ("int3", "raise"):
                process.stdin.write(what + "\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), "went on\n")
        self.assertEqual(process.end, (0, "caught 2\n"))

    def test_a_stopped_process_stays_stopped(self):
        with running(build(SAMPLE / "hot.cc"), "60") as process:
            await_threads(process.pid, 3)
            process.send_signal(signal.SIGSTOP)
            await_true(lambda: status(process.pid, "State")[0] == "T", "stopped")
            before = used_seconds(process.pid)
            run = Attached(process.pid, "--seconds", "1")
            self.assertEqual(run.code, 0, run.stderr)
            # Its two threads spin, so that it would have used most of that second; what is done in it to begin and end the sampling is a tick or two.
            self.assertLess(used_seconds(process.pid) - before, 0.15)
            self.assertEqual(status(process.pid, "State")[0], "T")
            process.send_signal(signal.SIGCONT)
            await_true(lambda: status(process.pid, "State")[0] in "RS", "running")

    def test_stopped_and_continued_meanwhile(self):
        with running(build(SAMPLE / "hot.cc"), "60") as process:
            await_threads(process.pid, 3)
            with running(ARGS.redflag, "attach", "--seconds", "0", "--rate", "1000", *BUSY, process.pid, stderr=subprocess.DEVNULL) as redflag:
                await_traced(process.pid)
                for _ in range(20):
                    process.send_signal(signal.SIGSTOP)
                    # Whoever waits for it is told, as without us.
                    self.assertTrue(os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1]))
                    process.send_signal(signal.SIGCONT)
                    self.assertTrue(os.WIFCONTINUED(os.waitpid(process.pid, os.WCONTINUED)[1]))
                redflag.terminate()
                self.assertIn(redflag.wait(PATIENCE), (0, 66))
            self.assertTrue(text_is_as_in_file(process.pid, build(SAMPLE / "hot.cc")))
            self.assertIsNone(process.poll())

    def test_the_process_ends(self):
        with running(build(SAMPLE / "hot.cc"), "3") as process:
            await_threads(process.pid, 3)
            run = Attached(process.pid, "--seconds", "0")
            self.assertIn("has ended", run.stderr)
            self.assertIn(run.code, (0, 66))
            self.assertEqual((process.wait(PATIENCE), process.stdout.read()), (0, "counted\n"))

    def test_the_process_becomes_another_program(self):
        code = "import os, sys; print('ready', flush=True); sys.stdin.readline(); os.execv('/bin/sh', ['sh', '-c', 'echo other; exit 5'])"
        with running(sys.executable, "-c", code, stdin=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            with running(ARGS.redflag, "attach", "--seconds", "0", process.pid, stderr=subprocess.PIPE) as redflag:
                await_traced(process.pid)
                process.stdin.write("go\n")
                process.stdin.close()
                self.assertEqual((process.wait(PATIENCE), process.stdout.read()), (5, "other\n"))
                self.assertEqual(redflag.wait(PATIENCE), 0)
                self.assertIn("has become another program", redflag.stderr.read())
                redflag.stderr.close()

    def test_outputs_are_those_of_sample(self):
        sarif, text, rules = ARGS.build / "out.sarif", ARGS.build / "out.txt", ARGS.build / "rules.txt"
        rules.write_text("race:Count\n")
        with running(build(SAMPLE / "hot.cc"), "60") as process:
            await_threads(process.pid, 3)
            run = Attached(process.pid, "--seconds", "3", "--sarif", str(sarif), "--text", str(text), "--exit-code", "9", *BUSY)
            self.assertEqual(run.code, 9, run.stderr)
            self.assertTrue(json.loads(sarif.read_text())["runs"][0]["results"])
            self.assertIn("counter", text.read_text())
            self.assertEqual(run.reports[0]["detector"], "sample")
            run = Attached(process.pid, "--seconds", "1", "--suppressions", str(rules), *BUSY)
            self.assertEqual((run.code, "DATA RACE" in run.stderr), (0, False), run.stderr)
            run = Attached(process.pid, "--seconds", "2", "--repeated-read", *BUSY)
            self.assertIn("without data breakpoints", run.stderr)
            self.assertEqual(run.code, 66, run.stderr)

    def refused(self, pid, message):
        run = Attached(pid, "--seconds", "1")
        self.assertEqual(run.code, 2, run.stderr)
        self.assertIn(message, run.stderr)

    def test_refusals(self):
        self.refused(4194303, "there is no process")
        itself = subprocess.run(["sh", "-c", f"exec {ARGS.redflag} attach $$"], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual((itself.returncode, "this very process" in itself.stderr), (2, True), itself.stderr)
        if status(2, "Name") == "kthreadd":
            self.refused(2, "a thread of the kernel")
        with running(build(SAMPLE / "hot.cc"), "60") as process:
            await_threads(process.pid, 3)
            thread = max(int(tid) for tid in os.listdir(f"/proc/{process.pid}/task"))
            self.refused(thread, f"a thread of process {process.pid}")
            with running(ARGS.redflag, "attach", "--seconds", "0", process.pid, stderr=subprocess.DEVNULL) as other:
                await_traced(process.pid)
                self.refused(process.pid, "already traced by")
                other.terminate()
                other.wait(PATIENCE)
        with subprocess.Popen(["true"]) as ended:
            await_true(lambda: (status(ended.pid, "State") or "Z")[0] == "Z", "a zombie")
            self.refused(ended.pid, "has ended already")
        with running("sh", "-c", "trap '' TRAP; echo; exec sleep 60") as ignoring:
            ignoring.stdout.readline()
            self.refused(ignoring.pid, "ignores SIGTRAP")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "there is no other user to be")
    def test_no_permission(self):
        redflag = pathlib.Path("/tmp") / f"redflag-attach-{os.getpid()}"
        shutil.copy(ARGS.redflag, redflag)
        redflag.chmod(0o755)
        try:
            with running("sleep", "60") as process:
                command = ["setpriv", "--reuid", "65534", "--clear-groups", str(redflag), "attach", str(process.pid)]
                run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd="/")
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn("no permission", run.stderr)
                self.assertIn("another user", run.stderr)
        finally:
            redflag.unlink()

    def test_another_machine(self):
        # i386: for (;;) pause();
        code = bytes([0xB8, 29, 0, 0, 0, 0xCD, 0x80, 0xEB, 0xF7])
        base, size = 0x8048000, 52 + 32
        header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + size, 52, 0, 0, 52, 32, 1, 0, 0, 0)
        segment = struct.pack("<IIIIIIII", 1, 0, base, base, size + len(code), size + len(code), 5, 4096)
        program = ARGS.build / "i386"
        program.write_bytes(header + segment + code)
        program.chmod(0o755)
        try:
            with running(program) as process:
                time.sleep(0.2)
                if process.poll() is not None:
                    self.skipTest("this kernel runs no 32-bit programs")
                self.refused(process.pid, "32-bit")
        except OSError:
            self.skipTest("this kernel runs no 32-bit programs")


class LongTest(AttachTest):
    def test_the_tracer_is_killed_at_any_moment(self):
        self.kill_the_tracer(50)

    def test_it_is_killed_as_it_begins(self):
        self.kill_as_it_begins(300)

    def test_a_hundred_times(self):
        self.attach_and_leave(100, ["--seconds", "0.2", "--rate", "1000", *BUSY])


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redflag", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", default="")
    ARGS = parser.parse_args()
    ARGS.redflag, ARGS.build = ARGS.redflag.resolve(), ARGS.build.resolve()
    ARGS.build.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_CACHE_HOME"] = str(ARGS.build / "cache")
    suite = unittest.TestSuite()
    case = LongTest if ARGS.long else ShortTest
    for name in unittest.defaultTestLoader.getTestCaseNames(case):
        if ARGS.only in name:
            suite.addTest(case(name))
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
