"""What calls cost, and how many requests a second are simulated: python crates/python/benches/calls.py

Prints a table in Markdown. Every time is the least of several, in a process of its own on an idle machine.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import ssdtune as st


def least(work: Callable[[], object], times: int) -> float:
    """The least time of some runs, in seconds."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def rate(count: float, seconds: float) -> str:
    return f"{count / seconds / 1e6:.2f} M requests/s"


def main() -> None:
    drive = st.Device("z-ssd")
    one = st.Trace.from_arrays([0], [0], [4096], [0])
    trace = st.workload("database").generate(1_000_000)
    columns = trace.time.copy(), trace.offset, trace.size, trace.op.copy()
    drives = [drive] * 8
    short = st.workload("database").generate(200_000)
    command = [sys.executable, "-m", "ssdtune", "--version"]
    with ProcessPoolExecutor(2) as pool:
        rows = [
            ("`import ssdtune` and `python -m ssdtune --version`",
             f"{least(lambda: subprocess.run(command, capture_output=True), 5) * 1e3:.0f} ms"),
            ("`Device(\"z-ssd\")`", f"{least(lambda: st.Device('z-ssd'), 50) * 1e6:.0f} us"),
            ("`simulate` of one request", f"{least(lambda: st.simulate(drive, one), 50) * 1e6:.0f} us"),
            ("`Trace.from_arrays` of 1 M", rate(1e6, least(lambda: st.Trace.from_arrays(*columns), 5))),
            ("`trace.records` of 1 M", f"{least(lambda: trace.records, 50) * 1e6:.0f} us"),
            ("`trace.digest` of 1 M, the first time",
             rate(1e6, least(lambda: pickle.loads(pickle.dumps(trace)).digest, 3))),
            ("`simulate` of 1 M", rate(1e6, least(lambda: st.simulate(drive, trace), 3))),
            ("the same with `log=True`",
             rate(1e6, least(lambda: st.simulate(drive, trace, log=True), 3))),
            ("`simulate_many`, 8 cells of 200,000, 1 thread",
             rate(1.6e6, least(lambda: st.simulate_many(drives, short, threads=1), 3))),
            ("the same, 2 threads",
             rate(1.6e6, least(lambda: st.simulate_many(drives, short, threads=2), 3))),
            ("the same, `ProcessPoolExecutor(2)`",
             rate(1.6e6, least(lambda: st.simulate_many(drives, short, executor=pool), 3))),
        ]  # fmt: skip
    size = len(pickle.dumps(drive))
    print("| what | |\n|---|---|")
    for what, figure in rows:
        print(f"| {what} | {figure} |")
    print(f"| a pickled drive | {size} B |")
    print(f"\nPython {sys.version.split()[0]}, NumPy {np.__version__}, ssdtune {st.__version__}")


if __name__ == "__main__":
    main()
