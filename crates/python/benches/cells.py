"""How many cells a second a driver hands out, and how many bytes each has: python crates/python/benches/cells.py

Cells that do nothing are handed to each engine that is installed, as many at once as the arguments say
(default: 2 16 64). Prints a table in Markdown. Three runs each, the best counts. Then batches of 28 cells that
sleep, of which one in a hundred takes ten times as long: what a straggler costs a search that waits for its batch.
"""

from __future__ import annotations

import pickle
import random
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import ssdtune as st
from ssdtune import _engine, _worker
from ssdtune._ssdtune import measure


class Wide(Executor):
    """Another executor, of which more calls are asked at once than it has workers."""

    def __init__(self, inner: Executor, width: int):
        self.inner = inner
        self._max_workers = width

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return self.inner.submit(fn, *args, **kwargs)


def nothing(number: int, device: st.Device, how: Any) -> int:
    """A cell of the usual size that does nothing."""
    return number


def driver(executor: Executor, width: int, cells: int, arguments: tuple[Any, ...]) -> float:
    """Cells a second."""
    calls = [_worker.Call(nothing, (number, *arguments), "cell") for number in range(cells)]
    best = 0.0
    for _ in range(3):
        with _engine.Engine(Wide(executor, width)) as engine:
            begin = time.perf_counter()
            answers = engine.map(calls, lambda *_: None)
            best = max(best, cells / (time.perf_counter() - begin))
        assert answers == list(range(cells))
    return best


def bare(executor: Executor, cells: int, arguments: tuple[Any, ...]) -> float:
    """Cells a second of the executor alone: all handed over at once, then all awaited."""
    best = 0.0
    for _ in range(3):
        begin = time.perf_counter()
        futures = [executor.submit(nothing, number, *arguments) for number in range(cells)]
        for future in futures:
            future.result()
        best = max(best, cells / (time.perf_counter() - begin))
    return best


def batches(share: float, count: int = 200, size: int = 28, seconds: float = 0.05) -> list[float]:
    """The seconds of batches of cells that sleep, of which a share takes ten times as long."""
    draw = random.Random(1)
    taken = []
    with ThreadPoolExecutor(size) as pool, _engine.Engine(pool) as engine:
        for _ in range(count):
            naps = [seconds * (10 if draw.random() < share else 1) for _ in range(size)]
            begin = time.perf_counter()
            engine.map([_worker.Call(time.sleep, (nap,), "cell") for nap in naps], lambda *_: None)
            taken.append(time.perf_counter() - begin)
    return taken


def engines() -> dict[str, Callable[[], Executor]]:
    return {
        "threads of the driver": lambda: ThreadPoolExecutor(2),
        "`ProcessPoolExecutor(2)`": lambda: ProcessPoolExecutor(2),
        "Ray, this machine": lambda: st.engines.ray(num_cpus=2),
        "Dask, this machine": lambda: st.engines.dask(),
    }


def main() -> None:
    widths = [int(word) for word in sys.argv[1:]] or [2, 16, 64]
    device = st.Device("intel-750", **{"bus.channels": 16})
    how = ("footprint", [], 0, "mean", False)
    arguments = (device, how)
    reference = _worker.TraceReference("0" * 64, "/tmp/ssdtune-12345678/" + "0" * 64)
    call = _worker.Call(measure, (device, reference, 16, how), "a drive on a trace, 16 at once")
    print(f"A cell of a search: {len(pickle.dumps((_worker.work, call, ())))} B pickled\n")
    print("| engine | alone |" + "".join(f" driver, {width} at once |" for width in widths))
    print("|---|---|" + "---|" * len(widths))
    for name, make in engines().items():
        try:
            executor = make()
        except st.UsageError as error:
            print(f"| {name} | {error} |")
            continue
        with executor:
            figures = [bare(executor, 2000, arguments)]
            figures += [driver(executor, width, 2000, arguments) for width in widths]
        print(f"| {name} |" + "".join(f" {figure:,.0f} |" for figure in figures), flush=True)
    whole, rare = batches(0.0, 40), batches(0.01)
    ratio = statistics.mean(rare) / statistics.mean(whole)
    error = 1.96 * statistics.stdev(rare) / len(rare) ** 0.5 / statistics.mean(whole)
    print(f"\nOne cell in a hundred ten times as long: batches take {ratio:.2f} +- {error:.2f} times as long")


if __name__ == "__main__":
    main()
