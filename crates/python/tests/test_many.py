"""Many simulations: on threads, on executors, with workers that die."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import ssdtune as st
from ssdtune import _engine, _worker

from .conftest import Command

AXES = {"bus.channels": [4, 8], "gc.threshold": [0.05, 0.1]}


@pytest.fixture(scope="module")
def trace() -> st.Trace:
    return st.workload("database").generate(400)


def test_a_sweep_is_that_of_the_command(command: Command, csv: Path) -> None:
    flags = ["--sweep", "bus.channels=4,8", "--sweep", "gc.threshold=0.05,0.1", "--json"]
    told = command("simulate", "--device", "z-ssd", "--trace", csv, csv, *flags)
    assert told.returncode == 0, told.stderr
    drives = st.Device("z-ssd").sweep(**AXES)
    for threads in (1, 4):
        results = st.simulate_many(drives, [csv, csv], threads=threads)
        assert results.to_json().encode() == told.stdout
    assert results[5].to_dict()["cells"][0]["cell"] == 5
    text = command("simulate", "--device", "z-ssd", "--trace", csv, csv, *flags[:-1], "--quiet")
    assert str(results) + "\n" == text.stdout.decode() or str(results) == text.stdout.decode()
    assert "<pre>" in results._repr_html_()


def executors() -> list[Any]:
    return [
        lambda: ThreadPoolExecutor(3),
        lambda: ProcessPoolExecutor(2),
        lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    ]


@pytest.mark.parametrize("make", executors())
def test_every_executor_gives_the_same(make: Any, trace: st.Trace, csv: Path) -> None:
    drives = st.Device("z-ssd").sweep(**AXES)
    served: list[Any] = [trace, csv, [trace, trace], st.workload("websearch")]
    options: dict[str, Any] = {"start": "steady:0.5", "requests": 200, "log": True}
    here = st.simulate_many(drives, served, **options)
    with make() as executor:
        there = st.simulate_many(drives, served, executor=executor, **options)
    assert there.to_json() == here.to_json()
    for one, other in zip(here, there):
        assert one.latencies.tolist() == other.latencies.tolist()


def test_progress_is_told(trace: st.Trace) -> None:
    for executor in (None, ThreadPoolExecutor(2)):
        told: list[tuple[int, int]] = []
        st.simulate_many(
            st.Device("z-ssd").sweep(**AXES), trace, executor=executor,
            progress=lambda *counts: told.append(counts),
        )  # fmt: skip
        assert told[-1] == (4, 4) and told == sorted(told)
    st.simulate_many("z-ssd", trace, progress=True)


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor(2)])
def test_cells_that_fail_do_not_stop_the_others(executor: Any, trace: st.Trace) -> None:
    far = st.Trace.from_arrays([0], [1 << 60], [512], [1], name="far")
    with pytest.raises(st.DataError, match="far: request 1 reaches") as caught:
        st.simulate_many("z-ssd", [trace, far, trace], executor=executor)
    kinds = [isinstance(one, st.Result) for one in caught.value.results]
    assert kinds == [True, False, True]
    with pytest.raises(st.UsageError, match="no such option of simulate: stat"):
        st.simulate_many("z-ssd", trace, stat="steady")


class Elsewhere(Executor):
    """Workers that share no memory and no disk with the driver, as on another machine: they are
    lost when told so, and answer in another order."""

    _max_workers = 4

    def __init__(self, lose: list[int]):
        self.lose = lose
        self.sent = 0
        self.lock = threading.Lock()
        self.bytes: list[int] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        import pickle

        packed = pickle.dumps((fn, args))
        with self.lock:
            number, self.sent = self.sent, self.sent + 1
            self.bytes.append(len(packed))
        future: Future[Any] = Future()

        def answer() -> None:
            time.sleep(0.01 * (7 * number % 5))
            if number in self.lose:
                future.set_exception(OSError("the worker is gone"))
                return
            held, own = _worker._held.copy(), dict(_worker._own)
            try:
                _worker._own.clear()
                future.set_result(pickle.loads(pickle.dumps(fn(*pickle.loads(packed)[1]))))
            finally:
                _worker._own.update(own)
                _worker._held.clear()
                _worker._held.update(held)

        threading.Thread(target=answer).start()
        return future


def test_lost_cells_run_again_and_the_answer_is_the_same(trace: st.Trace) -> None:
    drives = st.Device("z-ssd").sweep(**AXES)
    here = st.simulate_many(drives, trace).to_json()
    assert st.simulate_many(drives, trace, executor=Elsewhere([2, 3, 6])).to_json() == here


def test_a_cell_that_loses_three_workers_is_named(trace: st.Trace) -> None:
    with pytest.raises(st.LostError) as caught:
        st.simulate_many("z-ssd", trace, executor=Elsewhere([1, 2, 3]), start="steady")
    said = str(caught.value)
    assert "cell 0 (z-ssd, database, start=steady): 3 workers were lost" in said
    assert "the worker is gone" in said


def test_a_cell_is_a_few_kilobytes(trace: st.Trace) -> None:
    executor = Elsewhere([])
    st.simulate_many("z-ssd", trace, executor=executor)
    assert max(executor.bytes) < 20_000, executor.bytes


def deadly(victim: Path) -> str:
    """Kills its own process, as often as the file says."""
    left = int(victim.read_text())
    if left > 0:
        victim.write_text(str(left - 1))
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def harmless(number: int) -> int:
    time.sleep(0.02)
    return number


@pytest.mark.parametrize(("kills", "survives"), [(1, True), (2, True), (9, False)])
def test_processes_that_are_killed_are_replaced(
    tmp_path: Path, kills: int, survives: bool
) -> None:
    victim = tmp_path / "left"
    victim.write_text(str(kills))
    calls = [_worker.Call(harmless, (number,), f"cell {number}") for number in range(8)]
    calls.insert(3, _worker.Call(deadly, (victim,), "the deadly cell"))
    with ProcessPoolExecutor(3) as pool, _engine.Engine(pool) as engine:
        answers = engine.map(calls, lambda done, _: None)
    culprit = answers.pop(3)
    assert answers == list(range(8))
    if survives:
        assert culprit == "alive"
    else:
        assert isinstance(culprit, st.LostError) and "the deadly cell: 3 workers" in str(culprit)


def test_only_executors_are_taken(trace: st.Trace, tmp_path: Path) -> None:
    wrong: Any = "ray"
    with pytest.raises(st.UsageError, match="concurrent.futures.Executor"):
        st.simulate_many("z-ssd", trace, executor=wrong)
    with pytest.raises(st.UsageError, match="True brings the table here"):
        pool = ThreadPoolExecutor(1)
        st.simulate_many("z-ssd", trace, executor=pool, log=tmp_path / "log.csv")
