#!/usr/bin/env python3
"""Does a program that runs for long under Redflag take more and more memory? 64 threads do all that is intercepted (tests/hostile/programs/storm.cc),
create others, map and unmap, allocate and free; every few seconds its memory and that of the helper process are looked at.

  soak_test.py REDFLAG [SECONDS [DETECTOR]]

It is flat if the median of the last quarter is no more than a twentieth above that of the second: the first is for getting warm.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = 240
GROWTH = 1.05
SLACK = 2 << 20  # of what is small anyway


def resident(pid):
    """-> bytes that are resident, or 0."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def helper_of(pid):
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"collect" in words and str(pid).encode() in words:
            return int(entry.name)
    return None


def quarters(samples):
    part = len(samples) // 4
    return [statistics.median(samples[i * part:(i + 1) * part]) for i in range(4)]


def main():
    redflag = pathlib.Path(sys.argv[1]).resolve()
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 1800
    detector = sys.argv[3] if len(sys.argv) > 3 else "hb"
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        program = pathlib.Path(folder) / "storm"
        subprocess.run([redflag, "c++", "-O1", "-g", "-std=c++17", "-pthread", "-o", program, ROOT / "tests/hostile/programs/storm.cc"], check=True)
        # As `redflag run` does it, but for the process that this is: the program has a helper of its own.
        runtime = redflag.parents[1] / "lib" / "redflag" / detector / "libredflag_rt.so"
        environment = os.environ | {"LD_PRELOAD": str(runtime)}
        process = subprocess.Popen([program, "everything", str(seconds)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        memory = {"program": [], "helper": []}
        end = time.monotonic() + seconds
        helper = None
        while process.poll() is None and time.monotonic() < end:
            time.sleep(seconds / SAMPLES)
            if not memory["program"] and str(runtime) not in pathlib.Path(f"/proc/{process.pid}/maps").read_text():
                process.kill()
                sys.exit(f"soak_test.py: the program does not run with {runtime}")
            helper = helper or helper_of(process.pid)
            memory["program"].append(resident(process.pid))
            memory["helper"].append(resident(helper) if helper else 0)
        try:
            status = process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            sys.exit("soak_test.py: the program did not end")
    if len(memory["program"]) < SAMPLES // 2:
        sys.exit(f"soak_test.py: the program ended too early, with status {status}")
    good = status == 66  # there is a race in it
    if not good:
        print(f"status {status}, expected 66")
    for who, samples in memory.items():
        samples = [sample for sample in samples if sample]
        medians = quarters(samples)
        flat = bool(samples) and medians[3] <= medians[1] * GROWTH + SLACK
        good &= flat
        print(f"{who:8} {'flat' if flat else 'GROWS'}: " + ", ".join(f"{median / (1 << 20):.1f}" for median in medians) + " MB in the quarters")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
