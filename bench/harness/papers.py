"""The measurements that the papers published, and ours beside them as far as they have been made.

A figure of ours is a Measured: it names a workload and a tool of the results; while there is no such result it is shown as
"-". The paper's figures are as printed there; machines, languages and inputs differ, so what compares is the shape.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .results import Results
from .stats import Ratio


@dataclasses.dataclass(frozen=True)
class Measured:
    kind: str  # "slowdown" or "memory"
    workload: str  # "*": the geometric mean of all that the tool ran
    tool: str

    def show(self, results: Results | None) -> str:
        if results is None or self.tool not in results.tools:
            return "-"
        of = {"slowdown": results.slowdown, "memory": results.memory}[self.kind]
        if self.workload == "*":
            mean, _ = results.geomean(self.tool, of)
            return "-" if mean is None else f"{mean:.2f}"
        ratio: Ratio | None = of(self.workload, self.tool) if self.workload in results.workloads else None
        return "-" if ratio is None else f"{ratio.value:.2f}"


Value = str | Measured


@dataclasses.dataclass(frozen=True)
class Table:
    title: str
    note: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]

    def markdown(self, results: Results | None) -> str:
        shown = [[v.show(results) if isinstance(v, Measured) else v for v in row] for row in self.rows]
        lines = [f"## {self.title}", "", self.note, "", "| " + " | ".join(self.columns) + " |",
                 "|---|" + "---:|" * (len(self.columns) - 1)]
        return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in shown), ""])


def _racetrack_2() -> Table:
    programs = ("btree", "sat", "warehouse", "crawler", "vclient")
    paper = {  # setting: (slow-down, memory) for Boxwood, SATsolver, SpecJBB, Crawler, Vclient
        "lockset": ("1.17", "1.34", "2.77", "1.67", "2.85", "1.76", "1.08", "1.33", "1.95", "1.17"),
        "+threadset": ("1.30", "1.43", "2.98", "2.18", "2.87", "2.02", "1.07", "1.69", "2.00", "1.19"),
        "+granularity": ("1.21", "1.03", "2.56", "1.52", "3.18", "1.18", "1.07", "1.02", "2.00", "1.18"),
    }
    tools = {"lockset": "redflag-racetrack-lockset", "+threadset": "redflag-racetrack-threadset", "+granularity": "redflag-racetrack"}
    names = ("Boxwood", "SATsolver", "SpecJBB", "Crawler", "Vclient")
    rows: list[list[Value]] = []
    for setting, figures in paper.items():
        rows.append([setting, "RaceTrack", *figures])
        rows.append([setting, "Redflag", *(Measured(kind, w, tools[setting]) for w in programs for kind in ("slowdown", "memory"))])
    return Table("RaceTrack, Table 2: cost of its settings",
                 "Ratios to running without RaceTrack (CLR, 2005), and to native code. The five programs of the paper are "
                 "modelled by btree, sat, warehouse, crawler and vclient.",
                 ["setting", "who", *(f"{n}, {what}" for n in names for what in ("time", "memory"))], rows)


def _racetrack_3() -> Table:
    paper = (("thread clock ticks", "245,807", "0", "239", "12"), ("objects allocated (K)", "30,383", "3,054", "23,093", "3,635"),
             ("objects refined", "1,161", "0", "3,399", "120"), ("monitored accesses (M)", "1,692", "28,183", "6,615", "997"),
             ("... at object level (M)", "1,557", "28,183", "5,997", "994"), ("... in Exclusive0 (M)", "984", "28,183", "4,550", "917"))
    return Table("RaceTrack, Table 3: behaviour under adaptive granularity",
                 "Counters of the paper's programs. Ours are the counters of `racetrack`, once it runs online.",
                 ["counter", "Boxwood", "SATsolver", "SpecJBB", "Crawler"], paper)


def _threadsanitizer_1() -> Table:
    paper = (  # tool: slow-down and memory for app, base, ipc, net, unit; our tool of the same kind
        ("Helgrind-no-hist", "13.9 2.7", "1.8 1.8", "5.4 1.5", "4.5 2.2", "48.7 3.4", "helgrind-fast"),
        ("Helgrind", "14.9 3.8", "1.7 1.9", "6.7 1.7", "11.9 2.5", "62.3 3.8", "helgrind"),
        ("TS-fast-no-hist", "6.2 4.2", "2.2 1.2", "11.1 1.8", "3.9 1.7", "19.2 2.2", ""),
        ("TS-fast", "7.9 7.6", "2.4 1.5", "12.0 3.6", "4.7 2.4", "21.6 2.8", "redflag-fast"),
        ("TS-full-no-hist", "8.4 4.2", "2.4 1.2", "11.3 1.8", "4.7 1.6", "22.3 2.3", ""),
        ("TS-full", "13.8 7.4", "2.8 1.5", "11.9 3.6", "6.3 2.3", "28.6 2.5", "redflag-hybrid"),
        ("TS-phb-no-hist", "8.3 4.2", "2.8 1.2", "11.2 1.8", "4.7 1.8", "23.0 6.2", ""),
        ("TS-phb", "14.2 7.4", "2.6 1.5", "11.8 3.6", "6.2 2.3", "28.6 2.5", "redflag-hb"))
    rows: list[list[Value]] = []
    for name, *figures, tool in paper:
        ours: list[Value] = [Measured("slowdown", "*", tool), Measured("memory", "*", tool)] if tool else ["", ""]
        rows.append([name, *(f.replace(" ", "x / ") + "x" for f in figures), *ours])
    return Table("ThreadSanitizer, Table 1: time and memory on Chromium's tests",
                 "Time / memory as ratios to native. Chromium's tests of 2009 can't be had: our column is the geometric mean over "
                 "the workloads, of the tool of the same kind.",
                 ["tool", "app", "base", "ipc", "net", "unit", "here: time", "here: memory"], rows)


def _datacollider() -> list[Table]:
    overhead: list[list[Value]] = [[f"{rate} breakpoints/s", "grows about linearly with the rate, to zero with it" if rate == 100 else "",
                                    Measured("slowdown", "*", f"redflag-sample-{rate}")] for rate in (100, 1000, 10000)]
    seven = (("statistic counter", "52"), ("safe flag update", "29"), ("special variable", "5"), ("double-checked locking", "8"),
             ("volatile", "8"), ("write same value", "1"), ("other", "1"), ("real, confirmed", "5"), ("real, investigating", "4"),
             ("total", "113"))
    return [Table("DataCollider, Figures 5 and 6: overhead and races found, by sampling rate",
                  "The figures are plots without numbers in the text: 'able to report data races even under overheads under 5 %'.",
                  ["rate", "paper", "here"], overhead),
            Table("DataCollider, Figure 7: classes of the races found under kernel stress", "Ours come with the classifier of reports.",
                  ["class", "paper", "here"], [[name, count, "-"] for name, count in seven])]


def _goldilocks() -> list[Table]:
    one = (  # program, threads, slow-down without static information, with Chord, with RccJava, our workload
        ("colt", "10", "1.9", "1.2", "-", "colt"), ("hedc", "10", "1.9", "1.5", "-", "hedc"), ("lufact", "10", "4.1", "1.8", "-", "lufact"),
        ("moldyn", "5", "5.4", "5.3", "1.6", "moldyn"), ("montecarlo", "5", "2.2", "1.1", "1.0", "montecarlo"),
        ("philo", "8", "1.0", "1.0", "-", "philo"), ("raytracer", "5", "17.9", "11.4", "2.1", "raytracer-jgf"),
        ("series", "10", "1.0", "1.0", "-", "series"), ("sor", "5", "1.3", "1.0", "-", "sor"), ("sor2", "10", "6.3", "2.3", "1.1", "sor2"),
        ("tsp", "10", "2.2", "1.3", "1.2", "tsp"))
    two = (("colt", "0.1", "-", "0.0", "-"), ("hedc", "0.0", "-", "0.0", "-"), ("lufact", "1.1", "-", "2.1", "-"),
           ("moldyn", "84.1", "83.5", "56.6", "49.1"), ("montecarlo", "15.4", "13.7", "13.0", "39.9"), ("philo", "0.2", "-", "0.1", "-"),
           ("raytracer", "80.5", "35.3", "5.2", "1.3"), ("series", "0.3", "-", "2.0", "-"), ("sor", "0.3", "-", "0.9", "-"),
           ("sor2", "1.3", "0.0", "36.9", "0.0"), ("tsp", "60.1", "80.0", "42.0", "23.7"))
    three = (("5", "1.46"), ("10", "1.21"), ("20", "1.44"), ("50", "1.23"), ("100", "1.47"), ("200", "1.26"), ("500", "1.29"))
    return [Table("Goldilocks, Table 1: slow-down of the race-aware Java runtime",
                  "The paper's baseline is the interpreter of Kaffe; ours is native code.",
                  ["program", "threads", "paper", "paper, Chord", "paper, RccJava", "goldilocks here", "tsan-clang here"],
                  [[p, n, a, b, c, Measured("slowdown", w, "redflag-goldilocks"), Measured("slowdown", w, "tsan-clang")]
                   for p, n, a, b, c, w in one]),
            Table("Goldilocks, Table 2: what static analysis leaves to check (%)",
                  "Variables and accesses that are still checked. Ours come with the compiler pass.",
                  ["program", "variables, Chord", "variables, RccJava", "accesses, Chord", "accesses, RccJava"], two),
            Table("Goldilocks, Table 3: transactional multiset", "Slow-down by number of threads. Ours is at the workload's own number.",
                  ["threads", "paper", "goldilocks here"],
                  [[n, s, Measured("slowdown", "multiset", "redflag-goldilocks") if n == "5" else ""] for n, s in three])]


def _tolerace() -> Table:
    return Table("ToleRace, section 3: overhead", "The paper gives no table.", ["program", "paper", "here"],
                 [["all time in critical sections", "typically < 10 %", Measured("slowdown", "multiset", "redflag-tolerate")],
                  ["parallel hash table", "< 10 %", Measured("slowdown", "hashmap", "redflag-tolerate")]])


TABLES: tuple[Table, ...] = (_racetrack_2(), _racetrack_3(), _threadsanitizer_1(), *_datacollider(), *_goldilocks(), _tolerace())


def markdown(results: Results | None) -> str:
    source = "No measurement of ours was found: `bench/run` makes one." if results is None else \
        f"Ours: {results.machine['cpu']}, {results.machine['cores']} cores, {results.machine['date']}."
    return "\n".join(["# The papers' measurements, and ours", "", f"{source} \"-\": not measured (yet).", "",
                      *(table.markdown(results) for table in TABLES)])
