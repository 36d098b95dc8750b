#!/usr/bin/env python3
"""Programs as Debian ships them under `redflag sample`: they do what they do alone, to the end, and what is found is printed.

  stock.py --redflag REDFLAG --build FOLDER [--only NAME] [--seconds N]

Skipped (77) if one of the programs is not installed and the others passed. docs/field-notes.md says what the reports are.
"""

import argparse
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

ARGS = None
PATIENCE = 300  # seconds; whatever takes longer hangs
OFTEN = ["--rate", "1000", "--budget", "10%"]
MISSING = set()


def need(test, *programs):
    """Debian's own, not what else may be in the path; skips the test if one is not there."""
    found = [pathlib.Path("/usr/bin") / program for program in programs]
    for path in found:
        if not path.exists():
            MISSING.add(path.name)
            test.skipTest(f"{path.name} is not installed")
    return [str(path) for path in found]


def folder(name):
    path = ARGS.build / "stock" / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def text(path, words):
    """Text that compresses as text does, the same in each run."""
    choice = random.Random(1)
    known = [bytes(choice.choices(b"abcdefghijklmnopqrstuvwxyz", k=choice.randint(2, 10))) for _ in range(5000)]
    path.write_bytes(b" ".join(choice.choices(known, k=words)))
    return path


def alone(command, **options):
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False, **options)
    return done.returncode, done.stdout


class Sampled:
    """A program under `redflag sample`. `finish()` waits for it: its own status, what it wrote, and what was reported."""

    def __init__(self, name, command, *options, **popen):
        self.name = name
        self.json = ARGS.build / "stock" / f"{name}.json"
        self.json.unlink(missing_ok=True)
        sampling = [str(ARGS.redflag), "sample", "--stats", "--exit-code", "0", "--json", str(self.json), *OFTEN, *options, "--"]
        self.process = subprocess.Popen([*sampling, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)

    def finish(self):
        try:
            stdout, stderr = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.terminate()  # handed on to the program
            self.process.communicate(timeout=PATIENCE)
            raise
        self.stderr = stderr.decode(errors="replace")
        self.tell()
        return self.process.returncode, stdout

    def tell(self):
        lines = [json.loads(line) for line in self.json.read_text().splitlines()] if self.json.exists() else []
        races = [line for line in lines if line.get("kind") == "data-race"]
        print(f"\n{self.name}: {len(races)} reports", flush=True)
        for race in races:
            sides = [race["access"], *race.get("earlier", [])[:1]]
            looks = race.get("observed", {}).get("looks")
            print(f"  {race.get('variable') or race['address']}: " + ", ".join(self.side(side) for side in sides) + (f"; looks: {looks}" if looks else ""))
        for line in self.stderr.splitlines():
            if line.startswith(("redflag: process", "redflag:   stopped")):
                print(f"  {line.removeprefix('redflag:').strip()}")

    @staticmethod
    def side(side):
        for frame in side.get("stack", []):
            name = pathlib.Path(frame.get("module", "?")).name
            function = frame.get("function")
            kind = ("atomic " if side["atomic"] else "") + ("write" if side["write"] else "read")
            return f"{kind} at {function + ' in ' if function else ''}{name}+{frame.get('offset', '?')}"
        return "an unknown writer"


class StockTest(unittest.TestCase):
    def check_filter(self, name, suffix, command, back):
        """A program that compresses: its output alone and sampled, byte for byte, and that it can be read again."""
        where = folder(name)
        plain = text(where / "text", 2_000_000 if not ARGS.quick else 200_000)
        expected = alone([*command, str(plain)])
        self.assertEqual(expected[0], 0)
        for modules in ([], ["--modules", "all"]):
            with self.subTest(modules=modules):
                sampled = Sampled(name + ("-all" if modules else ""), [*command, str(plain)], *modules)
                status, output = sampled.finish()
                self.assertEqual(status, 0, sampled.stderr)
                self.assertEqual(hashlib.sha256(output).hexdigest(), hashlib.sha256(expected[1]).hexdigest())
        packed, broken = where / f"packed.{suffix}", where / f"broken.{suffix}"
        packed.write_bytes(expected[1])
        broken.write_bytes(expected[1][: len(expected[1]) // 2])
        status, output = Sampled(name + "-back", [*back, str(packed)], stdin=subprocess.DEVNULL).finish()
        self.assertEqual((status, output == plain.read_bytes()), (0, True))
        # What goes wrong alone goes wrong in the same way.
        expected = alone([*back, str(broken)])[0]
        self.assertNotEqual(expected, 0)
        self.assertEqual(Sampled(name + "-broken", [*back, str(broken)]).finish()[0], expected)

    def test_pigz(self):
        program, = need(self, "pigz")
        self.check_filter("pigz", "gz", [program, "-n", "-p", "4", "-c"], [program, "-d", "-c"])

    def test_pbzip2(self):
        program, = need(self, "pbzip2")
        self.check_filter("pbzip2", "bz2", [program, "-p4", "-c"], [program, "-p4", "-d", "-c"])

    def test_xz(self):
        program, = need(self, "xz")
        self.check_filter("xz", "xz", [program, "-T4", "-1", "--block-size=1MiB", "-c"], [program, "-T4", "-d", "-c"])

    def test_zstd(self):
        program, = need(self, "zstd")
        self.check_filter("zstd", "zst", [program, "-T4", "-5", "-q", "-c"], [program, "-d", "-q", "-c"])

    def test_memcached(self):
        program, = need(self, "memcached")
        where = folder("memcached")
        path = where / "socket"
        user = ["-u", "root"] if os.geteuid() == 0 else []
        sampled = Sampled("memcached", [program, *user, "-s", str(path), "-t", "4", "-m", "64"])
        with self.ended(sampled):
            await_socket(path, sampled)
            clients = [MemcachedClient(str(path), number, ARGS.seconds) for number in range(8)]
            for client in clients:
                client.join(PATIENCE)
            self.assertEqual([client.problem for client in clients], [None] * len(clients))
            self.assertGreater(min(client.asked for client in clients), 10)
        self.assertEqual(sampled.status, 0, sampled.stderr)

    def test_redis(self):
        server, = need(self, "redis-server")
        where = folder("redis")
        path = where / "socket"
        sampled = Sampled("redis", [server, "--port", "0", "--unixsocket", str(path), "--dir", str(where), "--save", "", "--io-threads", "4",
                                    "--io-threads-do-reads", "yes"])
        with self.ended(sampled):
            await_socket(path, sampled)
            with RedisConnection(str(path)) as client:
                for number in range(200):
                    client.ask("SET", f"key:{number}", "x" * number)
                clients = [RedisClient(str(path), number, ARGS.seconds) for number in range(16)]
                for each in clients:
                    each.join(PATIENCE)
                self.assertEqual([each.problem for each in clients], [None] * len(clients))
                self.assertEqual(int(client.ask("GET", "all")), sum(each.asked for each in clients))
                for number in range(200):
                    self.assertEqual(client.ask("GET", f"key:{number}"), "x" * number)
                before = client.ask("LASTSAVE")
                time.sleep(1.1)
                client.ask("BGSAVE")  # forks, with breakpoints in the code
                while client.ask("LASTSAVE") == before:
                    time.sleep(0.1)
                self.assertIn("rdb_last_bgsave_status:ok", client.ask("INFO", "persistence"))
        self.assertEqual(sampled.status, 0, sampled.stderr)
        self.assertTrue((where / "dump.rdb").exists())

    def test_python(self):
        program, = need(self, "python3")
        code = """
import hashlib, json, queue, sys, threading, zlib
jobs, sums = queue.Queue(), {}
def work():
    while (job := jobs.get()) is not None:
        data = json.dumps({str(k): [k, "x" * (k % 50)] for k in range(job, job + 300)}).encode()
        sums[job] = hashlib.sha256(zlib.decompress(zlib.compress(data))).hexdigest()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for job in range(int(sys.argv[1])): jobs.put(job)
for _ in threads: jobs.put(None)
for thread in threads: thread.join()
print(hashlib.sha256(json.dumps(sorted(sums.items())).encode()).hexdigest())
sys.exit(7)
"""
        command = [program, "-c", code, "300" if ARGS.quick else "3000"]
        expected = alone(command)
        self.assertEqual(expected[0], 7)
        for modules in ([], ["--modules", "all"]):
            with self.subTest(modules=modules):
                self.assertEqual(Sampled("python" + ("-all" if modules else ""), command, *modules).finish(), expected)

    def test_chromium(self):
        """A browser, and the processes that it starts: four workers that compute, and a picture that is drawn."""
        need(self, "chromium")
        where = folder("chromium")
        code = "onmessage = e => { let x = e.data; for (let i = 0; i < ROUNDS; ++i) x = (Math.imul(x, 1664525) + 1013904223) >>> 0; postMessage(x); }"
        page = """<!DOCTYPE html><title>workers</title><canvas id=c width=300 height=150></canvas><p id=sums></p><img src=/late.png>
<script>
const url = URL.createObjectURL(new Blob(["CODE"], {type: "text/javascript"}));
const sums = [];
for (let i = 0; i < 4; ++i) {
  const worker = new Worker(url);
  worker.onmessage = e => {
    sums[i] = e.data;
    if (Object.keys(sums).length < 4) return;
    document.getElementById("sums").textContent = sums.join(" ");
    fetch("/done");
  };
  worker.postMessage(i);
}
const context = document.getElementById("c").getContext("2d");
for (let i = 0; i < 300; ++i) { context.fillStyle = `hsl(${i},80%,50%)`; context.fillRect(i, 75 + 70 * Math.sin(i / 20), 3, 10); }
</script>""".replace("CODE", code.replace("ROUNDS", "20000000" if ARGS.quick else "300000000"))

        def visit(run, picture):
            """-> its status, what it says the page became, and the picture."""
            with PageServer(page) as server:
                # As root it does not start with its sandbox.
                status, output = run(["/usr/lib/chromium/chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={where / 'profile'}",
                                      f"--screenshot={picture}", "--dump-dom", server.address])
            return status, output, picture.read_bytes()

        expected = visit(alone, where / "alone.png")
        self.assertEqual(expected[0], 0)
        self.assertRegex(expected[1], rb'id="sums">\d+ \d+ \d+ \d+<')
        for options in ([], ["--children"]):
            with self.subTest(options=options):
                sampled = lambda command: Sampled("chromium" + "".join(options), command, *options).finish()  # noqa: B023, E731
                self.assertEqual(visit(sampled, where / "sampled.png"), expected)

    @contextlib.contextmanager
    def ended(self, sampled):
        """A server: told to end at the end of the block, which has to be in peace."""
        try:
            yield
        finally:
            sampled.process.send_signal(signal.SIGTERM)
            sampled.status, _ = sampled.finish()


def await_socket(path, sampled):
    end = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as one:
            one.connect(str(path))
            return
        if sampled.process.poll() is not None or time.monotonic() > end:
            raise AssertionError(f"{sampled.name} does not answer")
        time.sleep(0.05)


class PageServer(http.server.ThreadingHTTPServer):
    """One page, and a picture that does not come before the page says that it is done: a browser takes it to be loaded only then."""

    def __init__(self, page):
        super().__init__(("127.0.0.1", 0), self.Answer)
        self.page, self.done = page.encode(), threading.Event()
        self.address = f"http://127.0.0.1:{self.server_port}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.done.set()
        self.shutdown()
        self.server_close()

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = b""
            if self.path == "/":
                body = self.server.page
            elif self.path == "/done":
                self.server.done.set()
            elif self.path == "/late.png":
                self.server.done.wait(PATIENCE)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass


class Client(threading.Thread):
    """Asks a server until its time is over; every answer has to be right."""

    def __init__(self, path, number, seconds):
        super().__init__(daemon=True)
        self.path, self.number, self.seconds = path, number, seconds
        self.asked, self.problem = 0, None
        self.start()

    def run(self):
        try:
            self.ask_all()
        except (OSError, AssertionError) as problem:
            self.problem = problem


class MemcachedClient(Client):
    """Stores and asks; what it alone stores has to be what it gets. One key is everybody's."""

    def ask_all(self):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(self.path)
            answers = connection.makefile("rb")
            end = time.monotonic() + self.seconds
            while time.monotonic() < end:
                self.asked += 1
                key, value = f"{self.number}:{self.asked % 50}", str(self.asked).encode() * 20
                connection.sendall(f"set {key} 0 0 {len(value)}\r\n".encode() + value + b"\r\n")
                assert answers.readline() == b"STORED\r\n", "not stored"
                connection.sendall(f"get {key}\r\nset all 0 0 1\r\n1\r\nget all\r\n".encode())
                assert answers.readline() == f"VALUE {key} 0 {len(value)}\r\n".encode(), "not found"
                assert answers.readline().rstrip() == value, "another value"
                assert [answers.readline() for _ in range(2)] == [b"END\r\n", b"STORED\r\n"]
                assert [answers.readline() for _ in range(3)] == [b"VALUE all 0 1\r\n", b"1\r\n", b"END\r\n"]
                if self.asked % 20 == 0:
                    connection.sendall(b"stats\r\n")
                    while (line := answers.readline()) != b"END\r\n":
                        assert line.startswith(b"STAT "), line


class RedisClient(Client):
    def ask_all(self):
        with RedisConnection(self.path) as connection:
            end = time.monotonic() + self.seconds
            while time.monotonic() < end:
                self.asked += 1
                key, value = f"{self.number}:{self.asked % 50}", str(self.asked) * 20
                connection.ask("SET", key, value)
                assert connection.ask("GET", key) == value, "another value"
                connection.ask("LPUSH", f"list:{self.number}", value)
                assert connection.ask("RPOP", f"list:{self.number}") == value, "another value in the list"
                connection.ask("INCR", "all")


class RedisConnection:
    def __init__(self, path):
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.settimeout(PATIENCE)
        self.connection.connect(path)
        self.answers = self.connection.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.answers.close()
        self.connection.close()

    def ask(self, *words):
        request = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
        self.connection.sendall(request.encode())
        kind, rest = (line := self.answers.readline().decode().rstrip("\r\n"))[:1], line[1:]
        if kind == "-":
            raise AssertionError(rest)
        if kind != "$":
            return rest
        return self.answers.read(int(rest) + 2)[:-2].decode() if int(rest) >= 0 else None


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redflag", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=20, help="for how long a server is asked")
    parser.add_argument("--quick", action="store_true", help="a tenth of the data")
    ARGS = parser.parse_args()
    ARGS.redflag, ARGS.build = ARGS.redflag.resolve(), ARGS.build.resolve()
    (ARGS.build / "stock").mkdir(parents=True, exist_ok=True)
    os.environ["XDG_CACHE_HOME"] = str(ARGS.build / "cache")
    suite = unittest.TestSuite()
    for name in unittest.defaultTestLoader.getTestCaseNames(StockTest):
        if ARGS.only in name:
            suite.addTest(StockTest(name))
    if not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful():
        return 1
    if MISSING:
        print(f"not installed, so not tried: {' '.join(sorted(MISSING))}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
