"""Labels, sweeps and windows of long traces on executors: the files of one machine."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ssdtune as st
from ssdtune import _command

from .test_search import timeless

SMALL = {"flash.blocks_per_plane": 64, "flash.pages_per_block": 64}
LABEL: dict[str, Any] = {"mixes": 24, "requests": 400, "working_set": 200, "tenants": [4, 2]}
SWEEP: dict[str, Any] = {
    "device": "z-ssd", "sample": 60, "pages": 500, "requests_min": 50, "requests_max": 100,
    "rounds": 1, "seed": 3,
}  # fmt: skip


class Counting(ProcessPoolExecutor):
    """Processes that count what they are asked."""

    calls = 0

    def submit(self, *arguments: Any, **named: Any) -> Any:
        self.calls += 1
        return super().submit(*arguments, **named)


def label(out: Path, **more: Any) -> _command.Answer:
    return st.commands.keeper.label(device=st.Device("ssdkeeper", **SMALL), out=out, **LABEL, **more)


def same(one: _command.Answer, there: Path, other: _command.Answer, here: Path) -> bool:
    """Whether two answers and their files agree, but for the names of the files."""
    documents = [one.to_dict(), other.to_dict()]
    for document in documents:
        document.pop("file")
        document.pop("known_before", None)
    return bool(documents[0] == documents[1]) and there.read_bytes() == here.read_bytes()


def test_labels_of_an_executor_are_those_made_here(tmp_path: Path) -> None:
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    own = label(here)
    told: list[int] = []
    with ProcessPoolExecutor(2) as pool:
        other = label(there, executor=pool, progress=lambda done, of: told.append(done))
    assert same(other, there, own, here) and len(here.read_text().splitlines()) == 25
    assert told == sorted(told) and told[-1] == 16


def test_labels_go_on_where_a_driver_was_killed(tmp_path: Path) -> None:
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    own = label(here)
    lines = here.read_text().splitlines(keepends=True)
    there.write_text("".join([lines[0], *lines[9:14], lines[3][:20]]))
    with ThreadPoolExecutor(2) as pool:
        other = label(there, executor=pool)
    assert same(other, there, own, here)


class Deadly:
    """A device name that kills the first worker that asks for it."""

    def __init__(self, mark: Path):
        self.mark = str(mark)

    def __fspath__(self) -> str:
        driver = os.environ.get("SSDTUNE_TEST_DRIVER")
        if driver != str(os.getpid()) and not os.path.exists(self.mark):
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "closed"


def test_a_part_whose_worker_dies_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSDTUNE_TEST_DRIVER", str(os.getpid()))
    here, there, mark = (tmp_path / name for name in ("here.jsonl", "there.jsonl", "mark"))
    own = st.commands.predict_perf.sweep(out=here, **SWEEP)
    with ProcessPoolExecutor(2) as pool:
        deadly: Any = Deadly(mark)
        other = st.commands.predict_perf.sweep(out=there, grid=deadly, executor=pool, **SWEEP)
    assert mark.exists(), "no worker was killed"
    assert same(other, there, own, here)


def test_what_an_executor_cannot_do_is_refused(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(st.UsageError, match="part and executor"):
            label(tmp_path / "a", executor=pool, part="1/2")
        with pytest.raises(st.UsageError, match="one after the other"):
            st.commands.predict_perf.sweep(
                device="z-ssd", workloads=50, out=tmp_path / "a", executor=pool
            )
        other = tmp_path / "notes.txt"
        other.write_text("my notes\n")
        with pytest.raises(st.UsageError, match="notes.txt"):
            label(other, executor=pool)
        assert other.read_text() == "my notes\n"


def test_a_search_on_windows_of_a_long_trace_is_that_made_here(tmp_path: Path) -> None:
    points = tmp_path / "database.ssdp"
    trace = st.workload("database").generate(60_000)
    st.commands.trace.sample(trace, windows=60, warm_up=300, measured=200, output=points)
    options: dict[str, Any] = {
        "others": "none", "space": "autoblox", "budget": 6, "prefix": 0, "no_db": True,
        "max_harm": 1.0,
    }  # fmt: skip
    here = st.search(points, **options)
    with Counting(2) as pool:
        there = st.search(points, **options, executor=pool)
    # The baseline, and what is proposed.
    assert pool.calls > 6
    assert "points" in here.to_json() and timeless(there.to_json()) == timeless(here.to_json())


