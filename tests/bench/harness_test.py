#!/usr/bin/env python3
"""The measuring harness, held against programs whose cost is known and logs that were cut short."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.harness import catalog, cli, profile, render, results, session, stats, store, svg, tools  # noqa: E402
from bench.harness.measure import Launcher, RunFailed, Sample, run  # noqa: E402
from bench.harness.model import FULL, QUICK, SMALL, Command, Tool, Toolchain, Workload  # noqa: E402

PLAIN = Toolchain("plain", "gcc-12", "g++-12", ())
NATIVE = Tool("native", "as it is", PLAIN, "native")
SLOW = Tool("slow", "twice the work", PLAIN, "native", env={"TIMES": "2"})
OURS = Tool("ours", "three times the work", PLAIN, "native", env={"TIMES": "3"}, ours=True)
HEAVY = Tool("heavy", "under another program", PLAIN, "native", prefix=("env",), env={"TIMES": "4"}, heavy=True,
             report=r"^race$")

# Runs TIMES loops, and says on the way what it was asked.
SCRIPT = "for i in $(seq ${TIMES:-1}); do for j in $(seq $0); do :; done; done; echo $TIMES $0 >>$LOG; echo sum=7; echo race >&2"


def sample(cpu: float, rss: int = 1000, others: float = 0.0, reports: int = 0) -> Sample:
    return Sample(cpu=cpu, wall=cpu, rss=rss, others=others, reports=reports, digest="d")


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def workload(self, name: str = "loop", **more) -> Workload:
        def command(_folder: pathlib.Path, scale: str, threads: int) -> Command:
            count = {FULL: 2000, QUICK: 1000, SMALL: 500}[scale]
            argv = ("bash", "-c", SCRIPT, str(count), str(threads))
            return Command(argv, env={"LOG": str(self.folder / "order")}, check=lambda out: out)

        fields = {"title": "counts", "origin": "test", "threads": 1, "build": lambda t, f: f.mkdir(parents=True, exist_ok=True),
                  "command": command, **more}
        return Workload(name, **fields)

    def measure(self, plan: session.Plan, plan_id: dict | None = None) -> store.Log:
        log = store.Log(self.folder / "runs.jsonl", plan_id or {"id": 1})
        with contextlib.redirect_stderr(io.StringIO()):
            session.measure(plan, session.Builder(self.folder / "build"), Launcher(self.folder), log)
        log.close()
        return log


class MeasureTest(Folder):
    def run_python(self, code: str, **more) -> Sample:
        command = Command((sys.executable, "-c", code), **more)
        return run(Launcher(self.folder), NATIVE, command, timeout=20)

    def test_cpu_time_counts_all_threads_and_children(self) -> None:
        burn = "import time; start = time.process_time()\nwhile time.process_time() - start < 0.2: pass"
        both = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])\n{burn}"
        self.assertGreater(self.run_python(both).cpu, 0.4)

    def test_sleeping_costs_wall_time_only(self) -> None:
        found = self.run_python("import time; time.sleep(0.5)")
        self.assertGreaterEqual(found.wall, 0.5)
        self.assertLess(found.cpu, 0.4)

    def test_memory_is_that_of_the_program_not_of_this_one(self) -> None:
        ballast = b"x" * (300 << 20)
        small = run(Launcher(self.folder), NATIVE, Command(("true",)), timeout=20)
        self.assertLess(small.rss, 50 << 10)
        large = self.run_python("x = b'x' * (200 << 20)")
        self.assertGreater(large.rss, 200 << 10)
        self.assertLess(large.rss, 290 << 10)
        del ballast

    def test_a_program_that_takes_too_long_is_ended_with_its_children(self) -> None:
        command = Command(("bash", "-c", f"sleep 60 & echo $! >{self.folder}/child; wait"))
        with self.assertRaisesRegex(RunFailed, "took more than 1 s"):
            run(Launcher(self.folder), NATIVE, command, timeout=1)
        child = int((self.folder / "child").read_text())
        for _ in range(50):
            state = pathlib.Path(f"/proc/{child}/stat")
            if not state.exists() or state.read_text().split(")")[1].split()[0] == "Z":
                return
            time.sleep(0.1)
        self.fail("the child still runs")

    def test_failures_say_why(self) -> None:
        with self.assertRaisesRegex(RunFailed, r"exit status 3: .*(?s:.*)no such thing"):
            self.run_python("import sys; print('no such thing', file=sys.stderr); sys.exit(3)")
        with self.assertRaisesRegex(RunFailed, "exit status -11"):
            self.run_python("import os; os.kill(os.getpid(), 11)")
        with self.assertRaisesRegex(RunFailed, "exit status 127(?s:.*)No such file"):
            run(Launcher(self.folder), NATIVE, Command(("/no/such/program",)), timeout=20)

        def check(_out: str) -> str:
            raise ValueError("7 is not 8")
        with self.assertRaisesRegex(RunFailed, "wrong result: 7 is not 8"):
            self.run_python("", check=check)

    def test_a_server_is_loaded_and_then_asked_to_end(self) -> None:
        serve = ("import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
                 "open(sys.argv[1], 'w').close()\ntime.sleep(30)")
        ready = self.folder / "ready"
        seen = []

        def client(pid: int) -> None:
            while not ready.exists():
                time.sleep(0.02)
            seen.append(pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode())

        command = Command((sys.executable, "-c", serve, str(ready)), client=client)
        self.assertLess(run(Launcher(self.folder), NATIVE, command, timeout=20).wall, 20)
        self.assertEqual(seen, [sys.executable])

        def broken(_pid: int) -> None:
            raise ConnectionError("refused")
        with self.assertRaisesRegex(RunFailed, "refused"):
            run(Launcher(self.folder), NATIVE, dataclasses.replace(command, client=broken), timeout=20)

    def test_reports_are_counted(self) -> None:
        tool = dataclasses.replace(NATIVE, report="RACE")
        command = Command(("bash", "-c", "echo RACE; echo RACE RACE >&2"))
        self.assertEqual(run(Launcher(self.folder), tool, command, timeout=20).reports, 2)


class SessionTest(Folder):
    def test_tools_take_turns(self) -> None:
        plan = session.Plan([NATIVE, SLOW, OURS], [self.workload()], FULL, repetitions=3, wait=0)
        log = self.measure(plan)
        self.assertEqual({len(s) for s in log.samples.values()}, {3})
        lines = (self.folder / "order").read_text().split("\n")[:-1]
        self.assertEqual(lines, ["2000", "2 2000", "3 2000"] * 3)

    def test_heavy_tools_run_small_beside_native_code_at_that_size(self) -> None:
        plan = session.Plan([NATIVE, SLOW, HEAVY], [self.workload()], FULL, repetitions=1, wait=0)
        self.measure(plan)
        lines = (self.folder / "order").read_text().split("\n")[:-1]
        self.assertEqual(lines, ["2000", "2 2000", "500", "4 500"])

    def test_variants_of_heavy_tools_run_where_they_are_short(self) -> None:
        variant = dataclasses.replace(HEAVY, name="variant", full_only=True)
        workloads = [self.workload("long"), self.workload("short", quick_heavy=True)]
        plan = session.Plan([NATIVE, HEAVY, variant], workloads, spare_variants=True)
        tools = [{cell.tool for group in plan.rounds(w) for _, cell in group} for w in workloads]
        self.assertEqual(tools, [{"native", "heavy"}, {"native", "heavy", "variant"}])

    def test_growth_runs_every_thread_count(self) -> None:
        plan = session.Plan([NATIVE, SLOW], [self.workload(growth=True, threads=4)], repetitions=1, wait=0)
        log = self.measure(plan)
        counts = sorted({c.threads for c in log.samples if c.scale == QUICK})
        self.assertEqual(counts, list(session.GROWTH_THREADS))

    def test_what_fails_is_logged_and_the_rest_goes_on(self) -> None:
        def no_build(toolchain: Toolchain, folder: pathlib.Path) -> None:
            raise RuntimeError("no such package")
        wrong = self.workload("wrong", command=lambda f, s, t: Command(("bash", "-c", "echo sum=$TIMES"), check=lambda out: out))
        plan = session.Plan([NATIVE, SLOW], [self.workload("gone", build=no_build), wrong, self.workload()], repetitions=2, wait=0)
        log = self.measure(plan)
        why = {(c.workload, c.tool): w for c, w in log.failures.items()}
        self.assertIn("no such package", why["gone", "native"])
        self.assertIn("wrong result", why["wrong", "slow"])
        self.assertEqual(len(log.samples[store.Cell("loop", "slow", QUICK, 1)]), 2)

    def test_a_toolchain_that_a_workload_skips_is_not_run(self) -> None:
        log = self.measure(session.Plan([NATIVE, SLOW], [self.workload(skip={"plain": "no"})], wait=0))
        self.assertFalse(log.samples or log.failures)

    def test_a_change_of_source_builds_again(self) -> None:
        source = self.folder / "source"
        source.write_text("1")
        built = []

        def build(_toolchain: Toolchain, folder: pathlib.Path) -> None:
            folder.mkdir(parents=True, exist_ok=True)
            built.append(source.read_text())
        workload = self.workload(build=build, sources=(source,))
        builder = session.Builder(self.folder / "build")
        for text in ("1", "1", "2", "2"):
            source.write_text(text)
            builder.build(PLAIN, workload)
        self.assertEqual(built, ["1", "2"])


class StoreTest(Folder):
    cell = store.Cell("w", "t", FULL, 1)

    def test_goes_on_after_a_kill_without_the_torn_line(self) -> None:
        path = self.folder / "log"
        log = store.Log(path, {"plan": 1})
        log.add(self.cell, sample(1.0))
        log.add(self.cell, sample(2.0))
        log.close()
        os.truncate(path, path.stat().st_size - 5)
        again = store.Log(path, {"plan": 1})
        self.assertEqual([s.cpu for s in again.samples[self.cell]], [1.0])
        again.add(self.cell, sample(3.0))
        again.close()
        last = store.Log(path, {"plan": 1})
        self.assertEqual([s.cpu for s in last.samples[self.cell]], [1.0, 3.0])
        last.close()

    def test_another_plan_begins_anew_and_keeps_the_old(self) -> None:
        path = self.folder / "log.jsonl"
        log = store.Log(path, {"plan": 1})
        log.add(self.cell, sample(1.0))
        log.close()
        other = store.Log(path, {"plan": 2})
        self.assertFalse(other.samples)
        other.close()
        self.assertIn('"cpu": 1.0', (self.folder / "log.old").read_text())

    def test_failures_are_tried_again(self) -> None:
        path = self.folder / "log"
        log = store.Log(path, {})
        log.fail(self.cell, "no")
        log.close()
        again = store.Log(path, {})
        self.assertFalse(again.failures)
        again.close()

    def test_a_file_that_is_no_log_is_set_aside(self) -> None:
        path = self.folder / "log"
        path.write_bytes(b"\xff\x00 not json\n")
        store.Log(path, {}).close()
        self.assertEqual((self.folder / "log.old").read_bytes(), b"\xff\x00 not json\n")


class StatsTest(unittest.TestCase):
    def test_minimum_is_the_figure_and_the_maximum_tells_the_noise(self) -> None:
        of = stats.summarize([sample(c) for c in (4.0, 2.0, 3.0)])
        to = stats.summarize([sample(c) for c in (1.0, 1.0, 1.0)])
        ratio = stats.slowdown(of, to)
        self.assertEqual(ratio.value, 2.0)
        self.assertAlmostEqual(ratio.low, 2.0, 2)
        self.assertAlmostEqual(ratio.high, 4.0, 2)
        self.assertTrue(ratio.agrees(stats.Ratio(4.5, 3.9, 5.0)))
        self.assertFalse(ratio.agrees(stats.Ratio(4.5, 4.1, 5.0)))

    def test_a_native_time_of_zero_does_not_divide(self) -> None:
        zero = stats.summarize([sample(0.0)])
        self.assertLess(stats.slowdown(stats.summarize([sample(0.01)]), zero).value, 100)

    def test_the_cost_of_pairs_is_their_median_within_its_interval(self) -> None:
        pairs = [(1.0, 1.02)] * 10 + [(2.0, 2.06)] * 9 + [(1.0, 9.0)]  # one of them with somebody else's work in it
        cost = stats.paired_overhead(pairs)
        self.assertAlmostEqual(cost.value, 0.025, delta=0.006)
        self.assertTrue(0.019 < cost.low <= cost.value <= cost.high < 0.031, cost)
        self.assertEqual(cost, stats.paired_overhead(pairs))

    def test_geomean(self) -> None:
        self.assertAlmostEqual(stats.geomean([1, 4, 16]), 4)
        self.assertIsNone(stats.geomean([]))


def made_up() -> results.Results:
    def cells(workload: str, times: dict[str, float], threads: int = 4, scale: str = FULL) -> dict:
        return {store.Cell(workload, t, scale, threads): stats.summarize([sample(c), sample(c * 1.1)]) for t, c in times.items()}
    described = {t.name: {"title": t.title, "baseline": t.baseline, "heavy": t.heavy, "ours": t.ours, "version": "1"}
                 for t in (NATIVE, SLOW, OURS, HEAVY)}
    data = {**cells("a", {"native": 1.0, "slow": 4.0, "ours": 2.0}), **cells("a", {"native": 0.1, "heavy": 5.0}, scale=SMALL),
            **cells("b", {"native": 1.0, "slow": 2.0, "ours": 3.0}),
            **cells("b", {"native": 1.0, "slow": 3.0, "ours": 3.0}, threads=16, scale=QUICK)}
    names = {w: {"title": w, "origin": "test", "threads": 4} for w in ("a", "b")}
    return results.Results({"cpu": "c", "cores": "2", "memory": "1 GiB", "architecture": "x", "kernel": "k", "date": "d"}, {},
                           described, names, data, {store.Cell("b", "heavy", SMALL, 4): "crashed | badly\nmore"})


class RenderTest(Folder):
    def test_figures(self) -> None:
        found = made_up()
        self.assertEqual(found.slowdown("a", "slow").value, 4.0)
        self.assertAlmostEqual(found.slowdown("a", "heavy").value, 50.0)  # at its own scale
        self.assertIsNone(found.slowdown("b", "heavy"))
        self.assertEqual(found.slowdown("b", "slow", 16).value, 3.0)
        self.assertAlmostEqual(found.geomean("slow", found.slowdown)[0], 8**0.5)

    def test_losses_are_shown_with_their_profile(self) -> None:
        found = made_up()
        self.assertEqual(found.losses(), [("b", "ours", "slow", 1.5)])
        found.profiles["b ours"] = ["90 % everything"]
        page = render.markdown(found)
        self.assertIn("| b | ours | slow | 1.50 |", page)
        self.assertIn("90 % everything", page)

    def test_the_page_says_what_was_not_measured_and_how_noisy_it_was(self) -> None:
        found = made_up()
        page = render.markdown(found)
        self.assertIn("| b | heavy | crashed \\| badly |", page)
        self.assertIn("The machine was quiet", page)
        found.cells[store.Cell("a", "slow", FULL, 4)] = stats.summarize([sample(4.0, others=0.9)])
        self.assertIn("was not quiet**: something else used up to 0.90", render.markdown(found))

    def test_plots_are_well_formed_and_name_everything(self) -> None:
        found = made_up()
        for text in (render.slowdown_plot(found), render.memory_plot(found), render.growth_plot(found)):
            tree = xml.etree.ElementTree.fromstring(text)
            words = " ".join(tree.itertext())
            for title in ("twice the work", "three times the work"):
                self.assertIn(title, words)
        self.assertIn("nothing was measured", svg.bars("t", "x", ["a"], [svg.Series("s", [None])]))

    def test_curves_go_below_zero_and_leave_out_what_is_not_known(self) -> None:
        drawn = svg.curves("title", "x", "y", ["0", "10", "100"], [svg.Series("one", [-1.0, None, 3.5]), svg.Series("<two>", [0.0, 1.0, 2.0])])
        root = xml.etree.ElementTree.fromstring(drawn)
        self.assertEqual(len([e for e in root.iter() if e.tag.endswith("circle")]), 5)
        self.assertIn("&lt;two&gt;", drawn)
        xml.etree.ElementTree.fromstring(svg.curves("title", "x", "y", ["0", "1"], [svg.Series("none", [None, None])]))

    def test_saved_results_are_read_back(self) -> None:
        found = made_up()
        results.save(found, self.folder / "r.json")
        again = results.load(self.folder / "r.json")
        self.assertEqual(render.markdown(found), render.markdown(again))

    def test_comparison(self) -> None:
        first, second = made_up(), made_up()
        self.assertEqual(render.compare(first, second)[1:], (5, 5))
        cell = store.Cell("a", "slow", FULL, 4)
        second.cells[cell] = stats.summarize([sample(9.0)])
        text, total, agreed = render.compare(first, second)
        self.assertEqual((total, agreed), (5, 4))
        self.assertEqual(text.count("DIFFER"), 1)


class CommandTest(Folder):
    def call(self, *argv: str) -> tuple[int, str, str]:
        run_result = subprocess.run([str(ROOT / "bench" / "run"), *argv], capture_output=True, text=True, timeout=250, check=False)
        return run_result.returncode, run_result.stdout, run_result.stderr

    def test_help_and_list(self) -> None:
        code, out, _ = self.call("--help")
        self.assertEqual(code, 0)
        self.assertIn("examples:", out)
        code, out, _ = self.call("--list")
        self.assertEqual(code, 0)
        for name in ("tsan-clang", "helgrind", "hashmap", "matmul-ijk", "tsp", "zstd"):
            self.assertIn(f"  {name} ", out)

    def test_bad_input(self) -> None:
        for argv, words in ((["--only", "nothing"], "there is no workload 'nothing'; there are: "),
                            (["--tools", "nothing"], "there is no tool 'nothing'; there are: "),
                            (["--repetitions", "0"], "at least 1"),
                            (["--what"], "unrecognized"),
                            (["--compare", "/no/such", "/no/such"], "No such file")):
            code, out, err = self.call(*argv, "--out", str(self.folder))
            self.assertEqual((code, out), (2, ""), argv)
            self.assertIn(words, err)

    def test_killed_half_way_it_goes_on(self) -> None:
        argv = [str(ROOT / "bench" / "run"), "--quick", "--only", "philo", "--tools", "tsan-clang", "--wait", "0",
                "--repetitions", "6", "--out", str(self.folder)]
        log = self.folder / "runs.jsonl"
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as first:
            deadline = time.monotonic() + 200
            while not (log.exists() and log.read_text().count('"sample"') >= 2) and time.monotonic() < deadline:
                time.sleep(0.02)
            os.killpg(first.pid, signal.SIGKILL)
        self.assertFalse((self.folder / "results.json").exists())
        kept = log.read_text().count('"sample"')
        self.assertIn(kept, range(2, 12))
        code, out, err = self.call(*argv[1:])
        self.assertEqual(code, 0, err)
        self.assertIn(f"going on with {kept} runs", err)
        self.assertIn("| philo |", out)
        data = json.loads((self.folder / "results.json").read_text())
        self.assertEqual({c["runs"] for c in data["cells"]}, {6})
        for name in ("table.md", "slowdown.svg", "memory.svg"):
            self.assertTrue((self.folder / name).exists())


class CatalogTest(unittest.TestCase):
    def test_names_are_unique_and_commands_exist_at_every_scale(self) -> None:
        workloads = catalog.workloads()
        names = [w.name for w in workloads]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 30)
        self.assertLess(sum(w.quick for w in workloads), 14)
        for name in (t.baseline for t in tools.TOOLS):
            self.assertIn(name, [t.name for t in tools.TOOLS])

    def test_no_profile_without_perf(self) -> None:
        with mock.patch("shutil.which", return_value=None):
            self.assertIn("not installed", profile.profile(NATIVE, Command(("true",)))[0])

    def test_calls_alone_are_all_that_the_compilers_make(self) -> None:
        runtime, = (part for part in tools.by_name(["redflag-hb"])[-1].parts if part.name == "libredflag_rt.so")
        archive, = tools.by_name(["calls-clang"])[-1].toolchain.linked

        def defined(*argv: str | pathlib.Path) -> set[str]:
            out = subprocess.run(["nm", "--defined-only", *argv], capture_output=True, text=True, timeout=60, check=True).stdout
            called = r"\b__tsan_(?:(?:unaligned_|volatile_)*(?:read|write)|func_|vptr_|init|atomic|mem)\w*"
            return set(re.findall(called, out))

        # Of 16 bytes atomically, which no workload does; and of accesses whose place is an argument, which no compiler here makes.
        without = {name for name in defined("-D", runtime) if "atomic128" in name or name.endswith("_pc")}
        self.assertEqual(defined(archive), defined("-D", runtime) - without)

    def test_a_tool_that_is_not_there_is_named(self) -> None:
        self.assertIn("no-such-compiler is not installed",
                      tools.missing(dataclasses.replace(NATIVE, toolchain=Toolchain("x", "x", "no-such-compiler", ()))))
        self.assertEqual(tools.by_name(["drd"])[0].name, "native-gcc")
        self.assertIsNotNone(cli.main)


if __name__ == "__main__":
    unittest.main()
