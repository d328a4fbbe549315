"""Ray and Dask, for real: nodes and workers that are killed in the middle, and the same answers.

Each part is skipped, with its reason, where its package is not installed.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ssdtune as st
from ssdtune import _engine, _worker

from .conftest import Command
from .test_many import AXES, deadly, harmless
from .test_search import FLAGS, QUICK, timeless

SEARCH: dict[str, Any] = {**QUICK, "others": "database", "requests": 20_000, "budget": 14}


@pytest.fixture(scope="module")
def local() -> str:
    """The search, measured here."""
    return timeless(st.search("websearch", **SEARCH, no_db=True).to_json())


class Once:
    """Progress of a search that does something once, when three evaluations are spent."""

    def __init__(self, work: Callable[[], object]):
        self.work = work
        self.is_done = False

    def __call__(self, spent: float, *_: object) -> None:
        if spent >= 3 and not self.is_done:
            self.is_done = True
            self.work()


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[Any]]:
    """The two further nodes of a Ray cluster whose head computes nothing."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: its engine is not tested")
    cluster_utils = importlib.import_module("ray.cluster_utils")
    memory = {"object_store_memory": 100 << 20}
    cluster = cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory}
    )
    more = [cluster.add_node(num_cpus=1, **memory) for _ in range(2)]
    cluster.wait_for_nodes()
    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
    yield [cluster, *more]
    ray.shutdown()
    cluster.shutdown()


def raylets(node: Any) -> list[int]:
    """The processes that are a node of Ray: those of its workers end with them."""
    return [info.process.pid for info in node.all_processes["raylet"]]


def test_ray_gives_what_is_measured_here(nodes: list[Any]) -> None:
    trace = st.workload("database").generate(400)
    drives = st.Device("z-ssd").sweep(**AXES)
    with st.engines.ray() as executor:
        there = st.simulate_many(drives, [trace, [trace, trace]], executor=executor, log=True)
    here = st.simulate_many(drives, [trace, [trace, trace]], log=True)
    assert there.to_json() == here.to_json()
    assert there[0].latencies.tolist() == here[0].latencies.tolist()


def test_a_node_of_ray_killed_in_the_middle_of_a_search_changes_nothing(
    nodes: list[Any], local: str
) -> None:
    def kill() -> None:
        for pid in raylets(nodes[1]):
            os.kill(pid, signal.SIGKILL)

    tell = Once(kill)
    with st.engines.ray() as executor:
        found = st.search("websearch", **SEARCH, no_db=True, executor=executor, progress=tell)
    assert tell.is_done, "no node was killed"
    assert timeless(found.to_json()) == local


def test_the_command_searches_on_ray(nodes: list[Any], command: Command) -> None:
    flags = ["search", "--target", "websearch", *FLAGS, "--budget", "8", "--no-db", "--json", "-q"]
    here = command(*flags)
    words = [sys.executable, "-m", "ssdtune", *flags]
    address = nodes[0].address
    there = subprocess.run([*words, "--engine", "ray", "--address", address], capture_output=True)
    assert there.returncode == 0, there.stderr
    assert same_search(there.stdout, here.stdout)


def same_search(one: bytes, other: bytes) -> bool:
    """Whether two documents agree, but for their seconds and command lines."""
    documents = [json.loads(timeless(text)) for text in (one, other)]
    for document in documents:
        document.pop("command", None)
    return bool(documents[0] == documents[1])


@pytest.fixture
def client() -> Iterator[Any]:
    """A client of a Dask cluster with two workers."""
    distributed: Any = pytest.importorskip(
        "distributed", reason="Dask is not installed: its engine is not tested"
    )
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def test_a_worker_of_dask_killed_in_the_middle_of_a_search_changes_nothing(
    client: Any, local: str
) -> None:
    def kill() -> None:
        pids = client.run(os.getpid)
        os.kill(next(iter(pids.values())), signal.SIGKILL)

    tell = Once(kill)
    with st.engines.dask(client) as executor:
        found = st.search("websearch", **SEARCH, no_db=True, executor=executor, progress=tell)
    assert tell.is_done, "no worker was killed"
    assert timeless(found.to_json()) == local
    assert client.status == "running", "a client that was given is not closed"


def test_a_cell_that_kills_workers_of_dask_is_named(client: Any, tmp_path: Path) -> None:
    victim = tmp_path / "left"
    victim.write_text("99")
    calls = [_worker.Call(harmless, (number,), f"cell {number}") for number in range(4)]
    calls.insert(1, _worker.Call(deadly, (victim,), "the deadly cell"))
    with st.engines.dask(client) as executor, _engine.Engine(executor) as engine:
        answers = engine.map(calls, lambda done, _: None)
    culprit = answers.pop(1)
    assert answers == list(range(4))
    kills = 99 - int(victim.read_text())
    assert kills >= 3 and isinstance(culprit, st.LostError)
    assert f"the deadly cell: {kills} workers were lost" in str(culprit)


class Twice(Executor):
    """Does every call twice, as executors do that begin a slow call a second time elsewhere; the
    first answer counts, the second comes all the same."""

    _max_workers = 3

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(6)
        self.late = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()

        def answer(done: "Future[Any]") -> None:
            try:
                future.set_result(done.result())
            except Exception:
                self.late += 1

        for _ in range(2):
            self.pool.submit(fn, *args, **kwargs).add_done_callback(answer)
        return future


def test_answers_that_come_twice_count_once(local: str, tmp_path: Path) -> None:
    executor = Twice()
    found = st.search("websearch", **SEARCH, db=tmp_path / "db", executor=executor)
    assert timeless(found.to_json()) == local
    assert executor.late > 0


def test_the_command_searches_on_processes(command: Command) -> None:
    flags = ["search", "--target", "websearch", *FLAGS, "--budget", "8", "--no-db", "--json", "-q"]
    here = command(*flags)
    words = [sys.executable, "-m", "ssdtune", *flags, "--engine", "processes", "--address", "2"]
    there = subprocess.run(words, capture_output=True)
    assert there.returncode == 0, there.stderr
    assert same_search(there.stdout, here.stdout)


def test_what_engines_print_is_no_result(command: Command) -> None:
    flags = ["grade", "z-ssd", "--target", "websearch", *FLAGS, "--no-db", "--json", "--engine"]
    program = (
        "import sys; from ssdtune import __main__, engines; named = engines.named\n"
        "engines.named = lambda *words: (print('noise'), named(*words))[1]\n"
        "if __name__ == '__main__': sys.exit(__main__.main())"
    )
    words = [sys.executable, "-c", program, *flags, "processes", "--address", "1"]
    told = subprocess.run(words, capture_output=True)
    assert told.returncode == 0 and b"noise" in told.stderr, told.stderr
    assert told.stdout == command(*flags[:-1]).stdout


def test_a_ray_that_is_not_there_is_named_at_once() -> None:
    pytest.importorskip("ray", reason="Ray is not installed: its engine is not tested")
    words = [sys.executable, "-m", "ssdtune", "search", "--target", "websearch", *FLAGS, "--no-db"]
    far = [*words, "--engine", "ray", "--address", "127.0.0.1:1"]
    told = subprocess.run(far, capture_output=True, timeout=60)
    assert told.returncode == 1 and b"ray at 127.0.0.1:1" in told.stderr, told.stderr


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (["--engine", "slurm"], 2, b"no such engine; there are ray, dask, processes"),
        (["--engine", "processes", "--address", "many"], 2, b"is no number of processes"),
        (["--address", "auto"], 2, b"--engine"),
        (["--engine", "dask", "--evaluator", "x"], 2, b"cannot be used with"),
    ],
)
def test_engines_that_cannot_be_had_are_named(flags: list[str], code: int, said: bytes) -> None:
    words = [sys.executable, "-m", "ssdtune", "search", "--target", "websearch", *FLAGS]
    told = subprocess.run([*words, "--no-db", *flags], capture_output=True)
    assert told.returncode == code and said in told.stderr, told.stderr


def test_the_program_alone_has_no_engines(command: Command) -> None:
    if "SSDTUNE_COMMAND" not in os.environ:
        pytest.skip("SSDTUNE_COMMAND names no program")
    told = command("search", "--target", "websearch", *FLAGS, "--no-db", "--engine", "ray")
    assert told.returncode == 2 and b"only `python -m ssdtune` has engines" in told.stderr
